// Which sites get probes: the rules, told apart from any compiler. A plugin describes what it sees
// of procedures and loops and asks; the enabling profile may overrule the default choice.
#ifndef DWELL_INSTRUMENT_SELECTION_SELECTION_H_
#define DWELL_INSTRUMENT_SELECTION_SELECTION_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/site_table.h"

namespace dwell {

// A procedure is short below this many statements (assignments, conditions, calls) of its own and
// of what was inlined into it, recursion inlined into itself not counted. Without loops and calls
// out of sight so many take some 40 ns, about as much as the probes that would measure them.
constexpr uint32_t kShortStatements = 100;

// What a plugin knows of one procedure before it places probes.
struct ProcedureFacts {
    uint32_t statements = 0;
    bool has_loop = false;
    bool has_communication = false;
    // Calls what the compiler does not see, or sees no name for. Not counted: builtins without side
    // effects and those expanded in place; calls on ways that never return, in a procedure that
    // can return (a failed assertion, throwing).
    bool calls_out_of_sight = false;
    std::vector<size_t> callees;  // procedures in sight, as indices into the same list
};

// For each procedure whether it is too small to measure: short, and with no loop, no communication
// statement and no call out of sight, neither in itself nor in anything that it calls.
std::vector<bool> too_small(const std::vector<ProcedureFacts>& procedures);

// What lies in a loop. Calls are those that may take time: not builtins expanded in place.
struct LoopFacts {
    bool outermost = true;
    bool has_loop = false;
    bool has_call = false;
    bool has_communication = false;
};

// A loop that only computes: what may be switched off by `innermost`.
bool is_innermost(const LoopFacts& loop);

// What the user said of a site, by the enabling profile.
enum class Wish : uint8_t { kUnsaid, kOn, kOff };

class Wishes {
  public:
    virtual ~Wishes() = default;
    // `flags` are SiteRowFlags that the default choice would give; `procedure` is the linkage name
    // of the procedure or of the one that the loop stands in.
    virtual Wish of(SiteKind kind, uint8_t flags, const std::string& procedure,
                    const std::string& file, uint32_t line) const = 0;
};

// Whether the site gets probes, and the SiteRowFlags that say why not.
struct Choice {
    bool probes;
    uint8_t flags;
};
Choice choose_procedure(bool small, Wish wish, bool all);
Choice choose_loop(const LoopFacts& loop, Wish wish, bool all);

// Whether a procedure of this linkage name is a communication statement when called: MPI's in C,
// and in Fortran with either module or mpif.h, profiling names included.
bool is_communication(std::string_view linkage_name);

// Whether a procedure is one of dwell.h, which are no part of the program: they have no rows.
bool is_of_dwell_header(std::string_view linkage_name, std::string_view file);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_SELECTION_SELECTION_H_
