/* A libdwell.so of version 1 of dwell.h: its table ends where queries begin, and what follows it
 * must not be called. */
#include <stdint.h>

static const uint32_t observed = 1;
struct table {
    uint32_t api_version;
    uint32_t reserved;
    const uint32_t* observed;
    const char* library_version;
    void* functions[12];
    void* beyond[2];
};
struct table dwell_entries = {1, 0, &observed, "0.0.9", {0}, {(void*)8, (void*)8}};
