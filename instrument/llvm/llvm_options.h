// The options of the plugin. clang loads plugins after parsing its own options, so they come in
// environment variables, which dwell-clang sets.
#ifndef DWELL_INSTRUMENT_LLVM_LLVM_OPTIONS_H_
#define DWELL_INSTRUMENT_LLVM_LLVM_OPTIONS_H_

#include "instrument/selection/profile_wishes.h"

namespace dwell {

struct LlvmOptions {
    ProfileWishes profile;  // DWELL_CC_ENABLE=FILE
    bool all = false;       // DWELL_CC_ALL=1: small procedures and innermost loops too
    bool verbose = false;   // DWELL_CC_VERBOSE=1
    // DWELL_CC_STRIP_DEBUG=1: `-Xclang -debug-info-kind=line-tables-only` was added for the plugin
    // only, because the user wants no debug information; the plugin removes the information again.
    bool strip_debug = false;
    // DWELL_CC_MARKED=1: `-Xclang -finstrument-functions-after-inlining` was added for the plugin
    // only: procedures without its mark have __attribute__((no_instrument_function)).
    bool marked = false;
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_LLVM_OPTIONS_H_
