// Look-ups into the arrays of a Merged while something is added to it: text, modules, nodes and
// distances, each found by what identifies it. A table indexes what is already there when it is
// loaded and keeps up with what is added through it.
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
    // Offset of `length` bytes in the text, kNoText when memory ran out.
    uint32_t intern(const char* bytes, size_t length);

  private:
    uint32_t find(uint64_t hash, const char* bytes, size_t length) const;

    Merged* merged_;
    HashIndex index_;
    size_t strings_ = 0;
};

// A module is told apart by its build-id, without one by its path.
class ModuleTable {
  public:
    explicit ModuleTable(Merged* merged) : merged_(merged) {}
    bool load();
    // `module.path` lies in the text already. kNoModule when memory ran out.
    uint32_t find_or_add(const MergedModule& module);

  private:
    uint64_t hash_of(const MergedModule& module) const;
    uint32_t find(uint64_t hash, const MergedModule& module) const;

    Merged* merged_;
    HashIndex index_;
};

// Nodes with the same parent, site and (intervals) nodes left and met are one. The trees of ranks
// are much alike, so the next node in order is tried first; the index is made when that fails.
class NodeTable {
  public:
    explicit NodeTable(Merged* merged) : merged_(merged) {}
    // Of `place` only what names the node is read. kNoNode when memory ran out.
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
    // Also makes room for `extra` further calls of add, which then cannot fail.
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
    // Knows what is there, and makes room for `extra` further phases, of all nodes that there are
    // now. May be called again when there are more.
    bool load(size_t extra);
    // Null when there is none.
    MergedPhase* find(uint32_t node);
    // Only after load() made the room.
    void add(const MergedPhase& phase);

  private:
    Merged* merged_;
    GrowArray<uint32_t> of_node_;  // index into phases, kNoNode
};

// The grid of that name and shape, kNoGrid when there is none. They are few (kGridLimit).
constexpr uint32_t kNoGrid = kNoNode;
uint32_t find_grid(const Merged& merged, const MergedGrid& grid);

// Leaves the kHeaviestPeers pairs of each node with most time; ties go to the lower rank, then
// peer. The first `own` peers and those behind them were each kept so before, or are not in order.
// `room` is empty and has room for all peers.
void keep_heaviest_peers(Merged* merged, size_t own, GrowArray<MergedPeer>* room);
// Sums the lightest distances of a node with more than kDistancesPerNode under kOtherDistances.
void keep_heaviest_distances(Merged* merged);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MERGE_MERGED_TABLES_H_
