// The bytes of a snapshot: a header, the merged records as `dwell finish` gets them, then where the
// threads are. Written and read by the same version of dwell; all input is checked before use.
#include "report/live/snapshot.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "runtime/process/clock.h"
#include "summarize/merge/merged_tables.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSnapshotMagic = 0x70616e736c776c64;  // "dlwlsnap"
constexpr const char* kFolder = "/live";
constexpr std::string_view kSuffix = ".snapshot";  // a file that is being written has another one
constexpr uint64_t kOtherNamespace = 1;            // of process ids: no inode has this number
constexpr uint64_t kMostEntries = 1u << 26;

struct SnapshotHeader {
    uint64_t magic;
    uint32_t version;
    uint32_t reserved;
    int64_t taken_unix_ns;
    uint64_t merged_bytes;
    uint64_t open;
    uint64_t comms;
    uint64_t locks;
    uint64_t requests;
    uint64_t processes;
};

template <typename T>
void append(const GrowArray<T>& array, std::string* bytes) {
    bytes->append(reinterpret_cast<const char*>(array.data()), array.size() * sizeof(T));
}

template <typename T>
bool take(std::string_view* bytes, uint64_t count, GrowArray<T>* array) {
    if (count > kMostEntries || bytes->size() < count * sizeof(T)) return false;
    for (uint64_t i = 0; i < count; ++i) {
        T entry;
        memcpy(static_cast<void*>(&entry), bytes->data() + i * sizeof(T), sizeof(T));
        if (!array->push(entry)) return false;
    }
    bytes->remove_prefix(count * sizeof(T));
    return true;
}

bool is_sound(const Merged& merged) {
    const auto node_is_good = [&](uint32_t node) {
        return node == kNoNode || node < merged.nodes.size();
    };
    for (const MergedOpen& open : merged.open) {
        if (open.node >= merged.nodes.size() || !node_is_good(open.statement)) return false;
        if (open.is_in_call && open.statement == kNoNode) return false;
    }
    for (const MergedLock& lock : merged.open_locks) {
        const bool module_is_good = lock.module == kNoModule || lock.module < merged.modules.size();
        if (!node_is_good(lock.node) || !module_is_good) return false;
    }
    return true;
}

// Times as they were `age_ns` ago stay as long before now; other hosts' processes are not seen.
void shift(int64_t age_ns, Merged* merged) {
    for (MergedOpen& open : merged->open) {
        open.since_unix_ns += age_ns;
        if (open.end_unix_ns != 0) open.end_unix_ns += age_ns;
        if (open.probe_unix_ns != 0) open.probe_unix_ns += age_ns;
    }
    for (MergedLock& lock : merged->open_locks) {
        if (lock.since_unix_ns != 0) lock.since_unix_ns += age_ns;
    }
    for (MergedProcess& process : merged->processes) process.pid_namespace = kOtherNamespace;
}

bool read_snapshot(const std::string& bytes, Merged* merged, int64_t* taken_unix_ns) {
    SnapshotHeader header{};
    if (bytes.size() < sizeof header) return false;
    memcpy(&header, bytes.data(), sizeof header);
    std::string_view rest(bytes);
    rest.remove_prefix(sizeof header);
    const bool known = header.magic == kSnapshotMagic && header.version == kMergedVersion;
    if (!known || header.merged_bytes > rest.size()) return false;
    if (!deserialize(rest.data(), header.merged_bytes, merged)) return false;
    rest.remove_prefix(header.merged_bytes);
    *taken_unix_ns = header.taken_unix_ns;
    return take(&rest, header.open, &merged->open) &&
           take(&rest, header.comms, &merged->open_comms) &&
           take(&rest, header.locks, &merged->open_locks) &&
           take(&rest, header.requests, &merged->open_requests) &&
           take(&rest, header.processes, &merged->processes) && rest.empty() && is_sound(*merged);
}

}  // namespace

std::string snapshot_file(const std::string& profile, const std::string& host) {
    return profile + kFolder + "/" + host + std::string(kSuffix);
}

Outcome write_snapshot(const std::string& path, const Merged& merged, int64_t taken_unix_ns) {
    GrowArray<char> records;
    if (!serialize(merged, &records)) return tl::make_unexpected(path + ": no memory");
    const SnapshotHeader header{kSnapshotMagic,
                                kMergedVersion,
                                0,
                                taken_unix_ns,
                                records.size(),
                                merged.open.size(),
                                merged.open_comms.size(),
                                merged.open_locks.size(),
                                merged.open_requests.size(),
                                merged.processes.size()};
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    append(records, &bytes);
    append(merged.open, &bytes);
    append(merged.open_comms, &bytes);
    append(merged.open_locks, &bytes);
    append(merged.open_requests, &bytes);
    append(merged.processes, &bytes);
    std::error_code error;
    fs::create_directories(fs::path(path).parent_path(), error);
    return write_file(path, bytes, 0644);
}

bool has_snapshots(const std::string& profile) {
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(profile + kFolder, error)) {
        if (entry.path().filename().string().ends_with(kSuffix)) return true;
    }
    return false;
}

std::string snapshots_stamp(const std::string& profile) {
    std::set<std::string> files;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(profile + kFolder, error)) {
        struct stat about {};
        if (stat(entry.path().c_str(), &about) != 0) continue;
        files.insert(fmt::format("{} {} {}.{}\n", entry.path().filename().string(), about.st_ino,
                                 about.st_mtim.tv_sec, about.st_mtim.tv_nsec));
    }
    return fmt::format("{}", fmt::join(files, ""));
}

tl::expected<Snapshots, std::string> read_snapshots(const std::string& profile) {
    Snapshots all;
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(profile + kFolder, error)) {
        std::string host = entry.path().filename().string();
        if (!host.ends_with(kSuffix)) continue;
        host.resize(host.size() - kSuffix.size());
        const auto bytes = read_whole_file(entry.path().string());
        if (!bytes) continue;  // replaced meanwhile, or the job has ended
        Merged one;
        int64_t taken_unix_ns = 0;
        if (!read_snapshot(*bytes, &one, &taken_unix_ns)) {
            all.left_out += 1;
            continue;
        }
        const int64_t age_ns = std::max<int64_t>(unix_ns() - taken_unix_ns, 0);
        shift(age_ns, &one);
        if (join(&all.merged, std::move(one))) {
            all.age_ns[host] = age_ns;
            all.newest_unix_ns = std::max(all.newest_unix_ns, taken_unix_ns);
        } else {
            all.left_out += 1;
        }
    }
    if (!all.age_ns.empty()) return all;
    return tl::make_unexpected("no snapshot of a running job in " + profile + kFolder +
                               (all.left_out != 0 ? " can be read by this version of dwell" : ""));
}

}  // namespace dwell
