// Estimates how long calls waited for other ranks where their records hold no measured waiting, or
// only part of it.
#ifndef DWELL_SUMMARIZE_PROFILE_BLOCKED_ESTIMATE_H_
#define DWELL_SUMMARIZE_PROFILE_BLOCKED_ESTIMATE_H_

#include "summarize/merge/merged.h"

namespace dwell {

// Sets Totals::blocked_ns of communication nodes and of their rows: the measured waiting (sync_ns),
// and an estimate for the calls without it (unknown_waits).
//
// Collectives, RMA synchronisation, collective management and I/O (MpiCallInfo::waits): the time
// above count times the shortest call of any rank at that node. The last rank to enter does not
// wait, so its calls show the operation's own time. Ranks may reach one operation from several
// nodes; so nodes that not every rank has are taken together when they make the same call with
// messages of about the same size (powers of two). Where the calls of one node differ in size or
// communicator, this estimate is too high. Where the waiting of some calls is measured, the other
// calls get the mean waiting.
//
// Receives, and waits that receive, of 64 KiB and more: a call that blocked was recorded as blocked
// from end to end. Its transfer is the time of its bytes at 1 GB/s, but at most the shortest call
// of the node.
//
// Where there are rows, each row is estimated and a node's waiting is their sum, so that the mean
// over the ranks agrees with the ranks' own figures.
void estimate_blocked(Merged* merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_BLOCKED_ESTIMATE_H_
