// Metrics while records are merged: the names of the metrics, and the counts of nodes, as sums over
// all ranks and, while rows are kept, for each thread of each rank.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_COUNTS_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_COUNTS_H_

#include "summarize/merge/hash_index.h"
#include "summarize/merge/merged.h"
#include "summarize/merge/merged_tables.h"

namespace dwell {

constexpr uint32_t kNoMetric = kNoNode;

// Adds counts to the entry in `counts` with the same node.
class CountTable {
  public:
    explicit CountTable(GrowArray<MergedCounts>* counts) : counts_(counts) {}
    // Also makes room for `extra` calls of add, which cannot fail then.
    bool load(size_t extra);
    // Returns false without memory.
    bool add(const MergedCounts& counts);

  private:
    uint32_t find(uint64_t hash, uint32_t node) const;

    GrowArray<MergedCounts>* counts_;
    HashIndex index_;
};

// Adds the names in the text at `lines`, one a line, as counted by one rank, or as missing there.
// Returns false without memory.
bool add_metric_names(Merged* merged, TextTable* text, uint32_t lines, bool missing);

// The metric with that name, or kNoMetric.
uint32_t find_metric(const Merged& merged, uint32_t name);

// Maps each metric of `from` to its index in `into`, and adds the metrics that `into` lacks;
// kNoMetric where there are too many. Names must be offsets into the text of `into`. Does not
// allocate.
struct MetricMap {
    uint32_t of[kMetricNames];
};
MetricMap join_metrics(const GrowArray<MergedMetric>& from, Merged* into);
MergedCounts mapped_counts(const MergedCounts& counts, const MetricMap& map);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_COUNTS_H_
