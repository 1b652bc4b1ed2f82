// The nodes of the call tree in the record file: finding and creating children, and the site of a
// return address. Used by all rooms that add nodes.
#ifndef DWELL_RUNTIME_CALLTREE_NODES_H_
#define DWELL_RUNTIME_CALLTREE_NODES_H_

#include "runtime/process/state.h"

namespace dwell {

// The node, the second line and the histogram of a communication statement are adjacent in this
// process (readers follow the links).
constexpr uint32_t kPartCells = 1;
constexpr uint32_t kHistogramOffsetCells = 2;

// The site of kind `kind` at the return address; `call` is the number of the function called there.
// `checked` as for place_of_address().
Site site_at(Thread* thread, void* return_address, SiteKind kind, uint16_t call,
             bool checked = false);
// The site of a call by its return address.
Site site_of_call(Thread* thread, uint64_t return_address);

// True when the record file is so full that new paths are recorded on flat nodes.
bool is_over_budget();

// Finds or creates the child of `parent` for `site`; 0 when there is no room. Nodes of the kinds
// communication, interval and OpenMP get their second line. Slow only for a new node.
CellIndex child_of(Thread* thread, CellIndex parent, const Site& site);
// The node for `site` among `from` and its ancestors; 0: none.
CellIndex node_on_path(CellIndex from, const Site& site);
// True when `node` is `from` or one of its ancestors.
inline bool is_on_path(CellIndex node, CellIndex from) {
    while (from != node && from != 0) from = cell_at<Node>(from)->parent;
    return from == node;
}
// The deepest common ancestor of two nodes.
CellIndex common_ancestor(CellIndex a, CellIndex b);

// Path hash (path_hash.h) of the interval between two communication nodes (0: the start of the
// thread), by which other ranks refer to it. Slow.
uint32_t path_of_interval(CellIndex from, CellIndex to);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLTREE_NODES_H_
