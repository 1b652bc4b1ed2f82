// A set of counters for each thread, opened as one kernel group.
#include "runtime/measure/kernel_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/contract/kernel_events.h"
#include "runtime/measure/counter_files.h"
#include "runtime/measure/usage.h"

namespace dwell {

namespace {

struct Chosen {
    const KernelEvent* event;
    bool in_kernel;
};
Chosen g_chosen[kMetricLimit];
int g_events = 0;

// A thread's counters, the group's leader first.
struct KernelSet {
    CounterFile counter[kMetricLimit];
    int count;
};

void close_set(void* opened) {
    auto* set = static_cast<KernelSet*>(opened);
    for (int i = set->count - 1; i >= 0; --i) close_counter(set->counter[i]);
    free(set);
}

void* give_up(KernelSet* set, int error) {
    close_set(set);
    errno = error;
    return nullptr;
}

void* open_set() {
    auto* set = static_cast<KernelSet*>(calloc(1, sizeof(KernelSet)));
    if (set == nullptr) return nullptr;
    for (int i = 0; i < g_events; ++i) {
        const int leader = i != 0 ? set->counter[0].descriptor : -1;
        CounterFile* counter = &set->counter[i];
        counter->descriptor = open_kernel_event(*g_chosen[i].event, g_chosen[i].in_kernel, leader);
        if (counter->descriptor < 0) return give_up(set, errno);
        read_counter_id(counter->descriptor, &counter->id);
        set->count = i + 1;
        if (!leaves_room(counter->descriptor)) return give_up(set, EMFILE);
    }
    if (!start_kernel_group(set->counter[0].descriptor)) return give_up(set, errno);
    return set;
}

// Uses the system call, because read() is a cancellation point.
bool read_set(void* opened, uint64_t* values) {
    const auto* set = static_cast<const KernelSet*>(opened);
    uint64_t group[1 + kMetricLimit] = {};
    if (!is_still_there(set->counter[0])) return false;
    const long bytes = syscall(SYS_read, set->counter[0].descriptor, group, sizeof(group));
    if (bytes != static_cast<long>((1 + static_cast<size_t>(set->count)) * sizeof(*group))) {
        return false;
    }
    add_own_read(static_cast<uint64_t>(bytes));
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
