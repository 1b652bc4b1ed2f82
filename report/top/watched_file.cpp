// Reads the figures of a mapped record file; see watched_file.h. Each value of 8 bytes is read
// whole, and its writer only adds to it: so it never falls between two readings.
#include "report/top/watched_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "summarize/merge/node_figures.h"

namespace dwell {
namespace {

// Words of records of any type.
using Word __attribute__((may_alias)) = uint64_t;

constexpr size_t kAhead = 6;  // nodes fetched before they are read

}  // namespace

std::optional<WatchedFile> WatchedFile::open(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (file < 0) return std::nullopt;
    WatchedFile watched(file);
    if (!watched.map()) return std::nullopt;
    const FileHeader header = watched.header();
    const bool readable = header.magic == kRecordMagic && header.version == kRecordLayoutVersion &&
                          header.ticks_per_second != 0;
    if (!readable) return std::nullopt;
    watched.clock_ = TickScale(header.ticks_per_second);
    watched.reset_ticks_ = header.reset_ticks;
    return watched;
}

WatchedFile::WatchedFile(WatchedFile&& other) noexcept { *this = std::move(other); }

WatchedFile& WatchedFile::operator=(WatchedFile&& other) noexcept {
    std::swap(file_, other.file_);
    std::swap(bytes_, other.bytes_);
    std::swap(size_, other.size_);
    std::swap(flags_, other.flags_);
    std::swap(clock_, other.clock_);
    cells_.swap(other.cells_);
    std::swap(threads_, other.threads_);
    std::swap(in_nodes_ns_, other.in_nodes_ns_);
    std::swap(reset_ticks_, other.reset_ticks_);
    return *this;
}

WatchedFile::~WatchedFile() {
    unmap();
    if (file_ >= 0) close(file_);
}

void WatchedFile::unmap() {
    if (bytes_ != nullptr) munmap(const_cast<char*>(bytes_), size_);
    bytes_ = nullptr;
}

// Maps what the file holds now: it grows, and never shrinks.
bool WatchedFile::map() {
    struct stat about {};
    if (fstat(file_, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    const auto size = static_cast<size_t>(about.st_size);
    if (size < sizeof(FileHeader)) return false;
    if (bytes_ != nullptr && size <= size_) return true;
    void* const mapped = mmap(nullptr, size, PROT_READ, MAP_SHARED, file_, 0);
    if (mapped == MAP_FAILED) return bytes_ != nullptr;
    unmap();
    bytes_ = static_cast<const char*>(mapped);
    size_ = size;
    return true;
}

template <typename T>
bool WatchedFile::load(CellIndex cell, T* record) const {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0);
    const size_t start = size_t{cell} * kCellBytes;
    if (start + sizeof(T) > size_) return false;
    const auto* const from = reinterpret_cast<const Word*>(bytes_ + start);
    auto* const to = reinterpret_cast<Word*>(record);
    for (size_t i = 0; i < sizeof(T) / sizeof(uint64_t); ++i) {
        to[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    }
    return true;
}

FileHeader WatchedFile::header() const {
    FileHeader header{};
    load(0, &header);
    return header;
}

bool WatchedFile::read_all(Merged* merged, int64_t end_unix_ns) {
    if (!map()) return false;
    cells_.clear();
    if (!add_record_file(merged, bytes_, size_, end_unix_ns, &cells_)) {
        cells_.clear();
        return false;
    }
    find_threads();
    return true;
}

void WatchedFile::find_threads() {
    const std::vector<Thread> before = std::move(threads_);
    threads_.clear();
    ThreadRecord record{};
    for (CellIndex cell = header().first_thread; cell != 0 && load(cell, &record);
         cell = record.next) {
        const auto known = std::find_if(before.begin(), before.end(),
                                        [&](const Thread& at) { return at.cell == cell; });
        threads_.push_back(known != before.end() ? *known : Thread{cell, record.start_ticks, 0});
        if (threads_.size() > size_ / kCellBytes) break;  // a circle
    }
}

// Returns the node's time if it is a statement or an interval.
uint64_t WatchedFile::add_node(const Node& node, Totals* totals) const {
    switch (node.site.kind) {
        case SiteKind::kProgram:
        case SiteKind::kCall:
        case SiteKind::kSample:
        case SiteKind::kNone:
            return 0;
        case SiteKind::kProcedure:
        case SiteKind::kLoop:
        case SiteKind::kBlock:
        case SiteKind::kMarker: {
            ProbePart part{};
            if (node.part != 0) load(node.part, &part);
            add_probed_node(node, part, clock_, totals);
            return 0;
        }
        case SiteKind::kOpenMp: {
            OmpPart part{};
            if (node.part != 0) load(node.part, &part);
            add_openmp_node(node, part, clock_, totals);
            return 0;
        }
        case SiteKind::kIo: {
            IoPart part{};
            if (node.count == 0) return 0;  // the opened path was not a file
            add_timed_node(node, clock_, totals);
            if (node.part != 0 && load(node.part, &part)) add_io_of_node(part, totals);
            break;
        }
        case SiteKind::kCommunication: {
            CommPart part{};
            add_timed_node(node, clock_, totals);
            if (node.part == 0 || !load(node.part, &part)) break;
            WaitPart wait{};
            const bool waited = part.wait != 0 && load(part.wait, &wait);
            add_traffic_of_node(node, part, clock_, totals);
            add_waiting_of_node(node, waited ? &wait : nullptr, flags_, clock_, totals);
            break;
        }
        case SiteKind::kInterval:
            add_timed_node(node, clock_, totals);
            break;
    }
    return clock_.ns(node.ticks);
}

// Before the nodes: what was lived is then rather too little than too much beside them.
void WatchedFile::read_threads(const FileHeader& head, Reading* reading) {
    size_t count = 0;
    ThreadRecord record{};
    for (CellIndex cell = head.first_thread; cell != 0 && load(cell, &record); cell = record.next) {
        if (++count > threads_.size() || threads_[count - 1].cell != cell) {
            reading->has_new_paths = true;
            return;
        }
        Thread& thread = threads_[count - 1];
        if (record.start_ticks != thread.start_ticks) {
            reading->was_reset = true;
            thread.start_ticks = record.start_ticks;
            thread.rest_ns = 0;
        }
        thread.number = record.number;
        const uint64_t since = record.last_ticks - std::min(record.last_ticks, head.start_ticks);
        reading->last_unix_ns[record.number] =
            head.start_unix_ns + static_cast<int64_t>(clock_.ns(since));
        if (record.number == head.process_thread) {
            reading->paused_ns = clock_.ns(record.paused_ticks);
        }
        thread.lived_ns = clock_.ns(lived_ticks(record, last_virtual(record)));
    }
}

void WatchedFile::read_nodes(std::vector<Totals>* totals, Reading* reading) {
    in_nodes_ns_.assign(threads_.size(), 0);
    for (size_t i = 0; i < cells_.size(); ++i) {
        if (i + kAhead < cells_.size()) {
            __builtin_prefetch(bytes_ + size_t{cells_[i + kAhead].cell} * kCellBytes);
        }
        const NodeCell& known = cells_[i];
        Node node;
        if (!load(known.cell, &node)) continue;
        const bool goes_on = node.next_sibling != known.next_sibling;
        if (goes_on || node.first_child != known.first_child) {
            const bool samples = node.site.kind == SiteKind::kInterval && !goes_on;
            (samples ? reading->has_new_samples : reading->has_new_paths) = true;
        }
        if (node.count == 0 && node.ticks == 0) continue;
        if (known.node == kNoNode) {
            reading->has_new_paths = true;
            continue;
        }
        const uint64_t time_ns = add_node(node, &(*totals)[known.node]);
        if (known.thread > size_ / kCellBytes) continue;  // damaged: each thread has a cell
        if (known.thread >= in_nodes_ns_.size()) in_nodes_ns_.resize(known.thread + size_t{1}, 0);
        in_nodes_ns_[known.thread] += time_ns;
    }
}

Reading WatchedFile::read(uint32_t rest, Merged* merged, std::vector<Totals>* totals) {
    Reading reading;
    map();
    const FileHeader head = header();
    flags_ = head.flags;
    read_threads(head, &reading);
    read_nodes(totals, &reading);
    GrowArray<OpenEntry> entries;
    add_known_places(merged, bytes_, size_, cells_, &entries);
    for (const OpenEntry& entry : entries) {
        Totals& node = (*totals)[entry.node];
        node.time_ns += entry.time_ns;
        node.omp_wait_ns += entry.omp_wait_ns;
    }
    for (Thread& thread : threads_) {
        const bool has_nodes = thread.number < in_nodes_ns_.size();
        const uint64_t in_nodes_ns = has_nodes ? in_nodes_ns_[thread.number] : 0;
        if (thread.lived_ns > in_nodes_ns) {
            thread.rest_ns = std::max(thread.rest_ns, thread.lived_ns - in_nodes_ns);
        }
        if (rest < totals->size()) (*totals)[rest].time_ns += thread.rest_ns;
    }
    if (head.reset_ticks != reset_ticks_) reading.was_reset = true;
    reset_ticks_ = head.reset_ticks;
    return reading;
}

}  // namespace dwell
