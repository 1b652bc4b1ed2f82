// The tree of a profile while it is built: procedures, loops, call statements and communication
// statements, each once under its parent. Also maps every merged communication node, and every node
// made by a probe, to its place in that tree.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_PROFILE_TREE_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_PROFILE_TREE_H_

#include <array>
#include <cstdint>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "summarize/attribution/call_paths.h"
#include "summarize/model/profile.h"

namespace dwell {

class ProfileTree {
  public:
    // Adds nodes to `profile`, whose node 0, the program, must exist.
    ProfileTree(const Merged& merged, CallPaths* paths, Profile* profile)
        : merged_(merged), paths_(paths), profile_(profile), places_(merged.nodes.size()) {}

    // Adds a merged communication or I/O node, or a node made by a probe; returns its node of the
    // profile. For a sample with a path: the procedure in which it was taken.
    uint32_t add(uint32_t merged_node);

    // The node of the profile for a merged node; kNoNode if it was not added.
    uint32_t leaf_of(uint32_t merged_node) const;

    // The figures of a merged node for the profile. Call when all nodes are added.
    Totals figures_of(uint32_t merged_node, const Totals& totals) const;

    // Whether only some entries are counted: for a part that GCC split off a procedure whose
    // beginning is inlined into the caller. Call when all nodes are added.
    bool is_partly_counted(uint32_t merged_node) const;

    // The containers entered on the way to a communication node, outermost first.
    struct PlacedStep {             // a container that is entered
        uint32_t container;         // node of the profile
        uint32_t next = kNoNode;    // node of the statement or container executed in it
        uint32_t number = kNoNode;  // of the procedure, in CallPaths
        uint32_t own_depth = 0;     // depth of the merged node of the probe that measures it
        uint32_t depth = 0;         // depth of the merged node that distinguishes calls of `next`
        bool inlined = false;
        bool probed = false;
    };
    const std::vector<PlacedStep>& steps_to(uint32_t merged_node) const {
        return places_[merged_node].steps;
    }

  private:
    struct Place {
        uint32_t leaf = kNoNode;
        std::vector<PlacedStep> steps;
    };
    using Key = std::array<uint32_t, 4>;  // parent, kind and call, procedure or statement, callee
    struct KeyHash {
        size_t operator()(const Key& key) const;
    };

    uint32_t child(const Key& key, bool* is_new);
    uint32_t procedure_under(uint32_t parent, uint32_t procedure, bool inlined);
    uint32_t call_under(uint32_t parent, uint32_t statement, uint32_t callee);
    uint32_t statement_under(uint32_t parent, uint32_t statement, SiteKind kind, uint16_t call);
    uint32_t region_under(uint32_t parent, uint32_t region);

    bool is_part(uint32_t merged_node) const;
    bool has_whole(uint32_t merged_node) const;

    const Merged& merged_;
    CallPaths* paths_;
    Profile* profile_;
    std::vector<Place> places_;
    std::set<std::pair<uint32_t, uint32_t>> whole_;  // merged parent and leaf of procedures
    std::unordered_map<Key, uint32_t, KeyHash> children_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_PROFILE_TREE_H_
