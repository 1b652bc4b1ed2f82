#include "runtime/probes.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "runtime/callpath.h"
#include "runtime/modules.h"
#include "runtime/probe_control.h"
#include "runtime/records.h"

uint32_t dwell_vector_mask = 0;
uint32_t dwell_vector_bytes = 0;

namespace dwell {

namespace {

constexpr uint32_t kOtherStackEntries = 64;
// A stack that no one told us about is taken to reach this far around the frames seen on it.
constexpr uint64_t kStackGuess = 16 * 1024;

bool make_stack(Thread* thread, ProbeStack* stack, uint32_t entries) {
    const CellIndex cells =
        take_cells(thread, entries * static_cast<uint32_t>(sizeof(ProbeEntry)) / kCellBytes);
    if (cells == 0) return false;
    stack->base = cell_at<ProbeEntry>(cells);
    stack->limit = stack->base + entries - 1;
    stack->top = stack->base;
    *stack->base = {kNoFrame, 0, 0, thread->record->root, 0};
    return true;
}

void find_own_stack(ProbeStack* stack) {
    pthread_attr_t attributes;
    stack->low = 0;
    stack->bytes = UINT64_MAX;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* low = nullptr;
    size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        stack->low = reinterpret_cast<uint64_t>(low);
        stack->bytes = bytes;
    }
    pthread_attr_destroy(&attributes);
}

bool lies_on(const ProbeStack& stack, uint64_t frame) { return frame - stack.low < stack.bytes; }

// The number of the stack that `frame` lies on, known or new; -1 when there are too many.
int stack_of(Thread* thread, uint64_t frame) {
    for (int i = 0; i < kProbeStacks && thread->stacks[i].base != nullptr; ++i) {
        if (lies_on(thread->stacks[i], frame)) return i;
    }
    for (int i = 1; i < kProbeStacks; ++i) {
        ProbeStack& stack = thread->stacks[i];
        // One on which nothing is open any more serves the next.
        if (stack.base != nullptr && stack.top != stack.base) continue;
        if (stack.base == nullptr && !make_stack(thread, &stack, kOtherStackEntries)) return -1;
        stack.low = frame - kStackGuess;
        stack.bytes = 2 * kStackGuess;
        return i;
    }
    return -1;
}

// Makes `frame`'s stack the one that the thread is on. What runs on another stack hangs under the
// node that was open where it was first resumed.
bool change_stack(Thread* thread, uint64_t frame) {
    if (thread->stacks[0].base == nullptr) {
        if (!make_stack(thread, &thread->stacks[0], kProbeStackEntries)) return false;
        find_own_stack(&thread->stacks[0]);
        thread->record->probe_stack = index_of(thread->stacks[0].base);
        thread->record->probe_stack_entries = kProbeStackEntries;
        thread->on = thread->stacks[0];
        thread->on_number = 0;
        if (lies_on(thread->on, frame)) return true;
    }
    const CellIndex open = thread->on.top->node;
    thread->stacks[thread->on_number] = thread->on;
    const int number = stack_of(thread, frame);
    if (number < 0) return false;
    thread->on = thread->stacks[number];
    thread->on_number = static_cast<uint32_t>(number);
    if (number != 0 && thread->on.top == thread->on.base) thread->on.base->node = open;
    thread->record->stack_switches += 1;
    return true;
}

// Ends the innermost entry. An abandoned one was left without a probe; its time ends when that is
// noticed.
void close_entry(Thread* thread, uint64_t now, bool abandoned) {
    const ProbeEntry& entry = *thread->on.top;
    if ((entry.row & kRowUnbooked) != 0) {
        thread->on.top -= 1;
        thread->record->probe_depth -= 1;
        return;
    }
    Node* node = cell_at<Node>(entry.node);
    const bool called = (entry.row & (kRowBlock | kRowCode)) != 0;
    pop_entry(thread, now, called ? g_process.block_inner_ticks : g_process.probe_inner_ticks);
    if (abandoned && ensure_part(thread, node)) cell_at<ProbePart>(node->part)->abandoned += 1;
}

// Takes the innermost entry away, to be opened elsewhere: its node keeps the time so far.
void suspend_entry(Thread* thread, uint64_t now) {
    const ProbeEntry& entry = *thread->on.top;
    Node* node = cell_at<Node>(entry.node);
    if ((entry.row & kRowUnbooked) == 0) {
        node->count -= 1;
        node->site.open -= 1;
        thread->record->probes -= 1;
        if ((entry.flags & kEntryUntimed) == 0) {
            const uint64_t end = virtual_ticks(thread, now);
            if (end > entry.entry_virtual) node->ticks += end - entry.entry_virtual;
        }
    }
    thread->on.top -= 1;
    thread->record->probe_depth -= 1;
}

Site closed_site(CellIndex index) {
    Site site = cell_at<Node>(index)->site;
    site.open = 0;
    return site;
}

// Opens what was suspended below the entry that is the innermost now.
void resume_entry(Thread* thread, const ProbeEntry& entry, uint64_t now) {
    const CellIndex above = thread->on.top->node;
    CellIndex index = 0;
    if ((entry.row & kRowUnbooked) == 0) {
        const Site site = closed_site(entry.node);
        const Site call = closed_site(cell_at<Node>(entry.node)->parent);
        index = find_node(thread, above, site, &call);
        if (index != 0 && !ensure_part(thread, cell_at<Node>(index))) index = 0;
    }
    const bool block = (entry.row & kRowBlock) != 0;
    const uint64_t frame = block ? thread->on.top->frame : entry.frame;
    if (index == 0) {
        push_unbooked(thread, entry.row, frame);
        return;
    }
    push_entry(thread, index, entry.row, frame)->entry_virtual = virtual_ticks(thread, now);
}

// True when `inner` is `outer` or lies in it, by the static table.
bool encloses(const SiteRow* outer, const SiteRow* inner) {
    for (;;) {
        if (inner == outer) return true;
        if (inner->enclosing >= 0) return false;
        inner += inner->enclosing;
    }
}

// Loops of the same frame that do not enclose `row` were left by an exception that this procedure
// caught, or by a jump out of them; so was an earlier round of `row` itself.
void drop_left_loops(Thread* thread, const SiteRow* row, uint64_t frame, uint64_t now) {
    while (thread->on.top->frame == frame) {
        if ((thread->on.top->row & (kRowBlock | kRowCode)) != 0) return;  // loops in them
        const auto* top = reinterpret_cast<const SiteRow*>(thread->on.top->row);
        if (top != row && encloses(top, row)) return;
        close_entry(thread, now, true);
    }
}

Site site_of_row(Thread* thread, const SiteRow* row) {
    const auto address = reinterpret_cast<uintptr_t>(row);
    const ModulePlace place = place_of_address(thread, address);
    Site site{};
    site.module = place.module;
    site.offset = place.offset;
    site.kind = row->kind;
    if (place.module == 0) site.flags = kNodeForeign;
    return site;
}

bool same_site(const Site& a, const Site& b) {
    return a.offset == b.offset && a.module == b.module && a.kind == b.kind;
}

bool is_lasting(const Node* node) {
    return node->site.open != 0 || node->site.kind == SiteKind::kLoop;
}

}  // namespace

Thread* probing_thread() {
    Thread* thread = t_thread;
    if (thread == nullptr) thread = attach_for_probe();
    if (thread == nullptr || g_live->on == 0) return nullptr;
    if (thread->in_dwell || thread->open != nullptr || thread->vforked) {
        thread->record->probes_missed += 1;
        return nullptr;
    }
    return thread;
}

Thread* recording_thread() {
    Thread* thread = probing_thread();
    return g_live->ticket != 0 ? thread : nullptr;
}

bool reach_stack(Thread* thread, uint64_t frame) {
    return lies_on(thread->on, frame) || change_stack(thread, frame);
}

bool ensure_part(Thread* thread, Node* node) {
    if (node->part != 0) return true;
    node->part = take_cells(thread, 1);
    return node->part != 0;
}

void drop_gone(Thread* thread, uint64_t frame, uint64_t now) {
    while (thread->on.top->frame < frame) close_entry(thread, now, true);
}

// A procedure or block that is on the path already stands for itself (DESIGN 3), and so does
// everything when the record file is nearly full.
CellIndex find_node(Thread* thread, CellIndex parent, const Site& site, const Site* call) {
    if (should_fold()) {
        const CellIndex flat = child_of(thread, thread->record->root, site);
        if (flat != 0) cell_at<Node>(flat)->site.flags |= kNodeFolded;
        return flat;
    }
    if (site.kind != SiteKind::kLoop) {
        for (CellIndex at = parent; at != 0; at = cell_at<Node>(at)->parent) {
            if (same_site(cell_at<Node>(at)->site, site)) return at;
        }
    }
    if (site.kind == SiteKind::kProcedure) {
        parent = child_of(thread, parent, *call);
        if (parent == 0) return 0;
    }
    return child_of(thread, parent, site);
}

void close_with(Thread* thread, ProbeEntry* own, uint64_t now, bool blocks_only) {
    ProbeEntry* const end = thread->on.top + 1;
    while (thread->on.top != own) {
        ProbeEntry* const entry = thread->on.top;
        if (blocks_only && (entry->row & kRowBlock) == 0) {
            close_entry(thread, now, true);
            entry->row = 0;
        } else {
            suspend_entry(thread, now);
        }
    }
    close_entry(thread, now, false);
    for (const ProbeEntry* entry = own + 1; entry != end; ++entry) {
        if (entry->row != 0) resume_entry(thread, *entry, now);
    }
}

void find_vector_registers() {
#if defined(__x86_64__)
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    constexpr unsigned kOsXsave = 1u << 27;  // CPUID 1, ECX: the system uses xsave
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kOsXsave) == 0) return;
    unsigned enabled = 0;
    unsigned high = 0;
    asm("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    constexpr unsigned kVectors = 0xe7;  // x87, SSE, AVX and the three parts of AVX-512
    unsigned bytes = 512 + 64;           // legacy area and header (Intel SDM 1, 13.4)
    for (unsigned part = 2; part < 8; ++part) {
        if ((enabled & kVectors & (1u << part)) == 0) continue;
        if (__get_cpuid_count(0xd, part, &a, &b, &c, &d) == 0) return;
        if (a + b > bytes) bytes = a + b;
    }
    dwell_vector_mask = enabled & kVectors;
    dwell_vector_bytes = bytes;
#endif
}

bool notice_probes(Thread* thread) {
    if (thread->epoch != g_live->epoch) take_notice(thread);
    // Without a time stamp counter every probe comes the slow way.
    const uint64_t ticket = g_live->ticket;
    thread->probe_ticket = g_process.use_tsc && ticket != 0 ? ticket : kNoTicket;
    memset(static_cast<void*>(thread->known_children), 0, sizeof(thread->known_children));
    return g_live->ticket != 0;
}

void enter_slowly(const SiteRow* row, const uint64_t* slot, uint64_t) {
    Thread* thread = recording_thread();
    if (thread == nullptr) return;
    const auto frame = reinterpret_cast<uint64_t>(slot);
    const bool procedure = row->kind == SiteKind::kProcedure;
    {
        SlowProbe work(thread);
        if (thread->probe_ticket != g_live->ticket && !notice_probes(thread)) return;
        if (!reach_stack(thread, frame)) {
            thread->record->probes_dropped += 1;
            return;
        }
        drop_gone(thread, procedure ? frame + 1 : frame, work.start());
        if (!procedure) drop_left_loops(thread, row, frame, work.start());
        const CellIndex parent = thread->on.top->node;
        const uint64_t return_address = procedure ? *slot : 0;
        const bool counted = level_of(row) == kLevelCount;
        Site call{};
        if (procedure) call = site_of_call(thread, return_address);
        const CellIndex index = find_node(thread, parent, site_of_row(thread, row), &call);
        Node* node = index != 0 ? cell_at<Node>(index) : nullptr;
        if (node == nullptr || thread->on.top == thread->on.limit ||
            ((counted || is_lasting(node)) && !ensure_part(thread, node))) {
            thread->record->probes_dropped += 1;
            return;
        }
        const auto key = reinterpret_cast<uint64_t>(row);
        thread->known_children[known_child_slot(key, return_address, parent)] = {
            key, return_address, parent, index, 0, counted};
        if (counted) {
            node->count += 1;
            cell_at<ProbePart>(node->part)->counted += 1;
            return;
        }
        push_entry(thread, index, key, frame);
    }
    thread->on.top->entry_virtual = virtual_ticks(thread, now_ticks());
}

void leave_slowly(const SiteRow* row, const uint64_t* slot, uint64_t iterations) {
    Thread* thread = t_thread;
    if (thread == nullptr || thread->stacks[0].base == nullptr || thread->in_dwell ||
        thread->open != nullptr || thread->vforked || g_live->ticket == 0) {
        return;
    }
    const auto frame = reinterpret_cast<uint64_t>(slot);
    SlowProbe work(thread);
    if (thread->probe_ticket != g_live->ticket && !notice_probes(thread)) return;
    if (!reach_stack(thread, frame)) return;
    drop_gone(thread, frame, work.start());
    const auto key = reinterpret_cast<uint64_t>(row);
    ProbeEntry* own = thread->on.top;
    while (own->frame == frame && own->row != key) --own;
    if (own->frame != frame) return;  // it was off when it was entered
    Node* node = cell_at<Node>(own->node);
    if (row->kind == SiteKind::kLoop && node->part != 0) {
        cell_at<ProbePart>(node->part)->iterations += iterations;
    }
    close_with(thread, own, work.start(), true);
}

void landed_slowly(const SiteRow*, const uint64_t* slot, uint64_t) {
    Thread* thread = t_thread;
    if (thread == nullptr || thread->stacks[0].base == nullptr || thread->in_dwell ||
        thread->open != nullptr || thread->vforked || g_live->ticket == 0) {
        return;
    }
    const auto frame = reinterpret_cast<uint64_t>(slot);
    SlowProbe work(thread);
    if (thread->probe_ticket != g_live->ticket && !notice_probes(thread)) return;
    if (!reach_stack(thread, frame)) return;
    drop_gone(thread, frame, work.start());
}

CellIndex open_node(Thread* thread, uint64_t frame) {
    if (thread->on.top->frame < frame && lies_on(thread->on, frame)) {
        drop_gone(thread, frame, now_ticks());
    }
    return thread->on.top->node;
}

void start_probes(Thread* thread) {
    for (ProbeStack& stack : thread->stacks) stack.top = stack.base;
    thread->no_probes = {kNoFrame, 0, 0, thread->record->root, 0};
    // Empty and of no extent, so that the first probe comes the slow way.
    thread->on = {&thread->no_probes, &thread->no_probes, &thread->no_probes, 0, 0};
    thread->on_number = 0;
    if (thread->stacks[0].base != nullptr) {
        find_own_stack(&thread->stacks[0]);
        thread->on = thread->stacks[0];
    }
    thread->record->probe_depth = 0;
    start_control(thread);
    thread->vforked = false;
}

void end_probes(Thread* thread, uint64_t now) {
    if (thread->stacks[0].base == nullptr) return;
    thread->stacks[thread->on_number] = thread->on;
    for (const ProbeStack& stack : thread->stacks) {
        if (stack.base == nullptr) continue;
        thread->on = stack;
        while (thread->on.top != thread->on.base) close_entry(thread, now, true);
    }
    thread->record->intrusion_ticks += thread->slow_ticks;
    thread->slow_ticks = 0;
}

void reset_probes(Thread* thread, uint64_t now) {
    if (thread->stacks[0].base == nullptr) return;
    thread->stacks[thread->on_number] = thread->on;
    const uint64_t begin = virtual_ticks(thread, now);
    for (const ProbeStack& stack : thread->stacks) {
        if (stack.base == nullptr) continue;
        for (ProbeEntry* entry = stack.base + 1; entry <= stack.top; ++entry) {
            entry->entry_virtual = begin;
            if ((entry->flags & kEntryUntimed) == 0) cell_at<Node>(entry->node)->count = 1;
        }
    }
}

}  // namespace dwell
