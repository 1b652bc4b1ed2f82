// Where probes, and regions of OpenMP, say that an interval of computation went.
#ifndef DWELL_SUMMARIZE_MEASURED_OWNER_H_
#define DWELL_SUMMARIZE_MEASURED_OWNER_H_

#include <cstdint>
#include <vector>

#include "summarize/profile.h"

namespace dwell {

// What may have run in an interval.
struct PossibleNodes {
    uint32_t outermost = 0;           // all of it ran below this node
    std::vector<uint32_t> passed_by;  // but for these, and what is below them
};

// Where a procedure, loop or block with probes, or a region, certainly took more than half of an
// interval, makes the innermost such one its owner. Certain: what all else that is `possible`
// computed in the whole run is less than half of the interval. `possible`: by interval. The times
// of all nodes are known.
void name_measured_owners(const std::vector<PossibleNodes>& possible, Profile* profile);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MEASURED_OWNER_H_
