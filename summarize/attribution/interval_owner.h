// Attributes the computation between two communication statements (docs/attribution.md): to the
// innermost procedure whose activation lasted through all of it.
#ifndef DWELL_SUMMARIZE_ATTRIBUTION_INTERVAL_OWNER_H_
#define DWELL_SUMMARIZE_ATTRIBUTION_INTERVAL_OWNER_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "summarize/attribution/profile_tree.h"
#include "summarize/code/control_flow.h"

namespace dwell {

// Samples of an interval in one place of the code.
struct SampledCode {
    std::vector<uint32_t> procedures;  // as CallPaths::sampled_procedures gives them
    uint64_t samples = 0;
};

struct IntervalOwner {
    uint32_t node = 0;                // node of the profile
    bool or_after = false;            // the owner may have returned and been called again meanwhile
    std::vector<uint32_t> passed_by;  // nodes of the profile directly below the owner that did not
                                      // run
    uint32_t outermost = 0;  // the innermost node of the profile that certainly lasted through the
                             // interval
};

class IntervalOwners {
  public:
    // Construct when the tree is complete. All arguments must live as long as this object.
    IntervalOwners(const Merged& merged, CallPaths* paths, LineResolver* lines,
                   const ProfileTree& tree, const Profile& profile);

    // The owner of the computation between two communication nodes. `meet`: the deepest merged node
    // of both paths (two calls on one line are one statement in the tree, but two activations).
    // Without `from` (start of the thread): the outermost procedure, or the program when there is
    // none.
    //
    // A shared procedure may have returned and been called again in between. Its machine code shows
    // whether this is possible, and samples can prove it: a sample in the code of an outer
    // procedure means that all inner ones had returned. Where a probe measures the time around the
    // interval, no procedure outside of that probe is the owner.
    IntervalOwner owner_of(uint32_t from, uint32_t to, uint32_t meet,
                           const std::vector<SampledCode>& samples);

  private:
    using Steps = std::vector<ProfileTree::PlacedStep>;
    struct Interval {
        uint32_t from;
        uint32_t to;
        const Steps& left;
        const Steps& reached;
    };
    // Two places in the code of one procedure.
    struct Places {
        uint32_t module = kNoNode;
        Between between;
        const std::vector<SourceFrame>* frames = nullptr;  // inlined frames at the first place
    };
    struct Lived {
        size_t step;  // the innermost that may have lasted; kNoStep: none on the path
        bool certain;
        size_t outermost;  // the innermost that certainly lasted; kNoStep: none on the path
        std::vector<uint32_t> passed_by = {};
    };

    size_t last_shared_step(uint32_t from, uint32_t to, uint32_t meet) const;
    static size_t step_of_sample(const SampledCode& sample, const Steps& steps);
    Lived lived_step(const Interval& interval, size_t shared);
    Lived lived_part(const Interval& interval, size_t step, size_t first, const Places& places);
    bool find_places(const Interval& interval, size_t step, Places* places);
    bool find_side(uint32_t merged_node, const Steps& steps, size_t step, uint32_t* module,
                   std::vector<uint64_t>* calls);
    std::vector<uint32_t> passed_by(uint32_t procedure, const Places& places, const Ways& ways);
    size_t frame_of(const Steps& steps, size_t step, const Places& places) const;
    size_t first_in_code(const Steps& steps, size_t step, const Places& places) const;
    size_t procedure_of(const Steps& steps, size_t step) const;
    std::string symbol_of(uint32_t merged_node, const ProfileTree::PlacedStep& step) const;
    bool may_come_back(const Interval& interval, size_t called);
    bool is_recursive(const Interval& interval);
    bool ends_with_jump(const Interval& interval, size_t shared) const;
    bool has_recursive_chain(uint32_t merged_node);
    ControlFlow* flow_of(uint32_t module);
    const Ways& ways_in(const Places& places);
    uint32_t node_at(uint32_t merged_node, uint32_t depth) const;
    const MergedNode* frame_at(uint32_t merged_node, uint32_t depth) const;

    const Merged& merged_;
    CallPaths* paths_;
    LineResolver* lines_;
    const ProfileTree& tree_;
    const Profile& profile_;
    bool paths_are_whole_ = true;
    std::map<uint32_t, std::vector<uint64_t>> communication_;  // return addresses, by module
    std::map<uint32_t, ControlFlow*> flows_;
    std::map<std::tuple<uint32_t, std::vector<uint64_t>, std::vector<uint64_t>>, Ways> ways_;
    struct ProbedProcedure {
        uint32_t node;    // of the profile
        uint32_t around;  // the procedure that calls it
        uint32_t module;
        std::string symbol;
    };
    std::vector<ProbedProcedure> probed_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_ATTRIBUTION_INTERVAL_OWNER_H_
