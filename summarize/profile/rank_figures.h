// Figures of single ranks and threads at every node of a profile.
#ifndef DWELL_SUMMARIZE_PROFILE_RANK_FIGURES_H_
#define DWELL_SUMMARIZE_PROFILE_RANK_FIGURES_H_

#include <cstdint>
#include <vector>

#include "summarize/attribution/profile_tree.h"
#include "summarize/attribution/rank_samples.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"
#include "summarize/profile/settle_times.h"

namespace dwell {

// Adds the figures of one communication statement to another's. No statement is blocked longer than
// it lasts: what exceeds (rounding of several clocks) is cut.
void add_statement(const Totals& from, Totals* to);

// Adds those figures of a node, besides time, that its parent has as sums of its children.
void add_traffic(const Totals& node, Totals* parent);

// Fills Profile::rows, and ranks, rank_min and rank_max of every node from them. A job over the row
// limit has no rows: there, inner nodes get what their communication statements tell, lower bounds
// of `ranks` and `rank_max`, and 0 for `rank_min`. Where probes measured or there are samples, the
// times of nodes become the sums of their rows, each of which was divided and settled by itself,
// and `overruns` theirs. `division` is as before afterwards.
void add_rank_figures(const Merged& merged, const ProfileTree& tree, Division* division,
                      Profile* profile, Overcount* overcount);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_RANK_FIGURES_H_
