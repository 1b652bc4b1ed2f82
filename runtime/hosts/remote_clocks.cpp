#include "runtime/hosts/remote_clocks.h"

#include <stdlib.h>

#include "runtime/contract/job_name.h"
#include "runtime/exchange/exchange.h"
#include "runtime/mpi/profiled_ranks.h"

namespace dwell {

namespace {

constexpr int kExchanges = 50;

// What goes over the wire: the rate is told with every time.
struct SendStamp {
    uint64_t ticks;
    uint64_t rate;
};

struct Clocks {
    bool speaks = false;  // for its host
    int hosts = 1;
    int64_t shift = 0;  // of this host's clock, for tests
    ClockPair start{};
};
Clocks g_clocks;

// DWELL_CLOCK_SHIFT_NS: for tests, which cannot shift the counter of a processor. Read by the first
// host; part of every time that is told, by being part of the relation.
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

bool send_stamped(const SendStamp& sent_stamp, int to) {
    return send_bytes(reinterpret_cast<const char*>(&sent_stamp), sizeof(sent_stamp), to, kClockTag,
                      private_deadline());
}
bool receive_stamped(SendStamp* sent_stamp, int from) {
    return receive_bytes(reinterpret_cast<char*>(sent_stamp), sizeof(*sent_stamp), from, kClockTag,
                         private_deadline());
}

// The first rank: answers all hosts, one after the other, as they come.
bool answer_hosts() {
    const uint64_t rate = g_process.header->ticks_per_second;
    for (int host = 1; host < g_clocks.hosts; ++host) {
        SendStamp asked{};
        MPI_Request request = nullptr;
        MPI_Status status;
        if (g_mpi.Irecv(&asked, sizeof(asked), g_mpi.byte, MPI_ANY_SOURCE, kClockTag,
                        g_profiled.comm, &request) != MPI_SUCCESS ||
            !await_request(&request, private_deadline(), &status)) {
            return false;
        }
        const int from = status.MPI_SOURCE;
        for (int i = 0;; ++i) {
            if (!send_stamped({shifted_now(), rate}, from)) return false;
            if (i + 1 == kExchanges) break;
            if (!receive_stamped(&asked, from)) return false;
        }
    }
    return true;
}

bool ask_first(ClockEstimate* estimate, uint64_t* rate) {
    for (int i = 0; i < kExchanges; ++i) {
        SendStamp sent_stamp{};
        const uint64_t asked = now_ticks();
        if (!send_stamped({}, 0) || !receive_stamped(&sent_stamp, 0)) return false;
        estimate->add({asked, sent_stamp.ticks, now_ticks()});
        *rate = sent_stamp.rate;
    }
    return true;
}

// What the speaker of a host knows goes to its other ranks.
struct Spread {
    uint64_t own;
    uint64_t reference;
    double excess;
    uint64_t bound;  // 0: not known
};

bool tell_host(const Spread& spread) {
    bool sent_stamp = true;
    for (int place = g_profiled.place + 1; place < g_profiled.count; ++place) {
        if (!is_same_host(static_cast<uint32_t>(g_profiled.ranks[place]))) continue;
        sent_stamp = send_bytes(reinterpret_cast<const char*>(&spread), sizeof(spread), place,
                                kClockTag, private_deadline()) &&
                     sent_stamp;
    }
    return sent_stamp;
}

// The comparison itself, by the first rank and by the others that speak for their hosts.
bool compare(ClockEstimate* estimate, uint64_t* rate) {
    return g_profiled.place == 0 ? answer_hosts() : ask_first(estimate, rate);
}

}  // namespace

bool clocks_agree() { return g_clocks_related || g_clocks.hosts == 1; }

void relate_clocks() {
    if (g_profiled.count < 2 || !launcher_spans_hosts()) return;
    const int first = first_place_here();
    g_clocks.speaks = first == g_profiled.place;
    g_clocks.hosts = sum_over_profiled(g_clocks.speaks ? 1 : 0);
    if (g_clocks.hosts < 2) return;
    g_clocks.shift = shift_ticks();
    FileHeader* header = g_process.header;
    Spread spread{0, static_cast<uint64_t>(g_clocks.shift), 0, first == 0 ? uint64_t{1} : 0};
    bool good = true;
    if (g_clocks.speaks) {
        ClockEstimate estimate;
        uint64_t rate = header->ticks_per_second;
        good = compare(&estimate, &rate);
        if (good && g_profiled.place != 0) {
            const ClockPair pair = estimate.best();
            const ClockRelation relation = relation_at(pair, header->ticks_per_second, rate);
            spread = {pair.own, pair.reference, relation.excess, pair.bound};
        }
        if (!good) spread.bound = 0;
        good = tell_host(spread) && good;
    } else {
        good = receive_bytes(reinterpret_cast<char*>(&spread), sizeof(spread), first, kClockTag,
                             private_deadline()) &&
               spread.bound != 0;
    }
    g_clock = {spread.own, spread.reference, spread.excess};
    g_clocks.start = {spread.own, spread.reference, spread.bound};
    if (sum_over_profiled(good ? 0 : 1) != 0) return;
    g_clocks_related = true;
    if (first == 0) return;
    header->clock_offset_ticks = static_cast<int64_t>(spread.reference - spread.own);
    header->clock_bound_ticks = spread.bound;
}

void review_clocks() {
    if (!g_clocks_related || !g_clocks.speaks) return;
    ClockEstimate estimate;
    uint64_t rate = 0;
    if (!compare(&estimate, &rate) || g_profiled.place == 0 || !estimate.known()) return;
    const ClockReview found = review(g_clock, g_clocks.start, estimate.best());
    g_process.header->clock_drift_ticks = found.drift;
    g_process.header->clock_bound_ticks = found.bound;
}

}  // namespace dwell
