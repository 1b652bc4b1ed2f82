// The clock of this host and that of the first observed rank's, which times between hosts are told
// in (DESIGN 4).
#ifndef DWELL_RUNTIME_HOSTS_REMOTE_CLOCKS_H_
#define DWELL_RUNTIME_HOSTS_REMOTE_CLOCKS_H_

#include "runtime/hosts/clock_relation.h"

namespace dwell {

// Both are in piggyback.cpp.
extern ClockRelation g_clock __attribute__((visibility("hidden")));
// Observed ranks are on several hosts whose clocks are related.
extern bool g_clocks_related __attribute__((visibility("hidden")));

// In MPI_Init, by every observed rank, once they have met: one rank of each host compares clocks
// with the first of all, and tells the others.
void relate_clocks();
// After that: times of all observed ranks can be compared. The same on all of them.
bool clocks_agree();
// In MPI_Finalize, likewise: what the first comparison was worth. Into the record's header.
void review_clocks();

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_REMOTE_CLOCKS_H_
