// Receives that several senders could serve, in the order in which the messages would have come
// without dwell (--preserve-order; DESIGN 4, "Order rule").
//
// The processes of a node tell each other what they do, each in a line of its own of the exchange.
// A receive is given the message that was sent earliest on the virtual clock, once no process of
// the node can send an earlier one: a process cannot that has finished, that is past that time, or
// that waits, directly or through others, for this receiver. What a process waits for may itself
// still come earlier, so the question goes from those who run to those who wait for them; whoever
// it does not reach waits for the receiver in the end. So there is always a process that may go on.
//
// Without the option no line exists, and a call costs nothing more. Not signal-safe.
#ifndef DWELL_RUNTIME_ORDER_ORDER_H_
#define DWELL_RUNTIME_ORDER_ORDER_H_

#include "runtime/calls/records.h"
#include "runtime/mpi/dependence.h"

namespace dwell {

struct CommDefinition;
struct Request;

enum class Doing : uint32_t {
    kNotKnown = 0,  // several of its threads may call MPI at a time
    kRuns,          // ProcessLine::ticks is its real less its virtual time
    kInTool,        // dwell is at work; like the following since the virtual time `ticks`
    kReceives,      // waits for a message from `partner` with this communicator and tag
    kWaits,         // for some message
    kInCollective,  // is in the collective `number`; `partner` is its root if it waits for that
                    // alone
    kFinished,
};

// What a process says of itself.
struct ProcessState {
    Doing doing;
    uint32_t partner;  // world rank, kNoPeer: anybody
    uint64_t ticks;
    uint64_t candidate;  // kReceives, kWaits: what it may get, 0: nothing, was sent then
    uint32_t comm;       // its name (comm_definitions.h)
    union {
        int32_t tag;
        int32_t is_world;  // kInCollective
    };
    uint32_t entered_comm;    // the collective that it entered last
    uint32_t entered_number;  // and its number there
};

// A cache line of its own. The other processes write only `woken`.
struct alignas(64) ProcessLine {
    uint32_t version;  // odd while the process writes
    int32_t pid;
    ProcessState state;
    uint64_t woken;  // real ticks when a message was sent that it may be waiting for, 0: none yet
};
static_assert(sizeof(ProcessLine) == 64);

// In MPI_Init, when the exchange is open and all observed ranks of the node are known. Without
// effect unless the user wants it.
void open_order();
// The process sends nothing any more.
void close_order();

// Could one of the processes `waiting_for` still send to `own` before the virtual time `limit`?
// `states` are those of the processes of the node, `woken[i]` says that i has got what it waits
// for; `now` is real. `reached` is room for as many. For tests, and for the order rule.
struct NodeView {
    const ProcessState* states;
    const uint32_t* ranks;  // the world rank of each
    const bool* woken;
    uint32_t count;
};
void find_earlier(const NodeView& view, uint32_t own, uint64_t limit, uint64_t now, bool* reached);

// What the calling process does, with the option (call_order.h).
DWELL_COLD void say_running(Thread* thread);
DWELL_COLD void say_receiving(Call* call, uint32_t peer, uint32_t comm, int tag,
                              uint32_t post_order);
DWELL_COLD void say_waiting(Call* call);
DWELL_COLD void enter_collective_wait(Call* call, const CommDefinition& name, uint32_t number,
                                      Dependence rule, int root, bool blocks);
DWELL_COLD void say_request(Call* call, const Request& request);
// A delay in dwell begins or ends (injection.h).
DWELL_COLD void say_delay(bool begins);
// A message to `peer` was announced.
DWELL_COLD void wake(Call* call, uint32_t peer, uint32_t comm, int tag);

// The source that a receive or probe of MPI_ANY_SOURCE gets its message from; MPI_ANY_SOURCE when
// it takes what comes. `immediate`: it does not wait for a message; kNoSource: there is none.
constexpr int kNoSource = -1000;
DWELL_COLD int choose_source(Call* call, int tag, MPI_Comm comm, bool immediate);
// Receives or probes by `make(source)`, perhaps after a choice. Before that `try_out` makes the
// call with MPI_PROC_NULL, which moves nothing: arguments that MPI refuses wait for no message.
// `flag` is null where the call has none.
template <typename TryOut, typename Make>
inline int make_in_order(Call* call, int source, int tag, MPI_Comm comm, int* flag, TryOut try_out,
                         Make make) {
    int from = source;
    if (source == MPI_ANY_SOURCE && g_process.preserve_order) [[unlikely]] {
        const int refused = try_out();
        if (refused != MPI_SUCCESS) return refused;
        from = choose_source(call, tag, comm, flag != nullptr);
        if (from == kNoSource) {
            *flag = 0;
            return MPI_SUCCESS;
        }
    }
    return make(from);  // here alone, so that the compiler puts it in place
}
// Where that leaves what it finds; a place that the program does not name stays null.
class TriedOut {
  public:
    MPI_Status* status() { return &status_; }
    int* instead_of(const int* flag) { return flag != nullptr ? &flag_ : nullptr; }
    MPI_Message* instead_of(const MPI_Message* message) {
        return message != nullptr ? &message_ : nullptr;
    }
    MPI_Request* instead_of(const MPI_Request* request) {
        return request != nullptr ? &request_ : nullptr;
    }

  private:
    MPI_Status status_;
    int flag_;
    MPI_Message message_;
    MPI_Request request_;  // complete, and MPI's own
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_ORDER_H_
