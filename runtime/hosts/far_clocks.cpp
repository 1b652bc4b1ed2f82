#include "runtime/hosts/far_clocks.h"

#include <stdlib.h>

#include "runtime/contract/job_name.h"
#include "runtime/exchange/exchange.h"
#include "runtime/mpi/observed.h"

namespace dwell {

namespace {

constexpr int kExchanges = 50;

// What goes over the wire: the rate is told with every time.
struct Told {
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
    for (int place = 0; place < g_observed.count; ++place) {
        if (is_neighbour(static_cast<uint32_t>(g_observed.ranks[place]))) return place;
    }
    return g_observed.place;
}

bool send_told(const Told& told, int to) {
    return send_bytes(reinterpret_cast<const char*>(&told), sizeof(told), to, kClockTag,
                      private_deadline());
}
bool receive_told(Told* told, int from) {
    return receive_bytes(reinterpret_cast<char*>(told), sizeof(*told), from, kClockTag,
                         private_deadline());
}

// The first rank: answers all hosts, one after the other, as they come.
bool answer_hosts() {
    const uint64_t rate = g_process.header->ticks_per_second;
    for (int host = 1; host < g_clocks.hosts; ++host) {
        Told asked{};
        MPI_Request request = nullptr;
        MPI_Status status;
        if (g_mpi.Irecv(&asked, sizeof(asked), g_mpi.byte, MPI_ANY_SOURCE, kClockTag,
                        g_observed.comm, &request) != MPI_SUCCESS ||
            !await_request(&request, private_deadline(), &status)) {
            return false;
        }
        const int from = status.MPI_SOURCE;
        for (int i = 0;; ++i) {
            if (!send_told({shifted_now(), rate}, from)) return false;
            if (i + 1 == kExchanges) break;
            if (!receive_told(&asked, from)) return false;
        }
    }
    return true;
}

bool ask_first(ClockEstimate* estimate, uint64_t* rate) {
    for (int i = 0; i < kExchanges; ++i) {
        Told told{};
        const uint64_t asked = now_ticks();
        if (!send_told({}, 0) || !receive_told(&told, 0)) return false;
        estimate->add({asked, told.ticks, now_ticks()});
        *rate = told.rate;
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
    bool told = true;
    for (int place = g_observed.place + 1; place < g_observed.count; ++place) {
        if (!is_neighbour(static_cast<uint32_t>(g_observed.ranks[place]))) continue;
        told = send_bytes(reinterpret_cast<const char*>(&spread), sizeof(spread), place, kClockTag,
                          private_deadline()) &&
               told;
    }
    return told;
}

// The comparison itself, by the first rank and by the others that speak for their hosts.
bool compare(ClockEstimate* estimate, uint64_t* rate) {
    return g_observed.place == 0 ? answer_hosts() : ask_first(estimate, rate);
}

}  // namespace

bool clocks_agree() { return g_clocks_related || g_clocks.hosts == 1; }

void relate_clocks() {
    if (g_observed.count < 2 || !launcher_spans_hosts()) return;
    const int first = first_place_here();
    g_clocks.speaks = first == g_observed.place;
    g_clocks.hosts = sum_over_observed(g_clocks.speaks ? 1 : 0);
    if (g_clocks.hosts < 2) return;
    g_clocks.shift = shift_ticks();
    FileHeader* header = g_process.header;
    Spread spread{0, static_cast<uint64_t>(g_clocks.shift), 0, first == 0 ? uint64_t{1} : 0};
    bool good = true;
    if (g_clocks.speaks) {
        ClockEstimate estimate;
        uint64_t rate = header->ticks_per_second;
        good = compare(&estimate, &rate);
        if (good && g_observed.place != 0) {
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
    if (sum_over_observed(good ? 0 : 1) != 0) return;
    g_clocks_related = true;
    if (first == 0) return;
    header->clock_offset_ticks = static_cast<int64_t>(spread.reference - spread.own);
    header->clock_bound_ticks = spread.bound;
}

void review_clocks() {
    if (!g_clocks_related || !g_clocks.speaks) return;
    ClockEstimate estimate;
    uint64_t rate = 0;
    if (!compare(&estimate, &rate) || g_observed.place == 0 || !estimate.known()) return;
    const ClockReview found = review(g_clock, g_clocks.start, estimate.best());
    g_process.header->clock_drift_ticks = found.drift;
    g_process.header->clock_bound_ticks = found.bound;
}

}  // namespace dwell
