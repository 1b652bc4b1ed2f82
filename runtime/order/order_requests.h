// Calls that complete some of several requests, MPI_Waitany and its kin, and waits for receives
// that are held back, in the order of the run without dwell (--preserve-order; order.h).
//
// Without dwell such a call takes what is complete when it begins: MPI_Waitany and MPI_Testany the
// first of the array, MPI_Waitsome and MPI_Testsome all; if nothing is, the first that completes.
// The same is done here on the virtual clock, once no partner can come earlier. A test says that
// nothing is complete only when that is true: what is decided is which, not whether.
#ifndef DWELL_RUNTIME_ORDER_ORDER_REQUESTS_H_
#define DWELL_RUNTIME_ORDER_ORDER_REQUESTS_H_

#include "runtime/mpi/requests.h"
#include "runtime/order/deferred_receives.h"

namespace dwell {

enum class Pick { kOne, kSome };

// What a call on several requests is to complete.
struct Picked {
    bool in_order = false;            // the order is kept
    bool known = false;               // else it takes what comes
    int count = 0;                    // none: nothing is there, which a test may find
    MPI_Request* requests = nullptr;  // as many as the call has; all that were not picked are null
    const void* room = nullptr;
    int deferred = -1;                              // where the one is that is delivered already
    bool at_once = false;                           // all were complete when the call began
    uint64_t ThreadRecord::*left_to_mpi = nullptr;  // where it counts if it takes what comes
};
// `room` holds kPickBytes for each request. After start().
constexpr size_t kPickBytes = 40;
DWELL_COLD Picked pick_requests(Call* call, const Before* before, int count, Pick pick, bool waits,
                                void* room);
// After MPI completed what was picked.
DWELL_COLD void put_back(const Picked& picked, int count, MPI_Request* requests);
// Adds the one that was delivered to what MPI says that it completed.
DWELL_COLD int add_delivered(const Picked& picked, MPI_Request handle, int result, int* completed,
                             int* indices, MPI_Status* statuses);

// One that is waited for or tested alone. What is delivered completes in the call.
enum class Delivery { kNone, kNothingThere, kAtOnce, kLater };
DWELL_COLD Delivery deliver_to(Call* call, MPI_Request handle, bool waits);
// All of the array that come next, waiting for each.
DWELL_COLD void deliver_all(Call* call, const Before* before, int count);
// The status of one that was delivered; what MPI says otherwise.
DWELL_COLD int give_status(MPI_Request handle, int result, MPI_Status* status);

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_ORDER_REQUESTS_H_
