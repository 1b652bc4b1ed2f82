// The sites that cost too much even where they are only counted: they are off but for trials
// (probe_trials.h). Control (probe_control.h) says which these are and when a gap ends.
#ifndef DWELL_RUNTIME_PROBES_SAMPLED_SITES_H_
#define DWELL_RUNTIME_PROBES_SAMPLED_SITES_H_

#include "runtime/contract/site_table.h"
#include "runtime/process/state.h"

namespace dwell {

// Kept by control, one a row.
struct SampledSite {
    bool sampled;        // it is, from the next gap on
    uint64_t off_since;  // real ticks when it went off first; 0: it is not yet
    uint64_t off_again;  // real ticks when it went off in this gap; 0: it is on
    CellIndex record;    // its OffSite; 0: it was never off, or there was no room
    Site site;           // of its nodes
    const SiteRow* row;
    SampledSite* next;
};

// Whether something is sampled, and whether it is counted now.
bool sampling_goes_on();
bool trial_goes_on();

// A thread paid `cost` for counting and earned what its probes may take, in this gap.
void pay_in_gap(uint64_t cost, uint64_t earned);
uint64_t paid_in_gap();

// All that follow with StateLock held; `now` is in real ticks.

// The row is sampled from the next gap on. If it is the first, `cost` while `earned` was what it
// may is what made it so.
void sample(SampledSite* site, const SiteRow* row, const Site& of_nodes, uint64_t now,
            uint64_t cost, uint64_t earned);

// A gap ends, and the next one begins at a probe of `row`, of a thread that has `credit` left, of
// `most`. True when a site goes off for the first time.
bool change_gap(const SiteRow* row, uint64_t now, int64_t credit, int64_t most);

// Counting took too much in this gap: what is sampled goes off before it ends. True as above.
bool cut_gap(uint64_t now);

// The rows of a module are off for another reason, or gone.
void forget_sampled(const SiteModule& module, uint64_t now);

inline void set_level(const SiteRow* row, uint8_t level) {
    uint8_t* byte =
        const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(&row->level)) + row->level;
    __atomic_store_n(byte, level, __ATOMIC_RELAXED);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_SAMPLED_SITES_H_
