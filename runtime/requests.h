// Requests from the call that starts them to the call that completes them, by their handle. Any
// thread may complete what another started, so the table is shared; MPI's own rules keep two
// threads from working on one request at a time.
#ifndef DWELL_RUNTIME_REQUESTS_H_
#define DWELL_RUNTIME_REQUESTS_H_

#include <stdint.h>

#include "runtime/mpi_api.h"

namespace dwell {

enum RequestKind : uint8_t {
    kNoRequest = 0,
    kSendRequest = 1,
    kReceiveRequest = 2,
    kCollectiveRequest = 3,
    kRmaRequest = 4,
    kFileReadRequest = 5,
    kFileWriteRequest = 6,
    kMessageHandle = 7,  // of MPI_Mprobe
};

struct CommRanks;  // how the ranks of a communicator are named; see ranks.h

// One entry of the table. `generation` is even while the entry is settled and odd while it is being
// filled or emptied; it changes whenever the handle comes to stand for another request. MPI may
// hand out the handle of a completed request again before the thread that completed it has got to
// the table, so an entry is used by its copy, and dropped only if it is still the one that was
// copied.
struct Request {
    uintptr_t handle;  // 0 = free
    CommRanks* ranks;  // of wildcard receives: held until completion
    uint64_t bytes;    // of persistent sends
    uint32_t peer;     // of persistent sends, and of receives that name their source
    uint32_t generation;
    RequestKind kind;
    bool persistent;
    bool active;
};

// A copy of the entry of `handle` as it is now, and where it lies; entry null when there is none.
struct FoundRequest {
    Request* entry;
    Request copy;
};
FoundRequest find_request(uintptr_t handle);

// True when the request is still the one that was copied, in the same state.
bool still_stands(const FoundRequest& found);

// A request as it was before the call that may complete it.
struct Before {
    MPI_Request handle;
    FoundRequest found;
    bool ready;

    bool is_active() const { return found.entry != nullptr && found.copy.active; }
};

// A new entry with the given content (handle and generation are set here); a stale one of the same
// handle is overwritten. False when there is no room: past some hundred million at a time.
bool add_request(uintptr_t handle, const Request& content);

// Ends the entry, unless its handle stands for another request by now.
void drop_request(const FoundRequest& found);

// A persistent request becomes active or inactive. Only the thread that works on it calls this.
void set_active(const FoundRequest& found, bool active);

// MPI_Request_free: the handle is gone, whether or not the request was ever completed.
void forget_request(uintptr_t handle);

}  // namespace dwell

#endif  // DWELL_RUNTIME_REQUESTS_H_
