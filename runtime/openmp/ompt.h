// Whether libomp reports OpenMP events to dwell (ompt.cpp).
#ifndef DWELL_RUNTIME_OPENMP_OMPT_H_
#define DWELL_RUNTIME_OPENMP_OMPT_H_

#include <stdint.h>

namespace dwell {

// What keeps a libomp in the process from reporting to dwell, which wants to observe: kFileOmptOff
// or kFileOtherTool; 0: nothing, or no libomp. Asks the loader: not signal-safe. Null where dwell
// was built without OMPT.
__attribute__((weak)) uint32_t ompt_obstacle();

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMPT_H_
