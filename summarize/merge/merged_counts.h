// Metrics while records are merged: the names that were counted, and the counts of nodes, summed
// over all ranks and, as long as there are rows, for each thread of each rank.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_COUNTS_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_COUNTS_H_

#include "summarize/merge/hash_index.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/merged_tables.h"

namespace dwell {

constexpr uint32_t kNoMetric = kNoNode;

// Adds the counts of nodes to those of the same nodes in `counts`.
class CountTable {
  public:
    explicit CountTable(GrowArray<MergedCounts>* counts) : counts_(counts) {}
    // Also makes room for `extra` calls of add that cannot fail.
    bool load(size_t extra);
    // False when memory ran out.
    bool add(const MergedCounts& counts);

  private:
    uint32_t find(uint64_t hash, uint32_t node) const;

    GrowArray<MergedCounts>* counts_;
    HashIndex index_;
};

// The names in the text at `lines`, one a line, are counted by one rank, or missing there. False
// when memory ran out.
bool add_metric_names(Merged* merged, TextTable* text, uint32_t lines, bool missing);

// The metric of that name; kNoMetric when there is none.
uint32_t find_metric(const Merged& merged, uint32_t name);

// Where each metric of `from` is in `into`, which gets those that it has not; kNoMetric where there
// are too many. Names are offsets into the text of `into` already. Makes no room.
struct MetricMap {
    uint32_t of[kMetricNames];
};
MetricMap join_metrics(const GrowArray<MergedMetric>& from, Merged* into);
MergedCounts mapped_counts(const MergedCounts& counts, const MetricMap& map);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_COUNTS_H_
