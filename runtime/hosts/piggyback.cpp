// Sending and receiving piggyback messages, with their cost and credit.
#include "runtime/hosts/piggyback.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/hosts/partners.h"
#include "runtime/hosts/remote_clocks.h"
#include "runtime/mpi/profiled_ranks.h"

namespace dwell {

ClockRelation g_clock;
bool g_clocks_related = false;

namespace {

constexpr uint32_t kOutbox = 64;
constexpr uint32_t kAnswerEvery = 8;     // messages after which their arrival is confirmed
constexpr uint64_t kFirstCost = 30'000;  // assumed messages a second, until measured
constexpr uint32_t kFruitless = 4;       // vain looks before the receiver pauses as a sender does
// ChannelEntry::comm of piggyback messages that belong to no message:
constexpr uint32_t kAnswerOnly = kFailedEntry;
constexpr uint32_t kNoticePiggyback = kDroppedEntry;

// During transport times are in ticks of the reference clock. The fields of Answer hold when the
// next piggyback message may come, and how many of the other direction have arrived.
void set_next(ChannelEntry* piggyback, uint64_t reference) { piggyback->answer.real = reference; }
uint64_t next_of(const ChannelEntry& piggyback) { return piggyback.answer.real; }
void set_received(ChannelEntry* piggyback, uint32_t count) { piggyback->answer.lost = count; }
uint32_t received_of(const ChannelEntry& piggyback) { return piggyback.answer.lost; }

EnterStamp to_reference(EnterStamp stamp) {
    stamp.at = {g_clock.to_reference(stamp.at.real), g_clock.to_reference(stamp.at.virt)};
    return stamp;
}
EnterStamp to_own(EnterStamp stamp) {
    stamp.at = {g_clock.to_own(stamp.at.real), g_clock.to_own(stamp.at.virt)};
    return stamp;
}

ChannelEntry piggyback_with(const EntryNotice& notice) {
    ChannelEntry piggyback{};
    piggyback.comm = kNoticePiggyback;
    piggyback.stamp = to_reference(notice.stamp);
    piggyback.tag = static_cast<int32_t>(uint32_t{notice.loss} << 24 |
                                         uint32_t{notice.shift} << 16 | uint32_t{notice.call});
    piggyback.order = notice.number;
    piggyback.answer.real = notice.id;
    piggyback.answer.path = notice.send_ticks;
    return piggyback;
}
EntryNotice notice_in(const ChannelEntry& piggyback) {
    const auto both = static_cast<uint32_t>(piggyback.tag);
    return {to_own(piggyback.stamp),
            piggyback.answer.real,
            piggyback.order,
            static_cast<uint16_t>(both),
            static_cast<uint8_t>(both >> 16),
            static_cast<uint8_t>(both >> 24),
            piggyback.answer.path};
}

struct Outgoing {
    ChannelEntry piggyback;
    MPI_Request request;
};

struct PiggybackState {
    std::atomic<uint32_t> lock{0};
    bool open = false;
    NoticeHandler handle_notice = nullptr;
    Outgoing* outbox = nullptr;
    uint32_t next_out = 0;
    int* sent_to = nullptr;  // by index among the profiled ranks
    int received = 0;
    ChannelEntry inbox{};
    MPI_Request incoming = nullptr;
    uint64_t cost_ticks = 0;  // of sending one
};
PiggybackState g_piggyback;

// A thread that finds the lock taken goes on without: piggyback messages are optional.
class PiggybackLock {
  public:
    PiggybackLock() : held_(g_piggyback.lock.exchange(1, std::memory_order_acquire) == 0) {}
    ~PiggybackLock() {
        if (held_) g_piggyback.lock.store(0, std::memory_order_release);
    }
    PiggybackLock(const PiggybackLock&) = delete;
    PiggybackLock& operator=(const PiggybackLock&) = delete;
    bool held() const { return held_; }

  private:
    bool held_;
};

bool post_inbox() {
    return g_mpi.Irecv(&g_piggyback.inbox, sizeof(ChannelEntry), g_mpi.byte, MPI_ANY_SOURCE,
                       kPiggybackTag, g_profiled.comm, &g_piggyback.incoming) == MPI_SUCCESS;
}

Outgoing* free_outgoing() {
    Outgoing* out = &g_piggyback.outbox[g_piggyback.next_out % kOutbox];
    int flag = 1;
    if (out->request != nullptr && out->request != g_mpi.request_null &&
        g_mpi.Test(&out->request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        flag = 0;
    }
    if (flag == 0) return nullptr;
    g_piggyback.next_out += 1;
    return out;
}

bool post_piggyback(RemoteChannel* remote, const ChannelEntry& piggyback) {
    Outgoing* out = free_outgoing();
    if (out == nullptr) return false;
    out->piggyback = piggyback;
    set_received(&out->piggyback, remote->piggybacks_received);
    if (g_mpi.Isend(&out->piggyback, sizeof(ChannelEntry), g_mpi.byte,
                    static_cast<int>(remote->place), kPiggybackTag, g_profiled.comm,
                    &out->request) != MPI_SUCCESS) {
        return false;
    }
    remote->piggybacks_answered = remote->piggybacks_received;
    g_piggyback.sent_to[remote->place] += 1;
    return true;
}

void update_loss(RemoteChannel* remote, const EntryNotice& notice) {
    EnterStamp entered = notice.stamp;
    entered.at.real = entered_at(notice);
    note_stamp(remote, entered);
    remote->loss_is_known = true;
    remote->loss = notice.loss;
}

void handle_piggyback(RemoteChannel* remote, uint32_t peer, ChannelEntry* piggyback) {
    remote->piggybacks_confirmed = received_of(*piggyback);
    const uint32_t question = question_of(*piggyback);
    if (piggyback->comm == kAnswerOnly) {
        if (question != 0) put_answer(remote, question, to_own(piggyback->stamp));
        return;
    }
    remote->piggybacks_received += 1;
    if (piggyback->comm == kNoticePiggyback) {
        const EntryNotice notice = notice_in(*piggyback);
        if (notice.call != kRejected) update_loss(remote, notice);
        g_piggyback.handle_notice(peer, notice);
    } else {
        remote->next_stamped = g_clock.to_own(next_of(*piggyback));
        remote->fruitless = 0;
        piggyback->stamp = to_own(piggyback->stamp);
        put_entry(remote, *piggyback);
    }
    if (remote->piggybacks_received - remote->piggybacks_answered < kAnswerEvery) return;
    ChannelEntry answer{};
    answer.comm = kAnswerOnly;
    post_piggyback(remote, answer);
}

// With the lock held.
bool take_piggyback(Thread* thread) {
    int arrived = 0;
    MPI_Status status;
    if (g_piggyback.incoming == nullptr ||
        g_mpi.Test(&g_piggyback.incoming, &arrived, &status) != MPI_SUCCESS || arrived == 0) {
        return false;
    }
    g_piggyback.received += 1;
    ChannelEntry piggyback = g_piggyback.inbox;
    if (!post_inbox()) g_piggyback.incoming = nullptr;
    if (thread == nullptr || status.MPI_SOURCE < 0 || status.MPI_SOURCE >= g_profiled.count) {
        return true;
    }
    const auto peer = static_cast<uint32_t>(g_profiled.ranks[status.MPI_SOURCE]);
    Channel* channel = channel_with(thread, peer);
    if (channel == nullptr || channel->remote == nullptr) return true;
    const ChannelLock lock(channel);
    if (lock.held()) handle_piggyback(channel->remote, peer, &piggyback);
    return true;
}

// Updates the cost. It falls fast and rises slowly, because a sender may lose the processor
// meanwhile. The first message to a partner also connects to it and does not count. Returns the
// ticks that count.
uint64_t update_cost(const RemoteChannel& remote, uint64_t took) {
    if (remote.piggybacks_sent < 2) return 0;
    const uint64_t cost = g_piggyback.cost_ticks;
    if (took < cost) {
        g_piggyback.cost_ticks = cost - (cost - took) / 2;
    } else {
        g_piggyback.cost_ticks = cost + earlier(took - cost, cost / 16);
    }
    return took;
}

int place_of(uint32_t peer) {
    int low = 0;
    int high = g_profiled.count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (static_cast<uint32_t>(g_profiled.ranks[middle]) < peer) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const bool found =
        low < g_profiled.count && static_cast<uint32_t>(g_profiled.ranks[low]) == peer;
    return found ? low : -1;
}

}  // namespace

bool open_piggyback(NoticeHandler handle_notice) {
    if (!g_clocks_related) return false;
    const auto count = static_cast<size_t>(g_profiled.count);
    void* memory = nullptr;
    if (posix_memalign(&memory, alignof(Outgoing), kOutbox * sizeof(Outgoing)) != 0)
        memory = nullptr;
    g_piggyback.handle_notice = handle_notice;
    g_piggyback.sent_to = static_cast<int*>(calloc(count, sizeof(int)));
    g_piggyback.outbox = static_cast<Outgoing*>(memory);
    const bool wanted = g_process.options.wait == WaitMode::kFull && memory != nullptr &&
                        g_piggyback.sent_to != nullptr;
    for (uint32_t i = 0; memory != nullptr && i < kOutbox; ++i) {
        g_piggyback.outbox[i].request = nullptr;
    }
    // Other ranks may have other options.
    if (sum_over_profiled(wanted ? 0 : 1) != 0) return false;
    g_piggyback.cost_ticks = g_process.header->ticks_per_second / kFirstCost;
    g_piggyback.open = true;  // even if nothing can be received: drain_piggybacks() is collective
    if (!post_inbox()) g_piggyback.incoming = nullptr;
    return true;
}

RemoteChannel* make_remote_channel(uint32_t peer) {
    if (!g_piggyback.open) return nullptr;
    const int place = place_of(peer);
    if (place < 0) return nullptr;
    void* memory = mmap(nullptr, sizeof(RemoteChannel), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* remote = static_cast<RemoteChannel*>(memory);
    remote->place = static_cast<uint32_t>(place);
    return remote;
}

namespace {

bool has_credit(const RemoteChannel* remote) {
    if (remote->piggybacks_sent - remote->piggybacks_confirmed < kCredit) [[likely]]
        return true;
    while (take_piggyback(t_thread)) {
    }
    return remote->piggybacks_sent - remote->piggybacks_confirmed < kCredit;
}

}  // namespace

uint64_t send_piggyback(RemoteChannel* remote, ChannelEntry* entry) {
    const uint64_t begin = now_ticks();
    const PiggybackLock lock;
    if (!lock.held()) return now_ticks() - begin;
    const bool may = has_credit(remote);
    const uint64_t cost = g_piggyback.cost_ticks;
    const uint64_t spacing = kSpacing * cost;
    if (may) {
        // The message itself begins after its piggyback message.
        entry->stamp.at.real += cost;
        entry->stamp = to_reference(entry->stamp);
        set_next(entry, g_clock.to_reference(begin + spacing));
        if (post_piggyback(remote, *entry)) remote->piggybacks_sent += 1;
    }
    remote->next_piggyback = begin + spacing;
    const uint64_t took = now_ticks() - begin;
    update_cost(*remote, took);
    return took;
}

void send_answer(RemoteChannel* remote, uint32_t question, const EnterStamp& stamp) {
    const PiggybackLock lock;
    if (!lock.held()) return;
    ChannelEntry answer{};
    answer.comm = kAnswerOnly;
    answer.stamp = to_reference(stamp);
    set_question(&answer, question);
    post_piggyback(remote, answer);
}

uint64_t collect_piggybacks(Thread* thread, RemoteChannel* remote, uint64_t now) {
    if (now < remote->next_stamped) return 0;
    const uint64_t begin = now_ticks();
    const uint32_t before = remote->piggybacks_received;
    {
        const PiggybackLock lock;
        if (!lock.held()) return 0;
        while (take_piggyback(thread)) {
        }
    }
    if (remote->piggybacks_received == before) {
        remote->fruitless += 1;
        if (remote->fruitless >= kFruitless)
            remote->next_stamped = begin + kSpacing * g_piggyback.cost_ticks;
    }
    return now_ticks() - begin;
}

uint64_t send_notice(RemoteChannel* remote, const EntryNotice& notice) {
    const PiggybackLock lock;
    if (!lock.held() || !has_credit(remote)) return 0;
    const uint64_t begin = now_ticks();
    if (post_piggyback(remote, piggyback_with(notice))) remote->piggybacks_sent += 1;
    return update_cost(*remote, now_ticks() - begin);
}

bool take_one_piggyback(Thread* thread) {
    if (!g_piggyback.open) return false;
    const PiggybackLock lock;
    return lock.held() && take_piggyback(thread);
}

uint64_t piggyback_cost() { return g_piggyback.cost_ticks; }

void drain_piggybacks() {
    if (!g_piggyback.open) return;
    g_piggyback.open = false;
    const uint64_t until = private_deadline();
    static int expected = 0;
    MPI_Request request = nullptr;
    const bool counted =
        g_mpi.Ireduce_scatter_block(g_piggyback.sent_to, &expected, 1, g_mpi.integer, g_mpi.sum,
                                    g_profiled.comm, &request) == MPI_SUCCESS &&
        await_collective(&request, until);
    while (counted && g_piggyback.received < expected && g_piggyback.incoming != nullptr &&
           monotonic_ns() < until) {
        if (!take_piggyback(nullptr)) usleep(20);
    }
    if (g_piggyback.incoming != nullptr) {
        g_mpi.Cancel(&g_piggyback.incoming);
        g_mpi.Wait(&g_piggyback.incoming, MPI_STATUS_IGNORE);
    }
    for (uint32_t i = 0; i < kOutbox; ++i) {
        MPI_Request* left = &g_piggyback.outbox[i].request;
        if (*left != nullptr && *left != g_mpi.request_null) {
            await_request(left, until, MPI_STATUS_IGNORE);
        }
    }
}

}  // namespace dwell
