// Figures about waiting for the text report: kinds of wait states, the partners waited for and
// their activity, and the root causes.
#ifndef DWELL_REPORT_FIGURES_WAIT_FIGURES_H_
#define DWELL_REPORT_FIGURES_WAIT_FIGURES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/figures/figures.h"
#include "report/figures/stalls.h"
#include "summarize/model/profile.h"

namespace dwell {

// The estimated part of the waiting, for calls without time stamps of their partners.
uint64_t estimated_ns(const Totals& totals);

// One kind of waiting at a communication line, and its duration.
struct WaitKindTime {
    std::string name;  // "late sender", "wait at barrier" ...
    uint64_t time_ns = 0;
};
// By decreasing time; measured waiting only. `call` is the MpiCall of the line.
std::vector<WaitKindTime> wait_kinds(uint16_t call, const Totals& totals);

// A computation, over all call paths; kNoNode if it is unknown.
struct Computation {
    uint32_t interval = kNoNode;  // a representative: index into Profile::intervals
    bool calls_tell = true;       // the surrounding MPI calls show the place in the procedure
    std::string procedure;        // that owns it, or that contains the loop or block
    std::string sampled;        // the function with most of its samples, if these have no call path
    std::string sampled_place;  // "heat.c:14", the line with most samples; empty with few samples
    std::string own_place;      // the same of `procedure`, however few they are
    std::string called;         // the system function called most by it, such as exp()
    // For most of the time the thread could not be sampled, so the fields above do not show the
    // procedure.
    bool unsampled = false;
    uint32_t io_node = kNoNode;  // the statement with most of that time, if known
};

// A partner that a communication line waited for.
struct PartnerShare {
    uint32_t peer = kNoPeer;  // kNoPeer: the remaining partners
    Computation doing;
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t max_ns = 0;
    uint64_t passed_on_ns = 0;  // part of time_ns: indirect waiting, that rank had waited itself
};
struct Partners {
    std::vector<PartnerShare> heaviest;  // at most `limit`, by decreasing time
    uint64_t rest_ns = 0;
    uint64_t all_ns = 0;
    bool certain = true;  // no other partner can be heavier than these
};
Partners partners_of(const Profile& profile, const CommLine& line, size_t limit);

// A computation that delayed other ranks, or the activity in its place.
struct CauseLine {
    Computation computation;
    uint32_t peer = kNoPeer;  // the rank that delayed longest; kNoPeer: unknown
    uint64_t peer_ns = 0;
    size_t others = 0;  // further ranks with the same cause
    bool more = false;  // and an unknown number of further ranks
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t passed_on_ns = 0;
    Stall stall;  // activity of `peer` instead of computation; the others did the same
};
// By decreasing time; unknown computations last.
std::vector<CauseLine> cause_lines(const Profile& profile);
// The same without direct waiting in set-up; indirect waiting is not known by line.
std::vector<CauseLine> causes_outside_setup(const Profile& profile);

// The line of `lines` with most direct waiting for this cause, except set-up; null if none waited.
const CommLine* line_waiting_for(const Profile& profile, const std::vector<CommLine>& lines,
                                 const CauseLine& cause);

// The root cause of most indirect waiting, if one cause has most of it: its ranks by their indirect
// part.
std::optional<CauseLine> main_passed_on(const Profile& profile);

// "rank 3", "mostly rank 3 (and 2 other ranks)", "rank 3 (and 2 other ranks)": the ranks of the
// line, which have their parts of `whole_ns`. A verb in the singular follows.
std::string culprits_text(const CauseLine& line, uint64_t whole_ns);

// Whether ranks waited for `rank` mostly because of another activity than computation: files,
// sleep.
bool is_late_without_computing(const Profile& profile, uint32_t rank);

// "rank 3", "rank 2 of world 1".
std::string rank_text(uint32_t peer);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_WAIT_FIGURES_H_
