// Relates the clock of this host to that of the first profiled rank, which is the reference for all
// times between hosts (DESIGN 4).
#ifndef DWELL_RUNTIME_HOSTS_REMOTE_CLOCKS_H_
#define DWELL_RUNTIME_HOSTS_REMOTE_CLOCKS_H_

#include "runtime/hosts/clock_relation.h"

namespace dwell {

// Both are defined in piggyback.cpp.
extern ClockRelation g_clock __attribute__((visibility("hidden")));
// Profiled ranks are on several hosts whose clocks are related.
extern bool g_clocks_related __attribute__((visibility("hidden")));

// In MPI_Init, by every profiled rank, when all are there: one rank of each host compares clocks
// with the first rank and sends the result to the other ranks of its host.
void relate_clocks();
// After that: whether times of all profiled ranks can be compared. The same on all of them.
bool clocks_agree();
// In MPI_Finalize, by every profiled rank: measures again and writes drift and error bound to the
// record's header.
void review_clocks();

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_REMOTE_CLOCKS_H_
