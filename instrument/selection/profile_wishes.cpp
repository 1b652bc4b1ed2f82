// Reads the enabling profile for a plugin; see profile_wishes.h.
#include "instrument/selection/profile_wishes.h"

#include <cxxabi.h>
#include <stdlib.h>

#include <memory>

namespace dwell {

Wish ProfileWishes::of(SiteKind kind, uint8_t flags, const std::string& procedure,
                       const std::string& file, uint32_t line) const {
    std::unique_ptr<char, decltype(&free)> demangled(nullptr, free);
    if (profile_.asks_for_names() && procedure.starts_with("_Z")) {
        int status = 0;
        demangled.reset(abi::__cxa_demangle(procedure.c_str(), nullptr, nullptr, &status));
    }
    const SiteFacts site{kind,
                         flags,
                         line,
                         procedure.c_str(),
                         demangled.get(),
                         file.empty() ? nullptr : file.c_str()};
    switch (profile_.decide(site)) {
        case Decision::kUnsaid:
            return Wish::kUnsaid;
        case Decision::kOff:
            return Wish::kOff;
        case Decision::kOn:
        case Decision::kCount:
            break;
    }
    return Wish::kOn;
}

}  // namespace dwell
