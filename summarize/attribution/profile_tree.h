// The tree of a profile while it is built: procedures, loops, call statements and communication
// statements, each once under its parent, and the place in it of every merged communication node
// and of those that probes made.
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
    // Adds nodes to `profile`, whose node 0, the program, stands already.
    ProfileTree(const Merged& merged, CallPaths* paths, Profile* profile)
        : merged_(merged), paths_(paths), profile_(profile), places_(merged.nodes.size()) {}

    // Puts a merged communication or I/O node, or one made by a probe, into the tree; returns its
    // node of the profile. Of a sample with its path: the procedure that it was taken in.
    uint32_t add(uint32_t merged_node);

    // The node of the profile that a merged node became; kNoNode for those that were not added.
    uint32_t leaf_of(uint32_t merged_node) const;

    // The figures of a merged node as the profile has them. When all were added.
    Totals figures_of(uint32_t merged_node, const Totals& totals) const;

    // Whether what stands there are some of the entries only: a part that GCC split off a
    // procedure, where the beginning of that was put into the caller. When all were added.
    bool is_partly_counted(uint32_t merged_node) const;

    // What is entered on the way to a communication node, outermost first.
    struct PlacedStep {             // something that is entered
        uint32_t container;         // node of the profile
        uint32_t next = kNoNode;    // node of what is executed in it: a statement or a container
        uint32_t number = kNoNode;  // of the procedure, in CallPaths
        uint32_t own_depth = 0;     // of the merged node of the probe that measures it
        uint32_t depth = 0;         // of the merged node that tells calls of `next` apart
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
