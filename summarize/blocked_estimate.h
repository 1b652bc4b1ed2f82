// How long calls waited for other ranks whose records do not say so: collectives, RMA
// synchronisation, collective management and I/O (MpiCallInfo::waits).
#ifndef DWELL_SUMMARIZE_BLOCKED_ESTIMATE_H_
#define DWELL_SUMMARIZE_BLOCKED_ESTIMATE_H_

#include "summarize/merged.h"

namespace dwell {

// Sets Totals::blocked_ns of such nodes and of their rows: time above count times the shortest call
// of any rank at that node. The rank that comes last does not wait, so its calls show what the
// operation takes by itself; where the calls of one node differ in size this estimates too much.
void estimate_blocked(Merged* merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_BLOCKED_ESTIMATE_H_
