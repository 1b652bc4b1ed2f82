// Waiting for OpenMP locks.
//
// libomp 14 reports a try like any other lock request, and nothing when it fails. So a requested
// lock is no entry on the stack of open nodes; nothing else of the thread can happen inside the
// waiting. Its address and time are kept until the lock is acquired.
#include "runtime/openmp/omp_entries.h"

namespace dwell {

void omp_lock_requested(OmpConstruct construct, uint64_t address) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return;
    OmpThread& omp = step.thread->omp;
    omp.requested_row = step.records ? omp_row(construct, address) : 0;
    lose(step, g_process.omp.lock_requested);
    stamp(&step);
    omp.requested_since = now_virtual(step);
    step.thread->record->wanted.since_ticks = step.now;
    end_step(&step);
}

void omp_lock_acquired(OmpConstruct construct) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return;
    Thread* const thread = step.thread;
    OmpThread& omp = thread->omp;
    const uint64_t end = now_virtual(step);
    const uint64_t row = omp.requested_row;
    const bool wanted = row != 0 && is_row_of(row, construct);
    omp.requested_row = 0;
    const CellIndex index = wanted ? omp_node(&step, thread->on.top->node, row) : 0;
    if (index != 0) {
        Node* const node = cell_at<Node>(index);
        const uint64_t ticks = beyond(end, omp.requested_since + g_process.omp.lock_inner);
        node->count += 1;
        add_time(node, ticks);
        // The time of constructs is shorter than the time between their events by this.
        note_node(thread, index, EventKind::kEnter, end - ticks - g_process.omp.inner);
        note_node(thread, index, EventKind::kLeave, end);
        add_omp_wait(thread, index, ticks, end);
        thread->record->probes += 1;
        lose(step, g_process.omp.lock);
    }
    end_step(&step);
}

}  // namespace dwell
