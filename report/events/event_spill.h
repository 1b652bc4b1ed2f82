// The file beside a record file into which threads of the process have flushed their rings
// (EventPolicy::kFlush).
#ifndef DWELL_REPORT_EVENTS_EVENT_SPILL_H_
#define DWELL_REPORT_EVENTS_EVENT_SPILL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/contract/event_layout.h"

namespace dwell {

using SpillTaker = std::function<void(const EventSpill& head, const std::vector<uint64_t>& words)>;

// The spill file of the record file `directory`/`name`.
std::string spill_file(const std::string& directory, const std::string& name);
// Gives each whole block to `take`, in order. Returns the bytes behind the last one.
uint64_t read_spill(const std::string& path, const SpillTaker& take);

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_EVENT_SPILL_H_
