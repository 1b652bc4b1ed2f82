// Replay order for calls that complete some of several requests (MPI_Waitany and similar), and for
// waits for deferred receives (--preserve-order; order.h).
//
// Without dwell such a call takes what is complete when it begins (MPI_Waitany and MPI_Testany the
// first of the array, MPI_Waitsome and MPI_Testsome all), else the first to complete. The same
// choice is made here on the virtual clock, once no partner can come earlier. A test reports
// nothing complete only if that is true: only the choice among complete requests is controlled.
#ifndef DWELL_RUNTIME_ORDER_ORDER_REQUESTS_H_
#define DWELL_RUNTIME_ORDER_ORDER_REQUESTS_H_

#include "runtime/mpi/requests.h"
#include "runtime/order/deferred_receives.h"

namespace dwell {

enum class Pick { kOne, kSome };

// The requests that a call on several requests is to complete.
struct Picked {
    bool in_order = false;            // the order is kept
    bool known = false;               // the choice is made; else left to MPI
    int count = 0;                    // 0: nothing is complete, as a test may find
    MPI_Request* requests = nullptr;  // array of the call's length; null where not picked
    const void* room = nullptr;
    int deferred = -1;                              // index of the one already delivered
    bool at_once = false;                           // all were complete when the call began
    uint64_t ThreadRecord::*left_to_mpi = nullptr;  // counter to increment if left to MPI
};
// `room` has kPickBytes for each request. After start().
constexpr size_t kPickBytes = 40;
DWELL_COLD Picked pick_requests(Call* call, const Before* before, int count, Pick pick, bool waits,
                                void* room);
// After MPI has completed the picked requests.
DWELL_COLD void put_back(const Picked& picked, int count, MPI_Request* requests);
// Adds the delivered request to those that MPI completed.
DWELL_COLD int add_delivered(const Picked& picked, MPI_Request handle, int result, int* completed,
                             int* indices, MPI_Status* statuses);

// For a single request that is waited for or tested. A delivered message completes in the call.
enum class Delivery { kNone, kNothingThere, kAtOnce, kLater };
DWELL_COLD Delivery deliver_to(Call* call, MPI_Request handle, bool waits);
// Delivers to all deferred receives of the array, waiting for each.
DWELL_COLD void deliver_all(Call* call, const Before* before, int count);
// The status of a delivered receive, else that of MPI.
DWELL_COLD int give_status(MPI_Request handle, int result, MPI_Status* status);

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_ORDER_REQUESTS_H_
