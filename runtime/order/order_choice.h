// What a process goes by when it chooses between messages (order.h): what the others of the node
// may still do before a virtual time, and what the senders have said.
//
// For the thread that calls MPI, where there is only one. Not signal-safe.
#ifndef DWELL_RUNTIME_ORDER_ORDER_CHOICE_H_
#define DWELL_RUNTIME_ORDER_ORDER_CHOICE_H_

#include "runtime/hosts/partners.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/order/order.h"

namespace dwell {

constexpr uint64_t kNotSent = UINT64_MAX;

// The lines of the node's processes, as one that has to choose sees them.
class MessageArbiter {
  public:
    explicit MessageArbiter(Call* call) : call_(call) {}

    // Says that the process waits, and goes on at the later of the call's beginning and
    // `candidate`, kNotSent when no message is known that it may get.
    void say(Doing doing, uint64_t candidate, uint32_t comm, int tag);

    // Finds out who may act before `limit`. False while that is not possible.
    bool look(uint64_t limit);
    // After look(): may that one?
    bool can_send_before(uint32_t peer) const;

    // What some process does is not known, and will not be.
    bool is_hopeless() const { return is_hopeless_; }
    // Has a message been announced for long enough that another receive of the program's, which was
    // posted before, must have got it? `since` is 0 at first.
    bool is_missed(uint64_t* since) const;
    // Before the next look. `held`: a message is there that may not be taken yet. MPI works on what
    // the process has sent, as it would if the call waited.
    static void pause(bool deferred);

  private:
    bool look_around();

    Call* call_;
    uint32_t turns_ = 0;
    bool is_hopeless_ = false;
};

struct Candidate {
    uint64_t sent;  // on the virtual clock, or kNotSent
    int rank;
};

// The ranks of a communicator, as those that may send.
class Senders {
  public:
    // False when some rank is out of sight. One object at a time.
    bool find(Thread* thread, MPI_Comm comm, const CommDefinition& name);
    Candidate earliest(uint32_t comm, int tag) const;
    // May one of them still send before the limit of the last look?
    bool can_send_before(const MessageArbiter& arbiter) const;

  private:
    int count_ = 0;
};

// May the ranks of `comm` be chosen from? False: some are on other nodes, or not known.
bool is_in_sight(Thread* thread, MPI_Comm comm);

// Whether a message of `source` (or of any) is there.
bool is_there(int source, int tag, MPI_Comm comm, bool* there);

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_ORDER_CHOICE_H_
