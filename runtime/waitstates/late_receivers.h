// Sends that may wait for their receivers, and how these say when they came (DESIGN 4, the mirror
// image of the message rule).
//
// An asked send asks in its message's entry (channels.h): of a message that is not sent ahead, or a
// synchronous one. A kept send asks nobody: MPI may keep it until the receiver takes the message
// out of the sender's memory, and that one tells of its arrivals unasked (progress_log.h). Which of
// the two a send is follows from its mode and its bytes.
//
// The calling thread's own, but for what channels.h and progress_log.h share. No locks, and system
// calls in open_late_receivers() alone. Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_LATE_RECEIVERS_H_
#define DWELL_RUNTIME_WAITSTATES_LATE_RECEIVERS_H_

#include "runtime/waitstates/waits.h"

namespace dwell {

// In MPI_Init, by its thread, when the exchange is open. Without an exchange, or room in it, this
// rank tells of no arrival, and kept sends to it are estimated.
void open_late_receivers(uint64_t ticks_per_second);

// Whether the send of so many bytes may wait for its receiver: it is an asked or a kept one, or one
// to another host that asks in a letter. `bytes` UINT64_MAX: it is not known how many, and it may.
bool is_collective(const Channel* channel, SendMode mode, uint64_t bytes);
// The same of a request's send. A persistent one is never copied ahead, unless it is empty.
bool is_collective(const Channel* channel, const Request& request);
// Of those to ranks of the node: an asked send, or else a kept one.
bool asks_in_entry(SendMode mode, uint64_t bytes);

// A probe has found a message; after stop(). If it came whole it lies in MPI's memory.
void note_probed(const Call* call, MPI_Comm comm, const MPI_Status* status);
// The call is an MPI_Recv of what the thread's last call has found: Open MPI returns it without
// taking anything else. After start(); false where several threads may be in MPI at a time.
bool receives_probed(const Call* call, int source, int tag, MPI_Comm comm);

// An asked send to a rank of the node, `peer`, is over: adds when the receiver came, be that after
// the send or before it. An entry that was dropped makes the call unknown. After stop(), before
// settle().
void add_asked(Waiting* waiting, Channel* channel, const Announced& announced, uint32_t peer);
// A kept send, which was sent at `sent`: it waited if the receiver had been in no call of MPI since
// then, or left one soon, and came while the call lasted. Where it came before that, on the virtual
// clock it may not have. A real time of 0: the message was taken long ago. Without the receiver's
// arrivals the call is unknown.
void add_kept(Waiting* waiting, Channel* channel, uint32_t peer, const DualTime& sent);

// Whether a kept send of `ticks` took no longer than they do while the receiver is there: then
// nobody looks when that came, which would fetch its line. Now and then it is looked at all the
// same, so that it is seen when they become shorter. What is usual is an estimate: of several
// threads one may undo what another has learnt.
bool took_usual_send(Channel* channel, uint64_t ticks);
// It took so many ticks, and its receiver was there. Some microseconds at most are usual.
void learn_usual_send(Channel* channel, uint64_t ticks);

// Whether the sender has lost noticeably more than when it last looked when this receiver came: a
// kept send that found it may have to wait on the virtual clock. After make_enter_stamp().
bool is_delayed(Channel* channel, const Call* call);
// It has looked. After settle().
void note_look(Channel* channel, const Call* call);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_LATE_RECEIVERS_H_
