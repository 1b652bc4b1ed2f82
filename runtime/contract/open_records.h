// The part of a record file that says what a process is in now and whom it waits for, for readers
// of a running process (`dwell where`). Every 8-byte value is written whole; the comments say how a
// reader finds values that belong together.
#ifndef DWELL_RUNTIME_CONTRACT_OPEN_RECORDS_H_
#define DWELL_RUNTIME_CONTRACT_OPEN_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

namespace dwell {

using CellIndex = uint32_t;
constexpr uint32_t kCellBytes = 64;

constexpr int32_t kAnyRank = -1;   // MPI_ANY_SOURCE
constexpr int32_t kAnyTag = -1;    // MPI_ANY_TAG
constexpr int32_t kNullRank = -2;  // MPI_PROC_NULL

// The communication statement that a thread is in, and whom it may wait for, as the program passed
// it. The class of the node's function says which fields have a meaning.
//
// A writer stores ThreadRecord::open_depth and `node` first, entry_ticks last, and when the
// statement ends ThreadRecord::last_ticks. A reader takes entry_ticks, then the rest, then
// last_ticks: if that is older than entry_ticks, all of it belongs to this statement, which has not
// ended.
struct OpenCall {
    CellIndex node;
    uint32_t reserved;
    uint64_t entry_ticks;  // real ticks
    uint64_t handle;       // of the communicator, window or file: CommRecord::handle
    int32_t peer;          // source, destination, root or target: rank in that communicator
    int32_t tag;
    int32_t destination;  // of a send-receive
    uint32_t requests;    // wait: number of its requests
    uint64_t request;     // wait for one request: RequestRecord::handle
    uint64_t unused[2];
};

// CommRecord::id of MPI_COMM_WORLD.
constexpr uint64_t kWorldId = 0x776f726c6421d4e1;

// A communicator, window or file that the process has open. Members on one host are found by their
// common id.
struct CommRecord {
    uint64_t handle;   // MPI's, stored last; 0: free
    uint64_t id;       // the same in all members (comm_definitions.h)
    CellIndex next;    // all of the file
    int32_t rank;      // the caller's
    uint32_t members;  // of both groups
    int32_t size;      // ranks that may be addressed
    uint32_t entered;  // collectives of it that the process has entered; 0: none, or not known
    uint8_t inter;
    uint8_t side;
    uint8_t unused[26];
};

// The id of messages and collectives: 32 bits of CommRecord::id, never 0 or 0xffffffff.
inline uint32_t short_comm_id(uint64_t id) {
    const auto folded = static_cast<uint32_t>(id ^ id >> 32);
    return folded != 0 && folded != UINT32_MAX ? folded : 1;
}

enum RequestKind : uint8_t {
    kNoRequest = 0,
    kSendRequest = 1,
    kReceiveRequest = 2,
    kCollectiveRequest = 3,  // also persistent
    kRmaRequest = 4,
    kFileReadRequest = 5,
    kFileWriteRequest = 6,
    kMessageHandle = 7,   // of MPI_Mprobe
    kGeneralRequest = 8,  // the program's own: MPI_Grequest_start
};
// Of a request that a blocked MPI_Waitall waits for: whether it was complete when that began to
// block.
enum AwaitedState : uint8_t { kNotAwaited = 0, kAwaited = 1, kWasComplete = 2 };

// What is kept of a request for readers: communicator and tag as the program passed them, the
// peer (a rank in that communicator, or kAnyRank), and below it an AwaitedState of 8 bits. Of a
// collective: its function (kMpiCalls) as peer, and as tag its number as in CommRecord::entered,
// 0 where it is not known.
struct ShownRequest {
    uint64_t comm;  // CommRecord::handle, 0: none
    uint32_t peer_awaited;
    int32_t tag;
};
constexpr int kAwaitedBits = 8;
inline ShownRequest shown_request(uint64_t comm, int32_t peer, int32_t tag) {
    return {comm, static_cast<uint32_t>(peer) << kAwaitedBits, tag};
}
inline int32_t peer_of(const ShownRequest& shown) {
    return static_cast<int32_t>(shown.peer_awaited) >> kAwaitedBits;
}
inline AwaitedState awaited_state(const ShownRequest& shown) {
    return static_cast<AwaitedState>(shown.peer_awaited & ((1u << kAwaitedBits) - 1));
}
inline void set_awaited(ShownRequest* shown, AwaitedState state) {
    shown->peer_awaited = static_cast<uint32_t>(peer_of(*shown)) << kAwaitedBits | state;
}

// An entry of the request table, in which the runtime works (runtime/mpi/requests.h). It is in use
// while `handle` is not 0, which is stored last; `generation` grows before that with every change
// and is odd during some. A reader takes `handle`, `generation`, the rest, and both again in that
// order: where both are equal and `generation` is even, all of it is of one request.
struct RequestRecord {
    uint64_t handle;
    uint64_t own[2];
    uint32_t own_number;
    uint32_t generation;
    uint32_t own_more[3];
    uint8_t kind;  // RequestKind
    uint8_t persistent;
    uint8_t active;
    uint8_t own_mode;
    ShownRequest shown;
};
// A piece of the request table: this cell, then `entries` RequestRecords.
struct RequestBlock {
    CellIndex next;
    uint32_t entries;
    uint64_t unused[7];
};

// An OpenMP lock or critical section, or the lock of a rank's window, that a thread holds or waits
// for. `what` is stored last and cleared first; 0: none.
struct HeldLock {
    uint64_t what;   // address of the lock; handle of the window (CommRecord)
    uint64_t place;  // OpenMP: return address of the statement, in this process; else 0
    CellIndex node;  // window: the statement
    int32_t target;  // window: rank in it, or kAnyRank: of all
};
struct WantedLock {
    uint64_t what;
    uint64_t place;
    uint64_t since_ticks;  // real
    uint32_t construct;    // OmpConstruct
    uint32_t reserved;
};
constexpr int kHeldLocks = 4;  // further ones are not stored

static_assert(sizeof(OpenCall) == kCellBytes);
static_assert(sizeof(CommRecord) == kCellBytes);
static_assert(sizeof(ShownRequest) == 16);
static_assert(sizeof(RequestRecord) == kCellBytes);
static_assert(sizeof(RequestBlock) == kCellBytes);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_OPEN_RECORDS_H_
