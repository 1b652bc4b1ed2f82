// Measures the adapter's cost for each OpenMP event, before the first one (DESIGN 4, local rule).
// The cost of threads that did not fork a region, at its beginning and end, is not measured: no
// other thread waits for it, and it is small beside waking a thread.
#include "runtime/openmp/omp_calibration.h"

#include "runtime/calls/scratch_thread.h"
#include "runtime/probes/scratch_entries.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

void calibrate_omp(Thread* thread, Node* node, Node* other) {
    OmpCosts& costs = g_process.omp;
    costs = OmpCosts{};
    constexpr OmpConstruct kOne = OmpConstruct::kCritical;
    for (const OmpConstruct construct : {kOne, OmpConstruct::kParallel, OmpConstruct::kDynamicLoop,
                                         OmpConstruct::kTask, OmpConstruct::kLock}) {
        know_calibrated(thread, omp_row(construct, kCalibrated), node);
    }
    const auto ticks = [=](auto step) { return least_ticks(thread, node, step); };
    const StepTicks pair = ticks([] {
        omp_begin(kOne, kCalibrated);
        omp_end(kOne);
    });
    costs.pair = pair.all;
    costs.inner = pair.inner;
    const uint64_t got = ticks([] {
                             omp_begin(kOne, kCalibrated);
                             omp_acquired(kOne, true);
                             omp_end(kOne);
                         }).all;
    const uint64_t wanted = ticks([] { omp_lock_requested(OmpConstruct::kLock, kCalibrated); }).all;
    const StepTicks lock = ticks([] {
        omp_lock_requested(OmpConstruct::kLock, kCalibrated);
        omp_lock_acquired(OmpConstruct::kLock);
    });
    omp_loop_begin(OmpConstruct::kDynamicLoop, kCalibrated, 0);
    const uint64_t chunk = ticks([] { omp_chunk(1); }).all;
    omp_end(OmpConstruct::kDynamicLoop);
    const uint64_t created = ticks([] { omp_task_created(kCalibrated); }).all;
    const StepTicks task = ticks([] {
        uint64_t none = 0;
        uint64_t mark = omp_task_created(kCalibrated);
        omp_task_switch(&none, false, &mark);
        omp_task_switch(&mark, true, &none);
    });
    // The last barrier lies inside the region.
    const uint64_t row = omp_row(OmpConstruct::kImplicitBarrier, kCalibrated);
    const CellIndex region = index_of(node);
    thread->known_children[known_child_slot(row, 0, region)] = {
        row, 0, region, index_of(other), 0, EnterKind::kChild};
    const StepTicks forked = ticks([] {
        OmpTeam* const team = omp_fork(kCalibrated, nullptr);
        omp_implicit_begin(team, 0, 1);
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, kCalibrated, true);
        omp_barrier_end();
        omp_implicit_end();
        omp_join(team);
    });
    costs.acquired = beyond(got, pair.all);
    costs.lock_requested = wanted;
    costs.lock = beyond(lock.all, wanted);
    costs.lock_inner = lock.inner;
    costs.chunk = chunk;
    costs.created = created;
    costs.task_inner = task.inner;
    costs.task = beyond(task.all, pair.all + created + task.inner);
    costs.region_inner = forked.inner;
    costs.region = beyond(forked.all, 2 * pair.all + forked.inner);
    g_process.gomp_more = OmpCosts{};
    if (calibrate_gomp_loops != nullptr) calibrate_gomp_loops(thread, node);
    if (calibrate_gomp_tasks != nullptr) calibrate_gomp_tasks(thread, node);
}

void calibrate_openmp() {
#if defined(__x86_64__)
    const ReentryGuard busy;
    const ScratchThread scratch(DWELL_FRAME());
    if (!scratch.are_there()) return;
    const ScratchEntries entries(t_thread);
    if (entries.are_there()) calibrate_omp(t_thread, entries.node(), entries.other());
    g_process.header->omp_inner_ticks = g_process.omp.inner;
#endif
}

void begin_omp_calibration() {
    static std::atomic<bool> begun{false};
    if (begun.exchange(true)) return;
    g_omp_uncalibrated.store(true);
    Thread* const thread = t_thread;
    if (thread == nullptr || live_ticket() == 0) return;
    const uint64_t before = now_ticks();
    calibrate_omp_now(thread);
    thread->slow_overhead += now_ticks() - before;
}

void calibrate_omp_now(Thread* thread) {
    if (live_ticket() == 0 || !g_omp_uncalibrated.exchange(false)) return;
    const OwnSamples samples(thread);
    const OwnCounts counts(thread);
    calibrate_openmp();
}

}  // namespace dwell
