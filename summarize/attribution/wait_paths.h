// Finds the activity of a partner: from the path hash that ranks exchange
// (runtime/contract/path_hash.h) to the interval of the merged records.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_WAIT_PATHS_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_WAIT_PATHS_H_

#include <cstdint>
#include <unordered_map>

#include "summarize/merge/merged.h"

namespace dwell {

class WaitPaths {
  public:
    explicit WaitPaths(const Merged& merged);

    // The interval with that hash, a merged node. Of several (one path from `from` to `to` with
    // different common nodes) the longest. kNoNode: no such interval, or two paths have the same
    // hash.
    uint32_t interval_of(uint32_t path) const;

  private:
    struct Named {
        uint64_t from;
        uint64_t to;
        uint32_t interval;
        bool ambiguous;
    };
    std::unordered_map<uint32_t, Named> intervals_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_WAIT_PATHS_H_
