#include "runtime/exchange/progress_log.h"

#include "runtime/contract/path_hash.h"
#include "runtime/process/shared_words.h"

namespace dwell {

namespace {

constexpr uint64_t kProgressKey = 0x61727269;
constexpr uint64_t kMostStayed = 8;  // this part of the time somebody waited
constexpr uint32_t kLinesOfPage = kExchangePage / sizeof(ProgressLog);

constexpr uint32_t kNone = kProgressEntries;

// The arrival that `pick` tells the place of, kNone for none. False also while they are written
// over and over.
template <typename Pick>
bool read_progress(const ProgressLog* line, Pick pick, EnterStamp* came) {
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
        const uint64_t version = __atomic_load_n(&line->version, __ATOMIC_ACQUIRE);
        ProgressEntry copies[kProgressEntries];
        for (uint32_t k = 0; k < kProgressEntries; ++k) read_words(&line->last[k], &copies[k]);
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
        *came = stamp_of_answer(copies[picked].came, lost, worked);
        return true;
    }
    return false;
}

}  // namespace

ProgressLog* find_progress_log(uint32_t world_rank) {
    void* page = find_or_make_pages(mix_path(kProgressKey, world_rank / kLinesOfPage), 1);
    return page != nullptr ? static_cast<ProgressLog*>(page) + world_rank % kLinesOfPage : nullptr;
}

void write_progress(ProgressLog* line, const EnterStamp& stamp, uint64_t away, bool concurrent) {
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
    const uint64_t place = version / 2 % kProgressEntries;
    write_words(&line->last[place], ProgressEntry{answer_of_stamp(stamp), away});
    const auto more_lost = static_cast<uint32_t>(lost_of(stamp) >> 32);
    __atomic_store_n(&line->work[place], more_lost << 16 | stamp.work, __ATOMIC_RELEASE);
    __atomic_store_n(&line->version, version + 2, __ATOMIC_RELEASE);
}

bool progress_after(const ProgressLog* line, uint64_t sent, uint64_t since, uint64_t until,
                    EnterStamp* came) {
    const auto first_after = [=](const ProgressEntry* progress_log) {
        uint32_t first = kNone;
        for (uint32_t k = 0; k < kProgressEntries; ++k) {
            const uint64_t came_at = progress_log[k].came.real;
            if (came_at <= sent || came_at >= until) continue;
            if (first == kNone || came_at < progress_log[first].came.real) first = k;
        }
        if (first == kNone || progress_log[first].came.real <= since) return kNone;
        // Neighbours leave a barrier one after the other.
        const uint64_t away = progress_log[first].away;
        const uint64_t stayed = away > sent ? away - sent : 0;
        const uint64_t waited = progress_log[first].came.real - since;
        return waited / kMostStayed >= stayed ? first : kNone;
    };
    return read_progress(line, first_after, came);
}

bool progress_before(const ProgressLog* line, uint64_t until, EnterStamp* came) {
    const auto last_before = [=](const ProgressEntry* progress_log) {
        uint32_t last = kNone;
        for (uint32_t k = 0; k < kProgressEntries; ++k) {
            const uint64_t came_at = progress_log[k].came.real;
            if (came_at == 0 || came_at > until) continue;
            if (last == kNone || came_at > progress_log[last].came.real) last = k;
        }
        return last;
    };
    return read_progress(line, last_before, came);
}

}  // namespace dwell
