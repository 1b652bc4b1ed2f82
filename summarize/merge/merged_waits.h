// Waiting time by its cause while records are merged, bounded whatever the number of ranks (DESIGN
// 4). Each communication node keeps the partners, and each computation the ranks, that caused most
// waiting time. The others become one sum with an upper bound of the part of any single one.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_WAITS_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_WAITS_H_

#include "summarize/merge/hash_index.h"
#include "summarize/merge/merged.h"

namespace dwell {

// Finds entries of one list by (group, peer, path).
class CauseTable {
  public:
    explicit CauseTable(GrowArray<MergedCause>* list) : list_(list) {}
    // Also makes room for `extra` calls of add, which cannot fail then.
    bool load(size_t extra);
    // Adds to the entry with the same key. Returns false without memory.
    bool add(const MergedCause& cause);

  private:
    uint32_t find(uint64_t hash, const MergedCause& cause) const;

    GrowArray<MergedCause>* list_;
    HashIndex index_;
};

// Keeps the `limit` heaviest entries of each group; equal ones by lower peer, then path.
void keep_heaviest_causes(GrowArray<MergedCause>* list, size_t limit);

// Keeps the `limit` heaviest ranks of each path, one entry each, and sorts them by path.
void keep_heaviest_stalls(GrowArray<MergedStall>* list, size_t limit);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_WAITS_H_
