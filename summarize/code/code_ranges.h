// Finds where functions begin and end, and where exceptions land in them. The source is unwind
// information, which stripped files keep too: .eh_frame (Linux Standard Base, "Exception Frames")
// and its tables of call sites.
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
    uint64_t landings = 0;  // address of its table of call sites; 0: exceptions only pass through
};

// An exception thrown by a call from `start` to `end` continues at `landing`.
struct Landing {
    uint64_t start = 0;
    uint64_t end = 0;
    uint64_t landing = 0;
};

// The range around `address`; for code without unwind information, the range of its symbol.
std::optional<CodeRange> code_range(DebugFile* file, uint64_t address);

// Returns false when the table cannot be read.
bool read_landings(DebugFile* file, const CodeRange& range, std::vector<Landing>* landings);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_CODE_RANGES_H_
