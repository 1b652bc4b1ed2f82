// What the launcher knows: whether the job spans nodes, and which ranks are observed on all of
// them.
#ifndef DWELL_RUNTIME_LAUNCHER_H_
#define DWELL_RUNTIME_LAUNCHER_H_

namespace dwell {

// True when not every rank of the world runs on this node, as far as the launcher says.
bool launcher_spans_nodes(int world_size);

// Marks this rank as observed in the launcher's key exchange. Before PMPI_Init, which carries the
// marks to all ranks. Does nothing on one node, or where the launcher has no PMIx.
void mark_observed();

// After PMPI_Init: the marked ranks, ascending, into `ranks` (room for `world_size`); the count.
int ranks_marked_observed(int* ranks, int world_size);

}  // namespace dwell

#endif  // DWELL_RUNTIME_LAUNCHER_H_
