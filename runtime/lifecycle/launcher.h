// What the launcher knows of a job over several hosts: which ranks are observed on all of them.
#ifndef DWELL_RUNTIME_LIFECYCLE_LAUNCHER_H_
#define DWELL_RUNTIME_LIFECYCLE_LAUNCHER_H_

namespace dwell {

// Marks this rank as observed in the launcher's key exchange. Before PMPI_Init, which carries the
// marks to all ranks. Does nothing on one node, or where the launcher has no PMIx.
void mark_observed();

// After PMPI_Init: the marked ranks, ascending, into `ranks` (room for `world_size`); the count.
int ranks_marked_observed(int* ranks, int world_size);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LIFECYCLE_LAUNCHER_H_
