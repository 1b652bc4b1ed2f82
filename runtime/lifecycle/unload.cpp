// Interposes dlclose to notice unloaded modules: cached call paths contain raw addresses, which
// another module may get. The call itself is passed on unchanged.
#include <dlfcn.h>

#include "runtime/openmp/gomp.h"
#include "runtime/process/find_symbol.h"
#include "runtime/process/state.h"

using namespace dwell;

extern "C" DWELL_EXPORT int dlclose(void* handle) {
    const int result = close_handle(handle);
    forget_gomp_callers();
    const bool own = t_thread != nullptr && t_thread->in_tool;
    if (g_live->on != 0 && !own) {
        const StateLock lock;
        __atomic_fetch_add(&g_live->unloads, 1, __ATOMIC_RELAXED);
        __atomic_fetch_add(&g_live->epoch, 1, __ATOMIC_RELEASE);
        if (g_live->ticket != 0) __atomic_fetch_add(&g_live->ticket, 1, __ATOMIC_RELEASE);
    }
    return result;
}
