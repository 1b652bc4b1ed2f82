// Chooses the sender for a receive or probe of any source.
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

// The choice for one receive or probe of any source.
class Choice {
  public:
    Choice(Call* call, int tag, MPI_Comm comm, const CommDefinition& definition)
        : call_(call), tag_(tag), comm_(comm), short_id_(definition.short_id), arbiter_(call) {}
    int choose(const Senders& senders, bool immediate);

  private:
    bool may_take(const Senders& senders, const Candidate& candidate) {
        return arbiter_.look(candidate.sent) && !senders.can_send_before(arbiter_);
    }
    int take_any() const {
        call_->thread->record->order_unknown += 1;
        publish_waiting(call_);
        return MPI_ANY_SOURCE;
    }

    Call* call_;
    int tag_;
    MPI_Comm comm_;
    uint32_t short_id_;
    MessageArbiter arbiter_;
};

int Choice::choose(const Senders& senders, bool immediate) {
    const uint64_t began = now_ticks();
    uint64_t arrived = 0;  // when the chosen message arrived
    uint64_t missed_since = 0;
    Candidate published{0, -1};
    for (bool first = true;; first = false) {
        bool any = false;
        if (!is_there(MPI_ANY_SOURCE, tag_, comm_, &any)) return take_any();
        const Candidate best = senders.earliest(short_id_, tag_);
        if (best.rank != published.rank || best.sent != published.sent) {
            arbiter_.publish_state(Doing::kReceives, best.sent, short_id_, tag_);
            published = best;
            arrived = missed_since = 0;
            continue;  // sees messages that were stamped before the state was published
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
            call_->inner_overhead += now_ticks() - arrived;  // deferred, or just found
            return best.rank;
        }
        if (arbiter_.is_hopeless() || (!there && any && arbiter_.is_missed(&missed_since))) {
            return take_any();
        }
        MessageArbiter::pause(there);
    }
}

}  // namespace

bool Senders::find(Thread* thread, MPI_Comm comm, const CommDefinition& definition) {
    Sender* senders = senders_of(definition.size);
    if (senders == nullptr) return false;
    for (count_ = 0; count_ < definition.size; ++count_) {
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

bool can_choose_among(Thread* thread, MPI_Comm comm) {
    const CommDefinition* definition = definition_of_comm(thread, comm);
    Senders senders;
    return definition != nullptr && senders.find(thread, comm, *definition);
}

bool is_there(int source, int tag, MPI_Comm comm, bool* there) {
    int flag = 0;
    if (g_mpi.Iprobe(source, tag, comm, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    *there = flag != 0;
    return true;
}

int choose_source(Call* call, int tag, MPI_Comm comm, bool immediate) {
    ThreadRecord* record = call->thread->record;
    const CommDefinition* definition = definition_of_comm(call->thread, comm);
    if (g_process.concurrent || definition == nullptr || (tag < 0 && tag != MPI_ANY_TAG)) {
        record->order_unknown += 1;
        return MPI_ANY_SOURCE;
    }
    Senders senders;
    if (!senders.find(call->thread, comm, *definition)) {
        if (!immediate) {
            record->order_remote += 1;
            publish_waiting(call);
        }
        return MPI_ANY_SOURCE;
    }
    return Choice(call, tag, comm, *definition).choose(senders, immediate);
}

}  // namespace dwell
