// Whether a call of a variadic function, MPI_Pcontrol(1, ...), was given a name, which C does not
// tell: the register of the second argument holds something in any case. It was when the code in
// front of the call puts something there, after the call before it, and that is a readable name.
#ifndef DWELL_RUNTIME_LIFECYCLE_GIVEN_NAME_H_
#define DWELL_RUNTIME_LIFECYCLE_GIVEN_NAME_H_

#include <stdint.h>

namespace dwell {

constexpr int kLongestGivenName = 200;  // bytes

// `second` is what the register holds, `return_address` that of the call. Null: no name was given,
// or the code cannot be read. Known for x86-64 only. Changes nothing, errno neither.
const char* given_name(uint64_t second, uint64_t return_address);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_GIVEN_NAME_H_
