// Asks the launcher which ranks of a job over several hosts are observed.
#ifndef DWELL_RUNTIME_LIFECYCLE_LAUNCHER_H_
#define DWELL_RUNTIME_LIFECYCLE_LAUNCHER_H_

namespace dwell {

// Marks this rank as observed in the launcher's key exchange. Before PMPI_Init, which distributes
// the marks. Does nothing on one host, or where the launcher has no PMIx.
void mark_observed();

// After PMPI_Init: writes the marked ranks, ascending, to `ranks` (room for `world_size`); returns
// their number.
int ranks_marked_observed(int* ranks, int world_size);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_LAUNCHER_H_
