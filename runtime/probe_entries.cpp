// Where a probe arrives, and its fast way (see probes.h, site_table.h). Everything here is compiled
// for general registers only: a probe's caller keeps its vector registers without anyone saving
// them. Whatever the fast way cannot do goes to probes.cpp through dwell_slowly, which saves them.
#include "runtime/probes.h"

#if defined(__x86_64__)

// The entry points. The registers that C may change are saved; r10 and r11 are the caller's to
// lose.
asm(R"(
    .macro dwell_saved name target
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    .irp register, %rax, %rcx, %rdx, %rsi, %rdi, %r8, %r9
    pushq \register
    .cfi_adjust_cfa_offset 8
    .endr
    movq %r11, %rdi
    movq %r10, %rsi
    movq %r9, %rdx
    call \target
    .irp register, %r9, %r8, %rdi, %rsi, %rdx, %rcx, %rax
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
    dwell_saved dwell_loop_leave, dwell_probe_leave
    dwell_saved dwell_landed, dwell_probe_landed
    dwell_saved dwell_vforked, dwell_probe_vforked

# dwell_slowly(work, row, slot, iterations): calls work(row, slot, iterations) on an aligned stack,
# with all vector registers as they were afterwards. dwell_vector_bytes is 0 where xsave is missing.
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
    movq %r10, %rdx
    call *%r11
    fxrstor64 (%r12)
2:
    leaq -16(%rbp), %rsp
    popq %r12
    popq %rbx
    popq %rbp
    .cfi_def_cfa %rsp, 8
    ret
    .cfi_endproc
    .size dwell_slowly, . - dwell_slowly
)");

namespace dwell {

using Slowly = void (*)(const SiteRow*, const uint64_t*, uint64_t);
extern "C" void dwell_slowly(Slowly work, const SiteRow* row, const uint64_t* slot,
                             uint64_t iterations) __attribute__((visibility("hidden")));

namespace {

// The thread was watched but the process no longer is, or pauses, or is a fork of one that was.
inline bool is_off(const Thread* thread) { return thread != nullptr && g_live->ticket == 0; }

inline void charge(Thread* thread, uint64_t ticks) {
    thread->slow_ticks += ticks;
    thread->probe_lost_ticks += ticks;
    thread->probe_countdown -= 1;
}

// Opens the child of the innermost entry that `row` and `return_address` lead to, if it is known.
__attribute__((always_inline)) inline bool enter_known(Thread* thread, const SiteRow* row,
                                                       const uint64_t* slot,
                                                       uint64_t return_address) {
    const auto key = reinterpret_cast<uint64_t>(row);
    const KnownChild* known = known_child(thread, key, return_address);
    if (known == nullptr) return false;
    begin_change(thread);
    if (known->counted) [[unlikely]] {
        Node* node = cell_at<Node>(known->node);
        node->count += 1;
        cell_at<ProbePart>(node->part)->counted += 1;
        charge(thread, g_process.probe_count_ticks);
        end_change(thread);
        if (thread->probe_countdown == 0) dwell_slowly(control_slowly, row, slot, 0);
        return true;
    }
    ProbeEntry* const entry =
        push_entry(thread, known->node, key, reinterpret_cast<uint64_t>(slot));
    entry->entry_virtual = virtual_ticks(thread, read_tsc());
    end_change(thread);
    return true;
}

}  // namespace

}  // namespace dwell

using namespace dwell;

extern "C" {

// Called by the assembly above only.
#define DWELL_HIDDEN __attribute__((visibility("hidden"), used))

DWELL_HIDDEN void dwell_probe_enter(const SiteRow* row, const uint64_t* slot) {
    Thread* const thread = t_thread;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (is_usual(thread, frame) && frame < thread->on.top->frame &&
        enter_known(thread, row, slot, *slot)) [[likely]] {
        return;
    }
    if (!is_off(thread)) dwell_slowly(enter_slowly, row, slot, 0);
}

DWELL_HIDDEN void dwell_probe_loop_enter(const SiteRow* row, const uint64_t* slot) {
    Thread* const thread = t_thread;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (is_usual(thread, frame) && frame <= thread->on.top->frame &&
        enter_known(thread, row, slot, 0)) [[likely]] {
        return;
    }
    if (!is_off(thread)) dwell_slowly(enter_slowly, row, slot, 0);
}

DWELL_HIDDEN void dwell_probe_leave(const SiteRow* row, const uint64_t* slot, uint64_t iterations) {
    const uint64_t now = read_tsc();
    Thread* const thread = t_thread;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (!is_usual(thread, frame)) [[unlikely]] {
        if (thread != nullptr && !is_off(thread)) dwell_slowly(leave_slowly, row, slot, iterations);
        return;
    }
    ProbeEntry* const top = thread->on.top;
    if (top->row != reinterpret_cast<uint64_t>(row) || top->frame != frame) [[unlikely]] {
        // Entered when the site only counted, was off, or lay too deep: there is no entry.
        if (frame < top->frame || level_of(row) != kLevelFull) return;
        dwell_slowly(leave_slowly, row, slot, iterations);
        return;
    }
    begin_change(thread);
    if (row->kind == SiteKind::kLoop) {
        cell_at<ProbePart>(cell_at<Node>(top->node)->part)->iterations += iterations;
    }
    pop_entry(thread, now, g_process.probe_inner_ticks);
    charge(thread, g_process.probe_cost_ticks);
    end_change(thread);
    if (thread->probe_countdown == 0) [[unlikely]]
        dwell_slowly(control_slowly, row, slot, 0);
}

DWELL_HIDDEN void dwell_probe_landed(const SiteRow* row, const uint64_t* slot) {
    const Thread* const thread = t_thread;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    if (is_usual(thread, frame) && frame <= thread->on.top->frame) return;
    if (thread != nullptr && !is_off(thread)) dwell_slowly(landed_slowly, row, slot, 0);
}

DWELL_HIDDEN void dwell_probe_vforked(const SiteRow*, const uint64_t*, uint64_t result) {
    Thread* const thread = t_thread;
    if (thread == nullptr) return;
    thread->vforked = result == 0;
    thread->probe_ticket = kNoTicket;  // the next probe finds out
}
}

#endif
