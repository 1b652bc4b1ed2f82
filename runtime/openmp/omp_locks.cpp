// Locks of OpenMP: the waiting for them. See omp_adapter.h.
//
// libomp 14 tells of a try as of any other lock that is wanted, and of one that fails nothing more.
// So a lock is no entry on the stack of open nodes while it is waited for, in which nothing else of
// the thread's can lie: where and since when it was wanted is remembered until it is got.
#include "runtime/openmp/omp_entries.h"

namespace dwell {

void omp_lock_wanted(OmpConstruct construct, uint64_t address) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true, false)) return;
    OmpThread& omp = step.thread->omp;
    omp.wanted_row = step.records ? omp_row(construct, address) : 0;
    lose(step, g_process.omp.lock_wanted);
    stamp(&step);
    omp.wanted_since = now_virtual(step);
    end_step(&step);
}

void omp_lock_got(OmpConstruct construct) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), false)) return;
    Thread* const thread = step.thread;
    OmpThread& omp = thread->omp;
    const uint64_t end = now_virtual(step);
    const uint64_t row = omp.wanted_row;
    const bool wanted = row != 0 && is_row_of(row, construct);
    omp.wanted_row = 0;
    const CellIndex index = wanted ? omp_node(&step, thread->on.top->node, row) : 0;
    if (index != 0) {
        Node* const node = cell_at<Node>(index);
        const uint64_t ticks = beyond(end, omp.wanted_since + g_process.omp.lock_inner);
        node->count += 1;
        node->ticks += ticks;
        node->min_ticks = earlier(node->min_ticks, ticks);
        node->max_ticks = later(node->max_ticks, ticks);
        add_omp_wait(thread, index, ticks);
        thread->record->probes += 1;
        lose(step, g_process.omp.lock);
    }
    end_step(&step);
}

}  // namespace dwell
