// Causes of waiting that are no computation: what a late rank did instead, and the time that ranks
// waited for a processor (docs/causes.md). Functions of a profile.
#ifndef DWELL_REPORT_FIGURES_STALLS_H_
#define DWELL_REPORT_FIGURES_STALLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// The other activities of a rank during its long computations.
enum class StallKind { kNone, kIo, kAsleep, kQueued, kKernel };
// Samples do not show the procedure of such time: a thread off the processor or in the kernel is
// not sampled.
inline bool is_unsampled(StallKind kind) {
    return kind == StallKind::kIo || kind == StallKind::kAsleep || kind == StallKind::kKernel;
}
struct Stall {
    StallKind kind = StallKind::kNone;  // the cause of the others' waiting; kNone: computation
    ProfileStall times{};               // all times of the rank
    bool maybe_io = false;              // kQueued: much of it was sleep or kernel time
};

// One computation on all ranks: sums of its long parts by rank, and the remaining time.
struct LongParts {
    std::map<uint32_t, ProfileStall> by_rank;
    uint64_t beside_ns = 0;

    void add(const ProfileStall& stall);

  private:
    std::map<uint32_t, uint64_t> most_io_ns_;  // of one part, by rank
};
// Others waited `waited_ns` for the rank, in `count` waits. Another activity is the cause if the
// rank spent more time on it than the other ranks did, by at least half of what each of them
// waited. No wait is longer than the activity.
Stall stall_of_cause(const LongParts& parts, size_t ranks, uint32_t rank, uint64_t count,
                     uint64_t waited_ns);

// "writes ck.dat in checkpoint (ck.c:33 write): 800 ms"; "" for other activities.
std::string io_stall_text(const Profile& profile, const Stall& stall, int room, bool utf8);
// The parts of a sentence about a stall, except I/O on known files; otherwise empty.
struct StallWords {
    std::string verb;     // "does I/O or sleeps"
    std::string share;    // "on a processor 8 % of the time"
    bool try_io = false;  // dwell run --io on would tell more
};
StallWords stall_words(const Profile& profile, const Stall& stall);

// Processor time of all ranks according to the kernel, and their duration; zeros where one is
// unknown.
struct ProcessorUse {
    uint64_t on_ns = 0;
    uint64_t real_ns = 0;
};
ProcessorUse processor_use(const Profile& profile);

// The excess of computation over the processor time of the job: at least so much of it passed
// without a processor. 0: none, or unknown.
uint64_t beyond_processor_ns(const Profile& profile);
// For a program without MPI, or with one rank: the part of that excess that is no computation. 0
// below a quarter of it.
uint64_t off_processor_ns(const Profile& profile);

// The users of the processors that ranks wait for.
enum class Holder { kUnknown, kRanks, kOtherPrograms };
struct Holders {
    Holder who = Holder::kUnknown;
    // kRanks: number of ranks on the host, or on the processors they are bound to, with too many
    // threads.
    size_t ranks = 0;
    uint64_t threads = 0;
    uint64_t processors = 0;
};
Holders holders_of_processors(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_STALLS_H_
