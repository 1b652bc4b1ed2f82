// Keeps a ProfileBuilder with its tree; see live_profile.h.
#include "summarize/profile/live_profile.h"

#include <utility>

#include "summarize/profile/blocked_estimate.h"
#include "summarize/profile/profile_builder.h"

namespace dwell {

LiveProfile::LiveProfile(Merged merged, LineResolver* lines) : merged_(std::move(merged)) {
    estimate_blocked(&merged_);
    builder_ = std::make_unique<ProfileBuilder>(merged_, lines);
    builder_->build();
}

LiveProfile::~LiveProfile() = default;

void LiveProfile::renew() {
    estimate_blocked(&merged_);
    builder_->renew();
}

Profile& LiveProfile::profile() { return builder_->profile(); }

CallPaths* LiveProfile::paths() { return builder_->paths(); }

uint32_t LiveProfile::node_of(uint32_t merged_node) const {
    while (merged_node < merged_.nodes.size() && merged_node != 0) {
        const uint32_t leaf = builder_->tree().leaf_of(merged_node);
        if (leaf != kNoNode) return leaf;
        merged_node = merged_.nodes[merged_node].parent;
    }
    return 0;
}

}  // namespace dwell
