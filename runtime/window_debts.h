// What partners in a window's epochs and locks tell each other of how late they are because of
// their own waiting (waits.h). A member writes one moment for all of them, of whom some have heard
// of its waiting before: by an epoch with others among them, or because it waited for them. So it
// says all that it owes, and each takes what is new to it (WindowDebt in boards.h).
//
// The calling thread's own, but for what is on the board. Of threads that use one window at once a
// partner may hear twice, or not at all. Not signal-safe.
#ifndef DWELL_RUNTIME_WINDOW_DEBTS_H_
#define DWELL_RUNTIME_WINDOW_DEBTS_H_

#include "runtime/boards.h"
#include "runtime/waits.h"

namespace dwell {

// Adds to the moment what the thread owes, but for what all members have heard.
WindowDebt owe(Thread* thread, const Board& board, Moment* said);

// What `peer` said, with that part of its debt that is new to the caller, and by which the caller
// is not late itself since it heard of that one last. From here on it has heard it.
void hear_partner(const Thread& thread, Board* board, uint32_t peer, const WindowDebt& owing,
                  Moment* said);
// The same of what was said to the caller alone: of a partner on another host.
void hear_far_partner(const Thread& thread, Board* board, uint32_t peer, Moment* said);

// Who is as late as the caller once that has waited for `peer`.
Level level_with(Board* board, uint32_t peer);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WINDOW_DEBTS_H_
