// How long calls waited for other ranks where their records do not say so, or not well enough.
#ifndef DWELL_SUMMARIZE_PROFILE_BLOCKED_ESTIMATE_H_
#define DWELL_SUMMARIZE_PROFILE_BLOCKED_ESTIMATE_H_

#include "summarize/merge/merged.h"

namespace dwell {

// Sets Totals::blocked_ns of communication nodes and of their rows: what is known (sync_ns), and an
// estimate for the calls of which it is not known (unknown_waits).
//
// Collectives, RMA synchronisation, collective management and I/O (MpiCallInfo::waits): the time
// above count times the shortest call of any rank at that node. The rank that comes last does not
// wait, so its calls show what the operation takes by itself. Ranks may come to one operation from
// several nodes; so nodes that not every rank has are taken together when they make the same call
// with messages of about the same size (powers of two). Where the calls of one node differ in size,
// or their communicators do, this estimates too much. Where the waiting of some calls is known, the
// others are taken to have waited as long as all did on average.
//
// Receives, and waits that receive, of 64 KiB and more: a call that blocked was recorded as blocked
// from end to end; of it, as much as its bytes take at 1 GB/s is transfer, but no more than the
// shortest call of the node took.
//
// Where there are rows, they are estimated and a node's waiting is their sum, so that the mean of
// the ranks is the mean of what is said of each.
void estimate_blocked(Merged* merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_BLOCKED_ESTIMATE_H_
