// The losses of a run, and for each kind of loss one sentence that names the main cause: a rank, a
// procedure and a line. Functions of a profile.
#ifndef DWELL_REPORT_FIGURES_LOSSES_H_
#define DWELL_REPORT_FIGURES_LOSSES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "report/figures/figures.h"
#include "summarize/model/profile.h"

namespace dwell {

enum class LossKind { kWaiting, kTransfer, kIo, kOmpWait, kOmpIdle, kQueued };

struct Loss {
    LossKind kind;
    uint64_t ns = 0;       // sum over ranks
    uint64_t idle_ns = 0;  // besides, estimated: idle OpenMP threads meanwhile
    uint64_t all_ns() const { return ns + idle_ns; }
};
// By decreasing size; losses without time and set-up are left out. Idle time of OpenMP threads
// while their rank is in MPI or does I/O stands beside the loss of MPI or I/O, because the remedy
// is there.
std::vector<Loss> losses(const Profile& profile);

struct CauseLine;

// "rank 3 computes in relax (heat.c:78)", "rank 0 writes ck.dat in checkpoint (ck.c:33 write): 800
// ms", "rank 1 does I/O or sleeps in main (between MPI calls of exchange; on a processor 8 % of the
// time)".
std::string cause_words(const Profile& profile, const CauseLine& cause, int room, bool utf8);

// Options of `dwell run` that would name more of the main cause of waiting; empty: none.
std::string next_options(const Profile& profile);

// "Main cause: rank 0 computes in relax (heat.c:78), and others wait 416 ms a rank, mostly at
// heat.c:69 MPI_Recv in exchange." Names and places are at most `room` columns. Empty where no
// cause is known. `lines` are comm_lines(profile).
std::string cause_text(const Profile& profile, const std::vector<CommLine>& lines, LossKind kind,
                       int room, bool utf8);

// The place of most computation: by samples, else by probes; empty without both.
std::string computation_text(const Profile& profile, int room, bool utf8);

// ", 600 ms waiting for rank 3": in set-up; empty where it is negligible.
std::string setup_wait_text(const Profile& profile, bool utf8);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_LOSSES_H_
