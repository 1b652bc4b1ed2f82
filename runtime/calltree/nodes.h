// The nodes of the call tree in the record file: how one is found or made below another, and which
// site a return address stands for. All rooms that put something into the tree do it with these.
#ifndef DWELL_RUNTIME_CALLTREE_NODES_H_
#define DWELL_RUNTIME_CALLTREE_NODES_H_

#include "runtime/process/state.h"

namespace dwell {

// A communication node, its second line and its histogram lie side by side in this process (readers
// follow the links).
constexpr uint32_t kPartCells = 1;
constexpr uint32_t kHistogramOffsetCells = 2;

// The site of that kind at which the return address lies; `call` is the number of the function
// called there. `checked` as for place_of_address().
Site site_at(Thread* thread, void* return_address, SiteKind kind, uint16_t call,
             bool checked = false);
// The place that a call returns to.
Site site_of_call(Thread* thread, uint64_t return_address);

// The record file is so full that new paths are booked on flat nodes.
bool is_over_budget();

// Makes a child of `parent` for `site`, or finds it; 0 when there is no room. The kinds
// communication, interval and OpenMP get their second line. Slow only when the node is new.
CellIndex child_of(Thread* thread, CellIndex parent, const Site& site);
// The node for `site` that `from` is, or lies under; 0: none.
CellIndex node_on_path(CellIndex from, const Site& site);
// The deepest node that both nodes lie under.
CellIndex collective_node(CellIndex a, CellIndex b);

// The name of the interval between two communication nodes (0: the start of the thread) for other
// ranks: see path_hash.h. Slow.
uint32_t path_of_interval(CellIndex from, CellIndex to);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_NODES_H_
