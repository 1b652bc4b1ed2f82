#include "runtime/exchange/arrivals.h"

#include "runtime/contract/path_hash.h"
#include "runtime/process/shared_words.h"

namespace dwell {

namespace {

constexpr uint64_t kArrivalKey = 0x61727269;
constexpr uint64_t kMostStayed = 8;  // this part of the time somebody waited
constexpr uint32_t kLinesOfPage = kExchangePage / sizeof(ArrivalLine);

constexpr uint32_t kNone = kArrivals;

// The arrival that `pick` tells the place of, kNone for none. False also while they are written
// over and over.
template <typename Pick>
bool read_arrival(const ArrivalLine* line, Pick pick, Moment* came) {
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
        const uint64_t version = __atomic_load_n(&line->version, __ATOMIC_ACQUIRE);
        Arrival copies[kArrivals];
        for (uint32_t k = 0; k < kArrivals; ++k) read_words(&line->last[k], &copies[k]);
        const uint32_t picked = pick(copies);
        uint16_t worked = 0;
        uint64_t lost = 0;
        if (picked != kNone) {
            const uint32_t work = __atomic_load_n(&line->work[picked], __ATOMIC_ACQUIRE);
            worked = static_cast<uint16_t>(work);
            lost = uint64_t{work >> 16} << 32 | copies[picked].came.lost;
        }
        if ((version & 1) != 0 || version != __atomic_load_n(&line->version, __ATOMIC_RELAXED)) {
            continue;
        }
        if (picked == kNone) return false;
        *came = moment_of_answer(copies[picked].came, lost, worked);
        return true;
    }
    return false;
}

}  // namespace

ArrivalLine* find_arrivals(uint32_t world_rank) {
    void* page = find_or_make_pages(mix_path(kArrivalKey, world_rank / kLinesOfPage), 1);
    return page != nullptr ? static_cast<ArrivalLine*>(page) + world_rank % kLinesOfPage : nullptr;
}

void write_arrival(ArrivalLine* line, const Moment& said, uint64_t away, bool concurrent) {
    uint64_t version = __atomic_load_n(&line->version, __ATOMIC_RELAXED);
    if (concurrent) [[unlikely]] {
        // Who comes second leaves it to the first: that one came at about the same time.
        if ((version & 1) != 0 ||
            !__atomic_compare_exchange_n(&line->version, &version, version + 1, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            return;
        }
    } else {
        __atomic_store_n(&line->version, version + 1, __ATOMIC_RELAXED);
    }
    const uint64_t place = version / 2 % kArrivals;
    write_words(&line->last[place], Arrival{answer_of_moment(said), away});
    const auto more_lost = static_cast<uint32_t>(lost_of(said) >> 32);
    __atomic_store_n(&line->work[place], more_lost << 16 | said.work, __ATOMIC_RELEASE);
    __atomic_store_n(&line->version, version + 2, __ATOMIC_RELEASE);
}

bool arrival_after(const ArrivalLine* line, uint64_t sent, uint64_t since, uint64_t until,
                   Moment* came) {
    const auto first_after = [=](const Arrival* arrivals) {
        uint32_t first = kNone;
        for (uint32_t k = 0; k < kArrivals; ++k) {
            const uint64_t came_at = arrivals[k].came.real;
            if (came_at <= sent || came_at >= until) continue;
            if (first == kNone || came_at < arrivals[first].came.real) first = k;
        }
        if (first == kNone || arrivals[first].came.real <= since) return kNone;
        // Neighbours leave a barrier one after the other.
        const uint64_t away = arrivals[first].away;
        const uint64_t stayed = away > sent ? away - sent : 0;
        const uint64_t waited = arrivals[first].came.real - since;
        return waited / kMostStayed >= stayed ? first : kNone;
    };
    return read_arrival(line, first_after, came);
}

bool arrival_before(const ArrivalLine* line, uint64_t until, Moment* came) {
    const auto last_before = [=](const Arrival* arrivals) {
        uint32_t last = kNone;
        for (uint32_t k = 0; k < kArrivals; ++k) {
            const uint64_t came_at = arrivals[k].came.real;
            if (came_at == 0 || came_at > until) continue;
            if (last == kNone || came_at > arrivals[last].came.real) last = k;
        }
        return last;
    };
    return read_arrival(line, last_before, came);
}

}  // namespace dwell
