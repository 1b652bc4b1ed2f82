// A profile whose figures are renewed while its tree stays: for views of a running job. Lines are
// resolved when the tree is made, and attributions of computation stay as they were then.
#ifndef DWELL_SUMMARIZE_PROFILE_LIVE_PROFILE_H_
#define DWELL_SUMMARIZE_PROFILE_LIVE_PROFILE_H_

#include <cstdint>
#include <memory>

#include "summarize/attribution/call_paths.h"
#include "summarize/merge/merged.h"
#include "summarize/model/profile.h"
#include "summarize/symbols/lines.h"

namespace dwell {

class ProfileBuilder;

class LiveProfile {
  public:
    // `lines` may know the first modules of `merged` already; it must live as long as this object.
    LiveProfile(Merged merged, LineResolver* lines);
    ~LiveProfile();
    LiveProfile(const LiveProfile&) = delete;
    LiveProfile& operator=(const LiveProfile&) = delete;

    // The records that the tree was made of. Their figures may be changed; renew() then puts them
    // into the profile.
    Merged& merged() { return merged_; }
    void renew();
    Profile& profile();
    CallPaths* paths();

    // The innermost node of the profile that contains a merged node.
    uint32_t node_of(uint32_t merged_node) const;

  private:
    Merged merged_;
    std::unique_ptr<ProfileBuilder> builder_;
};

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_PROFILE_LIVE_PROFILE_H_
