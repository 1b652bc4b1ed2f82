// The numbers of MPI's functions by their names.
#ifndef DWELL_TESTS_UNIT_CALL_NUMBERS_H_
#define DWELL_TESTS_UNIT_CALL_NUMBERS_H_

#include <string>

#include "runtime/contract/mpi_calls.h"

namespace dwell {

// 0 for a name that is none.
inline uint16_t call_number(const std::string& name) {
    for (int i = 1; i < kMpiCallCount; ++i) {
        if (name == kMpiCalls[i].name) return static_cast<uint16_t>(i);
    }
    return 0;
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_CALL_NUMBERS_H_
