// Finds out whether a call of the variadic MPI_Pcontrol(1, ...) was given a name, which C does not
// tell: the register of the second argument holds some value in any case. A name was given when
// code before the call sets that register after the preceding call, and the value points to
// readable text.
#ifndef DWELL_RUNTIME_LIFECYCLE_GIVEN_NAME_H_
#define DWELL_RUNTIME_LIFECYCLE_GIVEN_NAME_H_

#include <stdint.h>

namespace dwell {

constexpr int kLongestGivenName = 200;  // bytes

// `second` is the register's value, `return_address` that of the call. Null: no name, or the code
// cannot be read. x86-64 only. Preserves all state, errno included.
const char* given_name(uint64_t second, uint64_t return_address);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_GIVEN_NAME_H_
