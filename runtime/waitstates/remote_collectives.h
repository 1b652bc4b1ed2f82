// Collectives on communicators, windows and files that reach several hosts (DESIGN 4, collective
// rule and exchange): what a rank tells those on other hosts who depend on it when it enters one,
// and what it has heard of those it depends on itself when it leaves. Ranks of one host find each
// other's times on the board (collective_table.h).
//
// A note is a letter (piggyback.h), sent to each of them just before the program's own call, so
// that it is there when that ends. Nobody waits for a note, and nobody has to send one: not who is
// paused, nor who is not observed. What was not told is estimated by what the statement has shown
// when it was. So no collective synchronises more than without dwell.
//
// All members count the collectives of a communicator alike, and choose the same ones to tell of
// (remote_choice.h), so that it costs each at most some 3 % of its time. A note says how many its
// sender chooses: others look for notes only where all will have told.
//
// A rank that has more than kMostRemote others on other hosts tells nobody: each note would need a
// connection of its own.
//
// Only by the thread that is in the collective, but for put_notice(). Not signal-safe.
#ifndef DWELL_RUNTIME_WAITSTATES_REMOTE_COLLECTIVES_H_
#define DWELL_RUNTIME_WAITSTATES_REMOTE_COLLECTIVES_H_

#include "runtime/calls/records.h"
#include "runtime/exchange/collective_table.h"
#include "runtime/hosts/piggyback.h"
#include "runtime/hosts/remote_choice.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/waitstates/collective_roles.h"

namespace dwell {

constexpr uint32_t kMostRemote = 128;
constexpr uint32_t kKeptNotes = 4;  // of each: it may be ahead

struct RemoteMember {
    uint32_t peer;   // rank in MPI_COMM_WORLD
    uint32_t place;  // as in Role
    uint32_t shift;
    uint32_t exposed;         // times that it could access the caller's memory by MPI_Win_post,
    uint32_t accessed;        // and the caller its memory by MPI_Win_start
    uint32_t matched_stamp;   // notes so far
    StampedUntil sent_stamp;  // by epochs
    EntryNotice notes[kKeptNotes];
};

// The members of a communicator, window or file on other hosts. Never given back to the system.
struct RemoteMembers {
    uint64_t id;
    RemoteMembers* next;  // with the same hash, or also free
    RemoteChoice choice;
    StampedUntil sent_stamp;
    uint64_t loss_at;     // when the rank's own loss was looked at last, and what it was then,
    uint64_t lost;        // without telling
    uint8_t loss;         // of 256 parts of the time between the last two looks
    uint32_t fruitless;   // looks for notes in a row that did not find all
    uint32_t post_order;  // never that of others
    uint64_t next_look;
    uint32_t epochs;        // of a window, to be told of since the last that was
    CollectiveTable alone;  // what a board is where others are on this host: nobody has a place
    uint32_t count;
    RemoteMember members[kMostRemote];
};

// A collective as one rank enters it.
struct RemoteCall {
    uint32_t number;
    MpiCall call;
    CollectiveRole role;
    Contributors contributors;
};

// In MPI_Init, once letters and channels are open: finds those of MPI_COMM_WORLD. Slow.
void open_remote_collectives();

// After the first collective on a communicator, window or file has succeeded, so that its handle is
// good. Slow.
void find_remote_members(Thread* thread, CommDefinition* name);
// For requests, which may outlive the communicator; null: it is freed.
RemoteMembers* remote_members_with(uint32_t post_order);
// The communicator is freed.
void forget_remote_members(RemoteMembers* remote);

// The rank is about to enter it: tells those who depend on it, when it is one of the chosen. False:
// it has told nobody.
bool stamp_remote(Call* call, CommDefinition* name, const RemoteCall& enters);
// MPI rejected the call that was told of: the next one has its number.
void withdraw_remote(const RemoteMembers* remote, uint32_t number);

// A note has come from `peer`. For open_piggyback().
void put_notice(uint32_t peer, const EntryNotice& notice);

// What is known, when the call was left at `left`, of those on other hosts that it depended on.
struct RemoteMatch {
    uint32_t partners;  // all of them
    uint32_t count;     // that have told
    bool found;         // one of them may have been waited for:
    uint32_t peer;      // the last on the virtual clock
    EnterStamp last;    // and its moment, with the latest real time of all
};
RemoteMatch match_remote(Thread* thread, RemoteMembers* remote, const RemoteCall& enters,
                         uint64_t left);

// Epochs of a window (collectives.h). Both ranks of each pair give an exposure and the access to it
// the same number: how many there were.
void count_epoch(RemoteMembers* remote, Epoch epoch, const FewRanks& partners);
// The memory was exposed, or the access is about to end: tells those of `alone.origins`, or of
// `alone.targets`. `entered`: the moment of the call.
void stamp_epoch_remote(Call* call, RemoteMembers* remote, Epoch epoch, const EnterStamp& entered);
RemoteMatch match_epoch_remote(Thread* thread, RemoteMembers* remote, Epoch epoch, uint64_t left);
// Is this rank of the window on another host?
bool is_remote_member(const RemoteMembers& remote, int rank);

// What a statement's calls take when all have come, and who came last from another host: from calls
// of which all was told. `node` is the statement's.
struct RemoteUsual {
    CellIndex node;
    uint32_t ticks;
    uint32_t peer;
    uint32_t path;
};
void note_usual(const RemoteUsual& usual);
bool usual_of(CellIndex node, RemoteUsual* usual);
// When that rank came to a call that ended at `left`, at the latest; `lost` is what the caller has
// lost to being observed.
EnterStamp estimate_remote(const RemoteUsual& usual, uint64_t left, uint64_t lost);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_REMOTE_COLLECTIVES_H_
