// Deferred receives: receives of any source that are posted before they are waited for, matched in
// the order of the run without dwell (--preserve-order; order.h).
//
// MPI matches a posted receive to the first message that arrives, so the choice requires posting it
// later. A receive is deferred until the next MPI call, no longer: MPI would not have progressed it
// before. If that call waits for or tests the receive, its message is chosen as for MPI_Recv. Any
// other call first posts all deferred receives, and MPI matches them; so no partner misses a
// receive that it may rely on.
//
// The handle of a deferred receive is that of an inactive persistent receive with the same
// arguments; posting starts it.
//
// For the thread that calls MPI, where there is only one. Not signal-safe.
#ifndef DWELL_RUNTIME_ORDER_DEFERRED_RECEIVES_H_
#define DWELL_RUNTIME_ORDER_DEFERRED_RECEIVES_H_

#include "runtime/calls/records.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

struct DeferredReceive {
    enum State : uint8_t {
        kFree,
        kInactive,  // persistent and not started by the program
        kDeferred,
        kWithMpi,    // posted
        kDelivered,  // by dwell: the current call completes it for the program
    };
    MPI_Request handle;
    void* buffer;
    MPI_Datatype type;
    MPI_Comm comm;
    int count;
    int tag;
    uint64_t bytes;  // size of the buffer
    State state;
    bool persistent;          // as the program sees it
    bool left_to_mpi;         // its communicator or datatype was freed: left to MPI
    uint32_t deferred_order;  // post order among deferred receives
    MPI_Status status;
    int result;
    MatchedStamp matched_stamp;
};

extern uint32_t g_deferred __attribute__((visibility("hidden")));  // number of deferred receives
inline bool holds_receives() { return g_process.preserve_order && g_deferred != 0; }

// MPI_Irecv: defers a receive of any source if possible; any other receive ends the deferring.
DWELL_COLD int post_receive(Call* call, decltype(&PMPI_Irecv) next, void* buffer, int count,
                            MPI_Datatype type, int source, int tag, MPI_Comm comm,
                            MPI_Request* request);

// MPI_Recv_init of any source made `handle`. start_request() (MPI_Start) defers it or starts it.
DWELL_COLD void remember_wildcard(Call* call, MPI_Request handle, void* buffer, int count,
                                  MPI_Datatype type, int tag, MPI_Comm comm);
DWELL_COLD int start_request(Call* call, decltype(&PMPI_Start) next, MPI_Request* request);

// Another call started the request, if it is a receive of any source.
DWELL_COLD void note_started(MPI_Request handle);

// Posts all deferred receives, for MPI to match.
DWELL_COLD void post_deferred();
// Before any call, recorded or not: posts them unless the call handles deferred receives itself.
DWELL_COLD void end_deferring(MpiCall number);

// The deferred receive of `handle` if it is the next to be matched, else null.
DeferredReceive* next_deferred(MPI_Request handle);
// What the current call has delivered to `handle`, else null.
const DeferredReceive* delivered(MPI_Request handle);
// Receives the message of `source`, which has arrived. False, without effect, if that might take
// longer than the call would, or fail. `waits`: the call waits for this receive.
bool deliver(Call* call, DeferredReceive* deferred, int source, bool waits);

// A call has completed `count` requests of the program: those at `indices`, or the first ones if
// null.
DWELL_COLD void retire_deferred(MPI_Request* requests, const int* indices, int count);
// After success of a call on several requests. Open MPI 4 does not report truncation for persistent
// receives, and deferred ones are such. This function handles truncation as for an ordinary
// receive: it calls the error handler and retires the requests. Returns the call's result.
DWELL_COLD int failure_of_deferred(MPI_Request* requests, const int* indices, int count,
                                   const MPI_Status* statuses, bool all);
DWELL_COLD void forget_deferred(uintptr_t handle);       // MPI_Request_free
DWELL_COLD void detach_deferred(const uintptr_t* comm);  // freed; null: some datatype was

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_DEFERRED_RECEIVES_H_
