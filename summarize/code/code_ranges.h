// Where functions begin and end, and where exceptions land in them, from the unwind information
// that stripped files keep too: .eh_frame (Linux Standard Base, "Exception Frames") and the tables
// of call sites that it points to.
#ifndef DWELL_SUMMARIZE_CODE_CODE_RANGES_H_
#define DWELL_SUMMARIZE_CODE_CODE_RANGES_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "summarize/code/debug_file.h"

namespace dwell {

// A function, or one of the parts that a compiler made of it.
struct CodeRange {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t landings = 0;  // address of its table of call sites; 0: exceptions pass it by
};

// What is thrown by a call from `start` to `end` goes on at `landing`.
struct Landing {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t landing = 0;
};

// The range around `address`; of code without unwind information that of its symbol.
std::optional<CodeRange> code_range(DebugFile* file, uint64_t address);

// False when the table cannot be read.
bool read_landings(DebugFile* file, const CodeRange& range, std::vector<Landing>* landings);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_CODE_RANGES_H_
