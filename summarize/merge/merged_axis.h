// The course of the run over several threads and ranks: bins are widened to the widest and added.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_AXIS_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_AXIS_H_

#include "summarize/merge/merged.h"

namespace dwell {

constexpr uint32_t kAxisShiftLimit = 64;

void add_figures(const AxisFigures& from, AxisFigures* into);

// Of two rows for one bin of one rank.
void add_axis_row(const MergedAxisRow& from, MergedAxisRow* into);
// The row for `bin` among those of one rank, ascending; a new one has no phase. Null without
// memory.
MergedAxisRow* axis_row_at(GrowArray<MergedAxisRow>* rows, uint64_t bin, uint32_t rank);
// Widens the bins of one or more ranks to 2^`by` times their width.
void widen(GrowArray<MergedAxisRow>* rows, uint32_t by);

// The axis of the rank with these rows.
bool set_axis_of_rank(Merged* merged);

// Joins the axis of `from`, whose rows name nodes of `into`, in two steps: the first allocates.
class AxisJoin {
  public:
    // `drops`: no rows are kept.
    bool prepare(Merged* into, const Merged& from, bool drops);
    // `node_map`: nodes of `from` in `into`.
    void commit(const GrowArray<uint32_t>& node_map, Merged* into, Merged* from);
    bool drops_rows() const { return drops_; }

  private:
    GrowArray<MergedAxisBin> bins_;
    bool drops_ = false;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_AXIS_H_
