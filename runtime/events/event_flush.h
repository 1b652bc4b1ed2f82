// EventPolicy::kFlush: a thread saves its ring in a file itself.
#ifndef DWELL_RUNTIME_EVENTS_EVENT_FLUSH_H_
#define DWELL_RUNTIME_EVENTS_EVENT_FLUSH_H_

#include "runtime/contract/event_layout.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr size_t kSpillPathBytes = sizeof(Process::record_path) + 16;
// The process's spill file; set before the first event.
extern char g_spill_path[kSpillPathBytes] __attribute__((visibility("hidden")));

void name_spill_file();

// No `dwell run` takes the events: the records stay, for `dwell recover`.
inline bool events_stay() {
    return g_process.options.events && g_status_page == nullptr &&
           g_process.options.event_policy == EventPolicy::kFlush;
}

struct Flush {
    uint64_t ticks;  // that it took
    uint64_t bytes;  // 0: none; it failed, or did so a short time ago, or there were none
};
// Appends what nobody has read to that file; its time becomes overhead. General registers only.
// errno stays.
Flush flush_events(Thread* thread) __attribute__((visibility("hidden")));

}  // namespace dwell

#endif  // DWELL_RUNTIME_EVENTS_EVENT_FLUSH_H_
