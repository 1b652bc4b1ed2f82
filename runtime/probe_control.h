// Which sites are watched how closely: what the user enabled, and what the runtime reduces because
// it costs too much (Pablo's adaptive levels with low and high water marks; DESIGN 8).
//
// A thread looks at its costs every kControlCountdown probes. When pairs of probes took more than
// the limit of the time since then, the site whose probe happened to be the last is a frequent one:
// if it is short, too, it steps down: from full to counting if that is cheap enough for its rate,
// else to off, also while entries of it are open: those end then. After a while, longer each time
// it had to step down again, it is tried at full level.
#ifndef DWELL_RUNTIME_PROBE_CONTROL_H_
#define DWELL_RUNTIME_PROBE_CONTROL_H_

#include "runtime/enabling_profile.h"
#include "runtime/site_table.h"
#include "runtime/state.h"

namespace dwell {

constexpr uint32_t kControlCountdown = 1024;

// The thread of a process that has instrumented modules and meets its first probe; null when it is
// not to be observed.
Thread* attach_for_probe();

// True when modules that register are to be watched: the process is observed or may come to be.
bool probes_wanted();

// Reads the profile of DWELL_ENABLE, "" for none. False after a line on stderr.
bool read_enabling_profile(const char* path);

// Whether that profile has switched a site off, or has it only counted.
bool profile_reduced_sites();

// The level that the user enabled for a block or marker.
uint8_t enabled_level_of(const SiteFacts& named);

// The thread begins: its first window of costs.
void start_control(Thread* thread);

// The same for a procedure of code built with -finstrument-functions, whose entry ended a window.
// It has no level: its entries there are only counted (ProbeWay::kCounted), until all are tried
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

#endif  // DWELL_RUNTIME_PROBE_CONTROL_H_
