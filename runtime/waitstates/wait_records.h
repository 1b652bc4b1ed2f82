// Whom each communication node waited for, and what caused a thread's waiting in the end: the
// PartnerRecords of a node and the CauseRecords of a thread. Both have a limit, and a program may
// wait for more than that: then what is heavy takes the place of what is light, whichever came
// first, and what was booked for that goes to the rest.
//
// Who finds no free record challenges the lightest one. Once all that challenged it together, also
// for others, is more than it weighs, it gives way to the one that came last; the newcomer weighs
// all of that, though only its own time is booked as its time. So a single short waiting displaces
// nothing, and one that keeps coming back is kept whatever else comes. It is space saving
// (Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k Elements in Data
// Streams, 2005) with the choice of the newcomer as in its unbiased form (Ting: Data Sketches for
// Disaggregated Subset Sum and Frequent Item Estimation, 2018), by turns instead of by chance.
//
// The calling thread's own; a reader of the file may come at any time: a record's time is taken
// back before it changes its name. Times in ticks. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_WAIT_RECORDS_H_
#define DWELL_RUNTIME_WAITSTATES_WAIT_RECORDS_H_

#include "runtime/calls/records.h"

namespace dwell {

// The call's node, made when it waits first. Null: the file is full.
WaitPart* wait_part(Call* call);
// A waiting of `ticks` for `peer`, which was doing `path`; of these `passed_on` because that had
// been made to wait itself.
void record_partner(Call* call, WaitPart* part, uint32_t peer, uint32_t path, uint64_t ticks,
                    uint64_t passed_on);
// What of a waiting is due to the computation `path` of `peer`. `direct`: it was that rank that was
// waited for.
void record_cause(Thread* thread, uint32_t peer, uint32_t path, uint64_t ticks, bool direct);
// What of it is due to something that is not known.
void record_unknown_cause(Thread* thread, uint64_t ticks);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_WAIT_RECORDS_H_
