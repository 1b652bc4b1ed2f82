// Descriptors of counters (perf_event_open), dwell's own and those that PAPI opens for it. The
// program may close what it did not open (closefrom(3), a loop over all numbers, dup2 over one) and
// have the number for a file of its own, which must be neither read, reset nor closed. The kernel
// tells a counter by an id that no other has; other files have none.
//
// Between asking and using another thread may still close it: no call of the kernel does both.
#ifndef DWELL_RUNTIME_MEASURE_COUNTER_FILES_H_
#define DWELL_RUNTIME_MEASURE_COUNTER_FILES_H_

#include <stdint.h>

namespace dwell {

struct CounterFile {
    int descriptor;
    uint64_t id;
};

// False, when it is none, too.
bool read_counter_id(int descriptor, uint64_t* id);
bool is_still_there(const CounterFile& counter);
void close_counter(const CounterFile& counter);  // if it is still there

// A descriptor with that number leaves the program enough others: it may come to open many files,
// and a thread takes one for each metric. A quarter of its limit, and no fewer than 16.
bool leaves_room(int descriptor);

// The id that the newest counter of the machine has: all that are opened from now on have larger
// ones (a number that the kernel counts up). 0 with errno when no counter can be opened, EMFILE
// when that would not leave room.
uint64_t newest_counter_id();
// The process's counters that are newer. How many there are, of which `most` are put into `found`;
// -1 when that is not known. Opens a file of /proc.
int find_counters_after(uint64_t id, CounterFile* found, int most);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_COUNTER_FILES_H_
