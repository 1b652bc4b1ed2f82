// Where control can go in a procedure, by its machine code, so that an interval of computation can
// be given to an activation that lived through it (docs/attribution.md). What cannot be told from
// the code counts as possible. Only for x86-64; elsewhere nothing is known.
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

// The ways that a procedure's code has.
struct Ways {
    std::vector<uint64_t> calls;  // what is called on ways inside, in the module: where it begins
    bool all_calls = false;       // nothing is called through a pointer there
    bool known = false;           // the code was understood
    bool inside = false;          // from the one call to the other, without leaving the procedure
    bool leaves = false;    // out of the procedure, from the one call on, without communication
    bool reenters = false;  // from its beginning to the other call, without communication
};

// Computation that lies between two calls of one procedure. Calls are named by the addresses that
// they return to. Several, where it is not known which of them it was.
struct Between {
    std::vector<uint64_t> left;     // it begins when one of these has returned,
    std::vector<uint64_t> reached;  // and ends when one of these is made
};

class ControlFlow {
  public:
    // `file` must live as long as this object.
    explicit ControlFlow(DebugFile* file);
    ~ControlFlow();
    ControlFlow(const ControlFlow&) = delete;
    ControlFlow& operator=(const ControlFlow&) = delete;

    // A call to MPI itself, which ends what lies between two calls. Only what leaves the module is
    // believed to be one.
    void add_communication(uint64_t return_address) { ends_.insert(return_address); }

    Ways ways(const Between& between);

    // The ways inside, with regard to a part of the procedure, such as one that was put into it.
    // Only calls and jumps back that lie outside of it tell: compilers mix all other code.
    struct WaysOfPart {
        bool stays = false;   // some way has nothing outside of the part
        bool leaves = false;  // some way has
    };
    WaysOfPart ways_of_part(const Between& between,
                            const std::function<bool(uint64_t address)>& is_outside);

    // Where calls of the procedure that begins at `callee` return to, in the procedure around
    // `address`.
    const std::vector<uint64_t>& calls_in(uint64_t address, uint64_t callee);

    // Where the code around `address` begins; 0 when unknown.
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
    std::unordered_map<uint64_t, Code*> code_by_range_;  // by where its ranges start
    std::unordered_map<uint64_t, bool> communicates_;    // by entry
    int depth_ = 0;                                      // of procedures asked in turn
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_CODE_CONTROL_FLOW_H_
