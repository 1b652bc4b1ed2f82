// Collectives on communicators, windows and files of several hosts (DESIGN 4, collective rule and
// exchange): sends enter stamps to dependent ranks on other hosts, and matches those received from
// them. Ranks of one host use collective_table.h.
//
// A notice is a piggyback message (piggyback.h), sent to each dependent rank just before the
// program's call. Nobody waits for a notice, and paused or unprofiled ranks send none; missing
// stamps are estimated from earlier calls of the same statement. So no collective synchronises more
// than without dwell.
//
// All members count the instances of a communicator alike and choose the same ones for notices
// (remote_choice.h), so that each spends at most some 3 % of its time. A notice holds its sender's
// choice: ranks look for notices only where all will have sent one. A rank with more than
// kMostRemote members on other hosts sends none, as each would need a connection.
//
// Only the thread in the collective, except put_notice(). Not signal-safe.
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
constexpr uint32_t kKeptNotices = 4;  // of each member, which may be ahead

struct RemoteMember {
    uint32_t peer;   // rank in MPI_COMM_WORLD
    uint32_t place;  // as in collective_roles.h
    uint32_t shift;
    uint32_t notice_count;  // notices so far
    EntryNotice notices[kKeptNotices];
};

// The members of a communicator, window or file on other hosts. Memory is never given back to the
// system.
struct RemoteMembers {
    uint64_t id;
    RemoteMembers* next;  // in the hash bucket or free list
    RemoteChoice choice;
    StampedUntil stamped_until;
    uint64_t loss_at;    // when the rank's own loss was last computed
    uint64_t lost;       // the loss at that time, without notices
    uint8_t loss;        // of 256 parts of the time between the last two looks
    uint32_t fruitless;  // consecutive looks that did not find all notices
    uint32_t serial;     // unique number of this object
    uint64_t next_look;
    CollectiveTable empty_table;  // stands for a collective table without members on this host
    uint32_t count;
    RemoteMember members[kMostRemote];
};

// A collective instance as one rank enters it.
struct RemoteCall {
    uint32_t number;
    MpiCall call;
    CollectiveRole role;
    Contributors contributors;
};

// In MPI_Init, when piggyback messages and channels are open: for MPI_COMM_WORLD. Slow.
void open_remote_collectives();

// After the first successful collective on a communicator, window or file, whose handle is then
// known to be valid. Slow.
void find_remote_members(Thread* thread, CommDefinition* definition);
// For requests, which may outlive the communicator; null: it is freed.
RemoteMembers* remote_members_with(uint32_t serial);
// The communicator is freed.
void forget_remote_members(RemoteMembers* remote);

// Before the rank enters a chosen instance: sends notices to those that depend on it. False: none
// was sent.
bool stamp_remote(Call* call, CommDefinition* definition, const RemoteCall& enters);
// MPI rejected the call: its number is used again.
void withdraw_remote(const RemoteMembers* remote, uint32_t number);

// Stores a notice from `peer`. The handler for open_piggyback().
void put_notice(uint32_t peer, const EntryNotice& notice);

// What is known of the partners on other hosts, when the call was left at `left`.
struct RemoteMatch {
    uint32_t partners;  // number of partners
    uint32_t count;     // of these, with a notice
    bool found;         // at least one of them may have been waited for
    uint32_t peer;      // the last on the virtual clock
    EnterStamp last;    // its stamp, with the latest real time of all
};
RemoteMatch match_remote(Thread* thread, RemoteMembers* remote, const RemoteCall& enters,
                         uint64_t left);

// What is usual for a statement, from calls with all stamps: the ticks after the last partner
// entered, and the last partner on another host. `node` is the statement's.
struct RemoteUsual {
    CellIndex node;
    uint32_t ticks;
    uint32_t peer;
    uint32_t path;
};
void note_usual(const RemoteUsual& usual);
bool usual_of(CellIndex node, RemoteUsual* usual);
// Estimates that partner's enter stamp for a call left at `left`; `lost` is what the caller itself
// has lost to overhead.
EnterStamp estimate_remote(const RemoteUsual& usual, uint64_t left, uint64_t lost);

}  // namespace dwell

#endif  // DWELL_RUNTIME_WAITSTATES_REMOTE_COLLECTIVES_H_
