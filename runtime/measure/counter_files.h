// Descriptors of counters (perf_event_open), dwell's own and those that PAPI opens for it. The
// program may close descriptors that it did not open (closefrom(3), dup2) and reuse the number for
// its own file, which must be neither read, reset nor closed. So counters are verified by the
// kernel's id, which other files do not have.
//
// Another thread may still close the counter between check and use; no system call does both.
#ifndef DWELL_RUNTIME_MEASURE_COUNTER_FILES_H_
#define DWELL_RUNTIME_MEASURE_COUNTER_FILES_H_

#include <stdint.h>

namespace dwell {

struct CounterFile {
    int descriptor;
    uint64_t id;
};

// Reads the counter's id; false also when the descriptor is no counter.
bool read_counter_id(int descriptor, uint64_t* id);
bool is_still_there(const CounterFile& counter);
void close_counter(const CounterFile& counter);  // if is_still_there()

// True when a new descriptor with that number leaves enough for the program, because a thread takes
// one for each metric: three quarters of its limit, and at least 16.
bool leaves_room(int descriptor);

// The id of the machine's newest counter; later ones have larger ids (the kernel counts up). 0 with
// errno when no counter can be opened, EMFILE when that would not leave room.
uint64_t newest_counter_id();
// Finds the process's newer counters: returns their number and puts at most `most` into `found`; -1
// when unknown. Opens a file of /proc.
int find_counters_after(uint64_t id, CounterFile* found, int most);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_COUNTER_FILES_H_
