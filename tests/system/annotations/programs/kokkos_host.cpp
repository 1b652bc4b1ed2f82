// Calls a Kokkos tool as Kokkos does: it opens the library that KOKKOS_TOOLS_LIBS names and looks
// up the callbacks, of which any may be missing. Killed at its end.
//
//   region solve: 10, in each kernel "axpy" (for), "dot" (reduce), "sums" (scan) and a fence: 10
//   section "io" begins inside the last region and ends after it; deep_copy(x, y): 10, 10 * 800
//   bytes allocate(Host, x): 1, 800 bytes; deallocate the same; event "checkpoint": 3
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct SpaceHandle {
    char name[64];
};
struct ToolSettings {
    bool requires_global_fencing;
    bool padding[255];
};

template <typename Function>
Function look_up(void* tool, const char* name) {
    void* found = dlsym(tool, name);
    if (found == nullptr) printf("missing: %s\n", name);
    Function function;
    memcpy(&function, &found, sizeof(function));
    return function;
}

using Begin = void (*)(const char*, uint32_t, uint64_t*);
using End = void (*)(uint64_t);
using Memory = void (*)(SpaceHandle, const char*, const void*, uint64_t);

static void kernel(void* tool, const char* what, const char* name) {
    char callback[64];
    snprintf(callback, sizeof(callback), "kokkosp_begin_%s", what);
    uint64_t number = 0;
    look_up<Begin>(tool, callback)(name, 1, &number);
    snprintf(callback, sizeof(callback), "kokkosp_end_%s", what);
    look_up<End>(tool, callback)(number);
}

int main(int argc, char** argv) {
    const char* path = getenv("KOKKOS_TOOLS_LIBS");
    if (path == nullptr) {
        printf("no tool\n");
        return 0;
    }
    void* tool = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (tool == nullptr) {
        printf("cannot open: %s\n", dlerror());
        return 1;
    }
    look_up<void (*)(int, uint64_t, uint32_t, void*)>(tool, "kokkosp_init_library")(0, 20211015, 0,
                                                                                    nullptr);
    ToolSettings settings;
    memset(&settings, 1, sizeof(settings));
    look_up<void (*)(uint32_t, ToolSettings*)>(tool, "kokkosp_request_tool_settings")(1, &settings);
    printf("fencing %d\n", settings.requires_global_fencing ? 1 : 0);
    SpaceHandle host{};
    strcpy(host.name, "Host");
    look_up<Memory>(tool, "kokkosp_allocate_data")(host, "x", &host, 800);
    uint32_t section = 0;
    look_up<void (*)(const char*, uint32_t*)>(tool, "kokkosp_create_profile_section")("io",
                                                                                      &section);
    for (int i = 0; i < 10; ++i) {
        look_up<void (*)(const char*)>(tool, "kokkosp_push_profile_region")("solve");
        kernel(tool, "parallel_for", "axpy");
        kernel(tool, "parallel_reduce", "dot");
        kernel(tool, "parallel_scan", "sums");
        kernel(tool, "fence", "wait for all");
        look_up<void (*)(SpaceHandle, const char*, const void*, SpaceHandle, const char*,
                         const void*, uint64_t)>(tool, "kokkosp_begin_deep_copy")(
            host, "x", &host, host, "y", &host, 800);
        look_up<void (*)()>(tool, "kokkosp_end_deep_copy")();
        if (i == 9) look_up<void (*)(uint32_t)>(tool, "kokkosp_start_profile_section")(section);
        look_up<void (*)()>(tool, "kokkosp_pop_profile_region")();
    }
    look_up<void (*)(uint32_t)>(tool, "kokkosp_stop_profile_section")(section);
    look_up<void (*)(uint32_t)>(tool, "kokkosp_destroy_profile_section")(section);
    for (int i = 0; i < 3; ++i) {
        look_up<void (*)(const char*)>(tool, "kokkosp_profile_event")("checkpoint");
    }
    look_up<Memory>(tool, "kokkosp_deallocate_data")(host, "x", &host, 800);
    look_up<void (*)()>(tool, "kokkosp_finalize_library")();
    fflush(stdout);
    if (argc > 1) raise(SIGKILL);
    return 0;
}
