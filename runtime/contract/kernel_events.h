// Events that the kernel counts itself, under PAPI's names. Used where PAPI counts nothing: where
// it is not installed, and on a processor that it does not know, where it offers no kernel events
// either.
#ifndef DWELL_RUNTIME_CONTRACT_KERNEL_EVENTS_H_
#define DWELL_RUNTIME_CONTRACT_KERNEL_EVENTS_H_

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>

#include "runtime/contract/raw_io.h"

namespace dwell {

struct KernelEvent {
    const char* name;
    uint64_t config;
};

constexpr KernelEvent kKernelEvents[] = {
    {"perf::CPU-CLOCK", PERF_COUNT_SW_CPU_CLOCK},
    {"perf::TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK},
    {"perf::PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS},
    {"perf::FAULTS", PERF_COUNT_SW_PAGE_FAULTS},
    {"perf::MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {"perf::MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ},
    {"perf::CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"perf::CS", PERF_COUNT_SW_CONTEXT_SWITCHES},
    {"perf::CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"perf::MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS},
    {"perf::ALIGNMENT-FAULTS", PERF_COUNT_SW_ALIGNMENT_FAULTS},
    {"perf::EMULATION-FAULTS", PERF_COUNT_SW_EMULATION_FAULTS},
};

// Null: the kernel has no event of that name.
inline const KernelEvent* find_kernel_event(const char* name) {
    for (const KernelEvent& event : kKernelEvents) {
        if (strcmp(event.name, name) == 0) return &event;
    }
    return nullptr;
}

// Where events caused by a program occur. PAPI counts the program's own code only, where nothing is
// left of events that occur only in the kernel.
enum class InKernel { kNo, kAlso, kOnly };
inline InKernel happens_in_kernel(const char* name) {
    constexpr char kPerf[] = "perf::";
    if (strncmp(name, kPerf, strlen(kPerf)) != 0) return InKernel::kNo;
    const char* const event = name + strlen(kPerf);
    if (strchr(event, ':') != nullptr) return InKernel::kNo;  // the user has chosen
    const bool switches = strstr(event, "SWITCHES") != nullptr ||
                          strstr(event, "MIGRATIONS") != nullptr || strcmp(event, "CS") == 0;
    if (switches) return InKernel::kOnly;
    return strstr(event, "FAULTS") != nullptr ? InKernel::kAlso : InKernel::kNo;
}

// Opens an event for the calling thread: in the group of the descriptor `leader`, or as a leader
// (-1), whose group must be started. Returns the descriptor; -1 with errno. Async-signal-safe.
inline int open_kernel_event(const KernelEvent& event, bool in_kernel, int leader) {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof(attributes);
    attributes.config = event.config;
    attributes.read_format = PERF_FORMAT_GROUP;
    attributes.exclude_kernel = in_kernel ? 0 : 1;
    attributes.exclude_hv = 1;
    if (leader < 0) attributes.disabled = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, -1, leader,
                                    static_cast<unsigned long>(PERF_FLAG_FD_CLOEXEC)));
}

// Starts all events of a leader's group. False with errno. Async-signal-safe.
//
// An event that joins a running group may start counting only at the thread's next time slice:
// Linux 6.18 lost up to 4 ms of a task's clock, and one time in 200 all of it (measured).
inline bool start_kernel_group(int leader) {
    return ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) == 0;
}

// Whether the event can be counted; sets `in_kernel` for open_kernel_event().
inline bool try_kernel_event(const KernelEvent& event, bool* in_kernel) {
    const InKernel where = happens_in_kernel(event.name);
    for (const bool inside : {true, false}) {
        if (inside ? where == InKernel::kNo : where == InKernel::kOnly) continue;
        const int opened = open_kernel_event(event, inside, -1);
        if (opened < 0) continue;
        raw_close(opened);
        *in_kernel = inside;
        return true;
    }
    return false;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_KERNEL_EVENTS_H_
