// The environment variable that disables OMPT in every OpenMP runtime (OpenMP 5.2, 21.3.1).
#ifndef DWELL_RUNTIME_CONTRACT_OMPT_SETTING_H_
#define DWELL_RUNTIME_CONTRACT_OMPT_SETTING_H_

#include <stdlib.h>
#include <strings.h>

namespace dwell {

// The variable's value if it disables tools, else null. libomp takes any value other than enabled
// or disabled for disabled.
inline const char* ompt_switched_off() {
    const char* const setting = getenv("OMP_TOOL");
    if (setting == nullptr || *setting == '\0' || strcasecmp(setting, "enabled") == 0) {
        return nullptr;
    }
    return setting;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_OMPT_SETTING_H_
