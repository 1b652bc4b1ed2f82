// The table of requests, from the call that starts one to the call that completes it, by handle.
// Any thread may complete another's request, so the table is shared; MPI's rules keep two threads
// from working on one request at a time.
#ifndef DWELL_RUNTIME_MPI_REQUESTS_H_
#define DWELL_RUNTIME_MPI_REQUESTS_H_

#include <stdint.h>

#include <atomic>

#include "runtime/mpi/dependence.h"
#include "runtime/mpi/mpi_api.h"

namespace dwell {

struct CommRanks;  // group of a communicator's ranks; see ranks.h
struct ChannelEntry;
struct CollectiveTable;
struct PersistentCollective;

// The mode of a send.
enum SendMode : uint8_t { kStandardSend, kSynchronousSend, kBufferedSend };

// What the table keeps of a request, in an entry of it. `generation` is odd while the entry is
// being changed; it grows with every change of the request. MPI may reuse a completed request's
// handle before the completing thread has removed the entry, so callers work on a copy and remove
// the entry only if it still equals the copy.
struct Request {
    uintptr_t handle;  // 0: free
    union {
        CommRanks* ranks;     // of receives of any source: held until completion
        ChannelEntry* entry;  // of sends: entry with the stamp (channels.h), or null
        Request* next_free;   // in the free list
        CollectiveTable*
            table;  // of collectives: held until completion, or null (collective_table.h)
        PersistentCollective* persistent_collective;  // of persistent collectives (collectives.h)
    };
    union {
        uint64_t bytes;         // of persistent sends
        uint64_t contributors;  // of collectives: bit k: the k-th count is not 0
    };
    union {
        uint32_t peer;  // of sends, and of receives from a named source
        uint32_t
            remote;  // of collectives: RemoteMembers::serial (remote_collectives.h), or kNoPeer
    };
    uint32_t generation;
    union {
        uint32_t comm;  // id of the communicator (comm_definitions.h), 0: not known
        MpiCall call;   // of collectives
    };
    union {
        uint32_t post_order;  // of receives: post order in the channel
        uint32_t number;  // of sends: number of the entry; of collectives: number of the instance
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
        Dependence dependence;  // of all but sends and receives
    };
};
static_assert(sizeof(Request) == 48);

// An entry: a RequestRecord of the record file, or in memory of its own where the file is full.
struct alignas(kCellBytes) RequestEntry : Request {
    ShownRequest shown;
};
static_assert(sizeof(RequestEntry) == sizeof(RequestRecord) &&
              offsetof(Request, handle) == offsetof(RequestRecord, handle) &&
              offsetof(Request, generation) == offsetof(RequestRecord, generation) &&
              offsetof(Request, kind) == offsetof(RequestRecord, kind) &&
              offsetof(Request, persistent) == offsetof(RequestRecord, persistent) &&
              offsetof(Request, active) == offsetof(RequestRecord, active) &&
              sizeof(Request) == offsetof(RequestRecord, shown));

// A copy of the handle's current entry and its location; entry null when there is none.
struct FoundRequest {
    Request* entry;
    Request** place;  // pointer to the entry; set, as the copy, only if there is an entry
    Request copy;
};
void find_request(uintptr_t handle, FoundRequest* found);
inline FoundRequest find_request(uintptr_t handle) {
    FoundRequest found{};
    find_request(handle, &found);
    return found;
}
inline bool is_persistent_collective(const FoundRequest& found) {
    return found.entry != nullptr && found.copy.kind == kCollectiveRequest &&
           found.copy.persistent && found.copy.persistent_collective != nullptr;
}

// Whether the entry still equals the copy.
bool is_unchanged(const FoundRequest& found);

// A request before the call that may complete it.
struct Before {
    MPI_Request handle;
    FoundRequest found;
    bool ready;

    bool is_active() const { return found.entry != nullptr && found.copy.active; }
    bool is_receive() const { return is_active() && found.copy.kind == kReceiveRequest; }
};

// Adds an entry with the given content (handle and generation are set here); overwrites a stale one
// of the same handle. False when there is no memory.
bool add_request(uintptr_t handle, const Request& content, const ShownRequest& shown);

// Releases what an entry of this content holds. g_release_collective is set by the wait analysis,
// which knows what collectives hold.
void release(const Request& content);
inline void (*g_release_collective)(const Request& content)
    __attribute__((visibility("hidden"))) = nullptr;

// Removes the entry, unless its handle was reused meanwhile.
void drop_request(const FoundRequest& found);

// Activates or deactivates a persistent request. Only by the thread that works on it.
void set_active(const FoundRequest& found, bool active);
// Notes for readers whether a wait found it complete. Likewise.
inline void set_awaited(const FoundRequest& found, AwaitedState state) {
    if (found.entry != nullptr) set_awaited(&static_cast<RequestEntry*>(found.entry)->shown, state);
}
// Sets the entry and number of its message. Likewise.
void set_message(const FoundRequest& found, ChannelEntry* entry, uint32_t number);

// Requests that are complete when started, such as those of MPI_PROC_NULL, share one handle, so it
// is not known which of them a call completes. Those other than sends are taken to complete first.
extern std::atomic<uint32_t> g_complete_receives;
bool take_complete_receive();
inline bool completes_send() {
    return g_complete_receives.load(std::memory_order_relaxed) == 0 || !take_complete_receive();
}

// MPI_Request_free: the handle is gone, whether the request is complete or not.
void forget_request(uintptr_t handle);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_REQUESTS_H_
