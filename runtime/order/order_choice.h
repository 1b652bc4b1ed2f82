// The basis of a choice between messages (order.h): what other processes of the host may still do
// before a virtual time, and the stamps of the senders.
//
// For the thread that calls MPI, where there is only one. Not signal-safe.
#ifndef DWELL_RUNTIME_ORDER_ORDER_CHOICE_H_
#define DWELL_RUNTIME_ORDER_ORDER_CHOICE_H_

#include "runtime/hosts/partners.h"
#include "runtime/mpi/comm_definitions.h"
#include "runtime/order/order.h"

namespace dwell {

constexpr uint64_t kNotSent = UINT64_MAX;

// Reads the published states of the host's processes, for a process that has to choose.
class MessageArbiter {
  public:
    explicit MessageArbiter(Call* call) : call_(call) {}

    // Publishes that the process waits, and continues at the later of the call's start and
    // `candidate`; kNotSent: no possible message is known.
    void publish_state(Doing doing, uint64_t candidate, uint32_t comm, int tag);

    // Finds out who may still send before `limit`. False while that is not possible.
    bool look(uint64_t limit);
    // After look(): whether that rank may.
    bool can_send_before(uint32_t peer) const;

    // The state of some process is not known and will not be.
    bool is_hopeless() const { return is_hopeless_; }
    // Whether a stamped message has been missing for so long that an earlier posted receive must
    // have got it. `since` is 0 at first.
    bool is_missed(uint64_t* since) const;
    // Between looks. `deferred`: a message is there that may not be taken yet; then MPI makes
    // progress on this process's sends, as in a waiting call.
    static void pause(bool deferred);

  private:
    bool look_around();

    Call* call_;
    uint32_t looks_ = 0;
    bool is_hopeless_ = false;
};

struct Candidate {
    uint64_t sent;  // virtual time, or kNotSent
    int rank;
};

// The ranks of a communicator, as possible senders.
class Senders {
  public:
    // False when some rank's stamps cannot be read. One object at a time.
    bool find(Thread* thread, MPI_Comm comm, const CommDefinition& definition);
    Candidate earliest(uint32_t comm, int tag) const;
    // Whether one of them may still send before the limit of the last look.
    bool can_send_before(const MessageArbiter& arbiter) const;

  private:
    int count_ = 0;
};

// Whether a choice among the ranks of `comm` is possible. False: some are on other hosts, or not
// known.
bool can_choose_among(Thread* thread, MPI_Comm comm);

// Whether a message of `source` (or of any source) has arrived.
bool is_there(int source, int tag, MPI_Comm comm, bool* there);

}  // namespace dwell

#endif  // DWELL_RUNTIME_ORDER_ORDER_CHOICE_H_
