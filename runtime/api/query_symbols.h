// Functions without probes by name: where their code is, from the symbol tables of the modules that
// contain sites.
#ifndef DWELL_RUNTIME_API_QUERY_SYMBOLS_H_
#define DWELL_RUNTIME_API_QUERY_SYMBOLS_H_

#include <string_view>

#include "runtime/api/live_records.h"

namespace dwell {

// The code of the functions that a pattern stands for, at most kMost; `first` and `last` as
// Site::offset.
struct FunctionCode {
    static constexpr uint32_t kMost = 16;
    struct Range {
        uint64_t first;
        uint64_t last;
        uint16_t module;
    };
    Range range[kMost];
    uint32_t count;
    bool has_more;

    bool contains(uint16_t module, uint64_t offset) const {
        for (uint32_t i = 0; i < count; ++i) {
            const Range& at = range[i];
            if (at.module == module && at.first <= offset && offset <= at.last) return true;
        }
        return false;
    }
};

// Reads the files of the modules the first time that a name is asked for: milliseconds, and system
// calls. Takes no lock. Files that were replaced since they were loaded are left out.
void find_functions(std::string_view pattern, FunctionCode* code);

}  // namespace dwell

#endif  // DWELL_RUNTIME_API_QUERY_SYMBOLS_H_
