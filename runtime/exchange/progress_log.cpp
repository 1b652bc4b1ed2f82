// Writing and reading progress logs without waiting.
#include "runtime/exchange/progress_log.h"

#include "runtime/contract/path_hash.h"
#include "runtime/process/shared_words.h"

namespace dwell {

namespace {

constexpr uint64_t kProgressKey = 0x61727269;
// How long a receiver may stay in its previous call: this part of the sender's wait.
constexpr uint64_t kMostStayed = 8;
constexpr uint32_t kLinesOfPage = kExchangePage / sizeof(ProgressLog);

constexpr uint32_t kNone = kProgressEntries;

// Reads the entry whose index `pick` returns (kNone: none). False also while the log is rewritten
// all the time.
template <typename Pick>
bool read_progress(const ProgressLog* log, Pick pick, EnterStamp* entered) {
    constexpr int kTries = 4;
    for (int i = 0; i < kTries; ++i) {
        const uint64_t version = __atomic_load_n(&log->version, __ATOMIC_ACQUIRE);
        ProgressEntry copies[kProgressEntries];
        for (uint32_t k = 0; k < kProgressEntries; ++k) read_words(&log->last[k], &copies[k]);
        const uint32_t picked = pick(copies);
        uint16_t worked = 0;
        uint64_t lost = 0;
        if (picked != kNone) {
            const uint32_t work = __atomic_load_n(&log->work[picked], __ATOMIC_ACQUIRE);
            worked = static_cast<uint16_t>(work);
            lost = uint64_t{work >> 16} << 32 | copies[picked].entered.lost;
        }
        if ((version & 1) != 0 || version != __atomic_load_n(&log->version, __ATOMIC_RELAXED)) {
            continue;
        }
        if (picked == kNone) return false;
        *entered = stamp_of_answer(copies[picked].entered, lost, worked);
        return true;
    }
    return false;
}

}  // namespace

ProgressLog* find_progress_log(uint32_t world_rank) {
    void* page = find_or_make_pages(mix_path(kProgressKey, world_rank / kLinesOfPage), 1);
    return page != nullptr ? static_cast<ProgressLog*>(page) + world_rank % kLinesOfPage : nullptr;
}

void write_progress(ProgressLog* log, const EnterStamp& stamp, uint64_t no_progress_since,
                    bool concurrent) {
    uint64_t version = __atomic_load_n(&log->version, __ATOMIC_RELAXED);
    if (concurrent) [[unlikely]] {
        // The second thread skips its entry: the first entered at about the same time.
        if ((version & 1) != 0 ||
            !__atomic_compare_exchange_n(&log->version, &version, version + 1, false,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
            return;
        }
    } else {
        __atomic_store_n(&log->version, version + 1, __ATOMIC_RELAXED);
    }
    const uint64_t place = version / 2 % kProgressEntries;
    write_words(&log->last[place], ProgressEntry{answer_of_stamp(stamp), no_progress_since});
    const auto more_lost = static_cast<uint32_t>(lost_of(stamp) >> 32);
    __atomic_store_n(&log->work[place], more_lost << 16 | stamp.work, __ATOMIC_RELEASE);
    __atomic_store_n(&log->version, version + 2, __ATOMIC_RELEASE);
}

bool progress_after(const ProgressLog* log, uint64_t sent, uint64_t since, uint64_t until,
                    EnterStamp* entered) {
    const auto first_after = [=](const ProgressEntry* entries) {
        uint32_t first = kNone;
        for (uint32_t k = 0; k < kProgressEntries; ++k) {
            const uint64_t entered_at = entries[k].entered.real;
            if (entered_at <= sent || entered_at >= until) continue;
            if (first == kNone || entered_at < entries[first].entered.real) first = k;
        }
        if (first == kNone || entries[first].entered.real <= since) return kNone;
        // Ranks of one host leave a barrier one after the other.
        const uint64_t left = entries[first].no_progress_since;
        const uint64_t stayed = left > sent ? left - sent : 0;
        const uint64_t waited = entries[first].entered.real - since;
        return waited / kMostStayed >= stayed ? first : kNone;
    };
    return read_progress(log, first_after, entered);
}

bool progress_before(const ProgressLog* log, uint64_t until, EnterStamp* entered) {
    const auto last_before = [=](const ProgressEntry* entries) {
        uint32_t last = kNone;
        for (uint32_t k = 0; k < kProgressEntries; ++k) {
            const uint64_t entered_at = entries[k].entered.real;
            if (entered_at == 0 || entered_at > until) continue;
            if (last == kNone || entered_at > entries[last].entered.real) last = k;
        }
        return last;
    };
    return read_progress(log, last_before, entered);
}

}  // namespace dwell
