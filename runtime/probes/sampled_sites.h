// Sites that cost too much even when only counted: off except in trials (probe_trials.h). Control
// (probe_control.h) chooses these sites and ends the gaps.
#ifndef DWELL_RUNTIME_PROBES_SAMPLED_SITES_H_
#define DWELL_RUNTIME_PROBES_SAMPLED_SITES_H_

#include "runtime/contract/site_table.h"
#include "runtime/process/state.h"

namespace dwell {

// State of a site, kept by control for each row.
struct SampledSite {
    bool sampled;        // sampled from the next gap on
    uint64_t off_since;  // real ticks when it first went off; 0: not yet
    uint64_t off_again;  // real ticks when it went off in this gap; 0: on
    bool cut;            // counting was broken off in this gap
    CellIndex record;    // its OffSite; 0: never off, or no room
    Site site;           // site of its nodes
    const SiteRow* row;
    SampledSite* next;
};

// Whether any site is sampled, and whether the current gap is a trial.
bool any_site_sampled();
bool is_trial_gap();

// Adds a thread's `cost` of counting and its permitted time `earned` to the current gap.
void pay_in_gap(uint64_t cost, uint64_t earned);
uint64_t paid_in_gap();

// For all that follow StateLock must be held; `now` is in real ticks.

// Samples the row from the next gap on. `cost` and `earned` start the estimate if it is the first.
void sample(SampledSite* site, const SiteRow* row, const Site& of_nodes, uint64_t now,
            uint64_t cost, uint64_t earned);

// Ends the gap and begins the next at a probe of `row`, by a thread that has `credit` of at most
// `most`. True when a site goes off for the first time.
bool change_gap(const SiteRow* row, uint64_t now, int64_t credit, int64_t most);

// Counting cost too much in this gap: sampled sites go off before its end. Returns as change_gap().
bool cut_gap(uint64_t now);

// The rows of a module are switched off for another reason, or unloaded.
void forget_sampled(const SiteModule& module, uint64_t now);

inline void set_level(const SiteRow* row, uint8_t level) {
    uint8_t* byte =
        const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(&row->level)) + row->level;
    __atomic_store_n(byte, level, __ATOMIC_RELAXED);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_SAMPLED_SITES_H_
