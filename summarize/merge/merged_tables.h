// Look-up tables over the arrays of a Merged (text, modules, nodes, distances, phases, grids), each
// by the key of its entries. A table indexes the existing entries when it is loaded, and every
// entry that is added through it.
#ifndef DWELL_SUMMARIZE_MERGE_MERGED_TABLES_H_
#define DWELL_SUMMARIZE_MERGE_MERGED_TABLES_H_

#include "summarize/merge/hash_index.h"
#include "summarize/merge/merged.h"

namespace dwell {

constexpr uint32_t kNoText = 0xffffffffu;
constexpr uint32_t kNoModule = kNoNode;

Totals empty_totals();
void add_totals(Totals* into, const Totals& from);

class TextTable {
  public:
    explicit TextTable(Merged* merged) : merged_(merged) {}
    bool load();
    // Offset of `length` bytes in the text, kNoText without memory.
    uint32_t intern(const char* bytes, size_t length);

  private:
    uint32_t find(uint64_t hash, const char* bytes, size_t length) const;

    Merged* merged_;
    HashIndex index_;
    size_t strings_ = 0;
};

// The key of a module is its build-id, or its path where it has none.
class ModuleTable {
  public:
    explicit ModuleTable(Merged* merged) : merged_(merged) {}
    bool load();
    // `module.path` must be in the text already. Returns kNoModule without memory.
    uint32_t find_or_add(const MergedModule& module);

  private:
    uint64_t hash_of(const MergedModule& module) const;
    uint32_t find(uint64_t hash, const MergedModule& module) const;

    Merged* merged_;
    HashIndex index_;
};

// Nodes with equal parent and site are one node; intervals must also agree in the node left and the
// common node. Trees of ranks are nearly equal, so the next node in order is tried first; the index
// is made when that fails.
class NodeTable {
  public:
    explicit NodeTable(Merged* merged) : merged_(merged) {}
    // Reads only the key fields of `place`. Returns kNoNode without memory.
    uint32_t find_or_add(const MergedNode& place);

  private:
    bool load();
    uint32_t find(uint64_t hash, const MergedNode& place) const;

    Merged* merged_;
    HashIndex index_;
    bool loaded_ = false;
    uint32_t next_ = 1;  // node 0, the program, needs no look-up
};

// Peers by rank distance.
class DistanceTable {
  public:
    explicit DistanceTable(Merged* merged) : merged_(merged) {}
    // Also makes room for `extra` further calls of add, which cannot fail then.
    bool load(size_t extra);
    void add(const MergedDistance& distance);
    void add_peer(const MergedPeer& peer);

  private:
    uint32_t find(uint64_t hash, const MergedDistance& distance) const;

    Merged* merged_;
    HashIndex index_;
};

// Phases by their node.
class PhaseTable {
  public:
    explicit PhaseTable(Merged* merged) : merged_(merged) {}
    // Indexes the existing phases and makes room for `extra` further ones, of all nodes that exist
    // now. May be called again when there are more nodes.
    bool load(size_t extra);
    // Null when the node has no phase.
    MergedPhase* find(uint32_t node);
    // Only after load() made the room.
    void add(const MergedPhase& phase);

  private:
    Merged* merged_;
    GrowArray<uint32_t> of_node_;  // index into phases, kNoNode
};

// The grid of that name and shape, kNoGrid when there is none. A linear search: there are at most
// kGridLimit.
constexpr uint32_t kNoGrid = kNoNode;
uint32_t find_grid(const Merged& merged, const MergedGrid& grid);

// Keeps the kHeaviestPeers pairs of each node with most time; equal ones by lower rank, then peer.
// The first `own` peers and the peers after them are each sorted by an earlier call, or unsorted.
// `room` is empty and has capacity for all peers.
void keep_heaviest_peers(Merged* merged, size_t own, GrowArray<MergedPeer>* room);
// Sums the lightest distances of a node with more than kDistancesPerNode under kOtherDistances.
void keep_heaviest_distances(Merged* merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_TABLES_H_
