// The PAPI functions that dwell uses, found in libpapi by dlopen, because neither programs nor the
// command may depend on PAPI. Names and numbers are those of papi.h 7.
#ifndef DWELL_RUNTIME_CONTRACT_PAPI_H_
#define DWELL_RUNTIME_CONTRACT_PAPI_H_

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace dwell {

// Each function: result, name without PAPI_, parameters.
// clang-format off
#define DWELL_PAPI(X) \
    X(int, library_init, (int)) X(int, thread_init, (unsigned long (*)())) \
    X(int, multiplex_init, ()) X(int, create_eventset, (int*)) \
    X(int, assign_eventset_component, (int, int)) X(int, set_multiplex, (int)) \
    X(int, add_named_event, (int, const char*)) X(int, start, (int)) \
    X(int, read, (int, long long*)) X(int, stop, (int, long long*)) \
    X(int, cleanup_eventset, (int)) X(int, destroy_eventset, (int*)) \
    X(int, unregister_thread, ()) X(int, event_name_to_code, (const char*, int*)) \
    X(int, event_code_to_name, (int, char*)) X(int, enum_event, (int*, int)) \
    X(int, enum_cmp_event, (int*, int, int)) X(int, num_components, ()) \
    X(const char*, strerror, (int))
// clang-format on

struct Papi {
    static constexpr int kOk = 0;
    static constexpr int kNoSet = -1;
    static constexpr int kConflict = -8;  // PAPI_ECNFLCT: more events than counters
    static constexpr unsigned kPreset = 0x80000000u;
    static constexpr unsigned kNative = 0x40000000u;
    static constexpr int kFirst = 1;  // first of an enumeration
    static constexpr int kNext = 0;
    static constexpr int kNameBytes = 1024;  // PAPI_HUGE_STR_LEN

#define DWELL_MEMBER(Result, name, parameters) Result(*name) parameters;
    DWELL_PAPI(DWELL_MEMBER)
#undef DWELL_MEMBER
    int version;  // argument of library_init

    // Opens the library, or with RTLD_NOLOAD checks whether the program has opened it.
    static void* open(int mode) {
        for (const char* name :
             {"libpapi.so.7.0", "libpapi.so.7.1", "libpapi.so.7.2", "libpapi.so"}) {
            if (void* library = dlopen(name, mode)) return library;
        }
        return nullptr;
    }
    // False when a function is missing.
    bool load(void* library) {
        bool all = true;
#define DWELL_TAKE(Result, name, parameters) all = all && take(library, "PAPI_" #name, &name);
        DWELL_PAPI(DWELL_TAKE)
#undef DWELL_TAKE
        if (all) version = version_of(reinterpret_cast<void*>(library_init));
        return all;
    }
    bool init() const { return version != 0 && library_init(version) == version; }

    // Counts `event` for a moment: kOk, or an error code.
    int try_event(const char* event) const {
        int set = kNoSet;
        int result = create_eventset(&set);
        if (result != kOk) return result;
        long long value = 0;
        result = add_named_event(set, event);
        if (result == kOk) result = start(set);
        if (result == kOk) result = stop(set, &value);
        cleanup_eventset(set);
        destroy_eventset(&set);
        return result;
    }

  private:
    template <typename Function>
    static bool take(void* library, const char* name, Function* function) {
        *function = reinterpret_cast<Function>(dlsym(library, name));
        return *function != nullptr;
    }
    // PAPI_library_init takes the version it was compiled for, PAPI_VER_CURRENT, and returns the
    // one it has; a wrong guess makes it fail with a negative code, so the version is read from the
    // file name.
    static int version_of(void* function) {
        Dl_info where{};
        char real[PATH_MAX];
        if (dladdr(function, &where) == 0 || realpath(where.dli_fname, real) == nullptr) return 0;
        const char* suffix = strstr(real, ".so.");
        int major = 0;
        int minor = 0;
        if (suffix == nullptr || sscanf(suffix, ".so.%d.%d", &major, &minor) != 2) return 0;
        return major << 24 | minor << 16;
    }
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_PAPI_H_
