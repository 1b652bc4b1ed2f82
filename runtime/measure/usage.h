// What the operating system says of this process: processor time, memory, page faults, context
// switches, bytes (FileHeader::usage). All calls keep errno and neither allocate nor block; they
// are slow (usage.cpp), so none belongs on the path of a probe.
#ifndef DWELL_RUNTIME_MEASURE_USAGE_H_
#define DWELL_RUNTIME_MEASURE_USAGE_H_

#include <stdint.h>

#include "runtime/contract/record_layout.h"

namespace dwell {

// A reading of what the process, or one of its threads, used so far.
struct UsageReading {
    ProcessUsage usage;
    bool bytes_known;    // /proc could be read
    uint64_t own_bytes;  // read by taking it; not in `usage` yet
    uint64_t own_reads;
};

// What follows counts: what came before, such as `dwell run` before it became the program, does
// not. Once, when the library is loaded; reset_usage() again, for MPI_Pcontrol(2).
void begin_usage();
void reset_usage();

// Writes what is known now into the header of the record file. Any thread; nothing is done while
// another one does it. The last time is when the observation ends.
void note_usage();
void note_last_usage(uint64_t end_ticks);

// note_usage(), if that was done more than a second before `now_ticks`: a process that is killed
// leaves figures that are hardly older than its last call.
void note_usage_at_times(uint64_t now_ticks);

// Writes into the header on which processors the process may run: at its start, and at the end on
// which those of its threads that live may, as a program may bind them.
void note_processors();

// A file that dwell read, by one call, and the program did not.
void add_own_read(uint64_t bytes);

// What its thread does while it lives is dwell's own, and does not count. For long work only.
class OwnWork {
  public:
    OwnWork();
    ~OwnWork();
    OwnWork(const OwnWork&) = delete;
    OwnWork& operator=(const OwnWork&) = delete;

  private:
    UsageReading before_;
    ProcessUsage own_before_;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_USAGE_H_
