// Repairs a thread's state after a jump out of a signal handler that interrupted dwell (probes.h).
// The interrupted change is half done, so everything derived from open entries is computed again.
#include <signal.h>
#include <string.h>

#include "runtime/probes/probes.h"

namespace dwell {

namespace {

// Whether the handler was left: everything it calls lies below the interrupted code on the same
// stack, or on the alternate stack, unless it changes to another context.
bool was_left(const Thread* thread, uint64_t frame) {
    const uint64_t from = thread->in_tool.where(frame);
    if (frame <= from) return false;
    stack_t alternate;
    if (sigaltstack(nullptr, &alternate) != 0 || (alternate.ss_flags & SS_ONSTACK) != 0)
        return false;
    if (thread->stacks[0].base == nullptr) return true;
    for (const ProbeStack& stack : thread->stacks) {
        if (stack.base != nullptr && lies_on(stack, frame)) return lies_on(stack, from);
    }
    return false;
}

void close_all(CellIndex index) {
    for (CellIndex at = index; at != 0; at = cell_at<Node>(at)->next_sibling) {
        Node* const node = cell_at<Node>(at);
        const SiteKind kind = node->site.kind;
        if (kind != SiteKind::kCommunication && kind != SiteKind::kIo) node->site.open = 0;
        close_all(node->first_child);
    }
}

bool is_same_stack(const ProbeStack& a, const ProbeStack& b) {
    return a.base == b.base && a.limit == b.limit && a.low == b.low && a.bytes == b.bytes &&
           a.depth == b.depth;
}

// Restores the stacks as they were before an unfinished change.
void restore_stacks(Thread* thread) {
    ProbeStack& own = thread->stacks[0];
    if (own.base == nullptr) return;
    if (thread->record->probe_stack != index_of(own.base)) {  // unfinished
        own.base = nullptr;
        return;
    }
    if (!is_same_stack(thread->on, thread->stacks[thread->on_number]))
        thread->on = thread->stacks[thread->on_number];
    thread->stacks[thread->on_number].top = thread->on.top;
}

void count_open_entries(Thread* thread) {
    close_all(thread->record->root);
    thread->record->probe_depth = thread->depth_elsewhere = 0;
    for (const ProbeStack& stack : thread->stacks) {
        if (stack.base == nullptr) continue;
        for (const ProbeEntry* entry = stack.base + 1; entry <= stack.top; ++entry) {
            *stack.depth += 1;
            if ((entry->row & kRowWithoutNode) == 0) cell_at<Node>(entry->node)->site.open += 1;
        }
    }
}

}  // namespace

DWELL_COLD bool recover_after_jump(Thread* thread, uint64_t frame) {
    if (t_in_guard != 0 || !was_left(thread, frame)) return false;
    restore_stacks(thread);
    // The innermost entry may have been incomplete.
    if (thread->on.top != thread->on.base && thread->on.top->node == 0) {
        thread->on.top->node = thread->record->root;
        thread->on.top->row = kRowWithoutNode;
    }
    count_open_entries(thread);
    memset(static_cast<void*>(thread->known_children), 0, sizeof(thread->known_children));
    thread->record->probes_missed += 1;
    thread->in_tool.end();
    return true;
}

}  // namespace dwell
