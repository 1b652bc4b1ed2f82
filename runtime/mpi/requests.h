// Requests from the call that starts them to the call that completes them, by their handle. Any
// thread may complete what another started, so the table is shared; MPI's own rules keep two
// threads from working on one request at a time.
#ifndef DWELL_RUNTIME_MPI_REQUESTS_H_
#define DWELL_RUNTIME_MPI_REQUESTS_H_

#include <stdint.h>

#include <atomic>

#include "runtime/mpi/dependence.h"
#include "runtime/mpi/mpi_api.h"

namespace dwell {

enum RequestKind : uint8_t {
    kNoRequest = 0,
    kSendRequest = 1,
    kReceiveRequest = 2,
    kCollectiveRequest = 3,  // also a persistent one
    kRmaRequest = 4,
    kFileReadRequest = 5,
    kFileWriteRequest = 6,
    kMessageHandle = 7,   // of MPI_Mprobe
    kGeneralRequest = 8,  // the program's own: MPI_Grequest_start
};

struct CommRanks;  // how the ranks of a communicator are named; see ranks.h
struct ChannelEntry;
struct CollectiveTable;
struct Standing;

// How a send goes about its receiver.
enum SendMode : uint8_t { kStandardSend, kSynchronousSend, kBufferedSend };

// One entry of the table. `generation` is even while the entry is settled and odd while it is being
// filled or emptied; it changes whenever the handle comes to stand for another request. MPI may
// hand out the handle of a completed request again before the thread that completed it has got to
// the table, so an entry is used by its copy, and dropped only if it is still the one that was
// copied.
struct Request {
    uintptr_t handle;  // 0 = free
    union {
        CommRanks* ranks;     // of wildcard receives: held until completion
        ChannelEntry* entry;  // of sends: what was said of the message (channels.h), or null
        Request* next_free;   // of entries without a request
        CollectiveTable*
            table;           // of collectives: held until completion, or null (collective_table.h)
        Standing* standing;  // of persistent ones (collectives.h)
    };
    union {
        uint64_t bytes;         // of persistent sends
        uint64_t contributors;  // of collectives: bit k, the k-th count was not 0
    };
    union {
        uint32_t peer;  // of sends, and of receives that name their source
        uint32_t
            remote;  // of collectives: RemoteMembers::ticket (remote_collectives.h), or kNoPeer
    };
    uint32_t generation;
    union {
        uint32_t comm;  // its name (comm_definitions.h), 0: not known
        MpiCall call;   // of collectives
    };
    union {
        uint32_t post_order;  // of receives: their turn in the channel
        uint32_t number;      // of sends: their entry's; of collectives: their own
    };
    union {
        int32_t tag;
        int32_t root;  // of collectives
    };
    RequestKind kind;
    bool persistent;
    bool active;
    union {
        SendMode mode;
        Dependence dependence;  // of all others but receives
    };
};
static_assert(sizeof(Request) == 48);

// A copy of the entry of `handle` as it is now, and where it lies; entry null when there is none.
struct FoundRequest {
    Request* entry;
    Request** place;  // that leads to it; this and the copy are set where there is an entry
    Request copy;
};
void find_request(uintptr_t handle, FoundRequest* found);
inline FoundRequest find_request(uintptr_t handle) {
    FoundRequest found{};
    find_request(handle, &found);
    return found;
}
inline bool is_standing(const FoundRequest& found) {
    return found.entry != nullptr && found.copy.kind == kCollectiveRequest &&
           found.copy.persistent && found.copy.standing != nullptr;
}

// True when the request is still the one that was copied, in the same state.
bool still_stands(const FoundRequest& found);

// A request as it was before the call that may complete it.
struct Before {
    MPI_Request handle;
    FoundRequest found;
    bool ready;

    bool is_active() const { return found.entry != nullptr && found.copy.active; }
    bool is_receive() const { return is_active() && found.copy.kind == kReceiveRequest; }
};

// A new entry with the given content (handle and generation are set here); a stale one of the same
// handle is overwritten. False when there is no memory.
bool add_request(uintptr_t handle, const Request& content);

// Gives up what an entry of this content would hold until its end. What collectives hold is known
// to the wait analysis alone, which sets the second.
void release(const Request& content);
inline void (*g_release_collective)(const Request& content)
    __attribute__((visibility("hidden"))) = nullptr;

// Ends the entry, unless its handle stands for another request by now.
void drop_request(const FoundRequest& found);

// A persistent request becomes active or inactive. Only the thread that works on it calls this.
void set_active(const FoundRequest& found, bool active);
// What its message is known by from now on. Likewise.
void set_message(const FoundRequest& found, ChannelEntry* entry, uint32_t number);

// Requests that are complete when they start, as those of MPI_PROC_NULL, share one handle: which of
// them a call completes is not known. Those that are no sends are taken to be first.
extern std::atomic<uint32_t> g_complete_receives;
bool take_complete_receive();
inline bool completes_send() {
    return g_complete_receives.load(std::memory_order_relaxed) == 0 || !take_complete_receive();
}

// MPI_Request_free: the handle is gone, whether or not the request was ever completed.
void forget_request(uintptr_t handle);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_REQUESTS_H_
