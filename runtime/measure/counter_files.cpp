// Checks and searches the counters among the process's descriptors.
#include "runtime/measure/counter_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "runtime/contract/kernel_events.h"

namespace dwell {

namespace {

constexpr char kFolder[] = "/proc/self/fd";

// A directory entry of getdents64 (declared in the kernel's linux/dirent.h only).
struct Entry {
    uint64_t inode;
    int64_t offset;
    uint16_t bytes;
    uint8_t type;
    char name[];
};

// Checks the link first: asking for the id could be another request to a device.
bool is_counter(int folder, const char* number) {
    constexpr char kCounter[] = "anon_inode:[perf_event]";
    char link[sizeof(kCounter)];
    const long bytes = syscall(SYS_readlinkat, folder, number, link, sizeof(link));
    return bytes == static_cast<long>(strlen(kCounter)) &&
           memcmp(link, kCounter, strlen(kCounter)) == 0;
}

}  // namespace

bool read_counter_id(int descriptor, uint64_t* id) {
    *id = 0;
    return ioctl(descriptor, PERF_EVENT_IOC_ID, id) == 0 && *id != 0;
}

bool is_still_there(const CounterFile& counter) {
    uint64_t id = 0;
    return read_counter_id(counter.descriptor, &id) && id == counter.id;
}

void close_counter(const CounterFile& counter) {
    if (is_still_there(counter)) syscall(SYS_close, counter.descriptor);
}

bool leaves_room(int descriptor) {
    constexpr rlim_t kLeast = 16;
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
    const rlim_t reserve = limit.rlim_cur / 4 > kLeast ? limit.rlim_cur / 4 : kLeast;
    return static_cast<rlim_t>(descriptor) + reserve < limit.rlim_cur;
}

uint64_t newest_counter_id() {
    const int opened = open_kernel_event({"", PERF_COUNT_SW_DUMMY}, false, -1);
    if (opened < 0) return 0;
    uint64_t id = 0;
    read_counter_id(opened, &id);
    syscall(SYS_close, opened);
    if (leaves_room(opened)) return id;
    errno = EMFILE;
    return 0;
}

int find_counters_after(uint64_t id, CounterFile* found, int most) {
    const auto folder = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, kFolder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder < 0) return -1;
    int count = 0;
    alignas(Entry) char entries[4096];
    long bytes = 0;
    while ((bytes = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0) {
        for (long at = 0; at < bytes;) {
            const auto* entry = reinterpret_cast<const Entry*>(entries + at);
            at += entry->bytes;
            if (!is_counter(folder, entry->name)) continue;
            CounterFile counter{atoi(entry->name), 0};
            if (!read_counter_id(counter.descriptor, &counter.id) || counter.id <= id) continue;
            if (count < most) found[count] = counter;
            count += 1;
        }
    }
    syscall(SYS_close, folder);
    return bytes == 0 ? count : -1;
}

}  // namespace dwell
