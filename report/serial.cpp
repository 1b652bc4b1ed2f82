// Samples with perf_event_open: cpu-clock, user mode only, enabled by exec, no signal. Records come
// from several rings out of order, so addresses are turned into places only at the end.
#include "report/serial.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "report/elf_file.h"
#include "report/finish.h"
#include "report/launch.h"
#include "report/output.h"
#include "runtime/job_name.h"
#include "summarize/lines.h"
#include "summarize/vdso.h"

namespace dwell {
namespace {

constexpr size_t kRingPages = 16;  // a power of two; 200 ms at 10 kHz need 11
constexpr size_t kLargestRecord = 1 << 16;
constexpr size_t kMostPlaces = 1'000'000;
constexpr uint32_t kIntervalNode = 1;

size_t page_bytes() { return size_t(sysconf(_SC_PAGESIZE)); }

int64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int open_event(pid_t pid, int processor, int hz, bool on_exec) {
    perf_event_attr event{};
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = 1'000'000'000ULL / uint64_t(hz);
    event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
    event.disabled = 1;
    event.enable_on_exec = on_exec ? 1 : 0;
    event.inherit = on_exec ? 1 : 0;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.mmap = 1;
    event.task = 1;
    return int(syscall(SYS_perf_event_open, &event, pid, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

// Bodies of the records that we read, after perf_event_header (linux/perf_event.h).
struct SampleBody {
    uint64_t address;
    uint32_t pid;
    uint32_t tid;
};
struct MmapBody {
    uint32_t pid;
    uint32_t tid;
    uint64_t address;
    uint64_t bytes;
    uint64_t file_offset;
};
struct ForkBody {
    uint32_t pid;
    uint32_t parent;
};
struct LostBody {
    uint64_t id;
    uint64_t lost;
};

template <typename Body>
bool read_body(const char* record, uint64_t bytes, Body* body) {
    if (bytes < sizeof(Body)) return false;
    memcpy(body, record, sizeof(Body));
    return true;
}

uint32_t add_text(Merged* merged, const std::string& text) {
    if (merged->text.empty()) merged->text.push('\0');
    const size_t at = merged->text.size();
    if (!merged->text.append(text.c_str(), text.size() + 1)) return 0;
    return uint32_t(at);
}

uint32_t add_module(Merged* merged, const std::string& path, const ElfFile& elf) {
    MergedModule module{};
    if (elf.build_id.size() <= sizeof module.build_id) {
        module.build_id_bytes = uint8_t(elf.build_id.size());
        std::copy(elf.build_id.begin(), elf.build_id.end(), module.build_id);
    }
    if (module.build_id_bytes == 0) {
        const FileStamp stamp = stamp_of(path);
        module.inode = stamp.inode;
        module.modified_ns = stamp.modified_ns;
    }
    module.path = add_text(merged, path);
    return merged->modules.push(module) ? uint32_t(merged->modules.size() - 1) : kNoNode;
}

std::string joined(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    return line;
}

MergedNode program_node(uint64_t time_ns) {
    MergedNode node{};
    node.module = kNoNode;
    node.kind = uint8_t(SiteKind::kProgram);
    node.parent = kNoNode;
    node.meet = kNoNode;
    node.histogram = kNoHistogram;
    node.ranks = 1;
    node.rank_min_ns = time_ns;
    node.rank_max_ns = time_ns;
    node.totals.count = 1;
    node.totals.time_ns = time_ns;
    node.totals.min_ns = time_ns;
    node.totals.max_ns = time_ns;
    return node;
}

// The whole run: a program without MPI has one interval, from its start to its end.
MergedNode interval_node(uint64_t time_ns) {
    MergedNode node = program_node(time_ns);
    node.kind = uint8_t(SiteKind::kInterval);
    node.parent = 0;
    node.meet = 0;
    node.offset = kNoNode;
    return node;
}

MergedNode sample_node(uint32_t module, uint64_t offset, uint64_t count) {
    MergedNode node = program_node(0);
    node.kind = uint8_t(SiteKind::kSample);
    node.parent = kIntervalNode;
    node.module = module;
    node.offset = offset;
    node.flags = module == kNoNode ? uint8_t(kNodeForeign) : uint8_t{0};
    node.totals.count = count;
    return node;
}

}  // namespace

SerialSampler::~SerialSampler() { stop(); }

bool SerialSampler::open_ring(pid_t child, int processor) {
    const int file = open_event(child, processor, hz_, true);
    if (file < 0) {
        if (errno == ENODEV) return true;  // a processor that is switched off
        start_error_ = errno;
        return false;
    }
    void* pages =
        mmap(nullptr, (kRingPages + 1) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (pages == MAP_FAILED) {
        start_error_ = errno;
        close(file);
        return false;
    }
    rings_.push_back({file, pages});
    return true;
}

void SerialSampler::start(pid_t child) {
    child_ = child;
    start_ns_ = end_ns_ = read_clock(CLOCK_MONOTONIC);
    start_unix_ns_ = read_clock(CLOCK_REALTIME);
    if (hz_ == 0) return;
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int processor = 0; processor < processors; ++processor) {
        if (open_ring(child, processor)) continue;
        stop();
        return;
    }
}

void SerialSampler::stop() {
    for (const Ring& ring : rings_) {
        munmap(ring.pages, (kRingPages + 1) * page_bytes());
        close(ring.file);
    }
    rings_.clear();
}

void SerialSampler::drain() {
    end_ns_ = read_clock(CLOCK_MONOTONIC);
    for (const Ring& ring : rings_) drain_ring(ring);
}

void SerialSampler::drain_ring(const Ring& ring) {
    auto* control = static_cast<perf_event_mmap_page*>(ring.pages);
    const char* data = static_cast<const char*>(ring.pages) + page_bytes();
    const uint64_t size = kRingPages * page_bytes();
    const uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    uint64_t tail = control->data_tail;
    std::vector<char> record(kLargestRecord);
    while (tail < head) {
        perf_event_header header;
        memcpy(&header, data + tail % size, sizeof header);  // records are aligned to 8 bytes
        if (header.size < sizeof header) break;
        for (uint64_t i = 0; i < header.size; ++i) record[i] = data[(tail + i) % size];
        take_record(record.data() + sizeof header, header.type, header.size - sizeof header);
        tail += header.size;
    }
    __atomic_store_n(&control->data_tail, tail, __ATOMIC_RELEASE);
}

void SerialSampler::take_record(const char* record, uint32_t type, uint64_t bytes) {
    if (SampleBody sample; type == PERF_RECORD_SAMPLE && read_body(record, bytes, &sample)) {
        ++samples_;
        const auto key = std::make_pair(sample.pid, sample.address);
        if (hits_.size() < kMostPlaces || hits_.count(key) != 0) {
            ++hits_[key];
        } else {
            ++lost_;
        }
    } else if (MmapBody map; type == PERF_RECORD_MMAP && read_body(record, bytes, &map)) {
        const char* name = record + sizeof map;
        const std::string path(name, strnlen(name, bytes - sizeof map));
        mappings_[map.pid].push_back({map.address, map.bytes, map.file_offset, path});
    } else if (ForkBody fork_body;
               type == PERF_RECORD_FORK && read_body(record, bytes, &fork_body)) {
        if (fork_body.pid != fork_body.parent) parents_[fork_body.pid] = fork_body.parent;
    } else if (LostBody lost; type == PERF_RECORD_LOST && read_body(record, bytes, &lost)) {
        lost_ += lost.lost;
    }
}

// The latest mapping that holds `address`, in the process or in the one it was forked from.
const SerialSampler::Mapping* SerialSampler::find_mapping(uint32_t pid, uint64_t address) const {
    for (int generation = 0; generation < 64; ++generation) {
        if (const auto found = mappings_.find(pid); found != mappings_.end()) {
            const std::vector<Mapping>& list = found->second;
            for (auto mapping = list.rbegin(); mapping != list.rend(); ++mapping) {
                if (address - mapping->start < mapping->bytes) return &*mapping;
            }
        }
        const auto parent = parents_.find(pid);
        if (parent == parents_.end()) return nullptr;
        pid = parent->second;
    }
    return nullptr;
}

std::map<SerialSampler::Place, uint64_t> SerialSampler::count_places() const {
    std::map<Place, uint64_t> places;
    std::map<std::string, ElfFile> files;
    for (const auto& [key, count] : hits_) {
        const auto [pid, address] = key;
        Place place("", address);
        if (const Mapping* mapping = find_mapping(pid, address)) {
            auto file = files.find(mapping->path);
            if (file == files.end()) {
                ElfFile elf = read_elf_file(mapping->path).value_or(ElfFile{});
                file = files.emplace(mapping->path, std::move(elf)).first;
            }
            const uint64_t file_offset = address - mapping->start + mapping->file_offset;
            const auto offset = address_of_file_offset(file->second, file_offset);
            if (offset) place = {mapping->path, *offset};
            // No file: the kernel loads it as it is.
            if (is_vdso(mapping->path)) place = {mapping->path, address - mapping->start};
        }
        places[place] += count;
    }
    return places;
}

bool SerialSampler::build_records(const RunOptions& options, uint32_t flags, Merged* merged) {
    const uint64_t time_ns = uint64_t(end_ns_ - start_ns_);
    const int rank = launcher_rank();
    merged->world_size = 1;
    job_name(merged->job, sizeof merged->job);
    char host[65] = {};
    gethostname(host, sizeof host - 1);

    MergedRank about{};
    about.rank = rank < 0 ? 0 : uint32_t(rank);
    about.pid = child_;
    const std::string program =
        find_program(options.command.front()).value_or(options.command.front());
    const std::string command = joined(options.command);
    about.host = host;
    about.program = program.c_str();
    about.command = command.c_str();
    about.state = uint32_t(FileState::kExited);
    about.flags = flags | kFileSerial | (start_error_ != 0 ? uint32_t(kFileNoSampling) : 0u);
    about.threads = 1;
    about.threads_served = 1;
    about.sample_hz = uint32_t(start_error_ == 0 ? hz_ : 0);
    about.start_unix_ns = start_unix_ns_;
    about.real_ns = time_ns;
    about.samples = samples_;
    about.samples_lost = lost_;

    bool good = merged->ranks.add(about) && merged->nodes.push(program_node(time_ns)) &&
                merged->nodes.push(interval_node(time_ns));
    MergedRow row{};
    row.node = kIntervalNode;
    row.rank = about.rank;
    if (good) row.totals = merged->nodes[kIntervalNode].totals;
    good = good && merged->rows.push(row);
    std::map<std::string, uint32_t> modules;
    for (const auto& [place, count] : count_places()) {
        uint32_t module = kNoNode;
        if (!place.first.empty()) {
            auto known = modules.find(place.first);
            if (known == modules.end()) {
                const ElfFile elf = read_elf_file(place.first).value_or(ElfFile{});
                known = modules.emplace(place.first, add_module(merged, place.first, elf)).first;
            }
            module = known->second;
        }
        good = good && merged->nodes.push(sample_node(module, place.second, count));
    }
    return good;
}

void SerialSampler::write_profile(const RunOptions& options, uint32_t flags) {
    drain();
    stop();
    Merged merged;
    if (!build_records(options, flags, &merged)) return say("no memory for the profile");
    const EndOptions end{options.out, options.quiet, options.report, atoi(options.width.c_str())};
    const Outcome written = write_outputs(merged, end);
    if (!written) say(written.error());
}

std::string sampling_obstacle() {
    const int file = open_event(0, -1, 100, false);
    if (file >= 0) {
        close(file);
        return {};
    }
    const int error = errno;
    std::ifstream setting("/proc/sys/kernel/perf_event_paranoid");
    std::string level;
    setting >> level;
    return std::string(strerror(error)) + ", perf_event_paranoid is " +
           (level.empty() ? "missing" : level);
}

}  // namespace dwell
