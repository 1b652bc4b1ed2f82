// The table of the figures of a node (Totals): the name of each in profile.json, how two values are
// added, and whether the parent's value includes it. Merge, profile and formats loop over this
// table, so a new figure is written down once.
#ifndef DWELL_SUMMARIZE_MERGE_FIGURES_H_
#define DWELL_SUMMARIZE_MERGE_FIGURES_H_

#include "summarize/merge/merged.h"

namespace dwell {

enum class Combine : uint8_t { kSum, kLeast, kMost };
enum class InJson : uint8_t { kAlways, kUnlessZero };  // for nodes; rows omit every zero

struct Figure {
    const char* name;
    uint64_t Totals::*value;
    Combine combine = Combine::kSum;
    InJson in_json = InJson::kAlways;
    bool of_parents = false;  // procedures and call statements show the sum over their children
};

constexpr InJson kUnlessZero = InJson::kUnlessZero;
constexpr Combine kSum = Combine::kSum;
constexpr Figure kFigures[] = {
    {"count", &Totals::count},
    {"time_ns", &Totals::time_ns},
    {"min_ns", &Totals::min_ns, Combine::kLeast},
    {"max_ns", &Totals::max_ns, Combine::kMost},
    {"sync_ns", &Totals::sync_ns, kSum, InJson::kAlways, true},
    {"blocked_ns", &Totals::blocked_ns, kSum, InJson::kAlways, true},
    {"late_sender_ns", &Totals::late_sender_ns, kSum, kUnlessZero, true},
    {"late_receiver_ns", &Totals::late_receiver_ns, kSum, kUnlessZero, true},
    {"passed_on_ns", &Totals::passed_on_ns, kSum, kUnlessZero, true},
    {"unknown_waits", &Totals::unknown_waits, kSum, kUnlessZero},
    {"guessed_waits", &Totals::guessed_waits, kSum, kUnlessZero},
    {"estimated_waits", &Totals::estimated_waits, kSum, kUnlessZero},
    {"bytes_sent", &Totals::bytes_sent, kSum, InJson::kAlways, true},
    {"bytes_received", &Totals::bytes_received, kSum, InJson::kAlways, true},
    {"failed", &Totals::failed},
    {"folded_peers", &Totals::folded_peers},
    {"untimed", &Totals::untimed},
    {"iterations", &Totals::iterations, kSum, kUnlessZero},
    {"abandoned", &Totals::abandoned, kSum, kUnlessZero},
    {"off_entries", &Totals::off_entries, kSum, kUnlessZero},
    {"off_uncertain", &Totals::off_uncertain, kSum, kUnlessZero},
    {"off_error", &Totals::off_error, kSum, kUnlessZero},
    {"estimated_ns", &Totals::estimated_ns, kSum, kUnlessZero},
    {"volume", &Totals::volume, kSum, kUnlessZero},
    {"entered_ns", &Totals::entered_ns, kSum, kUnlessZero},
    {"omp_wait_ns", &Totals::omp_wait_ns, kSum, kUnlessZero, true},
    {"omp_idle_ns", &Totals::omp_idle_ns, kSum, kUnlessZero, true},
    {"omp_start_ns", &Totals::omp_start_ns, kSum, kUnlessZero},
    {"omp_overhead_ns", &Totals::omp_overhead_ns, kSum, kUnlessZero},
    {"created", &Totals::created, kSum, kUnlessZero},
    {"chunks", &Totals::chunks, kSum, kUnlessZero},
    {"unfinished_ns", &Totals::unfinished_ns, kSum, kUnlessZero},
};
static_assert(sizeof(Totals) == sizeof(uint64_t) * (std::size(kFigures) + 2 * kEventSlots),
              "a figure is left out");

inline void add_figure(const Figure& figure, const Totals& from, Totals* into) {
    uint64_t& sum = into->*figure.value;
    const uint64_t part = from.*figure.value;
    switch (figure.combine) {
        case Combine::kSum:
            sum += part;
            break;
        case Combine::kLeast:
            if (part < sum) sum = part;
            break;
        case Combine::kMost:
            if (part > sum) sum = part;
            break;
    }
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_FIGURES_H_
