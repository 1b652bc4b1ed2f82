// Writing and reading event logs; see event_log.h.
#include "summarize/events/event_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "summarize/events/event_columns.h"

namespace dwell {
namespace {

constexpr char kMagic[8] = {'D', 'W', 'E', 'V', 'E', 'N', 'T', 'S'};
constexpr uint32_t kChunkMagic = 0x6b6e6863;  // "chnk"
constexpr int kLevel = 1;                     // of zstd
constexpr uint32_t kMostRawBytes = 64u << 20;

}  // namespace

struct ChunkHead {
    uint32_t magic;
    ChunkKind kind;
    uint32_t process;
    uint32_t thread;
    uint64_t first_word;
    uint32_t words;
    uint32_t raw_bytes;
    uint32_t packed_bytes;
    uint32_t checksum;  // CRC-32 of all fields before and the packed bytes
};
static_assert(sizeof(ChunkHead) == 40);

namespace {

uint32_t checksum_of(const ChunkHead& head, const void* packed) {
    const uLong fields =
        crc32(0, reinterpret_cast<const Bytef*>(&head), offsetof(ChunkHead, checksum));
    return static_cast<uint32_t>(
        crc32(fields, static_cast<const Bytef*>(packed), head.packed_bytes));
}

bool is_whole(const char* bytes, uint64_t size, uint64_t at, ChunkHead* chunk) {
    if (size - at < sizeof *chunk) return false;
    memcpy(chunk, bytes + at, sizeof *chunk);
    const uint64_t packed = at + sizeof *chunk;
    return chunk->magic == kChunkMagic && chunk->raw_bytes <= kMostRawBytes &&
           size - packed >= chunk->packed_bytes &&
           checksum_of(*chunk, bytes + packed) == chunk->checksum;
}

// The first whole chunk behind a place; `size`: there is none.
uint64_t next_whole(const char* bytes, uint64_t size, uint64_t at) {
    while (++at < size) {
        const void* const found = memmem(bytes + at, size - at, &kChunkMagic, sizeof kChunkMagic);
        if (found == nullptr) break;
        at = static_cast<uint64_t>(static_cast<const char*>(found) - bytes);
        ChunkHead chunk;
        if (is_whole(bytes, size, at, &chunk)) return at;
    }
    return size;
}

}  // namespace

std::string job_of_log(const std::string& path) {
    struct stat about;
    if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return {};
    LogHead head{};
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return {};
    const ssize_t bytes = ::read(file, &head, sizeof head);
    ::close(file);
    const bool good = bytes == sizeof head && memcmp(head.magic, kMagic, sizeof head.magic) == 0;
    return good ? std::string(head.job, strnlen(head.job, sizeof head.job)) : "";
}

namespace {

// One process at a time makes a log in a directory: another one would take a log without a head for
// that of an earlier job. Without effect where the file system has no locks.
class DirectoryLock {
  public:
    explicit DirectoryLock(const std::string& directory)
        : file_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        while (file_ >= 0 && flock(file_, LOCK_EX) != 0 && errno == EINTR) {
        }
    }
    ~DirectoryLock() {
        if (file_ >= 0) close(file_);
    }
    DirectoryLock(const DirectoryLock&) = delete;
    DirectoryLock& operator=(const DirectoryLock&) = delete;

  private:
    int file_;
};

}  // namespace

struct EventLogWriter::Packer {
    ZSTD_CCtx* context = ZSTD_createCCtx();
    std::string columns;
    std::string packed;
    ~Packer() { ZSTD_freeCCtx(context); }
};

EventLogWriter::EventLogWriter(std::string path, int file)
    : path_(std::move(path)), file_(file), packer_(std::make_unique<Packer>()) {}

EventLogWriter::EventLogWriter(EventLogWriter&& other) noexcept
    : path_(std::move(other.path_)),
      error_(std::move(other.error_)),
      file_(std::exchange(other.file_, -1)),
      bytes_(other.bytes_),
      words_(other.words_),
      packer_(std::move(other.packer_)) {}

EventLogWriter::~EventLogWriter() {
    if (file_ >= 0) ::close(file_);
}

tl::expected<EventLogWriter, std::string> EventLogWriter::create(const std::string& directory,
                                                                 const std::string& host,
                                                                 const std::string& job) {
    const DirectoryLock lock(directory);
    std::string path;
    int file = -1;
    for (int number = 1; file < 0; ++number) {
        path = directory + "/" + host + (number == 1 ? "" : "." + std::to_string(number)) +
               kEventLogSuffix;
        if (job_of_log(path) != job) unlink(path.c_str());
        file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
        if (file < 0 && errno != EEXIST) return tl::make_unexpected(path + ": " + strerror(errno));
    }
    EventLogWriter writer(path, file);
    LogHead head{};
    memcpy(head.magic, kMagic, sizeof head.magic);
    head.version = kEventLogVersion;
    head.layout = kRecordLayoutVersion;
    host.copy(head.host, sizeof(head.host) - 1);
    job.copy(head.job, sizeof(head.job) - 1);
    if (!writer.append(&head, sizeof head)) return tl::make_unexpected(writer.error_);
    return writer;
}

// A chunk that was written in part is cut off again.
bool EventLogWriter::append(const void* bytes, size_t count) {
    if (!error_.empty()) return false;
    const auto* at = static_cast<const char*>(bytes);
    size_t left = count;
    while (left != 0) {
        const ssize_t written = write(file_, at, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            error_ = path_ + ": " + strerror(errno);
            if (ftruncate(file_, static_cast<off_t>(bytes_)) != 0) errno = 0;
            return false;
        }
        at += written;
        left -= static_cast<size_t>(written);
    }
    bytes_ += count;
    return true;
}

bool EventLogWriter::write_chunk(ChunkKind kind, uint32_t process, uint32_t thread,
                                 uint64_t first_word, uint32_t words, const char* raw,
                                 size_t raw_bytes) {
    std::string& packed = packer_->packed;
    packed.resize(sizeof(ChunkHead) + ZSTD_compressBound(raw_bytes));
    const size_t bytes =
        ZSTD_compressCCtx(packer_->context, packed.data() + sizeof(ChunkHead),
                          packed.size() - sizeof(ChunkHead), raw, raw_bytes, kLevel);
    if (ZSTD_isError(bytes) != 0) {
        error_ = path_ + ": " + ZSTD_getErrorName(bytes);
        return false;
    }
    ChunkHead head{kChunkMagic,
                   kind,
                   process,
                   thread,
                   first_word,
                   words,
                   static_cast<uint32_t>(raw_bytes),
                   static_cast<uint32_t>(bytes),
                   0};
    head.checksum = checksum_of(head, packed.data() + sizeof head);
    memcpy(packed.data(), &head, sizeof head);
    return append(packed.data(), sizeof head + bytes);
}

bool EventLogWriter::write_process(uint32_t process, const FileHeader& header) {
    return write_chunk(ChunkKind::kProcess, process, 0, 0, 0,
                       reinterpret_cast<const char*>(&header), sizeof header);
}

bool EventLogWriter::write_cells(uint32_t process, const std::string& runs) {
    return write_chunk(ChunkKind::kCells, process, 0, 0, 0, runs.data(), runs.size());
}

bool EventLogWriter::write_levels(uint32_t process, const std::vector<LevelChange>& changes) {
    return write_chunk(ChunkKind::kLevels, process, 0, 0, 0,
                       reinterpret_cast<const char*>(changes.data()),
                       changes.size() * sizeof(LevelChange));
}

bool EventLogWriter::write_filter(uint32_t process, const LogFilter& filter) {
    return write_chunk(ChunkKind::kFilter, process, 0, 0, 0, reinterpret_cast<const char*>(&filter),
                       sizeof filter);
}

bool EventLogWriter::write_events(uint32_t process, uint32_t thread, uint64_t first_word,
                                  const uint64_t* words, size_t count) {
    return write_filtered(process, thread, first_word, count, words, count);
}

bool EventLogWriter::write_filtered(uint32_t process, uint32_t thread, uint64_t first_word,
                                    uint64_t ring_words, const uint64_t* words, size_t count) {
    if (!error_.empty()) return false;
    for (; ring_words > UINT32_MAX; first_word += UINT32_MAX, ring_words -= UINT32_MAX) {
        pack_words(words, 0, &packer_->columns);
        if (!write_chunk(ChunkKind::kEvents, process, thread, first_word, UINT32_MAX,
                         packer_->columns.data(), packer_->columns.size())) {
            return false;
        }
    }
    pack_words(words, count, &packer_->columns);
    if (!write_chunk(ChunkKind::kEvents, process, thread, first_word,
                     static_cast<uint32_t>(ring_words), packer_->columns.data(),
                     packer_->columns.size())) {
        return false;
    }
    words_ += count;
    return true;
}

bool EventLogWriter::close() {
    const bool good = write_chunk(ChunkKind::kEnd, 0, 0, 0, 0, "", 0);
    if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0 && error_.empty()) {
        error_ = path_ + ": " + strerror(errno);
    }
    return good && error_.empty();
}

SparseBytes::SparseBytes(SparseBytes&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

SparseBytes& SparseBytes::operator=(SparseBytes&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

SparseBytes::~SparseBytes() {
    if (data_ != nullptr) munmap(data_, size_);
}

bool SparseBytes::resize(size_t bytes) {
    if (bytes <= size_) return true;
    size_t wanted = std::max<size_t>(size_ * 2, 1u << 20);
    while (wanted < bytes) wanted *= 2;
    void* const moved = data_ == nullptr ? mmap(nullptr, wanted, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                                         : mremap(data_, size_, wanted, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) return false;
    data_ = static_cast<char*>(moved);
    size_ = wanted;
    return true;
}

struct EventLog::Unpacker {
    ZSTD_DCtx* context = ZSTD_createDCtx();
    std::string raw;
    ~Unpacker() { ZSTD_freeDCtx(context); }
    bool unpack(const char* packed, uint32_t packed_bytes, uint32_t raw_bytes) {
        if (raw_bytes > kMostRawBytes) return false;
        raw.resize(raw_bytes);
        return ZSTD_decompressDCtx(context, raw.data(), raw_bytes, packed, packed_bytes) ==
               raw_bytes;
    }
};

EventLog::EventLog() : unpacker_(std::make_unique<Unpacker>()) {}

EventLog::EventLog(EventLog&& other) noexcept
    : path_(std::move(other.path_)),
      host_(std::move(other.host_)),
      job_(std::move(other.job_)),
      bytes_(std::exchange(other.bytes_, nullptr)),
      size_(other.size_),
      bytes_cut_(other.bytes_cut_),
      was_closed_(other.was_closed_),
      processes_(std::move(other.processes_)),
      unpacker_(std::move(other.unpacker_)) {}

EventLog::~EventLog() {
    if (bytes_ != nullptr) munmap(const_cast<char*>(bytes_), size_);
}

LogProcess& EventLog::process(uint32_t number) {
    for (LogProcess& process : processes_) {
        if (process.number == number) return process;
    }
    processes_.emplace_back();
    processes_.back().number = number;
    return processes_.back();
}

namespace {

LogThread& thread_of(LogProcess* process, uint32_t number) {
    for (LogThread& thread : process->threads) {
        if (thread.number == number) return thread;
    }
    return process->threads.emplace_back(LogThread{number, {}});
}

// Copies runs of cells to their place.
bool place_cells(const std::string& runs, LogProcess* process) {
    for (size_t at = 0; at != runs.size();) {
        CellRun run;
        if (runs.size() - at < sizeof run) return false;
        memcpy(&run, runs.data() + at, sizeof run);
        at += sizeof run;
        const size_t bytes = size_t{run.cells} * kCellBytes;
        const auto use = static_cast<size_t>(run.use);
        if (runs.size() - at < bytes || run.first < kHeaderCells || run.cells == 0 || use == 0 ||
            use >= kCellUses) {
            return false;
        }
        if (run.use == CellUse::kComm && run.cells == 1) {
            CommRecord comm;
            memcpy(&comm, runs.data() + at, sizeof comm);
            process->comms.push_back(comm);
            at += bytes;
            continue;
        }
        const size_t begin = size_t{run.first} * kCellBytes;
        if (!process->cells.resize(begin + bytes)) return false;
        memcpy(process->cells.data() + begin, runs.data() + at, bytes);
        process->runs.push_back(run);
        std::vector<CellIndex>& used = process->used[use];
        // Only cells of threads come again.
        if (run.use != CellUse::kThread ||
            std::find(used.begin(), used.end(), run.first) == used.end())
            used.push_back(run.first);
        at += bytes;
    }
    return true;
}

}  // namespace

// False: its contents are not what they should be.
bool EventLog::take(const ChunkHead& chunk, uint64_t packed) {
    if (chunk.kind == ChunkKind::kEvents) {
        thread_of(&process(chunk.process), chunk.thread)
            .blocks.push_back(
                {packed, chunk.packed_bytes, chunk.raw_bytes, chunk.first_word, chunk.words});
    }
    if (chunk.kind != ChunkKind::kProcess && chunk.kind != ChunkKind::kCells &&
        chunk.kind != ChunkKind::kLevels && chunk.kind != ChunkKind::kFilter) {
        return true;
    }
    if (!unpacker_->unpack(bytes_ + packed, chunk.packed_bytes, chunk.raw_bytes)) return false;
    const std::string& raw = unpacker_->raw;
    LogProcess& of = process(chunk.process);
    if (chunk.kind == ChunkKind::kCells) return place_cells(raw, &of);
    if (chunk.kind == ChunkKind::kLevels) {
        for (size_t at = 0; raw.size() - at >= sizeof(LevelChange); at += sizeof(LevelChange))
            memcpy(&of.levels.emplace_back(), raw.data() + at, sizeof(LevelChange));
        return true;
    }
    if (chunk.kind == ChunkKind::kFilter) {
        memcpy(&of.filter, raw.data(), std::min(raw.size(), sizeof of.filter));
        of.is_filtered = true;
        return true;
    }
    if (raw.size() != sizeof of.header) return false;
    memcpy(&of.header, raw.data(), raw.size());
    return true;
}

tl::expected<EventLog, std::string> EventLog::read(const std::string& path) {
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (file < 0 || fstat(file, &about) != 0) {
        if (file >= 0) ::close(file);
        return tl::make_unexpected(path + ": " + strerror(errno));
    }
    EventLog log;
    log.path_ = path;
    log.size_ = static_cast<size_t>(about.st_size);
    LogHead head{};
    void* mapped = MAP_FAILED;
    if (log.size_ >= sizeof head)
        mapped = mmap(nullptr, log.size_, PROT_READ, MAP_PRIVATE, file, 0);
    ::close(file);
    if (mapped == MAP_FAILED) return tl::make_unexpected(path + ": this is no event log");
    log.bytes_ = static_cast<const char*>(mapped);
    memcpy(&head, log.bytes_, sizeof head);
    if (memcmp(head.magic, kMagic, sizeof head.magic) != 0)
        return tl::make_unexpected(path + ": this is no event log");
    if (head.version != kEventLogVersion || head.layout != kRecordLayoutVersion) {
        return tl::make_unexpected(
            path + ": this is an event log of another version of dwell (" +
            std::to_string(head.version) + "." + std::to_string(head.layout) + ", here " +
            std::to_string(kEventLogVersion) + "." + std::to_string(kRecordLayoutVersion) + ")");
    }
    log.host_.assign(head.host, strnlen(head.host, sizeof head.host));
    log.job_.assign(head.job, strnlen(head.job, sizeof head.job));
    for (uint64_t at = sizeof head; at != log.size_;) {
        ChunkHead chunk;
        uint64_t next = 0;
        if (is_whole(log.bytes_, log.size_, at, &chunk) && log.take(chunk, at + sizeof chunk)) {
            log.was_closed_ = chunk.kind == ChunkKind::kEnd;
            next = at + sizeof chunk + chunk.packed_bytes;
        } else {
            next = next_whole(log.bytes_, log.size_, at);
            log.bytes_cut_ += next - at;
            log.was_closed_ = false;
        }
        at = next;
    }
    return log;
}

bool EventLog::read_block(const LogBlock& block, std::vector<uint64_t>* words) {
    return unpacker_->unpack(bytes_ + block.offset, block.packed_bytes, block.raw_bytes) &&
           unpack_words(unpacker_->raw.data(), unpacker_->raw.size(), words);
}

}  // namespace dwell
