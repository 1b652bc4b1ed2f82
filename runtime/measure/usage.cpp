// Reads resource usage. A reading takes some 20 microseconds: getrusage less than one, the files of
// /proc the rest.
#include "runtime/measure/usage.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>

#include "runtime/contract/raw_io.h"
#include "runtime/process/state.h"

namespace dwell {

namespace {

constexpr uint64_t kKiB = 1024;
constexpr size_t kFileBytes = 4096;  // /proc/self/status has some 1500

ProcessUsage g_before{};  // at load time, or at the last reset
ProcessUsage g_own{};     // dwell's own usage since; any thread adds to it
std::atomic<bool> g_noting{false};

// Lines "name: value" of a file of /proc and the figures that they hold.
struct Line {
    const char* name;
    uint64_t ProcessUsage::*figure;
    uint64_t unit;
};
constexpr Line kIoLines[] = {
    {"\nrchar:", &ProcessUsage::read_bytes, 1},
    {"\nwchar:", &ProcessUsage::written_bytes, 1},
    {"\nsyscr:", &ProcessUsage::reads, 1},
    {"\nsyscw:", &ProcessUsage::writes, 1},
    {"\nread_bytes:", &ProcessUsage::storage_read_bytes, 1},
    {"\nwrite_bytes:", &ProcessUsage::storage_written_bytes, 1},
};
// Of this program only; ru_maxrss includes programs that the process was before exec.
constexpr Line kStatusLines[] = {{"\nVmHWM:", &ProcessUsage::peak_memory_bytes, kKiB}};

// Reads the file behind a line break; returns its bytes, or -1.
ssize_t read_file(const char* path, char (&text)[kFileBytes]) {
    const int file = raw_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t bytes = raw_read(file, text + 1, sizeof(text) - 2);
    raw_close(file);
    if (bytes <= 0) return -1;
    text[0] = '\n';
    text[1 + bytes] = '\0';
    return bytes;
}

template <size_t kLines>
bool read_lines(const char* path, const Line (&lines)[kLines], UsageReading* reading) {
    char text[kFileBytes];
    const ssize_t bytes = read_file(path, text);
    if (bytes < 0) return false;
    reading->own_bytes += static_cast<uint64_t>(bytes);
    reading->own_reads += 1;
    for (const Line& line : lines) {
        const char* at = strstr(text, line.name);
        if (at == nullptr) return false;
        at += strlen(line.name);
        while (*at == ' ' || *at == '\t') ++at;
        uint64_t value = 0;
        for (; *at >= '0' && *at <= '9'; ++at)
            value = value * 10 + static_cast<uint64_t>(*at - '0');
        reading->usage.*line.figure = value * line.unit;
    }
    return true;
}

// Reads the usage of the whole process, or of the calling thread, which has no memory figures.
UsageReading take_reading(bool thread) {
    const ReentryGuard busy;  // dwell's own reads are not recorded as I/O
    const int saved_errno = errno;
    UsageReading reading{};
    ProcessUsage* usage = &reading.usage;
    struct rusage about {};
    getrusage(thread ? RUSAGE_THREAD : RUSAGE_SELF, &about);
    usage->user_ns = ns_of_time(about.ru_utime);
    usage->system_ns = ns_of_time(about.ru_stime);
    usage->minor_faults = static_cast<uint64_t>(about.ru_minflt);
    usage->major_faults = static_cast<uint64_t>(about.ru_majflt);
    usage->voluntary_switches = static_cast<uint64_t>(about.ru_nvcsw);
    usage->involuntary_switches = static_cast<uint64_t>(about.ru_nivcsw);
    const char* io = thread ? "/proc/thread-self/io" : "/proc/self/io";
    // Read first, because it would include the bytes of the other file.
    reading.bytes_known = read_lines(io, kIoLines, &reading);
    if (!thread && !read_lines("/proc/self/status", kStatusLines, &reading)) {
        usage->peak_memory_bytes = static_cast<uint64_t>(about.ru_maxrss) * kKiB;
    }
    errno = saved_errno;
    return reading;
}

void add_own(uint64_t ProcessUsage::*figure, uint64_t amount) {
    __atomic_fetch_add(&(g_own.*figure), amount, __ATOMIC_RELAXED);
}

// Bytes read by the reading itself belong to dwell.
void add_own_reads(const UsageReading& reading) {
    add_own(&ProcessUsage::read_bytes, reading.own_bytes);
    add_own(&ProcessUsage::reads, reading.own_reads);
}

// Figures that grow as the process runs, without the peak of memory.
constexpr uint64_t ProcessUsage::*kCounts[] = {
    &ProcessUsage::user_ns,
    &ProcessUsage::system_ns,
    &ProcessUsage::minor_faults,
    &ProcessUsage::major_faults,
    &ProcessUsage::voluntary_switches,
    &ProcessUsage::involuntary_switches,
    &ProcessUsage::read_bytes,
    &ProcessUsage::written_bytes,
    &ProcessUsage::reads,
    &ProcessUsage::writes,
    &ProcessUsage::storage_read_bytes,
    &ProcessUsage::storage_written_bytes,
};

uint64_t less(uint64_t value, uint64_t taken) { return value > taken ? value - taken : 0; }

void write_usage(uint64_t now) {
    const UsageReading reading = take_reading(false);
    FileHeader* header = g_process.header;
    for (const auto figure : kCounts) {
        const uint64_t own = __atomic_load_n(&(g_own.*figure), __ATOMIC_RELAXED);
        header->usage.*figure = less(reading.usage.*figure, g_before.*figure + own);
    }
    add_own_reads(reading);
    header->usage.peak_memory_bytes = reading.usage.peak_memory_bytes;
    if (!reading.bytes_known) {
        __atomic_fetch_or(&header->flags, uint32_t{kFileNoBytes}, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&header->usage_ticks, now, __ATOMIC_RELEASE);
}

}  // namespace

void begin_usage() {
    const UsageReading reading = take_reading(false);
    g_before = reading.usage;
    add_own_reads(reading);
}

void reset_usage() {
    g_own = ProcessUsage{};
    begin_usage();
}

void note_processors() {
    constexpr uint32_t kMostProcessors = 8192;
    struct Set {
        unsigned long words[kMostProcessors / (8 * sizeof(unsigned long))];
    };
    Set all{};
    const auto add = [&all](pid_t tid) {
        Set own{};
        if (sched_getaffinity(tid, sizeof(own), reinterpret_cast<cpu_set_t*>(&own)) != 0) return;
        for (size_t i = 0; i < sizeof(own.words) / sizeof(own.words[0]); ++i) {
            all.words[i] |= own.words[i];
        }
    };
    const int saved_errno = errno;
    FileHeader* const header = g_process.header;
    add(0);
    for (CellIndex at = header->first_thread; at != 0; at = cell_at<ThreadRecord>(at)->next) {
        add(cell_at<ThreadRecord>(at)->tid);
    }
    errno = saved_errno;
    const auto* const set = reinterpret_cast<const cpu_set_t*>(&all);
    header->processors = static_cast<uint32_t>(CPU_COUNT_S(sizeof(all), set));
    uint32_t first = 0;
    while (first < kMostProcessors && !CPU_ISSET_S(first, sizeof(all), set)) ++first;
    header->first_processor = header->processors != 0 ? first : 0;
}

void note_usage() {
    if (g_noting.exchange(true, std::memory_order_acquire)) return;
    write_usage(now_ticks());
    g_noting.store(false, std::memory_order_release);
}

void note_last_usage(uint64_t end_ticks) {
    note_processors();
    write_usage(end_ticks);
}

void note_usage_at_times(uint64_t now_ticks) {
    const FileHeader* header = g_process.header;
    const uint64_t last = __atomic_load_n(&header->usage_ticks, __ATOMIC_RELAXED);
    if (now_ticks > last && now_ticks - last > header->ticks_per_second) note_usage();
}

void add_own_read(uint64_t bytes) {
    add_own(&ProcessUsage::read_bytes, bytes);
    add_own(&ProcessUsage::reads, 1);
}

OwnWork::OwnWork() : before_(take_reading(true)), own_before_(g_own) {}

OwnWork::~OwnWork() {
    const UsageReading now = take_reading(true);
    for (const auto figure : kCounts) {
        uint64_t more = less(now.usage.*figure, before_.usage.*figure);
        const bool is_read = figure == &ProcessUsage::reads || figure == &ProcessUsage::read_bytes;
        // Own usage that was added meanwhile is already known as dwell's.
        if (is_read) more = less(more, less(g_own.*figure, own_before_.*figure));
        add_own(figure, more);
    }
    add_own_reads(now);  // the first reading's own bytes are part of the difference
}

}  // namespace dwell
