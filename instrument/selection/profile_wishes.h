// The wishes of the enabling profile (runtime/contract/enabling_profile.h) for the sites that a
// plugin finds.
#ifndef DWELL_INSTRUMENT_SELECTION_PROFILE_WISHES_H_
#define DWELL_INSTRUMENT_SELECTION_PROFILE_WISHES_H_

#include "instrument/selection/selection.h"
#include "runtime/contract/enabling_profile.h"

namespace dwell {

class ProfileWishes : public Wishes {
  public:
    bool read(const char* path) { return profile_.read(path); }
    const char* error() const { return profile_.error(); }
    Wish of(SiteKind kind, uint8_t flags, const std::string& procedure, const std::string& file,
            uint32_t line) const override;

  private:
    EnablingProfile profile_;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_SELECTION_PROFILE_WISHES_H_
