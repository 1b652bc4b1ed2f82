// Causes that are no computation: what the rank that made others wait did instead, and what ranks
// lost because they waited for a processor (docs/causes.md). Functions of a profile.
#ifndef DWELL_REPORT_FIGURES_STALLS_H_
#define DWELL_REPORT_FIGURES_STALLS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "summarize/model/profile.h"

namespace dwell {

// What else a rank did in its long computations of one kind.
enum class StallKind { kNone, kIo, kAsleep, kQueued, kKernel };
// Of such time no sample tells the procedure: none is taken of a thread off the processor or in the
// kernel.
inline bool is_unsampled(StallKind kind) {
    return kind == StallKind::kIo || kind == StallKind::kAsleep || kind == StallKind::kKernel;
}
struct Stall {
    StallKind kind = StallKind::kNone;  // that made others wait; kNone: the computation did
    ProfileStall times{};               // of the rank, all of it
    bool maybe_io = false;  // kQueued: much of it was sleep or in the kernel all the same
};

// One computation on all ranks: the sums of its long parts by rank, and how much time there is
// beside them.
struct LongParts {
    std::map<uint32_t, ProfileStall> by_rank;
    uint64_t beside_ns = 0;

    void add(const ProfileStall& stall);

  private:
    std::map<uint32_t, uint64_t> most_io_ns_;  // of one part, by rank
};
// Others waited `waited_ns` for the rank, in `count` waits. What the rank did beside computing is
// the cause where it did so longer than the other ranks by half of what each of them waited, at
// least. None of them waited longer than the rank was at it.
Stall stall_of_cause(const LongParts& parts, size_t ranks, uint32_t rank, uint64_t count,
                     uint64_t waited_ns);

// "writes ck.dat in checkpoint (ck.c:33 write): 800 ms"; "" where it is something else.
std::string io_stall_text(const Profile& profile, const Stall& stall, int room, bool utf8);
// The parts of a sentence about it, where it is none of files that are known; else empty.
struct StallWords {
    std::string verb;     // "does I/O or sleeps"
    std::string share;    // "on a processor 8 % of the time"
    bool try_io = false;  // dwell run --io on would tell more
};
StallWords stall_words(const Profile& profile, const Stall& stall);

// Of all ranks, as the kernel says, and how long they ran; zeros where one is not known.
struct ProcessorUse {
    uint64_t on_ns = 0;
    uint64_t real_ns = 0;
};
ProcessorUse processor_use(const Profile& profile);

// What counts as computation and is more than all processor time of the job: so much of it, at
// least, passed without a processor. 0: none, or not known.
uint64_t beyond_processor_ns(const Profile& profile);
// Of a program without MPI, or with one rank, what of that is no computation. 0 where that is less
// than a quarter of it.
uint64_t off_processor_ns(const Profile& profile);

// Who has the processors that ranks wait for.
enum class Holder { kUnknown, kRanks, kOtherPrograms };
struct Holders {
    Holder who = Holder::kUnknown;
    // kRanks: of the host, or of the processors that they are bound to, with too many threads.
    size_t ranks = 0;
    uint64_t threads = 0;
    uint64_t processors = 0;
};
Holders holders_of_processors(const Profile& profile);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_STALLS_H_
