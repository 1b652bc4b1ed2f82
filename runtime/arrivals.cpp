#include "runtime/arrivals.h"

#include "runtime/path_hash.h"
#include "runtime/shared_words.h"

namespace dwell {

namespace {

constexpr uint64_t kArrivalKey = 0x61727269;
constexpr uint64_t kMostStayed = 8;  // this part of the time somebody waited
constexpr uint32_t kLinesOfPage = kExchangePage / sizeof(ArrivalLine);

}  // namespace

ArrivalLine* find_arrivals(uint32_t world_rank) {
    void* page = find_or_make_pages(mix_path(kArrivalKey, world_rank / kLinesOfPage), 1);
    return page != nullptr ? static_cast<ArrivalLine*>(page) + world_rank % kLinesOfPage : nullptr;
}

void write_arrival(ArrivalLine* line, const Arrival& arrival, bool concurrent) {
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
    write_words(&line->last[version / 2 % kArrivals], arrival);
    __atomic_store_n(&line->version, version + 2, __ATOMIC_RELEASE);
}

namespace {

// False while they are written over and over.
bool read_arrivals(const ArrivalLine* line, Arrival* copies) {
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
        const uint64_t version = __atomic_load_n(&line->version, __ATOMIC_ACQUIRE);
        for (uint32_t k = 0; k < kArrivals; ++k) read_words(&line->last[k], &copies[k]);
        if ((version & 1) == 0 && version == __atomic_load_n(&line->version, __ATOMIC_RELAXED)) {
            return true;
        }
    }
    return false;
}

}  // namespace

bool arrival_after(const ArrivalLine* line, uint64_t since, uint64_t until, Answer* came) {
    Arrival copies[kArrivals];
    if (!read_arrivals(line, copies)) return false;
    bool found = false;
    for (const Arrival& arrival : copies) {
        const uint64_t came_at = arrival.came.real;
        if (came_at <= since || came_at >= until || (found && came_at > came->real)) continue;
        // Neighbours leave a barrier one after the other.
        const uint64_t stayed = arrival.away > since ? arrival.away - since : 0;
        if ((came_at - since) / kMostStayed < stayed) continue;
        *came = arrival.came;
        found = true;
    }
    return found;
}

bool arrival_before(const ArrivalLine* line, uint64_t until, Answer* came) {
    Arrival copies[kArrivals];
    if (!read_arrivals(line, copies)) return false;
    came->real = 0;
    for (const Arrival& arrival : copies) {
        if (arrival.came.real <= until && arrival.came.real > came->real) *came = arrival.came;
    }
    return came->real != 0;
}

}  // namespace dwell
