// Controls how closely sites are watched: the levels that the user enabled, and reductions of sites
// that cost too much (Pablo's adaptive levels with low and high water marks; DESIGN 8).
//
// A thread has a credit of at most one millisecond, to which the permitted share of the passing
// time is added and from which the cost of its probes is taken. Each check, every kControlCountdown
// probes or 0.5 ms, at which more was spent than earned reduces the site of the latest probe, with
// its loops, if that site is short. Below half of the maximum credit the site is only counted,
// exactly; without credit it is sampled (probe_trials.h): off from the end of the gap on, except in
// trials. Open entries of a site that goes off end. Above three quarters of the maximum a site is
// timed again, after a rest that doubles each time.
#ifndef DWELL_RUNTIME_PROBES_PROBE_CONTROL_H_
#define DWELL_RUNTIME_PROBES_PROBE_CONTROL_H_

#include <algorithm>

#include "runtime/contract/enabling_profile.h"
#include "runtime/contract/site_table.h"
#include "runtime/process/hooks.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint32_t kControlCountdown = 1024;

// Reads the profile named by DWELL_ENABLE, "" for none. False after a line on stderr.
bool read_enabling_profile(const char* path);

// Whether that profile switches a site off or to counting.
bool profile_reduced_sites();

// Noted with each counted entry (count_reduced): the number of the current gap << 32 | weight - 1
// of an entry in a trial; lower half 0: no trial.
extern uint64_t g_gap __attribute__((visibility("hidden")));

// The cost that control charges for slow work of a probe that took `ticks`: more than this many
// pairs of probes means that the processor was lost meanwhile.
inline uint64_t cost_of_slow(uint64_t ticks) {
    return std::min(ticks, 256 * g_process.probe_cost_ticks);
}

// The level that the user enabled for a block or marker.
uint8_t enabled_level_of(const SiteFacts& named);

// What the user chose of the events of a row (event_flags_of()).
uint8_t event_flags_of_row(const SiteRow* row);

// Starts the first window of costs at the thread's beginning.
void start_control(Thread* thread);

// Control for a procedure of code built with -finstrument-functions whose entry ended a window.
// Such procedures have no level: their entries are only counted (EnterKind::kCounted) until all are
// timed again.
void control_code(Thread* thread, KnownChild* known);

// Approximate cost of a counted entry: it and its end are a look-up and a count each, as a marker
// is.
inline uint64_t code_count_ticks() { return 2 * g_process.mark_cost_ticks; }

// Sets the levels of all registered sites to those that the user enabled, or to zero.
void switch_sites(bool on);

// Real ticks at which control switched the site off; 0: it did not. The row's module may be gone.
uint64_t switched_off_at(const SiteRow* row);

// The registered modules, numbered from 0. Others are only read while TablesHeld.
int registered_modules();
const SiteModule* registered_module(int number);

// While one exists, the tables of all modules that are found registered stay mapped: a thread that
// unloads a module waits for its end. Takes no lock.
class TablesHeld {
  public:
    TablesHeld();
    ~TablesHeld();
    TablesHeld(const TablesHeld&) = delete;
    TablesHeld& operator=(const TablesHeld&) = delete;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROBES_PROBE_CONTROL_H_
