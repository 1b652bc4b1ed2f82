// Samples a program with perf_event_open: cpu-clock, user mode only, enabled by exec, no signal.
// Records come from several rings out of order, so addresses are resolved to places only at the
// end.
#include "report/launch/serial.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <tuple>

#include "report/console/output.h"
#include "report/launch/launch.h"
#include "report/results/finish.h"
#include "report/sampling/elf_file.h"
#include "runtime/contract/job_name.h"
#include "runtime/sampling/sample_spill.h"
#include "runtime/sampling/sampled_path.h"
#include "summarize/code/vdso.h"
#include "summarize/symbols/lines.h"

namespace dwell {
namespace {

// Leaves room for a rank's ring of an ordinary user: 516 KiB for each processor.
constexpr size_t kRingBytes = 128 * 1024;
constexpr size_t kSmallestRingBytes = 32 * 1024;
constexpr uint32_t kStackBytes = 8192;
constexpr int kMostFrames = 256;
constexpr int kMostBetweenDrains_ms = 200;
constexpr size_t kLargestRecord = 1 << 16;
constexpr size_t kMostPlaces = 1'000'000;
constexpr uint32_t kIntervalNode = 1;

size_t page_bytes() { return size_t(sysconf(_SC_PAGESIZE)); }

int64_t read_clock(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int open_event(pid_t pid, int processor, int hz, bool on_exec, bool paths) {
    perf_event_attr event{};
    event.size = sizeof event;
    event.type = PERF_TYPE_SOFTWARE;
    event.config = PERF_COUNT_SW_CPU_CLOCK;
    event.sample_period = 1'000'000'000ULL / uint64_t(hz);
    event.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID;
    if (paths) {
        event.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        event.sample_regs_user = kSampledRegisterMask;
        event.sample_stack_user = kStackBytes;
    }
    event.disabled = 1;
    event.enable_on_exec = on_exec ? 1 : 0;
    event.inherit = on_exec ? 1 : 0;
    event.exclude_kernel = 1;
    event.exclude_hv = 1;
    event.mmap = 1;
    event.task = 1;
    return int(syscall(SYS_perf_event_open, &event, pid, processor, -1, PERF_FLAG_FD_CLOEXEC));
}

// Bodies of the records that are read here, after perf_event_header (linux/perf_event.h).
struct SampleBody {
    uint64_t address;
    uint32_t pid;
    uint32_t tid;
};
// Follows SampleBody when call paths are sampled.
struct StackBody {
    uint64_t abi;
    uint64_t registers[kSampledRegisters];
    uint64_t bytes;
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

}  // namespace

SerialSampler::~SerialSampler() { stop(); }

bool SerialSampler::open_ring(pid_t child, int processor) {
    const int file = open_event(child, processor, hz_, true, paths_);
    if (file < 0) {
        if (errno == ENODEV) return true;  // an offline processor
        start_error_ = errno;
        return false;
    }
    void* pages = MAP_FAILED;
    uint64_t bytes = kRingBytes;
    for (; bytes >= kSmallestRingBytes; bytes /= 2) {
        pages = mmap(nullptr, page_bytes() + bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (pages != MAP_FAILED) break;
    }
    if (pages == MAP_FAILED) {
        start_error_ = errno;
        close(file);
        return false;
    }
    rings_.push_back({file, pages, bytes, 0});
    // When the ring is half full.
    const uint64_t record = paths_ ? kStackBytes + 256 : 64;
    const int half_ms = int(1000 * bytes / 2 / record / uint64_t(hz_));
    drain_ms_ = std::min(drain_ms_, std::max(half_ms, 1));
    return true;
}

void SerialSampler::start(pid_t child) {
    child_ = child;
    start_ns_ = end_ns_ = read_clock(CLOCK_MONOTONIC);
    start_unix_ns_ = read_clock(CLOCK_REALTIME);
    drain_ms_ = kMostBetweenDrains_ms;
    if (hz_ == 0) return;
    paths_ = paths_ && load_sample_unwinder();
    record_.resize(kLargestRecord);
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    for (int processor = 0; processor < processors; ++processor) {
        if (open_ring(child, processor)) continue;
        stop();
        return;
    }
}

void SerialSampler::stop() {
    for (const Ring& ring : rings_) {
        munmap(ring.pages, page_bytes() + ring.bytes);
        close(ring.file);
    }
    rings_.clear();
}

// A thread may map code on one processor before it is sampled on another. So the ends of all rings
// are fixed first, then all mappings up to there are read, then the samples.
void SerialSampler::drain() {
    end_ns_ = read_clock(CLOCK_MONOTONIC);
    const auto head_of = [](const Ring& ring) {
        auto* const control = static_cast<perf_event_mmap_page*>(ring.pages);
        return __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    };
    for (Ring& ring : rings_) ring.end = head_of(ring);
    for (const Ring& ring : rings_) {
        read_ring(ring, head_of(ring), [this](const char* record, uint32_t type, uint64_t bytes) {
            take_event(record, type, bytes);
        });
    }
    for (const Ring& ring : rings_) {
        read_ring(ring, ring.end, [this](const char* record, uint32_t type, uint64_t bytes) {
            LostBody lost;
            if (type == PERF_RECORD_SAMPLE) take_sample(record, bytes);
            if (type == PERF_RECORD_LOST && read_body(record, bytes, &lost)) lost_ += lost.lost;
        });
        auto* const control = static_cast<perf_event_mmap_page*>(ring.pages);
        __atomic_store_n(&control->data_tail, ring.end, __ATOMIC_RELEASE);
    }
}

template <typename Take>
void SerialSampler::read_ring(const Ring& ring, uint64_t end, Take take) {
    const char* const data = static_cast<const char*>(ring.pages) + page_bytes();
    uint64_t at = static_cast<perf_event_mmap_page*>(ring.pages)->data_tail;
    while (at < end) {
        perf_event_header header;
        copy_from_ring(data, ring.bytes, at, &header, sizeof header);
        if (header.size < sizeof header) break;
        copy_from_ring(data, ring.bytes, at, record_.data(), header.size);
        take(record_.data() + sizeof header, header.type, header.size - sizeof header);
        at += header.size;
    }
}

void SerialSampler::take_event(const char* record, uint32_t type, uint64_t bytes) {
    if (MmapBody map; type == PERF_RECORD_MMAP && read_body(record, bytes, &map)) {
        const char* name = record + sizeof map;
        const std::string path(name, strnlen(name, bytes - sizeof map));
        std::vector<CodeMapping>& list = mappings_[map.pid];
        const CodeMapping mapping{map.address, map.bytes, map.file_offset, path};
        // A mapping is read again if later samples were not yet.
        if (std::find(list.begin(), list.end(), mapping) != list.end()) return;
        list.push_back(mapping);
        traced_ = 0;
    } else if (ForkBody fork_body;
               type == PERF_RECORD_FORK && read_body(record, bytes, &fork_body)) {
        if (fork_body.pid != fork_body.parent) parents_[fork_body.pid] = fork_body.parent;
    }
}

// 0: the limit is reached.
uint32_t SerialSampler::number(const Spot& spot) {
    if (spots_.size() >= kMostPlaces && numbers_.count(spot) == 0) return 0;
    const auto [entry, is_new] = numbers_.try_emplace(spot, uint32_t(spots_.size() + 1));
    if (is_new) {
        spots_.push_back(spot);
        count_.push_back(0);
    }
    return entry->second;
}

void SerialSampler::take_sample(const char* record, uint64_t bytes) {
    SampleBody sample;
    if (!read_body(record, bytes, &sample)) return;
    ++samples_;
    uint64_t addresses[kMostFrames] = {sample.address};
    int frames = 1;
    bool whole = false;
    bool traced = false;
    const size_t stack_at = sizeof sample + sizeof(StackBody);
    StackBody stack;
    if (paths_ && read_body(record + sizeof sample, bytes - sizeof sample, &stack) &&
        stack.abi == PERF_SAMPLE_REGS_ABI_64 && stack_at + stack.bytes + 8 <= bytes) {
        uint64_t taken = 0;
        if (stack.bytes != 0) memcpy(&taken, record + stack_at + stack.bytes, sizeof taken);
        if (sample.pid != traced_) forget_sampled_paths();
        traced_ = sample.pid;
        const InProcess process{this, sample.pid};
        frames = trace_sample({find_module, &process},
                              {stack.registers, record + stack_at, std::min(taken, stack.bytes)},
                              addresses, kMostFrames, &whole);
        traced = taken != 0;
    }
    uint16_t call = !traced ? 0 : whole ? 1 : kPathCut;
    uint32_t above = 0;
    std::map<uint64_t, uint32_t> entered;  // recursion is folded
    for (int i = frames - 1; i > 0; --i) {
        const auto known = entered.find(addresses[i]);
        above = known != entered.end()
                    ? known->second
                    : number({above, sample.pid, addresses[i], call, SiteKind::kCall});
        if (above == 0) break;
        entered[addresses[i]] = above;
        call = 0;
    }
    const bool fits = frames == 1 || above != 0;
    const uint32_t leaf =
        fits ? number({above, sample.pid, addresses[0], call, SiteKind::kSample}) : 0;
    if (leaf == 0) {
        ++lost_;
    } else {
        ++count_[leaf - 1];
    }
}

bool SerialSampler::find_module(const void* process, uint64_t address, SampledModule* module) {
    const auto& of = *static_cast<const InProcess*>(process);
    const CodeMapping* const mapping = of.sampler->find_mapping(of.pid, address);
    return mapping != nullptr && of.sampler->files_.find_module(*mapping, address, module);
}

// The latest mapping that contains `address`, in the process or the process it was forked from.
const CodeMapping* SerialSampler::find_mapping(uint32_t pid, uint64_t address) const {
    for (int generation = 0; generation < 64; ++generation) {
        if (const auto found = mappings_.find(pid); found != mappings_.end()) {
            const std::vector<CodeMapping>& list = found->second;
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

SerialSampler::Place SerialSampler::place_of(const Spot& spot) {
    // A call may be the last instruction of its segment.
    const uint64_t before = spot.kind == SiteKind::kCall ? 1 : 0;
    const CodeMapping* const mapping = find_mapping(spot.pid, spot.address - before);
    if (mapping == nullptr) return {"", spot.address};
    const auto offset = files_.offset_of(*mapping, spot.address - before);
    return offset ? Place(mapping->path, *offset + before) : Place("", spot.address);
}

// Equal places of several processes become one node.
bool SerialSampler::add_spots(uint32_t rank, Merged* merged) {
    std::map<std::string, uint32_t> modules;
    std::map<std::tuple<uint32_t, uint32_t, uint64_t, SiteKind, uint16_t>, uint32_t> nodes;
    std::vector<uint32_t> node_of(spots_.size() + 1, kIntervalNode);
    for (size_t i = 0; i < spots_.size(); ++i) {
        const Spot& spot = spots_[i];
        const auto [path, offset] = place_of(spot);
        uint32_t module = kNoNode;
        if (!path.empty()) {
            const auto [known, is_new] = modules.try_emplace(path, 0);
            if (is_new) {
                const ElfFile elf = is_vdso(path) ? ElfFile{} : files_.elf(path);
                known->second = add_module(merged, path, elf);
            }
            module = known->second;
        }
        const uint32_t parent = node_of[spot.above];
        const auto [known, is_new] =
            nodes.try_emplace({parent, module, offset, spot.kind, spot.call}, 0);
        if (is_new) {
            MergedNode node = program_node(0);
            node.kind = uint8_t(spot.kind);
            node.parent = parent;
            node.module = module;
            node.offset = offset;
            node.call = spot.call;
            node.flags = module == kNoNode ? uint8_t(kNodeForeign) : uint8_t{0};
            node.totals.count = 0;
            if (!merged->nodes.push(node)) return false;
            known->second = uint32_t(merged->nodes.size() - 1);
        }
        node_of[i + 1] = known->second;
        merged->nodes[known->second].totals.count += count_[i];
    }
    for (uint32_t i = 0; i < merged->nodes.size(); ++i) {
        const MergedNode& node = merged->nodes[i];
        if (node.kind != uint8_t(SiteKind::kSample)) continue;
        if (!merged->sample_rows.push({i, rank, 0, 0, node.totals.count})) return false;
    }
    return true;
}

// Its memory may still be that of dwell, from which it was forked.
void SerialSampler::note_used(const rusage& used) {
    const auto ns_of = [](const timeval& time) {
        return uint64_t(time.tv_sec) * 1'000'000'000u + uint64_t(time.tv_usec) * 1'000u;
    };
    used_.user_ns = ns_of(used.ru_utime);
    used_.system_ns = ns_of(used.ru_stime);
    used_known_ = true;
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
    if (used_known_) about.usage_ns = time_ns;
    about.usage = used_;

    bool good = merged->ranks.add(about) && merged->nodes.push(program_node(time_ns)) &&
                merged->nodes.push(interval_node(time_ns));
    MergedRow row{};
    row.node = kIntervalNode;
    row.rank = about.rank;
    if (good) row.totals = merged->nodes[kIntervalNode].totals;
    good = good && merged->rows.push(row);
    return good && add_spots(about.rank, merged);
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
    const int file = open_event(0, -1, 100, false, false);
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
