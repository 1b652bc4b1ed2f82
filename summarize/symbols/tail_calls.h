// Finds communication statements that the compiler turned into jumps: `return MPI_Send(...)` leaves
// no return address of its own. The call-site entries of the debug information show where it was.
#ifndef DWELL_SUMMARIZE_SYMBOLS_TAIL_CALLS_H_
#define DWELL_SUMMARIZE_SYMBOLS_TAIL_CALLS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "summarize/symbols/debug_info.h"

namespace dwell {

struct TailCall {
    enum class Kind {
        kNone,     // the call at the return address reached MPI itself, or nothing is known
        kUnique,   // `jumps` are the only way from the called function to MPI
        kUnknown,  // another function was called, and its jump to MPI is not unique
    };
    Kind kind = Kind::kNone;
    bool in_place = false;        // the address stands for a whole function, not for a call
    std::vector<uint64_t> jumps;  // an address inside each jump instruction, outermost first
};

// How the call that returns to `return_offset` came to the MPI function `c_name`. No call can
// return to the second byte of a function, so that address stands for a function that ended with
// the statement and whose caller does not matter (OpenMP code).
TailCall find_tail_call(DebugInfo* info, uint64_t return_offset, std::string_view c_name);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_SYMBOLS_TAIL_CALLS_H_
