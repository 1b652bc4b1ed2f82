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

// Adds the figures of one communication statement to another's. Waiting never exceeds the
// statement's time: an excess (rounding of several clocks) is cut.
void add_statement(const Totals& from, Totals* to);

// Adds the figures of a node, apart from time, that its parent has as sums over its children.
void add_traffic(const Totals& node, Totals* parent);

// Fills Profile::rows, and ranks, rank_min and rank_max of every node from them. A job over the row
// limit has no rows; inner nodes then get lower bounds of `ranks` and `rank_max` from their
// communication statements, and 0 for `rank_min`. Where probes measured or there are samples, each
// row is divided and settled by itself; node times and `overruns` become the sums over the rows.
// `division` is unchanged afterwards.
void add_rank_figures(const Merged& merged, const ProfileTree& tree, Division* division,
                      Profile* profile, Overcount* overcount);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_RANK_FIGURES_H_
