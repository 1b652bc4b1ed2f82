// Entry points of the probes and their fast path (probes.h, site_table.h). Compiled for general
// registers only, because a probe's caller keeps live values in vector registers that nobody saves.
// Everything else goes to probes.cpp through dwell_slowly, which saves them.
#include "runtime/measure/metrics.h"
#include "runtime/probes/probes.h"

#if defined(__x86_64__)

// The entry points. Registers that the fast path may change are saved, except r10 and r11, and r9
// where it returns an address. gcc must not use r8 and r9 in this file: no function here may have
// more than four arguments.
#if defined(__clang__)
#define DWELL_SAVED "%rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9"
#define DWELL_RESTORED "%r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax"
#define DWELL_BRING_BACK "movq %rax, (%rsp)"
#else
#define DWELL_SAVED "%rax, %rcx, %rdx, %rsi, %rdi"
#define DWELL_RESTORED "%rdi, %rsi, %rdx, %rcx, %rax"
#define DWELL_BRING_BACK "movq %rax, %r9"
#endif
asm(R"(
    .macro dwell_saved name target number=0 address=0
    .balign 64
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .irp register, )" DWELL_SAVED R"(
    pushq \register
    .cfi_adjust_cfa_offset 8
    .endr
    movq %r11, %rdi
    movq %r10, %rsi
    .if \number
    movq %r9, %rdx
    .endif
    call \target
    .if \address
    )" DWELL_BRING_BACK R"(
    .endif
    .irp register, )" DWELL_RESTORED R"(
    popq \register
    .cfi_adjust_cfa_offset -8
    .endr
    ret
    .cfi_endproc
    .size \name, . - \name
    .endm

    .text
    dwell_saved dwell_enter, dwell_probe_enter
    dwell_saved dwell_leave, dwell_probe_leave
    dwell_saved dwell_loop_enter, dwell_probe_loop_enter
    dwell_saved dwell_loop_enter_counting, dwell_probe_loop_enter_counting, 0, 1
    dwell_saved dwell_loop_leave, dwell_probe_loop_leave, 1
    dwell_saved dwell_landed, dwell_probe_landed
    dwell_saved dwell_vforked, dwell_probe_vforked, 1

# dwell_slowly(work, row, slot, iterations): calls work(row, slot, iterations) on an aligned stack,
# with r8, r9 and all vector registers as they were afterwards; meanwhile nothing in floating point
# traps. dwell_vector_bytes is 0 where xsave is missing.
    .globl dwell_slowly
    .hidden dwell_slowly
    .type dwell_slowly, @function
dwell_slowly:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    pushq %rbx
    pushq %r12
    pushq %r8
    pushq %r9
    movq %rdi, %r11
    movq %rsi, %rdi
    movq %rdx, %rsi
    movq %rcx, %r10
    movl dwell_vector_bytes(%rip), %ecx
    testl %ecx, %ecx
    je 1f
    subq %rcx, %rsp
    andq $-64, %rsp
    xorl %eax, %eax
    movq %rax, 512(%rsp)
    movq %rax, 520(%rsp)
    movq %rax, 528(%rsp)
    movq %rax, 536(%rsp)
    movq %rax, 544(%rsp)
    movq %rax, 552(%rsp)
    movq %rax, 560(%rsp)
    movq %rax, 568(%rsp)
    movl dwell_vector_mask(%rip), %eax
    xorl %edx, %edx
    xsave64 (%rsp)
    movq %rsp, %r12
    ldmxcsr dwell_usual_mxcsr(%rip)
    movq %r10, %rdx
    call *%r11
    movl dwell_vector_mask(%rip), %eax
    xorl %edx, %edx
    xrstor64 (%r12)
    jmp 2f
1:
    subq $512, %rsp
    andq $-64, %rsp
    fxsave64 (%rsp)
    movq %rsp, %r12
    ldmxcsr dwell_usual_mxcsr(%rip)
    movq %r10, %rdx
    call *%r11
    fxrstor64 (%r12)
2:
    leaq -32(%rbp), %rsp
    popq %r9
    popq %r8
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size dwell_slowly, . - dwell_slowly

    .section .rodata
    .balign 4
dwell_usual_mxcsr:
    .long 0x1f80
    .text
)");

namespace dwell {

using Slowly = void (*)(const SiteRow*, const uint64_t*, uint64_t);
extern "C" void dwell_slowly(Slowly work, const SiteRow* row, const uint64_t* slot,
                             uint64_t iterations) __attribute__((visibility("hidden")));

namespace {

// The thread was observed, but the process is not any more, is paused, or is a fork.
inline bool is_off(const Thread* thread) { return thread != nullptr && live_ticket() == 0; }

// Adds the cost of a pair of probes and ends the change. When the countdown is over, control
// checks.
__attribute__((always_inline)) inline void end_charged(Thread* thread, uint64_t ticks,
                                                       uint32_t* countdown, const SiteRow* row,
                                                       const uint64_t* slot) {
    thread->slow_overhead += ticks;
    if (--*countdown == 0) [[unlikely]] {
        end_change(thread);
        dwell_slowly(control_slowly, row, slot, 0);
        return;
    }
    end_change(thread);
}

// Likewise for an entry that is only counted; it has a countdown of its own.
inline void end_counted(Thread* thread, const SiteRow* row, const uint64_t* slot) {
    end_charged(thread, g_process.probe_count_ticks, &thread->count_countdown, row, slot);
}

// Probes that cannot take the fast path; marked cold to keep the fast path straight.
DWELL_COLD void enter_unusually(const SiteRow* row, const uint64_t* slot) {
    if (!is_off(t_thread)) dwell_slowly(enter_slowly, row, slot, 0);
}

// Counts a loop in the node of a procedure that is not open, found by the procedure's call.
__attribute__((noinline)) void count_by_call(Thread* thread, const SiteRow* row,
                                             const uint64_t* slot) {
    const KnownChild* known = known_child(thread, reinterpret_cast<uint64_t>(row), *slot);
    if (known == nullptr) {
        end_change(thread);
        enter_unusually(row, slot);
        return;
    }
    count_reduced(thread, cell_at<Node>(known->node), row);
    end_counted(thread, row, slot);
}

// Rarer cases are functions of their own that end the change and the probe, so that the common case
// need not save registers for them. This one: recursion, counted sites, and nodes at which metrics
// are read (on the slow path) if they last long enough.
__attribute__((noinline)) void enter_otherwise(Thread* thread, const SiteRow* row,
                                               const uint64_t* slot, const KnownChild& known) {
    Node* const node = cell_at<Node>(known.node);
    if (known.enter_kind == EnterKind::kChecked && is_due(node)) {
        end_change(thread);
        enter_unusually(row, slot);
        return;
    }
    if (known.enter_kind >= EnterKind::kForeign) {
        if (known.enter_kind == EnterKind::kByCall) {
            count_by_call(thread, row, slot);
            return;
        }
        // A part of the open procedure, split off by the compiler.
        push_without_node(thread, reinterpret_cast<uint64_t>(row),
                          reinterpret_cast<uint64_t>(slot));
        end_change(thread);
        return;
    }
    if (known.enter_kind == EnterKind::kCounted) {
        count_reduced(thread, node, row);
        end_counted(thread, row, slot);
        return;
    }
    push_by_kind(thread, known.node, known.enter_kind, reinterpret_cast<uint64_t>(row),
                 reinterpret_cast<uint64_t>(slot));
    end_change(thread);
}
// Deeper than the stack of open entries: the entry is only counted, on the slow path when its node
// is unknown or has no second line yet.
__attribute__((noinline)) void count_too_deep(Thread* thread, const SiteRow* row,
                                              const uint64_t* slot, uint64_t return_address) {
    const auto key = reinterpret_cast<uint64_t>(row);
    const CellIndex parent = thread->on.top->node;
    const KnownChild& known = thread->known_children[known_child_slot(key, return_address, parent)];
    const bool is_known =
        known.row == key && known.return_address == return_address && known.parent == parent;
    Node* const node = is_known ? cell_at<Node>(known.node) : nullptr;
    if (node == nullptr || node->part == 0) {
        end_change(thread);
        enter_unusually(row, slot);
        return;
    }
    count_reduced(thread, node, row);
    end_counted(thread, row, slot);
}

// Opens the cached child of the innermost entry for `row` and `return_address` and ends the change;
// false when it is not cached.
__attribute__((always_inline)) inline bool enter_known(Thread* thread, const SiteRow* row,
                                                       const uint64_t* slot,
                                                       uint64_t return_address) {
    const ProbeEntry* const top = thread->on.top;
    if (top == thread->on.limit) [[unlikely]] {
        if (reinterpret_cast<uint64_t>(slot) == top->frame) return false;
        count_too_deep(thread, row, slot, return_address);
        return true;
    }
    const auto key = reinterpret_cast<uint64_t>(row);
    const KnownChild* known =
        &thread->known_children[known_child_slot(key, return_address, top->node)];
    asm("" : "+r"(known));  // computed once
    // Loaded again, because keeping it would cost a saved register.
    const CellIndex parent = __atomic_load_n(&top->node, __ATOMIC_RELAXED);
    if (known->row != key || known->return_address != return_address || known->parent != parent) {
        return false;
    }
    if (known->enter_kind != EnterKind::kChild) [[unlikely]] {
        enter_otherwise(thread, row, slot, *known);
        return true;
    }
    push_entry(thread, known->node, key, reinterpret_cast<uint64_t>(slot), 0);
    end_change(thread);
    return true;
}

// End of a leave, after the innermost entry was recorded.
inline void end_entry(Thread* thread, const SiteRow* row, const uint64_t* slot) {
    thread->on.top -= 1;
    *thread->on.depth -= 1;
    end_charged(thread, g_process.probe_cost_ticks, &thread->probe_countdown, row, slot);
}

__attribute__((noinline)) void leave_untimed(Thread* thread, const SiteRow* row,
                                             const uint64_t* slot, uint64_t now_virtual) {
    ProbeEntry* const top = thread->on.top;
    if ((top->flags & kEntryEndsSlowly) != 0) {
        end_change(thread);
        dwell_slowly(leave_slowly, row, slot, 0);
        return;
    }
    Node* const node = cell_at<Node>(top->node);
    node->site.open -= 1;
    cell_at<ProbePart>(node->part)->untimed += 1;
    resume_between(thread->on.base, top, now_virtual, g_process.probe_inner_ticks);
    note_node(thread, node, top->node, EventKind::kLeave, now_virtual);
    end_entry(thread, row, slot);
}

// Left during a pause, entered before.
bool is_open_in_pause(const Thread* thread, const SiteRow* row, uint64_t frame) {
    const ProbeEntry* top = thread->on.top;
    return g_live->paused != 0 && (top->row & ~kRowMoved) == reinterpret_cast<uint64_t>(row) &&
           top->frame == frame;
}

DWELL_COLD void leave_unusually(const SiteRow* row, const uint64_t* slot, uint64_t iterations) {
    const Thread* const thread = t_thread;
    if (thread == nullptr) return;
    if (is_off(thread) && !is_open_in_pause(thread, row, reinterpret_cast<uint64_t>(slot))) return;
    dwell_slowly(leave_slowly, row, slot, iterations);
}

__attribute__((always_inline)) inline void enter_loop(Thread* thread, const SiteRow* row,
                                                      const uint64_t* slot) {
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (begin_change(thread)) [[likely]] {
        if (frame <= thread->on.top->frame && frame >= thread->on.low &&
            enter_known(thread, row, slot, 0)) [[likely]]
            return;
        end_change(thread);
    }
    enter_unusually(row, slot);
}

// A leave without an entry: at its enter the site was only counted, off, or too deep; or it is a
// part of the open procedure.
__attribute__((noinline)) void leave_unopened(Thread* thread, const SiteRow* row,
                                              const uint64_t* slot, uint64_t iterations) {
    const ProbeEntry* const top = thread->on.top;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (top->row == (reinterpret_cast<uint64_t>(row) | kRowWithoutNode) && top->frame == frame) {
        pop_without_node(thread);
        thread->slow_overhead += g_process.probe_count_ticks;
        end_change(thread);
        return;
    }
    end_change(thread);
    if (lies_on(thread->on, frame) && frame < top->frame) return;
    const bool moved = (top->row & kRowMoved) != 0;
    if (frame == top->frame && level_of(row) != kLevelFull && !moved) return;
    dwell_slowly(leave_slowly, row, slot, iterations);
}

template <bool kLoop>
__attribute__((always_inline)) inline void leave(const SiteRow* row, const uint64_t* slot,
                                                 uint64_t iterations) {
    Thread* const thread = t_thread;
    if (!begin_change(thread)) [[unlikely]] {
        leave_unusually(row, slot, iterations);
        return;
    }
    ProbeEntry* const top = thread->on.top;
    if (top->row != reinterpret_cast<uint64_t>(row) ||
        top->frame != reinterpret_cast<uint64_t>(slot)) [[unlikely]] {
        leave_unopened(thread, row, slot, iterations);
        return;
    }
    const uint64_t end = virtual_ticks(thread, read_tsc());
    Node* const node = cell_at<Node>(top->node);
    if (kLoop) cell_at<ProbePart>(node->part)->iterations += iterations;
    if (top->flags != 0) [[unlikely]] {
        leave_untimed(thread, row, slot, end);
        return;
    }
    node->site.open -= 1;
    const uint64_t begin = top->entry_virtual + g_process.probe_inner_ticks;
    const uint64_t ticks = end > begin ? end - begin : 0;
    add_time(node, ticks);
    note_node(thread, node, top->node, EventKind::kLeave, end);
    end_entry(thread, row, slot);
}

}  // namespace

}  // namespace dwell

using namespace dwell;

extern "C" {

// Called only by the assembly above.
#define DWELL_HIDDEN __attribute__((visibility("hidden"), used))

DWELL_HIDDEN void dwell_probe_enter(const SiteRow* row, const uint64_t* slot) {
    Thread* const thread = t_thread;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (begin_change(thread)) [[likely]] {
        if (frame < thread->on.top->frame && frame >= thread->on.low &&
            enter_known(thread, row, slot, *slot)) [[likely]]
            return;
        end_change(thread);
    }
    enter_unusually(row, slot);
}

DWELL_HIDDEN void dwell_probe_loop_enter(const SiteRow* row, const uint64_t* slot) {
    enter_loop(t_thread, row, slot);
}

DWELL_HIDDEN uint64_t* dwell_probe_loop_enter_counting(const SiteRow* row, const uint64_t* slot) {
    enter_loop(t_thread, row, slot);
    const Thread* const thread = t_thread;  // may have been attached just now
    if (thread == nullptr) return nullptr;
    const ProbeEntry* const top = thread->on.top;
    if (top->row != reinterpret_cast<uint64_t>(row) ||
        top->frame != reinterpret_cast<uint64_t>(slot)) [[unlikely]] {
        return nullptr;  // no entry: only counted, or not recorded now
    }
    return &cell_at<ProbePart>(cell_at<Node>(top->node)->part)->iterations;
}

DWELL_HIDDEN void dwell_probe_leave(const SiteRow* row, const uint64_t* slot) {
    leave<false>(row, slot, 0);
}

DWELL_HIDDEN void dwell_probe_loop_leave(const SiteRow* row, const uint64_t* slot,
                                         uint64_t iterations) {
    leave<true>(row, slot, iterations);
}

DWELL_HIDDEN void dwell_probe_landed(const SiteRow* row, const uint64_t* slot) {
    const Thread* const thread = t_thread;
    if (thread == nullptr || is_off(thread)) return;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (is_usual(thread) && lies_on(thread->on, frame)) {
        const ProbeEntry* const top = thread->on.top;
        if (frame < top->frame || (frame == top->frame && !is_left_loop(*top, row))) return;
    }
    dwell_slowly(landed_slowly, row, slot, 0);
}

DWELL_HIDDEN void dwell_probe_vforked(const SiteRow*, const uint64_t*, uint64_t result) {
    Thread* const thread = t_thread;
    if (thread == nullptr) return;
    thread->vforked = result == 0;
    thread->probe_ticket = kNoTicket;  // checked by the next probe
}
}

#endif

namespace dwell {

void stop_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual) {
    const auto number = static_cast<uint32_t>(back - base);
    for (ProbeEntry* entry = back - 1; entry != base && entry->node != back->node; --entry) {
        if ((entry->flags & ~kEntryEndsSlowly) != 0) continue;
        entry->entry_virtual = now_virtual - entry->entry_virtual;
        entry->flags |= kEntryUntimed | kEntryStopped | number << kEntryHolderShift;
        back->flags |= kEntryHolds;
    }
}

void resume_between(ProbeEntry* base, ProbeEntry* back, uint64_t now_virtual, uint64_t lost) {
    if ((back->flags & kEntryHolds) == 0) return;
    // Limited to the time that passed: children of the recursion's node must fit into its time.
    const uint64_t took = now_virtual > back->entry_virtual ? now_virtual - back->entry_virtual : 0;
    if (lost > took) lost = took;
    const auto number = static_cast<uint32_t>(back - base);
    for (ProbeEntry* entry = back - 1; entry != base && entry->node != back->node; --entry) {
        if ((entry->flags & kEntryStopped) == 0 || entry->flags >> kEntryHolderShift != number) {
            continue;
        }
        if ((entry->flags & kEntryAway) != 0) {
            entry->flags = kEntryUntimed | kEntryAway | (entry->flags & kEntryEndsSlowly);
            continue;
        }
        entry->entry_virtual = now_virtual - entry->entry_virtual - lost;
        entry->flags &= kEntryEndsSlowly;
    }
}

}  // namespace dwell
