// Resource usage of the process as the operating system reports it: processor time, memory, page
// faults, context switches, bytes (FileHeader::usage). All calls preserve errno and neither
// allocate nor block; they are slow (usage.cpp) and must not be used in a probe.
#ifndef DWELL_RUNTIME_MEASURE_USAGE_H_
#define DWELL_RUNTIME_MEASURE_USAGE_H_

#include <stdint.h>
#include <sys/time.h>

#include "runtime/contract/record_layout.h"

namespace dwell {

// A reading of the usage of the process, or of one of its threads.
struct UsageReading {
    ProcessUsage usage;
    bool bytes_known;    // /proc could be read
    uint64_t own_bytes;  // bytes read by this reading itself, not in `usage`
    uint64_t own_reads;
};

inline uint64_t ns_of_time(const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u +
           static_cast<uint64_t>(time.tv_usec) * 1'000u;
}

// Starts counting; usage before, such as that of `dwell run` before exec, is subtracted.
// begin_usage() once, when the library is loaded; reset_usage() for MPI_Pcontrol(2).
void begin_usage();
void reset_usage();

// Writes the present usage to the header of the record file. Any thread; does nothing while another
// thread does it. note_last_usage() at the end of the observation.
void note_usage();
void note_last_usage(uint64_t end_ticks);

// note_usage(), if the last one is more than a second ago, so that the figures of a process that is
// killed are hardly older than its last call.
void note_usage_at_times(uint64_t now_ticks);

// Writes the set of processors on which the process may run to the header: at the start, and at the
// end for the threads that still live, because a program may bind them.
void note_processors();

// Counts a file that dwell read with one call.
void add_own_read(uint64_t bytes);

// Scope in which the thread's usage belongs to dwell. For long work only.
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
