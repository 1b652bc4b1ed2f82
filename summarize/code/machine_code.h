// The instructions that determine control flow, and the tables that `switch` jumps through. Decoded
// by Zydis; x86-64 only.
#ifndef DWELL_SUMMARIZE_CODE_MACHINE_CODE_H_
#define DWELL_SUMMARIZE_CODE_MACHINE_CODE_H_

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "summarize/code/debug_file.h"

namespace dwell {

struct MachineInstruction {
    enum class Kind : uint8_t {
        kOther,
        kCall,         // to `target`, in the module
        kCallOut,      // through the linkage table: mostly to another module
        kCallUnknown,  // through a pointer
        kJump,         // to `target`
        kBranch,       // to `target`, or continues
        kIndirectJump,
        kJumpOut,  // out of the procedure, through the linkage table or a pointer
        kReturn,
        kStop,  // the machine traps: execution never continues
    };
    uint64_t address = 0;
    uint64_t target = 0;  // of kOther: the address that it takes or reads from, or 0
    uint8_t length = 0;
    Kind kind = Kind::kOther;
    bool adds = false;

    uint64_t end() const { return address + length; }
    bool is_call() const {
        return kind == Kind::kCall || kind == Kind::kCallOut || kind == Kind::kCallUnknown;
    }
    bool is_direct_jump() const { return kind == Kind::kJump || kind == Kind::kBranch; }
};

// Appends the instructions from `start` to `end`; false when some byte cannot be decoded.
bool read_instructions(DebugFile* file, uint64_t start, uint64_t end,
                       std::vector<MachineInstruction>* instructions);

// Targets of the indirect jump number `jump`, from the table in the instructions before it; only
// places in `known`. Empty: unknown.
std::vector<uint64_t> jump_table(DebugFile* file,
                                 const std::vector<MachineInstruction>& instructions, uint32_t jump,
                                 const std::unordered_map<uint64_t, uint32_t>& known);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_MACHINE_CODE_H_
