// One event and one small ring for each thread; see thread_samples.h.
#include "report/live/thread_samples.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>

#include "report/sampling/mapped_code.h"
#include "runtime/sampling/sample_spill.h"
#include "summarize/symbols/module_kinds.h"

namespace dwell {
namespace {

constexpr uint64_t kSamplesPerSecond = 97;
constexpr size_t kRingPages = 2;  // beside the head: 512 samples

size_t page_bytes() {
    static const auto kBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    return kBytes;
}

int open_event(int32_t tid) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.sample_period = 1'000'000'000 / kSamplesPerSecond;
    attributes.sample_type = PERF_SAMPLE_IP;
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

// Executable parts of files that the process has mapped.
std::vector<CodeMapping> code_of(int32_t pid) {
    std::vector<CodeMapping> mappings;
    std::ifstream file(fmt::format("/proc/{}/maps", pid));
    for (std::string line; std::getline(file, line);) {
        unsigned long start = 0;
        unsigned long end = 0;
        unsigned long offset = 0;
        char rights[5] = {};
        int path = 0;
        const int read = sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &start, &end, rights,
                                &offset, &path);
        if (read < 4 || rights[2] != 'x' || static_cast<size_t>(path) >= line.size()) continue;
        mappings.push_back({start, end - start, offset, line.substr(static_cast<size_t>(path))});
    }
    return mappings;
}

// Where a thread waits, or is watched: not its computation.
bool is_of_runtime(const std::string& path) {
    const ModuleKind kind = module_kind(path);
    return kind != ModuleKind::kUser && kind != ModuleKind::kLibc;
}

std::string name_of(const ResolvedAddress& resolved) {
    for (auto frame = resolved.frames.rbegin(); frame != resolved.frames.rend(); ++frame) {
        if (frame->line == 0) continue;
        return fmt::format("{}:{}", frame->file.substr(frame->file.rfind('/') + 1), frame->line);
    }
    return resolved.place;
}

}  // namespace

struct ThreadSamples::Thread {
    uint32_t rank;
    uint32_t thread;
    int32_t pid;
    int event;
    char* ring = nullptr;

    explicit Thread(const Position& position)
        : rank(position.rank),
          thread(position.thread),
          pid(position.pid),
          event(open_event(position.tid)) {}
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;
    size_t bytes() const { return (1 + kRingPages) * page_bytes(); }
    ~Thread() {
        if (ring != nullptr) munmap(ring, bytes());
        if (event >= 0) close(event);
    }
    std::vector<uint64_t> addresses() const {
        std::vector<uint64_t> found;
        if (ring == nullptr) return found;
        const auto* head = reinterpret_cast<const perf_event_mmap_page*>(ring);
        const uint64_t end = __atomic_load_n(&head->data_head, __ATOMIC_ACQUIRE);
        const size_t ring_bytes = kRingPages * page_bytes();
        for (uint64_t at = 0; at < end;) {
            struct {
                perf_event_header header;
                uint64_t address;
            } record{};
            copy_from_ring(ring + page_bytes(), ring_bytes, at, &record, sizeof record);
            if (record.header.size < sizeof record.header) break;
            if (record.header.type == PERF_RECORD_SAMPLE) found.push_back(record.address);
            at += record.header.size;
        }
        return found;
    }
};

ThreadSamples::ThreadSamples() = default;
ThreadSamples::~ThreadSamples() = default;

void ThreadSamples::begin(const Positions& positions) {
    for (const Position& position : positions.threads) {
        if (threads_.size() == kMostSampled) return;
        const bool computes = !position.is_in_call && !position.in_openmp &&
                              position.state != '\0' && position.state != kNotVisible;
        if (!computes) continue;
        auto thread = std::make_unique<Thread>(position);
        if (thread->event < 0) continue;
        void* ring =
            mmap(nullptr, thread->bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, thread->event, 0);
        if (ring == MAP_FAILED) continue;
        thread->ring = static_cast<char*>(ring);
        threads_.push_back(std::move(thread));
    }
}

void ThreadSamples::end(LineResolver* lines, Positions* positions) {
    MappedFiles files;
    std::map<std::string, uint32_t> modules;
    for (const auto& thread : threads_) {
        const std::vector<uint64_t> addresses = thread->addresses();
        if (addresses.empty()) continue;
        std::map<std::string, uint32_t> places;
        const std::vector<CodeMapping> mappings = code_of(thread->pid);
        for (const uint64_t address : addresses) {
            const auto mapping = std::find_if(
                mappings.begin(), mappings.end(),
                [&](const CodeMapping& one) { return address - one.start < one.bytes; });
            if (mapping == mappings.end() || is_of_runtime(mapping->path)) continue;
            const std::optional<uint64_t> offset = files.offset_of(*mapping, address);
            if (!offset) continue;
            auto module = modules.find(mapping->path);
            if (module == modules.end()) {
                module = modules.emplace(mapping->path, lines->add_module(mapping->path, "")).first;
            }
            places[name_of(lines->resolve(module->second, *offset))] += 1;
        }
        const auto position = std::find_if(
            positions->threads.begin(), positions->threads.end(), [&](const Position& one) {
                return one.rank == thread->rank && one.thread == thread->thread &&
                       one.pid == thread->pid && !one.is_in_call && !one.in_openmp;
            });
        if (position == positions->threads.end()) continue;
        for (const auto& [place, samples] : places) position->samples.push_back({place, samples});
        std::stable_sort(
            position->samples.begin(), position->samples.end(),
            [](const SampledPlace& a, const SampledPlace& b) { return a.samples > b.samples; });
    }
    threads_.clear();
}

}  // namespace dwell
