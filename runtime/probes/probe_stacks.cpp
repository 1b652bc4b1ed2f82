// The stacks that a thread uses, its own and those of coroutines, and the open entries on each:
// which stack a frame lies on, what changes when the thread switches, and their beginning and end
// (DESIGN 3, the stack of open nodes).
#include <pthread.h>

#include "runtime/calltree/python_frames.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"
#include "runtime/process/time_axis.h"

namespace dwell {

namespace {

constexpr uint32_t kOtherStackEntries = 64;
// An unknown stack is assumed to extend this far around the frames seen on it.
constexpr uint64_t kStackGuess = 16 * 1024;
constexpr uint64_t kLargeFrame = 32 * 1024;

bool make_stack(Thread* thread, ProbeStack* stack, uint32_t entries) {
    constexpr auto kEntryBytes = static_cast<uint32_t>(sizeof(ProbeEntry) + sizeof(MovedEntry));
    const CellIndex cells = take_cells(thread, entries * kEntryBytes / kCellBytes);
    if (cells == 0) return false;
    stack->base = cell_at<ProbeEntry>(cells);
    stack->limit = stack->base + entries - 1;
    stack->top = stack->base;
    stack->depth = &thread->depth_elsewhere;
    *stack->base = {UINT64_MAX, 0, 0, thread->record->root, 0};
    return true;
}

void place_stack(ProbeStack* stack, uint64_t low, uint64_t bytes) {
    stack->low = low;
    stack->bytes = bytes;
    stack->base->frame = low + bytes;
}

void find_own_stack(ProbeStack* stack) {
    pthread_attr_t attributes;
    place_stack(stack, 0, UINT64_MAX);
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    void* low = nullptr;
    size_t bytes = 0;
    if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
        place_stack(stack, reinterpret_cast<uint64_t>(low), bytes);
    }
    pthread_attr_destroy(&attributes);
}

// Index of the known stack that contains `frame`, or -1.
int known_stack(const Thread* thread, uint64_t frame) {
    for (int i = 0; i < kProbeStacks && thread->stacks[i].base != nullptr; ++i) {
        if (lies_on(thread->stacks[i], frame)) return i;
    }
    return -1;
}

// Likewise, or a new stack; -1 when there are too many.
int stack_of(Thread* thread, uint64_t frame) {
    const int known = known_stack(thread, frame);
    if (known >= 0) return known;
    for (int i = 1; i < kProbeStacks; ++i) {
        ProbeStack& stack = thread->stacks[i];
        // A stack without open entries is reused.
        if (stack.base != nullptr && stack.top != stack.base) continue;
        if (stack.base == nullptr && !make_stack(thread, &stack, kOtherStackEntries)) return -1;
        place_stack(&stack, frame - kStackGuess, 2 * kStackGuess);
        return i;
    }
    return -1;
}

// True when the current stack was resumed from stack `number`, directly or through others.
bool is_around(const Thread* thread, uint32_t number) {
    uint32_t at = thread->on_number;
    for (int i = 0; at != 0 && i < kProbeStacks; ++i) {
        at = at == thread->on_number ? thread->on.around : thread->stacks[at].around;
        if (at == number) return true;
    }
    return false;
}

// Stops the time of entries on other stacks, and continues it on the current one. The time of the
// thread's own stack always runs, and so does that of stacks that resumed this one, for nodes
// around the one that is open now.
void stop_other_stacks(Thread* thread, uint64_t now) {
    const uint64_t now_virtual = virtual_ticks(thread, now);
    for (uint32_t i = 1; i < kProbeStacks && thread->stacks[i].base != nullptr; ++i) {
        const bool here = i == thread->on_number;
        const bool around = is_around(thread, i);
        const ProbeStack& stack = here ? thread->on : thread->stacks[i];
        for (ProbeEntry* entry = stack.base + 1; entry <= stack.top; ++entry) {
            const bool away = (entry->flags & kEntryAway) != 0;
            if (here || (around && is_on_path(entry->node, thread->on.top->node))) {
                if (!away) continue;
                entry->flags &= ~uint32_t{kEntryAway};
                if ((entry->flags & kEntryStopped) != 0) continue;
                entry->flags &= kEntryEndsSlowly;
            } else {
                if (away) continue;
                if ((entry->flags & kEntryStopped) != 0) entry->flags |= kEntryAway;
                if ((entry->flags & ~kEntryEndsSlowly) != 0) continue;
                entry->flags |= kEntryUntimed | kEntryAway;
            }
            entry->entry_virtual = now_virtual - entry->entry_virtual;
        }
    }
}

bool make_own_stack(Thread* thread) {
    ProbeStack* own = &thread->stacks[0];
    if (own->base != nullptr) return true;
    if (!make_stack(thread, own, kProbeStackEntries)) return false;
    own->depth = &thread->record->probe_depth;
    find_own_stack(own);
    thread->record->probe_stack = index_of(own->base);
    thread->record->probe_stack_entries = kProbeStackEntries;
    thread->on = *own;
    thread->on_number = 0;
    return true;
}

// The stack below whose top node a new stack at `frame` belongs: the thread's own, and not another
// coroutine's, which continues independently. A frame not far below known ones is taken for a large
// frame of the current stack.
uint32_t stack_around(const Thread* thread, uint64_t frame) {
    const ProbeStack& before = thread->on;
    const bool same = frame < before.low && before.low - frame < kLargeFrame;
    return same ? thread->on_number : 0;
}

// The node around the current stack was closed, but another procedure resumed the stack: moves its
// open entries there.
void hang_elsewhere(Thread* thread, uint32_t number, CellIndex around, uint64_t now) {
    ProbeEntry* const base = thread->on.base;
    const CellIndex old = base->node;
    if (old == thread->record->root || cell_at<Node>(old)->site.open != 0) return;
    ProbeEntry* const end = thread->on.top + 1;
    while (thread->on.top != base) suspend_entry(thread, now);
    base->node = around;
    thread->on.around = number;
    for (ProbeEntry* at = base + 1; at != end; ++at) resume_entry(thread, at, now);
}

// Calls work() for each of the thread's stacks as `on`, then restores the current one.
template <typename Work>
void for_each_stack(Thread* thread, Work work) {
    if (thread->stacks[0].base == nullptr) return;
    thread->stacks[thread->on_number] = thread->on;
    for (ProbeStack& stack : thread->stacks) {
        if (stack.base == nullptr) continue;
        thread->on = stack;
        work();
        stack = thread->on;
    }
    thread->on = thread->stacks[thread->on_number];
}

}  // namespace

bool change_stack(Thread* thread, uint64_t frame, uint64_t now) {
    if (!make_own_stack(thread)) return false;
    if (lies_on(thread->on, frame)) return true;
    thread->stacks[thread->on_number] = thread->on;
    const uint32_t from = stack_around(thread, frame);
    const CellIndex around = thread->stacks[from].top->node;
    const int number = stack_of(thread, frame);
    if (number < 0) return false;
    thread->on = thread->stacks[number];
    thread->on_number = static_cast<uint32_t>(number);
    if (number != 0 && thread->on.top == thread->on.base) {
        thread->on.base->node = around;
        thread->on.around = from;
    }
    stop_other_stacks(thread, now);
    if (number != 0) hang_elsewhere(thread, from, around, now);
    return true;
}

CellIndex open_node(Thread* thread, uint64_t frame) {
    if (thread->stacks[0].base == nullptr) {
        const CellIndex around = thread->on.top->node;
        return has_python() && thread->user_depth == 0 ? python_probe_frame(thread, around)
                                                       : around;
    }
    if (known_stack(thread, frame) < 0) return thread->on.top->node;
    SlowProbe work(thread);
    // The slot holds the caller's own return address: a procedure that used it before is gone.
    if (change_stack(thread, frame, work.start())) drop_gone(thread, frame + 1, work.start());
    return thread->on.top->node;
}

void start_probes(Thread* thread) {
    for (ProbeStack& stack : thread->stacks) stack.top = stack.base;
    thread->no_probes = {UINT64_MAX, 0, 0, thread->record->root, 0};
    // A full stack around every frame, so that the first probe takes the slow path.
    ProbeEntry* none = &thread->no_probes;
    thread->on = {none, none, none, 0, UINT64_MAX, &thread->depth_elsewhere, 0};
    thread->on_number = 0;
    if (thread->stacks[0].base != nullptr) {
        find_own_stack(&thread->stacks[0]);
        thread->on = thread->stacks[0];
    }
    thread->record->probe_depth = thread->depth_elsewhere = 0;
    start_control(thread);
    thread->probe_ticket = kNoTicket;
    thread->vforked = false;
}

void end_probes(Thread* thread, uint64_t now, bool abandoned) {
    for_each_stack(thread, [=] {
        // The thread was at work until now, whether it has a span of its own or not.
        if (thread->on.top != thread->on.base) compute_until(thread, axis_ticks(thread, now));
        while (thread->on.top != thread->on.base) close_entry(thread, now, abandoned);
    });
    thread->record->intrusion_ticks += thread->slow_overhead;
    thread->record->own_ticks += thread->slow_overhead;
    thread->slow_overhead = 0;
}

void reset_probes(Thread* thread, uint64_t now) {
    const uint64_t begin = virtual_ticks(thread, now);
    for_each_stack(thread, [=] {
        for (ProbeEntry* entry = thread->on.base + 1; entry <= thread->on.top; ++entry) {
            const bool stopped = (entry->flags & (kEntryStopped | kEntryAway)) != 0;
            entry->entry_virtual = stopped ? 0 : begin;
            if ((entry->row & kRowWithoutNode) != 0) continue;
            counting_node(thread->on, entry)->count += 1;
            if ((entry->row & kRowMoved) != 0) moved_entry(thread->on, entry)->ticks = 0;
        }
    });
}

}  // namespace dwell
