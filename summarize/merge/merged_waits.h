// Waiting by who it was due to, while records are merged: bounded, whatever the number of ranks. Of
// each communication node the partners, and of each computation the ranks, that made others wait
// longest are kept, the others as one sum with a bound of what any one of them can miss (DESIGN 4).
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_WAITS_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_WAITS_H_

#include "summarize/merge/hash_index.h"
#include "summarize/merge/merged.h"

namespace dwell {

// Finds entries of one list by (group, peer, path).
class CauseTable {
  public:
    explicit CauseTable(GrowArray<MergedCause>* list) : list_(list) {}
    // Also makes room for `extra` calls of add that cannot fail.
    bool load(size_t extra);
    // Adds to the entry of the same key. False when memory ran out.
    bool add(const MergedCause& cause);

  private:
    uint32_t find(uint64_t hash, const MergedCause& cause) const;

    GrowArray<MergedCause>* list_;
    HashIndex index_;
};

// Leaves the `limit` heaviest entries of each group; ties go to the lower peer, then path.
void keep_heaviest_causes(GrowArray<MergedCause>* list, size_t limit);

// Leaves the `limit` heaviest ranks of each path, once each, which then stand together.
void keep_heaviest_stalls(GrowArray<MergedStall>* list, size_t limit);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_WAITS_H_
