// Late receivers: sends that may wait for their receivers (DESIGN 4, the mirror image of the
// message rule).
//
// A rendezvous or synchronous send asks for the receiver's enter time in its entry (channels.h). A
// single-copy send asks nobody: MPI may keep the message in the sender's memory until the receiver
// copies it, and the receiver logs its progress unasked (progress_log.h). The mode and the bytes of
// a send decide which kind it is.
//
// The calling thread's own, except what channels.h and progress_log.h share. No locks; system calls
// in open_late_receivers() alone. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_LATE_RECEIVERS_H_
#define DWELL_RUNTIME_WAITSTATES_LATE_RECEIVERS_H_

#include "runtime/waitstates/waits.h"

namespace dwell {

// In MPI_Init, by its thread, when the exchange is open. Without room in the exchange this rank
// logs no progress, and single-copy sends to it are estimated.
void open_late_receivers(uint64_t ticks_per_second);

// Whether a send of so many bytes may wait for its receiver: rendezvous, synchronous, single-copy,
// or to another host above the eager limit. `bytes` UINT64_MAX (not known): it may.
bool may_wait_for_receiver(const Channel* channel, SendMode mode, uint64_t bytes);
// The same of a request. Persistent standard sends always may, unless empty.
bool may_wait_for_receiver(const Channel* channel, const Request& request);
// Of a send within the host that may wait: rendezvous or synchronous, else single-copy.
bool asks_in_entry(SendMode mode, uint64_t bytes);

// A probe has found a message; after stop(). A message that arrived whole lies in MPI's memory.
void note_probed(const Call* call, MPI_Comm comm, const MPI_Status* status);
// Whether the call is an MPI_Recv of the message that the thread's last call probed: Open MPI then
// makes no other progress. After start(); false where several threads may be in MPI at a time.
bool receives_probed(const Call* call, int source, int tag, MPI_Comm comm);

// After a rendezvous or synchronous send within the host: adds the receiver's enter time, before or
// after the send's. A dropped entry makes the call unknown. After stop(), before classify().
void add_rendezvous_send(Waiting* waiting, Channel* channel, const Announced& announced,
                         uint32_t peer);
// After a single-copy send that began at `sent`: it waited if the receiver made no progress since
// then (or left its last call soon after) and entered during the call. If the receiver entered
// earlier, the send may still have waited on the virtual clock. Real time 0: the message was copied
// long ago. Without a progress log the call is unknown.
void add_single_copy_send(Waiting* waiting, Channel* channel, uint32_t peer, const DualTime& sent);

// Whether a single-copy send of `ticks` took no longer than usual with the receiver present; then
// the receiver's log is not read, which would fetch its cache line. The usual time shrinks slowly,
// so that now and then a send is checked. An estimate: threads may overwrite each other's.
bool took_usual_send(Channel* channel, uint64_t ticks);
// A send took `ticks` with its receiver present. At most some microseconds count as usual.
void learn_usual_send(Channel* channel, uint64_t ticks);

// Whether the sender has lost noticeably more time than when it last looked up this receiver's
// enter time: then a send that did not wait may have waited on the virtual clock. After
// make_enter_stamp().
bool is_delayed(Channel* channel, const Call* call);
// The receiver's enter time was looked up. After classify().
void note_lookup(Channel* channel, const Call* call);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_LATE_RECEIVERS_H_
