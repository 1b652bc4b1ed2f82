// What the text report derives from a profile about waiting: of what kind it was, who was waited
// for and what that rank was doing, and which computation made others wait in the end.
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

// Of the waiting what is estimated, because nobody told when the partners came.
uint64_t estimated_ns(const Totals& totals);

// Unsuccessful ones of these are all waiting, for whom is not known.
bool is_poll(uint16_t call);

// One kind of waiting of a communication line, and how long it was.
struct WaitKindTime {
    std::string name;  // "late sender", "wait at barrier" ...
    uint64_t time_ns = 0;
};
// Longest first; those known only. `call` is the MpiCall of the line.
std::vector<WaitKindTime> wait_kinds(uint16_t call, const Totals& totals);

// A computation, over all call paths, as kNoNode where it is not known which one it was.
struct Computation {
    uint32_t interval = kNoNode;  // one that shows it: index into Profile::intervals
    bool calls_tell = true;       // the MPI calls around it tell where in its procedure
    std::string procedure;        // that it is booked on, or that holds the loop or block
    std::string sampled;          // where most of its samples fell; empty when there are few
    std::string sampled_place;    // "heat.c:14", the line with most of those; often empty
    std::string own_place;        // where there is none: the line of `procedure` with most samples
    std::string called;           // what of the system these called most, such as exp()
    // For most of the time the thread was not where samples are taken: they do not tell the
    // procedure. Then neither do those above.
    bool unsampled = false;
    uint32_t io_node = kNoNode;  // the statement that took most of that time, where that is known
};

// Who a communication line waited for.
struct PartnerShare {
    uint32_t peer = kNoPeer;  // kNoPeer: the rest
    Computation doing;
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t max_ns = 0;
    uint64_t passed_on_ns = 0;  // of time_ns: that rank had been made to wait itself
};
struct Partners {
    std::vector<PartnerShare> heaviest;  // at most `limit`, most time first
    uint64_t rest_ns = 0;
    uint64_t all_ns = 0;
    bool certain = true;  // no other can have been heavier than these
};
Partners partners_of(const Profile& profile, const CommLine& line, size_t limit);

// A computation that made other ranks wait, or what ranks did in its place.
struct CauseLine {
    Computation computation;
    uint32_t peer = kNoPeer;  // the rank that did so longest; kNoPeer: not known
    uint64_t peer_ns = 0;
    size_t others = 0;  // ranks that did so as well
    bool more = false;  // and still others, of which is not known which and how many
    uint64_t count = 0;
    uint64_t time_ns = 0;
    uint64_t passed_on_ns = 0;
    Stall stall;  // what `peer` did instead of computing; the others did such, too
};
// Longest first; what is not known which computation it was last.
std::vector<CauseLine> cause_lines(const Profile& profile);
// The same without waiting in set-up, as far as it was for that rank itself: what is passed on is
// not known by line.
std::vector<CauseLine> causes_outside_setup(const Profile& profile);

// Of `lines` the one that waited longest for this cause itself, but for set-up; null: none did.
const CommLine* line_waiting_for(const Profile& profile, const std::vector<CommLine>& lines,
                                 const CauseLine& cause);

// What most of the waiting that ranks passed on goes back to, where one cause has most of it: its
// ranks by what of theirs was passed on.
std::optional<CauseLine> main_passed_on(const Profile& profile);

// "rank 3", "mostly rank 3 (and 2 other ranks)", "rank 3 (and 2 other ranks)": whose computation it
// was, of whose `whole_ns` the ranks of the line have their parts. A verb in the singular follows.
std::string culprits_text(const CauseLine& line, uint64_t whole_ns);

// Whether ranks waited for `rank` most because of what is no computation: files, sleep.
bool is_late_without_computing(const Profile& profile, uint32_t rank);

// "rank 3", "rank 2 of world 1".
std::string rank_text(uint32_t peer);

}  // namespace dwell

#endif  // DWELL_REPORT_FIGURES_WAIT_FIGURES_H_
