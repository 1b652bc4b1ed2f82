// Control flow of a procedure, from its machine code. It serves to attribute an interval of
// computation to an activation that lasted through it (docs/attribution.md). Whatever the code does
// not exclude counts as possible. Only for x86-64; elsewhere nothing is known.
#ifndef DWELL_SUMMARIZE_CODE_CONTROL_FLOW_H_
#define DWELL_SUMMARIZE_CODE_CONTROL_FLOW_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "summarize/code/debug_file.h"

namespace dwell {

// The possible paths through a procedure's code.
struct Ways {
    std::vector<uint64_t> calls;  // beginnings of the callees on paths inside, in the module
    bool all_calls = false;       // no call through a pointer on these paths
    bool known = false;           // the code was decoded
    bool inside = false;          // a path from one call to the other, without leaving the
                                  // procedure
    bool leaves = false;          // a path from the first call out of the procedure, without
                                  // communication
    bool reenters = false;  // a path from its beginning to the other call, without communication
};

// Computation between two calls of one procedure. A call is given by its return address; several
// addresses mean that it is one of them.
struct Between {
    std::vector<uint64_t> left;     // the computation begins when one of these has returned,
    std::vector<uint64_t> reached;  // and ends when one of these is called
};

class ControlFlow {
  public:
    // `file` must live as long as this object.
    explicit ControlFlow(DebugFile* file);
    ~ControlFlow();
    ControlFlow(const ControlFlow&) = delete;
    ControlFlow& operator=(const ControlFlow&) = delete;

    // Registers a call to MPI itself, which ends the computation between two calls. Only calls that
    // leave the module are accepted.
    void add_communication(uint64_t return_address) { ends_.insert(return_address); }

    Ways ways(const Between& between);

    // The paths with regard to a part of the procedure, such as inlined code. Only calls and
    // backward jumps outside of the part count, because compilers mix all other code.
    struct WaysOfPart {
        bool stays = false;   // some path has nothing outside of the part
        bool leaves = false;  // some path has
    };
    WaysOfPart ways_of_part(const Between& between,
                            const std::function<bool(uint64_t address)>& is_outside);

    // Return addresses of the calls of the procedure at `callee`, in the procedure around
    // `address`.
    const std::vector<uint64_t>& calls_in(uint64_t address, uint64_t callee);

    // The beginning of the code around `address`; 0 when unknown.
    uint64_t start_of(uint64_t address) const;

  private:
    struct Code;
    struct Search;

    Code* code_around(uint64_t address);
    std::unique_ptr<Code> read_code(uint64_t address);
    bool find(const Between& between, const Code** code, std::vector<uint32_t>* starts);
    bool ends_at(const Code& code, uint32_t call);
    bool always_communicates(uint64_t entry);

    DebugFile* file_;
    std::unordered_set<uint64_t> ends_;
    std::vector<std::unique_ptr<Code>> codes_;
    std::unordered_map<uint64_t, Code*> code_by_range_;  // by the starts of its ranges
    std::unordered_map<uint64_t, bool> communicates_;    // by entry
    int depth_ = 0;                                      // number of nested look-ups
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_CONTROL_FLOW_H_
