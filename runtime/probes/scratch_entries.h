// A scratch stack of open entries with two nodes that nothing refers to, on which the cost of
// probes, blocks and OpenMP events is measured.
#ifndef DWELL_RUNTIME_PROBES_SCRATCH_ENTRIES_H_
#define DWELL_RUNTIME_PROBES_SCRATCH_ENTRIES_H_

#include "runtime/process/state.h"

namespace dwell {

// Scratch entries for `thread`, which is a scratch thread.
class ScratchEntries {
  public:
    explicit ScratchEntries(Thread* thread) : first_(take_cells(thread, 4)) {
        if (first_ == 0) return;
        node()->part = first_ + 1;
        other()->part = first_ + 3;
        entries_[0] = {UINT64_MAX, 0, 0, thread->record->root, 0};
        thread->on = {entries_, entries_, entries_ + 3, 0, UINT64_MAX, &thread->depth_elsewhere, 0};
        thread->probe_ticket = g_live->ticket;
        thread->probe_countdown = thread->count_countdown = UINT32_MAX;
    }
    bool are_there() const { return first_ != 0; }
    CellIndex index() const { return first_; }
    Node* node() const { return cell_at<Node>(first_); }
    Node* other() const { return cell_at<Node>(first_ + 2); }

  private:
    CellIndex first_;
    ProbeEntry entries_[4] = {};
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_SCRATCH_ENTRIES_H_
