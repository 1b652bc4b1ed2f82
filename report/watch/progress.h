// Whether a job makes progress, from two readings of its records: a call, probe or I/O statement
// has ended, or a thread computes outside of MPI. Polls that found nothing are no progress, nor is
// a busy processor inside a call: Open MPI spins while it waits.
#ifndef DWELL_REPORT_WATCH_PROGRESS_H_
#define DWELL_REPORT_WATCH_PROGRESS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "summarize/merge/merged.h"

namespace dwell {

struct ThreadProgress {
    uint64_t done = 0;   // statements and probed entries that ended, without empty polls
    uint64_t polls = 0;  // that found nothing
    bool waits = false;  // in a call of MPI, or in OpenMP for other threads
    std::optional<uint64_t> processor_ns = 0;  // nothing: not known
};
using Progress = std::map<std::pair<uint32_t, uint32_t>, ThreadProgress>;  // by rank and thread

// The processor time of a thread, by process and thread id.
using ProcessorTime = std::function<std::optional<uint64_t>(int32_t pid, int32_t tid)>;
Progress progress_of(const Merged& merged, const ProcessorTime& processor_ns_of);
// From /proc; of a thread that has ended it is 0, and does not change.
std::optional<uint64_t> processor_ns(int32_t pid, int32_t tid);

// Ranks of another namespace of process ids: their processes have other numbers here, or none.
std::set<uint32_t> invisible_ranks(const Merged& merged);

// `elapsed_ns` between the readings. A thread outside of calls whose processor time is not known
// may compute: that counts as progress.
bool has_progress(const Progress& before, const Progress& now, uint64_t elapsed_ns);

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_PROGRESS_H_
