// The code of an OpenMP region or task, which the compiler has outlined into a function that the
// OpenMP runtime calls. A call path ends where that code begins; the construct's open entry stands
// for everything around it.
#ifndef DWELL_RUNTIME_PROBES_OUTLINED_CODE_H_
#define DWELL_RUNTIME_PROBES_OUTLINED_CODE_H_

#include "runtime/contract/omp_constructs.h"
#include "runtime/probes/probes.h"

namespace dwell {

constexpr uint64_t omp_row(OmpConstruct construct, uint64_t address) {
    return kRowOmp | uint64_t{static_cast<uint16_t>(construct)} << kRowCallShift |
           (address & kRowAddress);
}
inline bool is_row_of(uint64_t row, OmpConstruct construct) {
    return (row & ~kRowWithoutNode & ~kRowAddress) == omp_row(construct, 0);
}

inline uint16_t construct_of_row(uint64_t row) {
    return static_cast<uint16_t>((row & (kRowMoved - 1)) >> kRowCallShift);
}
inline bool is_region_row(uint64_t row) {
    return (row & kRowOmp) != 0 && is_omp_region(construct_of_row(row));
}

// Whether the thread waits for other threads of OpenMP, so that only a signal handler can call.
inline bool waits_in_omp(const Thread* thread) {
    const uint64_t row = thread->on.top->row;
    return thread->omp.is_idle || ((row & kRowOmp) != 0 && is_omp_meeting(construct_of_row(row)));
}

// Stack address at which the innermost code called by the OpenMP runtime on this thread begins: it
// lies between that code's frames and the runtime's. 0: unknown. Null until OpenMP is observed.
extern uint64_t (*g_omp_code_frame)() __attribute__((visibility("hidden")));
// Likewise for libgomp, which may be in the same process.
extern uint64_t (*g_gomp_code_frame)() __attribute__((visibility("hidden")));

// Address of the innermost region's or task's code on this thread, as forked or created; 0: none.
uint64_t omp_code_address();
// The result of g_omp_code_frame, if the innermost open entry stands for that code; else 0.
uint64_t omp_code_frame(const Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_OUTLINED_CODE_H_
