// Receives of any source that are posted before they are waited for, in the order of the run
// without dwell (--preserve-order; order.h).
//
// MPI gives a posted receive the first message that comes, so to choose for it is to post it later.
// It is held back until the next call of MPI, no longer: until then MPI would not have looked at
// its message either, as it works within its calls alone. If that call waits for the receive or
// tests it, the message is chosen as for MPI_Recv; any other call first posts what is held, as the
// program said, and MPI chooses. So no partner ever misses a receive that it may rely on.
//
// The handle of a receive that is held is that of a persistent one, not started, of the same
// arguments; posting is starting it.
//
// Of the thread that calls MPI, where there is only one. Not signal-safe.
#ifndef DWELL_RUNTIME_ORDER_DEFERRED_RECEIVES_H_
#define DWELL_RUNTIME_ORDER_DEFERRED_RECEIVES_H_

#include "runtime/calls/records.h"
#include "runtime/waitstates/waits.h"

namespace dwell {

struct DeferredReceive {
    enum State : uint8_t {
        kFree,
        kInactive,  // a persistent one, not started by the program
        kHeld,
        kWithMpi,    // posted
        kDelivered,  // by dwell: what the current call gives the program
    };
    MPI_Request handle;
    void* buffer;
    MPI_Datatype type;
    MPI_Comm comm;
    int count;
    int tag;
    uint64_t bytes;  // that there is room for
    State state;
    bool persistent;  // for the program
    bool is_loose;    // its communicator or type was freed: MPI alone has it
    uint32_t turn;    // of those held, in the order of posting
    MPI_Status status;
    int result;
    MatchedStamp matched_stamp;
};

extern uint32_t g_deferred __attribute__((visibility("hidden")));  // how many are held
inline bool holds_receives() { return g_process.preserve_order && g_deferred != 0; }

// MPI_Irecv: one of any source is held back, if that is possible; another ends the holding.
DWELL_COLD int post_receive(Call* call, decltype(&PMPI_Irecv) next, void* buffer, int count,
                            MPI_Datatype type, int source, int tag, MPI_Comm comm,
                            MPI_Request* request);

// MPI_Recv_init of any source made it. MPI_Start holds it back, or starts the request.
DWELL_COLD void remember_wildcard(Call* call, MPI_Request handle, void* buffer, int count,
                                  MPI_Datatype type, int tag, MPI_Comm comm);
DWELL_COLD int start_request(Call* call, decltype(&PMPI_Start) next, MPI_Request* request);

// Some other call started it, if it is one of those.
DWELL_COLD void note_started(MPI_Request handle);

// Posts all that are held: MPI chooses.
DWELL_COLD void post_deferred();
// Before any call, recorded or not: those that see to it themselves go on holding.
DWELL_COLD void end_deferring(MpiCall number);

// The one that is next to get a message if it is `handle`, else null.
DeferredReceive* next_deferred(MPI_Request handle);
// What the current call delivered to it, else null.
const DeferredReceive* delivered(MPI_Request handle);
// Receives its message of that source, which is there. False, with nothing done, when that might
// take longer than the call would, or fail. `waits`: the call waits for this receive.
bool deliver(Call* call, DeferredReceive* deferred, int source, bool waits);

// A call ended that completed `count` of the program's requests, at `indices`, or the first ones
// when that is null.
DWELL_COLD void retire_deferred(MPI_Request* requests, const int* indices, int count);
// Where a call on several requests succeeded: Open MPI 4 does not return there that a message was
// longer than the buffer of a persistent receive, which to it is what was held. Makes of it what it
// is of another one: the error handler is called, the requests are retired. What to return.
DWELL_COLD int failure_of_deferred(MPI_Request* requests, const int* indices, int count,
                                   const MPI_Status* statuses, bool all);
DWELL_COLD void forget_deferred(uintptr_t handle);       // MPI_Request_free
DWELL_COLD void detach_deferred(const uintptr_t* comm);  // freed; null: some type was

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_DEFERRED_RECEIVES_H_
