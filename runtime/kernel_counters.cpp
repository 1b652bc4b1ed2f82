#include "runtime/kernel_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "runtime/kernel_events.h"

namespace dwell {

namespace {

struct Chosen {
    const KernelEvent* event;
    bool in_kernel;
};
Chosen g_chosen[kMetricLimit];
int g_events = 0;

// One thread's descriptors, the group's leader first. The program may close what it did not open,
// and have the number for a file of its own, which must be neither read nor closed: the kernel
// tells a counter by its id, and other files have none.
struct KernelSet {
    int descriptor[kMetricLimit];
    uint64_t id[kMetricLimit];
    int count;
};

bool is_ours(const KernelSet& set, int i) {
    uint64_t id = 0;
    return ioctl(set.descriptor[i], PERF_EVENT_IOC_ID, &id) == 0 && id == set.id[i];
}

void close_set(void* opened) {
    auto* set = static_cast<KernelSet*>(opened);
    for (int i = set->count - 1; i >= 0; --i) {
        if (is_ours(*set, i)) close(set->descriptor[i]);
    }
    free(set);
}

void* open_set() {
    auto* set = static_cast<KernelSet*>(calloc(1, sizeof(KernelSet)));
    if (set == nullptr) return nullptr;
    for (int i = 0; i < g_events; ++i) {
        const int leader = i != 0 ? set->descriptor[0] : -1;
        const int opened = open_kernel_event(*g_chosen[i].event, g_chosen[i].in_kernel, leader);
        if (opened < 0 || ioctl(opened, PERF_EVENT_IOC_ID, &set->id[i]) != 0) {
            if (opened >= 0) close(opened);
            close_set(set);
            return nullptr;
        }
        set->descriptor[i] = opened;
        set->count = i + 1;
    }
    return set;
}

bool read_set(void* opened, uint64_t* values) {
    const auto* set = static_cast<const KernelSet*>(opened);
    uint64_t group[1 + kMetricLimit] = {};
    if (!is_ours(*set, 0)) return false;
    const auto bytes = static_cast<ssize_t>((1 + static_cast<size_t>(set->count)) * sizeof(*group));
    if (read(set->descriptor[0], group, sizeof(group)) != bytes) return false;
    for (int i = 0; i < set->count; ++i) values[i] = group[1 + i];
    return true;
}

}  // namespace

bool add_kernel_event(const char* name) {
    const KernelEvent* event = find_kernel_event(name);
    if (event == nullptr || g_events == static_cast<int>(kMetricLimit)) return false;
    Chosen chosen{event, false};
    if (!try_kernel_event(*event, &chosen.in_kernel)) return false;
    g_chosen[g_events++] = chosen;
    return true;
}

CounterSource kernel_source() { return {g_events, open_set, read_set, close_set}; }

}  // namespace dwell
