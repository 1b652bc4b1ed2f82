// How programs find the library (site_table.h, dwell.h): by its own symbols, or by a symbol of the
// C library, because some linkers resolve weak symbols without a definition to 0 for good.
#include <dlfcn.h>

#include <atomic>

#include "runtime/contract/site_table.h"
#include "runtime/process/find_symbol.h"
#include "runtime/process/state.h"

#define DWELL_OFF  // declarations only
#include "runtime/api/dwell.h"

using namespace dwell;

extern "C" struct dwell_entries dwell_entries;

namespace {

using Release = const char* (*)();

const char* libc_release() {
    static std::atomic<Release> next{nullptr};
    Release release = next.load(std::memory_order_relaxed);
    if (release == nullptr && find_symbol(RTLD_NEXT, "gnu_get_libc_release", &release)) {
        next.store(release, std::memory_order_relaxed);
    }
    return release != nullptr ? release() : "";
}

}  // namespace

extern "C" {

DWELL_EXPORT const char* gnu_get_libc_release(void* asking, uint64_t mark) {
    if (mark == kLinkModuleMark) {
        dwell_link_module(static_cast<LinkedModule*>(asking));
    } else if (mark == DWELL_ENTRIES_MARK) {
        *static_cast<const struct dwell_entries**>(asking) = &dwell_entries;
    } else {
        return libc_release();
    }
    return "";
}
}
