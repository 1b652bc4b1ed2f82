// Which of several senders a receive or probe of any source gets its message from.
#include "runtime/order/order_choice.h"

#include <sys/mman.h>

#include "runtime/mpi/ranks.h"

namespace dwell {

namespace {

struct Sender {
    Channel* channel;
    uint32_t peer;
};
Sender* g_senders = nullptr;
uint32_t g_room = 0;

Sender* senders_of(int size) {
    const auto wanted = static_cast<uint32_t>(size);
    if (wanted <= g_room) return g_senders;
    void* memory = mmap(nullptr, wanted * sizeof(Sender), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (g_senders != nullptr) munmap(g_senders, g_room * sizeof(Sender));
    g_senders = static_cast<Sender*>(memory);
    g_room = wanted;
    return g_senders;
}

// One receive or probe of any source, until it is known whom it gets its message from.
class Choice {
  public:
    Choice(Call* call, int tag, MPI_Comm comm, const CommDefinition& name)
        : call_(call), tag_(tag), comm_(comm), name_(name.name), arbiter_(call) {}
    int choose(const Senders& senders, bool immediate);

  private:
    bool may_take(const Senders& senders, const Candidate& candidate) {
        return arbiter_.look(candidate.sent) && !senders.can_send_before(arbiter_);
    }
    int take_any() const {
        call_->thread->record->order_unknown += 1;
        say_waiting(call_);
        return MPI_ANY_SOURCE;
    }

    Call* call_;
    int tag_;
    MPI_Comm comm_;
    uint32_t name_;
    MessageArbiter arbiter_;
};

int Choice::choose(const Senders& senders, bool immediate) {
    const uint64_t began = now_ticks();
    uint64_t arrived = 0;  // when the message was there that is taken
    uint64_t missed_since = 0;
    Candidate stamp{0, -1};
    for (bool first = true;; first = false) {
        bool any = false;
        if (!is_there(MPI_ANY_SOURCE, tag_, comm_, &any)) return take_any();
        const Candidate best = senders.earliest(name_, tag_);
        if (best.rank != stamp.rank || best.sent != stamp.sent) {
            arbiter_.say(Doing::kReceives, best.sent, name_, tag_);
            stamp = best;
            arrived = missed_since = 0;
            continue;  // what was announced before that was visible is seen now
        }
        if (immediate && !any) return kNoSource;
        if (best.sent == kNotSent) {
            if (any) return take_any();
            MessageArbiter::pause(false);
            continue;
        }
        bool there = false;
        if (!is_there(best.rank, tag_, comm_, &there)) return take_any();
        if (there && arrived == 0) arrived = first ? began : now_ticks();
        if (there && may_take(senders, best)) {
            call_->thread->record->order_kept += 1;
            call_->inner_overhead += now_ticks() - arrived;  // held back, or just looked for
            return best.rank;
        }
        if (arbiter_.is_hopeless() || (!there && any && arbiter_.is_missed(&missed_since))) {
            return take_any();
        }
        MessageArbiter::pause(there);
    }
}

}  // namespace

bool Senders::find(Thread* thread, MPI_Comm comm, const CommDefinition& name) {
    Sender* senders = senders_of(name.size);
    if (senders == nullptr) return false;
    for (count_ = 0; count_ < name.size; ++count_) {
        const uint32_t peer = peer_of(thread, comm, count_);
        Channel* channel = channel_with(thread, peer);
        if (channel == nullptr || channel->remote != nullptr) return false;
        senders[count_] = {channel, peer};
    }
    return true;
}

Candidate Senders::earliest(uint32_t comm, int tag) const {
    Candidate best{kNotSent, 0};
    for (int rank = 0; rank < count_; ++rank) {
        const ChannelEntry* entry = find_entry(g_senders[rank].channel, comm, tag, 0);
        if (entry != nullptr && entry->stamp.at.virt < best.sent) {
            best = {entry->stamp.at.virt, rank};
        }
    }
    return best;
}

bool Senders::can_send_before(const MessageArbiter& arbiter) const {
    for (int rank = 0; rank < count_; ++rank) {
        if (arbiter.can_send_before(g_senders[rank].peer)) return true;
    }
    return false;
}

bool is_in_sight(Thread* thread, MPI_Comm comm) {
    const CommDefinition* name = definition_of_comm(thread, comm);
    Senders senders;
    return name != nullptr && senders.find(thread, comm, *name);
}

bool is_there(int source, int tag, MPI_Comm comm, bool* there) {
    int flag = 0;
    if (g_mpi.Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    *there = flag != 0;
    return true;
}

int choose_source(Call* call, int tag, MPI_Comm comm, bool immediate) {
    ThreadRecord* record = call->thread->record;
    const CommDefinition* name = definition_of_comm(call->thread, comm);
    if (g_process.concurrent || name == nullptr || (tag < 0 && tag != MPI_ANY_TAG)) {
        record->order_unknown += 1;
        return MPI_ANY_SOURCE;
    }
    Senders senders;
    if (!senders.find(call->thread, comm, *name)) {
        if (!immediate) {
            record->order_remote += 1;
            say_waiting(call);
        }
        return MPI_ANY_SOURCE;
    }
    return Choice(call, tag, comm, *name).choose(senders, immediate);
}

}  // namespace dwell
