// Collectives on communicators, windows and files that reach several hosts (DESIGN 4, collective
// rule and exchange): what a rank tells those on other hosts who depend on it when it enters one,
// and what it has heard of those it depends on itself when it leaves. Ranks of one host find each
// other's times on the board (boards.h).
//
// A note is a letter (far_letters.h), sent to each of them just before the program's own call, so
// that it is there when that ends. Nobody waits for a note, and nobody has to send one: not who is
// paused, nor who is not observed. What was not told is estimated by what the statement has shown
// when it was. So no collective synchronises more than without dwell.
//
// All members count the collectives of a communicator alike, and choose the same ones to tell of
// (far_choice.h), so that it costs each at most some 3 % of its time. A note says how many its
// sender chooses: others look for notes only where all will have told.
//
// A rank that has more than kMostFar others on other hosts tells nobody: each note would need a
// connection of its own.
//
// Only by the thread that is in the collective, but for put_note(). Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_FAR_MEETINGS_H_
#define DWELL_RUNTIME_WAITSTATES_FAR_MEETINGS_H_

#include "runtime/calls/records.h"
#include "runtime/exchange/boards.h"
#include "runtime/hosts/far_choice.h"
#include "runtime/hosts/far_letters.h"
#include "runtime/mpi/comm_names.h"
#include "runtime/waitstates/roles.h"

namespace dwell {

constexpr uint32_t kMostFar = 128;
constexpr uint32_t kKeptNotes = 4;  // of each: it may be ahead

struct FarMember {
    uint32_t peer;   // rank in MPI_COMM_WORLD
    uint32_t place;  // as in Role
    uint32_t shift;
    uint32_t exposed;   // times that it could access the caller's memory by MPI_Win_post,
    uint32_t accessed;  // and the caller its memory by MPI_Win_start
    uint32_t heard;     // notes so far
    ToldUntil told;     // by epochs
    FarNote notes[kKeptNotes];
};

// The members of a communicator, window or file on other hosts. Never given back to the system.
struct FarMembers {
    uint64_t id;
    FarMembers* next;  // with the same hash, or also free
    FarChoice choice;
    ToldUntil told;
    uint64_t loss_at;    // when the rank's own loss was looked at last, and what it was then,
    uint64_t lost;       // without telling
    uint8_t loss;        // of 256 parts of the time between the last two looks
    uint32_t fruitless;  // looks for notes in a row that did not find all
    uint32_t ticket;     // never that of others
    uint64_t next_look;
    uint32_t epochs;  // of a window, to be told of since the last that was
    Board alone;      // what a board is where others are on this host: nobody has a place
    uint32_t count;
    FarMember members[kMostFar];
};

// A collective as one rank enters it.
struct FarCall {
    uint32_t number;
    MpiCall call;
    Role role;
    Givers givers;
};

// In MPI_Init, once letters and channels are open: finds those of MPI_COMM_WORLD. Slow.
void open_far_meetings();

// After the first collective on a communicator, window or file has succeeded, so that its handle is
// good. Slow.
void find_far_members(Thread* thread, CommName* name);
// For requests, which may outlive the communicator; null: it is freed.
FarMembers* far_members_with(uint32_t ticket);
// The communicator is freed.
void forget_far_members(FarMembers* far);

// The rank is about to enter it: tells those who depend on it, when it is one of the chosen. False:
// it has told nobody.
bool tell_far(Call* call, CommName* name, const FarCall& enters);
// MPI rejected the call that was told of: the next one has its number.
void untell_far(const FarMembers* far, uint32_t number);

// A note has come from `peer`. For open_letters().
void put_note(uint32_t peer, const FarNote& note);

// What is known, when the call was left at `left`, of those on other hosts that it depended on.
struct FarHeard {
    uint32_t partners;  // all of them
    uint32_t count;     // that have told
    bool found;         // one of them may have been waited for:
    uint32_t peer;      // the last on the virtual clock
    Moment last;        // and its moment, with the latest real time of all
};
FarHeard hear_far(Thread* thread, FarMembers* far, const FarCall& enters, uint64_t left);

// Epochs of a window (meetings.h). Both ranks of each pair give an exposure and the access to it
// the same number: how many there were.
void count_epoch(FarMembers* far, Epoch epoch, const FewRanks& partners);
// The memory was exposed, or the access is about to end: tells those of `alone.origins`, or of
// `alone.targets`. `entered`: the moment of the call.
void tell_epoch_far(Call* call, FarMembers* far, Epoch epoch, const Moment& entered);
FarHeard hear_epoch_far(Thread* thread, FarMembers* far, Epoch epoch, uint64_t left);
// Is this rank of the window on another host?
bool is_far_member(const FarMembers& far, int rank);

// What a statement's calls take when all have come, and who came last from another host: from calls
// of which all was told. `node` is the statement's.
struct FarUsual {
    CellIndex node;
    uint32_t ticks;
    uint32_t peer;
    uint32_t path;
};
void note_usual(const FarUsual& usual);
bool usual_of(CellIndex node, FarUsual* usual);
// When that rank came to a call that ended at `left`, at the latest; `lost` is what the caller has
// lost to being observed.
Moment estimate_far(const FarUsual& usual, uint64_t left, uint64_t lost);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_FAR_MEETINGS_H_
