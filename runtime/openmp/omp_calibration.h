// Shared parts of the calibration of OpenMP, on scratch records.
#ifndef DWELL_RUNTIME_OPENMP_OMP_CALIBRATION_H_
#define DWELL_RUNTIME_OPENMP_OMP_CALIBRATION_H_

#include "runtime/openmp/omp_entries.h"
#include "runtime/process/calibration.h"

namespace dwell {

constexpr uint64_t kCalibrated = 1;  // address of all calibrated constructs

// Caches the child `node` of the thread's root for `row`.
inline void know_calibrated(Thread* thread, uint64_t row, const Node* node) {
    const CellIndex root = thread->record->root;
    thread->known_children[known_child_slot(row, 0, root)] = {
        row, 0, root, index_of(node), 0, EnterKind::kChild};
}

// Measures g_process.omp and gomp_more on the calling thread, a scratch thread; `node` and `other`
// have their second line.
void calibrate_omp(Thread* thread, Node* node, Node* other);
// Likewise on a scratch thread in place of the calling one.
void calibrate_openmp();

// Called once, when OpenMP is observed: calibrates its events, which takes some milliseconds that
// other programs are spared; now, or at the first events where the calling thread has no records or
// the process is paused. Slow work of the thread.
void begin_omp_calibration();
// Whether the calibration is pending, and the calibration where recording is on.
inline std::atomic<bool> g_omp_uncalibrated{false};
void calibrate_omp_now(Thread* thread);

// Measure gomp_more, for events reported by functions in libgomp's place, where these are built in
// (gomp.h).
__attribute__((weak)) void calibrate_gomp_loops(Thread* thread, Node* node);
__attribute__((weak)) void calibrate_gomp_tasks(Thread* thread, Node* node);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_CALIBRATION_H_
