// The code that an OpenMP runtime calls on a thread: of a region or task, which the compiler has
// made a function of its own. A call path ends where that code begins, as the construct's entry
// stands for all that lies around it.
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
    return (row & ~kRowUnbooked & ~kRowAddress) == omp_row(construct, 0);
}

inline uint16_t construct_of_row(uint64_t row) {
    return static_cast<uint16_t>((row & (kRowMoved - 1)) >> kRowCallShift);
}
inline bool is_region_row(uint64_t row) {
    return (row & kRowOmp) != 0 && is_omp_region(construct_of_row(row));
}

// Where the innermost code begins that the OpenMP runtime called on this thread: an address between
// its frames and the runtime's; 0 when not known. Null until someone reports.
extern uint64_t (*g_omp_code_frame)() __attribute__((visibility("hidden")));
// The same of libgomp, which may be in the same process.
extern uint64_t (*g_gomp_code_frame)() __attribute__((visibility("hidden")));

// Of the innermost code that the OpenMP runtime called on this thread, a task's or a region's: as
// it was created or forked; 0: of none.
uint64_t omp_code_address();
// What g_omp_code_frame tells, where that is what the innermost entry stands for.
uint64_t omp_code_frame(const Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_OUTLINED_CODE_H_
