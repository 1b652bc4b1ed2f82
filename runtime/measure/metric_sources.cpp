// Chooses the source of counts (metrics.h): finds which requested events work here, from the kernel
// alone when it counts all of them, else through PAPI; and keeps PAPI's set for each thread.
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/calltree/texts.h"
#include "runtime/contract/job_name.h"
#include "runtime/contract/kernel_events.h"
#include "runtime/contract/papi.h"
#include "runtime/contract/standard_files.h"
#include "runtime/measure/counter_files.h"
#include "runtime/measure/kernel_counters.h"
#include "runtime/measure/metrics.h"

namespace dwell {

namespace {

Papi g_papi;
int g_events = 0;
char g_name[kMetricLimit][256];        // name as requested
char g_event[kMetricLimit][256 + 16];  // name for PAPI
bool g_multiplexed = false;
CounterSource g_counters{};
pthread_mutex_t g_opening = PTHREAD_MUTEX_INITIALIZER;  // held while PAPI's sets are opened

constexpr char kDefault[] = "default";
// Events of the group `default`: the first that works of each pair; the second list where none of
// the first works.
constexpr const char* kHardware[][2] = {{"PAPI_TOT_CYC", nullptr},
                                        {"PAPI_TOT_INS", nullptr},
                                        {"PAPI_L3_TCM", "PAPI_L2_TCM"},
                                        {"PAPI_FP_OPS", "PAPI_DP_OPS"}};
constexpr const char* kSoftware[] = {"perf::TASK-CLOCK", "perf::PAGE-FAULTS",
                                     "perf::CONTEXT-SWITCHES"};

// Adds all events to the set; returns the result for the event that failed.
int fill(int set) {
    if (g_multiplexed) {
        if (g_papi.assign_eventset_component(set, 0) != Papi::kOk) return Papi::kConflict;
        if (g_papi.set_multiplex(set) != Papi::kOk) return Papi::kConflict;
    }
    for (int i = 0; i < g_events; ++i) {
        const int result = g_papi.add_named_event(set, g_event[i]);
        if (result != Papi::kOk) return result;
    }
    return g_papi.start(set);
}

void destroy(int set) {
    g_papi.cleanup_eventset(set);
    g_papi.destroy_eventset(&set);
}

// A thread's PAPI set and its counters: PAPI reads, resets and closes their descriptors without
// checking that they are still its own.
struct PapiSet {
    static constexpr int kMostCounters = 64;  // a preset may need several
    int number;
    int count;
    CounterFile counters[kMostCounters];

    bool is_whole() const {
        for (int i = 0; i < count; ++i) {
            if (!is_still_there(counters[i])) return false;
        }
        return true;
    }
    bool leaves_room() const {
        for (int i = 0; i < count; ++i) {
            if (!dwell::leaves_room(counters[i].descriptor)) return false;
        }
        return true;
    }
};

// Called with g_opening held, so that counters opened by other threads are not mistaken for its
// own.
bool open_set(PapiSet* set) {
    const uint64_t before = newest_counter_id();
    if (before == 0) return false;
    set->number = Papi::kNoSet;
    if (g_papi.create_eventset(&set->number) != Papi::kOk) return false;
    if (fill(set->number) == Papi::kOk) {
        set->count = find_counters_after(before, set->counters, PapiSet::kMostCounters);
        const bool known = set->count > 0 && set->count <= PapiSet::kMostCounters;
        const bool has_room = !known || set->leaves_room();
        if (known && has_room) return true;
        long long counted[kMetricLimit] = {};
        g_papi.stop(set->number, counted);
        destroy(set->number);
        errno = has_room ? 0 : EMFILE;
        return false;
    }
    destroy(set->number);
    return false;
}

void* open_set() {
    auto* set = static_cast<PapiSet*>(calloc(1, sizeof(PapiSet)));
    if (set == nullptr) return nullptr;
    pthread_mutex_lock(&g_opening);
    const bool opened = open_set(set);
    pthread_mutex_unlock(&g_opening);
    if (opened) return set;
    free(set);
    return nullptr;
}

bool read_set(void* opened, uint64_t* values) {
    const auto* set = static_cast<const PapiSet*>(opened);
    long long counted[kMetricLimit] = {};
    if (!set->is_whole() || g_papi.read(set->number, counted) != Papi::kOk) return false;
    for (int i = 0; i < g_events; ++i) values[i] = static_cast<uint64_t>(counted[i]);
    return true;
}

// PAPI must not touch a set whose descriptors the program closed: the rest of the set is closed
// here.
void close_set(void* opened) {
    auto* set = static_cast<PapiSet*>(opened);
    if (set->is_whole()) {
        long long counted[kMetricLimit] = {};
        g_papi.stop(set->number, counted);
        destroy(set->number);
        g_papi.unregister_thread();
    } else {
        for (int i = 0; i < set->count; ++i) close_counter(set->counters[i]);
    }
    free(set);
}

bool all_work() {
    int set = Papi::kNoSet;
    if (g_papi.create_eventset(&set) != Papi::kOk) return false;
    long long counted[kMetricLimit] = {};
    const int result = fill(set);
    if (result == Papi::kOk) g_papi.stop(set, counted);
    destroy(set);
    return result == Papi::kOk;
}

// Adds `event` if it works, alone and together with the earlier events.
bool add_as(const char* name, const char* event) {
    if (g_papi.try_event(event) != Papi::kOk) return false;
    strcpy(g_name[g_events], name);
    strcpy(g_event[g_events++], event);
    if (all_work()) return true;
    if (!g_multiplexed) {
        g_multiplexed = true;
        if (all_work()) return true;
        g_multiplexed = false;
    }
    g_events -= 1;
    return false;
}

// True for an event that was named twice or belongs to the default group.
bool is_added(const char* name) {
    for (int i = 0; i < g_events; ++i) {
        if (strcmp(g_name[i], name) == 0) return true;
    }
    return false;
}

bool add_event(const char* name) {
    if (is_added(name)) return true;
    if (g_events == static_cast<int>(kMetricLimit) || strlen(name) >= sizeof(g_name[0])) {
        return false;
    }
    const InKernel kernel = happens_in_kernel(name);
    if (kernel != InKernel::kNo) {
        char event[sizeof(g_event[0])];
        snprintf(event, sizeof(event), "%.255s:u=1:k=1", name);
        if (add_as(name, event)) return true;
    }
    return kernel != InKernel::kOnly && add_as(name, name);
}

bool add_of_kernel(const char* name) {
    if (is_added(name)) return true;
    if (!add_kernel_event(name)) return false;
    strcpy(g_name[g_events++], name);
    return true;
}

// Adds the events of the group `default` by `add`, which is PAPI's or the kernel's.
void add_defaults(bool (*add)(const char*)) {
    if (add == add_event) {
        for (const auto& group : kHardware) {
            for (const char* name : group) {
                if (name != nullptr && add(name)) break;
            }
        }
        if (g_events != 0) return;
    }
    for (const char* name : kSoftware) add(name);
}

void append(char* text, size_t size, char separator, const char* name) {
    const size_t used = strlen(text);
    const size_t bytes = strlen(name);
    if (used + bytes + 2 > size) return;
    if (used != 0) text[used] = separator;
    memcpy(text + used + (used != 0 ? 1 : 0), name, bytes + 1);
}

// Calls work(name) for each name of a list.
template <typename Work>
void for_each_name(const char* list, Work work) {
    char names[sizeof(Options::metrics)];
    snprintf(names, sizeof(names), "%s", list);
    char* rest = nullptr;
    for (char* name = strtok_r(names, ",\n", &rest); name != nullptr;
         name = strtok_r(nullptr, ",\n", &rest)) {
        work(name);
    }
}

// Adds the events of the list; each event that does not work becomes a line of `missing`.
void add_listed(const char* list, bool (*add)(const char*), char* missing, size_t size) {
    *missing = '\0';
    for_each_name(list, [=](const char* name) {
        const bool group = strcmp(name, kDefault) == 0;
        if (group) add_defaults(add);
        if (group ? g_events == 0 : !add(name)) append(missing, size, '\n', name);
    });
}

// True when the kernel counts each event of the list; `default` may stand for more.
bool is_all_of_kernel(const char* list) {
    bool all = true;
    for_each_name(list, [&](const char* name) { all = all && find_kernel_event(name) != nullptr; });
    return all;
}
// True when all events that PAPI counts here, if any, are counted by the kernel as well.
bool is_all_of_kernel() {
    for (int i = 0; i < g_events; ++i) {
        if (find_kernel_event(g_name[i]) == nullptr) return false;
    }
    return true;
}

bool is_reporter() { return launcher_rank() <= 0; }

// True when neither PAPI nor the kernel has such an event. Unknown without PAPI: false.
bool is_unknown(const char* name) {
    int code = 0;
    return strcmp(name, kDefault) != 0 && find_kernel_event(name) == nullptr &&
           g_papi.event_name_to_code(name, &code) != Papi::kOk;
}

void say_missing(const char* missing, bool has_papi) {
    if (!is_reporter()) return;
    const char* const rest = g_events != 0 ? "the rest is counted" : "nothing is counted";
    char unknown[300] = {};
    char known[300] = {};
    for_each_name(missing, [&](const char* name) {
        append(has_papi && is_unknown(name) ? unknown : known, sizeof(known), ' ', name);
    });
    if (*unknown != '\0') {
        warn("PAPI knows no event %s (papi_avail and papi_native_avail list them); %s", unknown,
             rest);
    }
    const char* const papi = has_papi || is_all_of_kernel(missing) ? "" : "libpapi (libpapi7.0), ";
    if (*known != '\0') {
        warn(
            "cannot count %s here, %s: dwell info tells what works; it takes "
            "%skernel.perf_event_paranoid of 2 or less (1 for switches and migrations) or "
            "CAP_PERFMON, and in a container leave for perf_event_open",
            known, rest, papi);
    }
}

bool open_papi() {
    void* library = Papi::open(RTLD_NOW | RTLD_LOCAL);
    return library != nullptr && g_papi.load(library) && g_papi.init() &&
           g_papi.thread_init(pthread_self) == Papi::kOk && g_papi.multiplex_init() == Papi::kOk;
}

}  // namespace

void open_metrics(Thread* thread) {
    const char* list = g_process.options.metrics;
    if (*list == '\0') return;
    const ReentryGuard busy;
    const StandardFilesHeld held;
    // The program's own PAPI sets would not count beside dwell's.
    if (Papi::open(RTLD_LAZY | RTLD_NOLOAD) != nullptr) {
        if (is_reporter()) warn("no metrics: the program uses PAPI itself; the rest works");
        return;
    }
    if (newest_counter_id() == 0 && errno == EMFILE) {
        g_process.header->metrics_no_room += 1;
        if (is_reporter()) {
            warn(
                "no metrics: of the descriptors that the program may have (ulimit -n) a quarter, "
                "16 "
                "at least, is to stay free; the rest works");
        }
        return;
    }
    const bool has_papi = !is_all_of_kernel(list) && open_papi();
    char missing[sizeof(Options::metrics)] = {};
    if (has_papi) add_listed(list, add_event, missing, sizeof(missing));
    g_counters = {g_events, open_set, read_set, close_set};
    if (is_all_of_kernel()) {
        g_events = 0;
        g_multiplexed = false;
        add_listed(list, add_of_kernel, missing, sizeof(missing));
        g_counters = kernel_source();
    }
    FileHeader* header = g_process.header;
    if (*missing != '\0') {
        header->metrics_missing = write_text(thread, missing, strlen(missing));
        say_missing(missing, has_papi);
    }
    if (g_events == 0) return;
    if (g_multiplexed) {
        __atomic_fetch_or(&header->flags, uint32_t{kFileMultiplexed}, __ATOMIC_RELAXED);
    }
    char names[kMetricLimit * sizeof(g_name[0])] = {};
    for (int i = 0; i < g_events; ++i) append(names, sizeof(names), '\n', g_name[i]);
    use_counters(thread, &g_counters, names);
}

}  // namespace dwell
