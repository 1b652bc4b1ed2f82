// Copies that compilers make of a procedure for special arguments (.constprop, .isra, .part) have
// rows of their own in the static table, and are the same procedure to a person: recursion folds
// over them, and their loops are one (DESIGN 3).
#ifndef DWELL_RUNTIME_PROBES_FUNCTION_CLONES_H_
#define DWELL_RUNTIME_PROBES_FUNCTION_CLONES_H_

#include "runtime/contract/site_table.h"
#include "runtime/process/state.h"

namespace dwell {

// `site`, of `row`, becomes that of its copy: of a procedure one that is open at `parent`, of a
// loop one that is a child of it. Unchanged when there is none.
void join_clones(const SiteRow* row, CellIndex parent, Site* site);

// True when `row` is of a part that the compiler split off the procedure of `around`, whose code
// calls it there: one entry has both.
bool is_part_of(const SiteRow* row, const SiteRow* around);

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_FUNCTION_CLONES_H_
