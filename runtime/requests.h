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

struct Request {
    uintptr_t handle;  // 0 = free
    CommRanks* ranks;  // of receives: held until completion
    uint64_t bytes;    // of persistent sends
    uint32_t peer;     // of persistent sends
    RequestKind kind;
    bool persistent;
    bool active;
};

// The entry of `handle`, or null. A few loads.
Request* find_request(uintptr_t handle);

// A new entry (a stale one of the same handle is overwritten); null when memory ran out.
Request* add_request(uintptr_t handle, RequestKind kind);

void drop_request(Request* request);

// MPI_Request_free: the handle is gone, whether or not the request was ever completed.
void forget_request(uintptr_t handle);

}  // namespace dwell

#endif  // DWELL_RUNTIME_REQUESTS_H_
