// What the caller asked of the plugin. clang reads plugins after its own options, so these come in
// environment variables; dwell-clang sets them.
#ifndef DWELL_INSTRUMENT_LLVM_OPTIONS_H_
#define DWELL_INSTRUMENT_LLVM_OPTIONS_H_

#include "runtime/enabling_profile.h"

namespace dwell {

struct LlvmOptions {
    EnablingProfile profile;   // DWELL_CC_ENABLE=FILE
    bool all = false;          // DWELL_CC_ALL=1: small procedures and innermost loops too
    bool verbose = false;      // DWELL_CC_VERBOSE=1
    bool strip_debug = false;  // DWELL_CC_STRIP_DEBUG=1: line information was made for the plugin
                               // only and is taken out again
};

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_LLVM_OPTIONS_H_
