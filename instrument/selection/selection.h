// The rules for which sites get probes, independent of any compiler. A plugin describes procedures
// and loops and asks for the choice; the enabling profile may overrule the default choice.
#ifndef DWELL_INSTRUMENT_SELECTION_SELECTION_H_
#define DWELL_INSTRUMENT_SELECTION_SELECTION_H_

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/site_table.h"

namespace dwell {

// A procedure is short below this many statements (assignments, conditions, calls), including
// inlined code, but not recursion inlined into itself. Without loops and calls out of sight so many
// statements take some 40 ns, about as much as the probes that would measure them.
constexpr uint32_t kShortStatements = 100;

// The facts about one procedure, before probes are placed.
struct ProcedureFacts {
    uint32_t statements = 0;
    bool has_loop = false;
    bool has_communication = false;
    // Contains calls to procedures that the compiler does not see or cannot name. Not counted:
    // builtins without side effects and those expanded in place; calls on paths that never return,
    // in a procedure that can return (a failed assertion, throwing).
    bool calls_out_of_sight = false;
    std::vector<size_t> callees;  // callees in sight, as indices into the same list
};

// For each procedure whether it is too small to measure: short, and neither the procedure nor any
// of its direct and indirect callees has a loop, a communication statement or a call out of sight.
std::vector<bool> too_small(const std::vector<ProcedureFacts>& procedures);

// The contents of a loop. Calls are those that may take time: not builtins expanded in place.
struct LoopFacts {
    bool outermost = true;
    bool has_loop = false;
    bool has_call = false;
    bool has_communication = false;
};

// A loop that only computes; `innermost` in the enabling profile can disable it.
bool is_innermost(const LoopFacts& loop);

// The user's wish for a site in the enabling profile.
enum class Wish : uint8_t { kUnsaid, kOn, kOff };

class Wishes {
  public:
    virtual ~Wishes() = default;
    // `flags` are the SiteRowFlags of the default choice; `procedure` is the linker name of the
    // procedure, or of the procedure that contains the loop.
    virtual Wish of(SiteKind kind, uint8_t flags, const std::string& procedure,
                    const std::string& file, uint32_t line) const = 0;
};

// Whether the site gets probes, and SiteRowFlags with the reason if not.
struct Choice {
    bool probes;
    uint8_t flags;
};
Choice choose_procedure(bool small, Wish wish, bool all);
Choice choose_loop(const LoopFacts& loop, Wish wish, bool all);

// Whether a call of the procedure with this linker name is a communication statement: MPI's
// functions in C, and in Fortran with either module or mpif.h, profiling names included.
bool is_communication(std::string_view linkage_name);

// Whether a procedure belongs to dwell.h: such procedures are not part of the program and have no
// rows.
bool is_of_dwell_header(std::string_view linkage_name, std::string_view file);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_SELECTION_SELECTION_H_
