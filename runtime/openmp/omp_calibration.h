// What the parts of the calibration of OpenMP share, and what they work on: records of no one.
#ifndef DWELL_RUNTIME_OPENMP_OMP_CALIBRATION_H_
#define DWELL_RUNTIME_OPENMP_OMP_CALIBRATION_H_

#include "runtime/openmp/omp_entries.h"
#include "runtime/process/calibration.h"

namespace dwell {

constexpr uint64_t kCalibrated = 1;  // the address of all constructs

// `row` leads from the thread's root to `node`.
inline void know_calibrated(Thread* thread, uint64_t row, const Node* node) {
    const CellIndex root = thread->record->root;
    thread->known_children[known_child_slot(row, 0, root)] = {
        row, 0, root, index_of(node), 0, EnterKind::kChild};
}

// Measures g_process.omp and gomp_more, on the calling thread, which has records of no one: `node`
// and `other` have their second line.
void calibrate_omp(Thread* thread, Node* node, Node* other);
// The same on a scratch thread, in the place of the calling one.
void calibrate_openmp();

// OpenMP is observed from now on, and its events are calibrated, which takes some milliseconds that
// programs without OpenMP are spared: now, or as the first events come where the calling thread has
// no records or the process pauses. Once; some of the thread's slow work.
void begin_omp_calibration();
// Whether it is still to be done, and doing it, where recording is on.
inline std::atomic<bool> g_omp_uncalibrated{false};
void calibrate_omp_now(Thread* thread);

// gomp_more, for the events that functions in libgomp's place tell, where there are any (gomp.h).
__attribute__((weak)) void calibrate_gomp_loops(Thread* thread, Node* node);
__attribute__((weak)) void calibrate_gomp_tasks(Thread* thread, Node* node);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_CALIBRATION_H_
