// The file beside a record file into which threads of the process have flushed their rings
// (EventPolicy::kFlush). They append while they have the lock of the record file.
#ifndef DWELL_REPORT_EVENTS_EVENT_SPILL_H_
#define DWELL_REPORT_EVENTS_EVENT_SPILL_H_

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/contract/event_layout.h"

namespace dwell {

using SpillTaker = std::function<void(const EventSpill& head, const std::vector<uint64_t>& words)>;

// The spill file of the record file `directory`/`name`.
std::string spill_file(const std::string& directory, const std::string& name);

// Reads it beside the threads. Of several processes one does.
class SpillReader {
  public:
    explicit SpillReader(std::string path) : path_(std::move(path)) {}

    // Gives each whole block that it has not given yet to `take`, in order. Returns their bytes.
    uint64_t read(const SpillTaker& take);
    // Removes the file, after all was read, under the lock of the record file. Returns the bytes
    // behind the last whole block.
    uint64_t remove();

  private:
    bool open();
    std::string path_;
    std::unique_ptr<FILE, int (*)(FILE*)> file_{nullptr, fclose};
    long read_ = 0;  // bytes
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_EVENT_SPILL_H_
