// Clones that compilers make of a procedure for special arguments (.constprop, .isra, .part) have
// rows of their own in the static table but are the same procedure to a person: recursion collapses
// across clones, and their loops are one (DESIGN 3).
#ifndef DWELL_RUNTIME_PROBES_FUNCTION_CLONES_H_
#define DWELL_RUNTIME_PROBES_FUNCTION_CLONES_H_

#include "runtime/contract/site_table.h"
#include "runtime/process/state.h"

namespace dwell {

// Replaces the `site` of `row` by that of a clone: for a procedure one that is open at `parent`,
// for a loop one that is a child of `parent`. Unchanged when there is none.
void join_clones(const SiteRow* row, CellIndex parent, Site* site);

// True when `row` is a part that the compiler split off the procedure `around` and calls from
// there: one entry stands for both.
bool is_part_of(const SiteRow* row, const SiteRow* around);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_FUNCTION_CLONES_H_
