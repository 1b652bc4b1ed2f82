// Replay order: receives of any source get their messages in the order of a run without dwell
// (--preserve-order; DESIGN 4, "Order rule").
//
// Each process of the host publishes its state in a line of the exchange. A receive gets the
// message with the earliest virtual send time, once no process of the host can send an earlier one.
// A process cannot if it has finished, is past that time, or waits directly or through others for
// this receiver. The search starts from running processes and follows who waits for whom; a process
// that is not reached waits for the receiver in the end. So some process can always continue.
//
// Without the option there are no lines and no cost. Not signal-safe.
#ifndef DWELL_RUNTIME_ORDER_ORDER_H_
#define DWELL_RUNTIME_ORDER_ORDER_H_

#include "runtime/calls/records.h"
#include "runtime/mpi/dependence.h"

namespace dwell {

struct CommDefinition;
struct Request;

enum class Doing : uint32_t {
    kNotKnown = 0,  // several threads may call MPI at a time
    kRuns,          // `ticks`: real minus virtual time
    kInTool,        // dwell works; here and below `ticks`: virtual time since when
    kReceives,      // waits for a message from `partner` with `comm` and `tag`
    kWaits,         // waits for any message
    kInCollective,  // in instance `entered_number`; `partner`: its root if it waits
                    // for the root alone
    kFinished,
};

// The published state of a process.
struct ProcessState {
    Doing doing;
    uint32_t partner;  // world rank; kNoPeer: any
    uint64_t ticks;
    uint64_t candidate;  // kReceives, kWaits: when the message it may get was sent; 0: none
    uint32_t comm;       // id of the communicator (comm_definitions.h)
    union {
        int32_t tag;
        int32_t is_world;  // kInCollective
    };
    uint32_t entered_comm;    // communicator of the last entered collective
    uint32_t entered_number;  // number of that instance
};

// Exactly one cache line. Other processes write only `woken`.
struct alignas(64) ProcessLine {
    uint32_t version;  // odd during a write
    int32_t pid;
    ProcessState state;
    uint64_t woken;  // real ticks when a message was sent that it may be waiting for; 0: none yet
};
static_assert(sizeof(ProcessLine) == 64);

// In MPI_Init, when the exchange is open and all profiled ranks of the host are known. Without
// effect if the option is off.
void open_order();
// The process sends no more messages.
void close_order();

// Finds the processes that could still send before the virtual time `limit`: `reached`, one for
// each process of the host. `woken[i]`: process i has got what it waits for; `now` is real time.
// For the order rule and tests.
struct NodeView {
    const ProcessState* states;
    const uint32_t* ranks;  // world ranks
    const bool* woken;
    uint32_t count;
};
void find_earlier(const NodeView& view, uint32_t own, uint64_t limit, uint64_t now, bool* reached);

// Publishes what the calling process does, with the option on (call_order.h).
DWELL_COLD void publish_running(Thread* thread);
DWELL_COLD void publish_receiving(Call* call, uint32_t peer, uint32_t comm, int tag,
                                  uint32_t post_order);
DWELL_COLD void publish_waiting(Call* call);
DWELL_COLD void enter_collective_wait(Call* call, const CommDefinition& definition, uint32_t number,
                                      Dependence rule, int root, bool blocks);
DWELL_COLD void publish_request(Call* call, const Request& request);
// A delay inside dwell begins or ends (injection.h).
DWELL_COLD void publish_delay(bool begins);
// A stamp was written for a message to `peer`.
DWELL_COLD void wake(Call* call, uint32_t peer, uint32_t comm, int tag);

// The source for a receive or probe of MPI_ANY_SOURCE; MPI_ANY_SOURCE: left to MPI. `immediate`: a
// call that does not wait; kNoSource: no message.
constexpr int kNoSource = -1000;
DWELL_COLD int choose_source(Call* call, int tag, MPI_Comm comm, bool immediate);
// Receives or probes by `make(source)`, after a choice if needed. Before a choice `try_out` makes
// the call with MPI_PROC_NULL, which has no effect but finds arguments that MPI rejects. `flag` is
// null if the call has none.
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
    return make(from);  // only here, so that the compiler inlines it
}
// Output arguments for `try_out`; an argument that the program leaves null stays null.
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
    MPI_Request request_;  // complete, of MPI's own
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_ORDER_H_
