// Records whom each communication node waited for, and the root causes of a thread's waiting. Both
// sets are limited; heavy entries displace light ones in any order of arrival, and the time of
// displaced ones goes to the rest.
//
// A newcomer without a free record challenges the lightest one. Once the sum of all challenges
// exceeds its weight, the last challenger takes the record and inherits that weight; only its own
// time is recorded as its time. So one short wait displaces nothing, and a recurring one is kept.
// This is space saving (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
// Elements in Data Streams, 2005); the newcomer is chosen as in its unbiased form (Ting: Data
// Sketches for Disaggregated Subset Sum and Frequent Item Estimation, 2018), but by turns instead
// of by chance.
//
// The calling thread's own; other processes may read the file at any time: a record's time is
// removed before it is renamed. Times in ticks. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_WAIT_RECORDS_H_
#define DWELL_RUNTIME_WAITSTATES_WAIT_RECORDS_H_

#include "runtime/calls/records.h"

namespace dwell {

// The wait part of the call's node, made at its first wait. Null: the file is full.
WaitPart* wait_part(Call* call);
// Adds a wait of `ticks` for `peer`, whose computation was `path`; `indirect_ticks` of these are an
// indirect wait.
void record_partner(Call* call, WaitPart* part, uint32_t peer, uint32_t path, uint64_t ticks,
                    uint64_t indirect_ticks);
// Adds waiting caused by the computation `path` of `peer`. `direct`: the call waited for that rank
// itself.
void record_cause(Thread* thread, uint32_t peer, uint32_t path, uint64_t ticks, bool direct);
// Adds waiting of unknown cause.
void record_unknown_cause(Thread* thread, uint64_t ticks);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_WAIT_RECORDS_H_
