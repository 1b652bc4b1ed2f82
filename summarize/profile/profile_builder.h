// The parts of build_profile(): the class whose members the steps share.
#ifndef DWELL_SUMMARIZE_PROFILE_PROFILE_BUILDER_H_
#define DWELL_SUMMARIZE_PROFILE_PROFILE_BUILDER_H_

#include <map>
#include <utility>
#include <vector>

#include "summarize/attribution/call_paths.h"
#include "summarize/attribution/interval_owner.h"
#include "summarize/attribution/measured_owner.h"
#include "summarize/attribution/profile_tree.h"
#include "summarize/attribution/rank_intervals.h"
#include "summarize/attribution/rank_samples.h"
#include "summarize/attribution/wait_paths.h"
#include "summarize/model/profile.h"
#include "summarize/profile/rank_figures.h"
#include "summarize/symbols/lines.h"

namespace dwell {

inline bool is_kind(const MergedNode& node, SiteKind kind) {
    return node.kind == static_cast<uint8_t>(kind);
}

class ProfileBuilder {
  public:
    // Both arguments must live as long as this object.
    ProfileBuilder(const Merged& merged, LineResolver* lines)
        : merged_(merged),
          wait_paths_(merged),
          lines_(*lines),
          paths_(merged, lines),
          tree_(merged, &paths_, &profile_) {}

    // Makes the profile; afterwards the tree stays, and renew() puts the figures that the merged
    // nodes have now into it: those of nodes and of the job, not the ranks' nor the intervals'.
    void build();
    void renew();

    Profile& profile() { return profile_; }
    CallPaths* paths() { return &paths_; }
    const ProfileTree& tree() const { return tree_; }

  private:
    void add_program();
    void add_nodes();
    void add_figures();
    void add_calls_of_probed();
    void add_histogram(const MergedNode& merged, ProfileNode* node);
    void add_io_file(const MergedNode& merged, ProfileNode* node);
    void label_probes();
    uint32_t interval_of(uint32_t sample) const;
    uint32_t node_of(uint32_t sample, uint32_t interval) const;
    void place_samples();
    void find_unmeasured();
    void place_sleep();
    void add_intervals();
    void divide_inside(uint32_t interval, uint32_t owner);
    void place_samples_of_ranks();
    void add_samples();
    Overcount sum_up();
    void label_estimates();
    void label_uncertain_owners();
    void sum_up_job();
    void add_peers();
    void add_phases();
    void add_waits();
    void add_axis();
    void add_sites();
    void sort_all();
    void sort_intervals();

    const Merged& merged_;
    const WaitPaths wait_paths_;
    LineResolver& lines_;
    Profile profile_;
    CallPaths paths_;
    ProfileTree tree_;
    std::map<uint32_t, uint64_t> io_file_bytes_;  // by node: bytes of the file that the node names
    std::vector<uint64_t> booked_ns_;             // time of intervals attributed to each node of
                                                  // the profile
    std::vector<uint32_t> interval_owner_;        // of merged interval nodes: node of the profile
    std::vector<PossibleNodes> possible_;         // by interval
    Division division_;
    std::vector<uint32_t> sampled_in_;  // of merged sample nodes: node of the profile, or kNoNode
    std::vector<std::vector<SampledCode>> without_path_;  // of merged interval nodes
    std::vector<uint32_t> owner_without_path_;            // and the node they are attributed to
    std::vector<bool> is_uncertain_;         // and whether that node's procedure may have returned
                                             // meanwhile
    std::vector<RankSample> asleep_;         // estimated samples of sleeping ranks, by interval
    std::vector<uint64_t> asleep_in_;        // by merged interval node: their sum over all ranks
    std::vector<uint32_t> interval_number_;  // of merged interval nodes: index into the profile's
    RankIntervals rank_intervals_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_PROFILE_BUILDER_H_
