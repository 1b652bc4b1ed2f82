// Clock exchanges between the first rank and one leader of each other host.
#include "runtime/hosts/remote_clocks.h"

#include <stdlib.h>

#include "runtime/contract/job_name.h"
#include "runtime/exchange/exchange.h"
#include "runtime/mpi/profiled_ranks.h"

namespace dwell {

namespace {

constexpr int kExchanges = 50;

// Sent over MPI: a time with the rate of its clock.
struct ClockMessage {
    uint64_t ticks;
    uint64_t rate;
};

struct Clocks {
    bool is_leader = false;  // compares clocks for its host
    int hosts = 1;
    int64_t shift = 0;  // of this host's clock, for tests
    ClockPair start{};
};
Clocks g_clocks;

// DWELL_CLOCK_SHIFT_NS: shifts the clock of the first host, for tests, which cannot shift a
// processor's counter. As a part of the relation it enters every exchanged time.
int64_t shift_ticks() {
    const char* text = getenv("DWELL_CLOCK_SHIFT_NS");
    if (text == nullptr) return 0;
    const double rate = static_cast<double>(g_process.header->ticks_per_second);
    return static_cast<int64_t>(strtod(text, nullptr) * rate / 1e9);
}
uint64_t shifted_now() { return now_ticks() + static_cast<uint64_t>(g_clocks.shift); }

int first_place_here() {
    for (int place = 0; place < g_profiled.count; ++place) {
        if (is_same_host(static_cast<uint32_t>(g_profiled.ranks[place]))) return place;
    }
    return g_profiled.place;
}

bool send_clock(const ClockMessage& message, int to) {
    return send_bytes(reinterpret_cast<const char*>(&message), sizeof(message), to, kClockTag,
                      private_deadline());
}
bool receive_clock(ClockMessage* message, int from) {
    return receive_bytes(reinterpret_cast<char*>(message), sizeof(*message), from, kClockTag,
                         private_deadline());
}

// On the first rank: answers all hosts one after the other, in the order of their requests.
bool answer_hosts() {
    const uint64_t rate = g_process.header->ticks_per_second;
    for (int host = 1; host < g_clocks.hosts; ++host) {
        ClockMessage asked{};
        MPI_Request request = nullptr;
        MPI_Status status;
        if (g_mpi.Irecv(&asked, sizeof(asked), g_mpi.byte, MPI_ANY_SOURCE, kClockTag,
                        g_profiled.comm, &request) != MPI_SUCCESS ||
            !await_request(&request, private_deadline(), &status)) {
            return false;
        }
        const int from = status.MPI_SOURCE;
        for (int i = 0;; ++i) {
            if (!send_clock({shifted_now(), rate}, from)) return false;
            if (i + 1 == kExchanges) break;
            if (!receive_clock(&asked, from)) return false;
        }
    }
    return true;
}

bool ask_first_rank(ClockEstimate* estimate, uint64_t* rate) {
    for (int i = 0; i < kExchanges; ++i) {
        ClockMessage answer{};
        const uint64_t asked = now_ticks();
        if (!send_clock({}, 0) || !receive_clock(&answer, 0)) return false;
        estimate->add({asked, answer.ticks, now_ticks()});
        *rate = answer.rate;
    }
    return true;
}

// The relation, from the leader of a host to its other ranks.
struct RelationMessage {
    uint64_t own;
    uint64_t reference;
    double excess;
    uint64_t bound;  // 0: not known
};

bool send_to_host(const RelationMessage& relation_message) {
    bool all_sent = true;
    for (int place = g_profiled.place + 1; place < g_profiled.count; ++place) {
        if (!is_same_host(static_cast<uint32_t>(g_profiled.ranks[place]))) continue;
        all_sent = send_bytes(reinterpret_cast<const char*>(&relation_message),
                              sizeof(relation_message), place, kClockTag, private_deadline()) &&
                   all_sent;
    }
    return all_sent;
}

// Compares clocks, on the first rank and the leader of every other host.
bool compare(ClockEstimate* estimate, uint64_t* rate) {
    return g_profiled.place == 0 ? answer_hosts() : ask_first_rank(estimate, rate);
}

}  // namespace

bool clocks_agree() { return g_clocks_related || g_clocks.hosts == 1; }

void relate_clocks() {
    if (g_profiled.count < 2 || !launcher_spans_hosts()) return;
    const int first = first_place_here();
    g_clocks.is_leader = first == g_profiled.place;
    g_clocks.hosts = sum_over_profiled(g_clocks.is_leader ? 1 : 0);
    if (g_clocks.hosts < 2) return;
    g_clocks.shift = shift_ticks();
    FileHeader* header = g_process.header;
    RelationMessage relation_message{0, static_cast<uint64_t>(g_clocks.shift), 0,
                                     first == 0 ? uint64_t{1} : 0};
    bool good = true;
    if (g_clocks.is_leader) {
        ClockEstimate estimate;
        uint64_t rate = header->ticks_per_second;
        good = compare(&estimate, &rate);
        if (good && g_profiled.place != 0) {
            const ClockPair pair = estimate.best();
            const ClockRelation relation = relation_at(pair, header->ticks_per_second, rate);
            relation_message = {pair.own, pair.reference, relation.excess, pair.bound};
        }
        if (!good) relation_message.bound = 0;
        good = send_to_host(relation_message) && good;
    } else {
        good = receive_bytes(reinterpret_cast<char*>(&relation_message), sizeof(relation_message),
                             first, kClockTag, private_deadline()) &&
               relation_message.bound != 0;
    }
    g_clock = {relation_message.own, relation_message.reference, relation_message.excess};
    g_clocks.start = {relation_message.own, relation_message.reference, relation_message.bound};
    if (sum_over_profiled(good ? 0 : 1) != 0) return;
    g_clocks_related = true;
    if (first == 0) return;
    header->clock_offset_ticks =
        static_cast<int64_t>(relation_message.reference - relation_message.own);
    header->clock_bound_ticks = relation_message.bound;
}

void review_clocks() {
    if (!g_clocks_related || !g_clocks.is_leader) return;
    ClockEstimate estimate;
    uint64_t rate = 0;
    if (!compare(&estimate, &rate) || g_profiled.place == 0 || !estimate.known()) return;
    const ClockReview found = review(g_clock, g_clocks.start, estimate.best());
    g_process.header->clock_drift_ticks = found.drift;
    g_process.header->clock_bound_ticks = found.bound;
}

}  // namespace dwell
