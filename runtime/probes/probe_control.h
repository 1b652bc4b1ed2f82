// Which sites are watched how closely: what the user enabled, and what the runtime reduces because
// it costs too much (Pablo's adaptive levels with low and high water marks; DESIGN 8).
//
// A thread earns the limit of the time that passes and pays for its probes; it has a millisecond to
// begin with, and at most. Each look, every kControlCountdown probes or 0.5 ms, at which more was
// paid than earned reduces the site whose probe happened to be the last, a frequent one, if it is
// short, with the loops in it: with less than half of the most it is only counted, exactly, and
// with nothing left it is sampled (probe_trials.h), off but for trials from the end of the gap on,
// with those of its loops that were entered.
// Entries of it that are open end then. With three quarters of the most again it is timed, after a
// rest that is longer each time.
#ifndef DWELL_RUNTIME_PROBES_PROBE_CONTROL_H_
#define DWELL_RUNTIME_PROBES_PROBE_CONTROL_H_

#include <algorithm>

#include "runtime/contract/enabling_profile.h"
#include "runtime/contract/site_table.h"
#include "runtime/process/hooks.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kControlCountdown = 1024;

// Reads the profile of DWELL_ENABLE, "" for none. False after a line on stderr.
bool read_enabling_profile(const char* path);

// Whether that profile has switched a site off, or has it only counted.
bool profile_reduced_sites();

// What only counts notes with each entry (count_reduced): the number of the gap that goes on, <<
// 32, and how many entries one stands for that is made in a trial, less one; 0: there is none.
extern uint64_t g_gap __attribute__((visibility("hidden")));

// What slow work of a probe costs for control, of the `ticks` that it took: more than this many
// pairs do is a processor that was lost meanwhile.
inline uint64_t cost_of_slow(uint64_t ticks) {
    return std::min(ticks, 256 * g_process.probe_cost_ticks);
}

// The level that the user enabled for a block or marker.
uint8_t enabled_level_of(const SiteFacts& named);

// The thread begins: its first window of costs.
void start_control(Thread* thread);

// The same for a procedure of code built with -finstrument-functions, whose entry ended a window.
// It has no level: its entries there are only counted (EnterKind::kCounted), until all are tried
// again.
void control_code(Thread* thread, KnownChild* known);

// What such an entry costs, about: it and its end are each a look-up and a count, as a marker is.
inline uint64_t code_count_ticks() { return 2 * g_process.mark_cost_ticks; }

// Sets the levels of all registered sites: those that the user enabled, or zero.
void switch_sites(bool on);

// When control switched the site off, in real ticks; 0: it is not off for that reason. The row need
// not be there any more.
uint64_t switched_off_at(const SiteRow* row);

// The number of modules registered now.
int registered_modules();

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_PROBE_CONTROL_H_
