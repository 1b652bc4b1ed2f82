// The event log of a host: one file, to which chunks are appended. A reader takes the chunks up to
// the first that is not whole, so that a log is readable at any time, and after a crash.
//
// Cells of record files (record_layout.h) say what nodes are: those that events refer to come
// before these events. read() makes of them an image of each process's record file.
#ifndef DWELL_SUMMARIZE_EVENTS_EVENT_LOG_H_
#define DWELL_SUMMARIZE_EVENTS_EVENT_LOG_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "runtime/contract/record_layout.h"

namespace dwell {

constexpr uint32_t kEventLogVersion = 1;
constexpr const char* kEventLogSuffix = ".events";

enum class ChunkKind : uint32_t {
    kProcess = 1,  // the header of its record file; later ones replace earlier ones
    kCells = 2,    // cells of its record file: for each run of cells its CellRun, then the cells
    kEvents = 3,   // words of a thread's ring (event_columns.h)
    kEnd = 4,      // the log was closed in order
    kLevels = 5,   // LevelChange records
    kFilter = 16,  // LogFilter; later ones replace earlier ones
};
// What the log has of a place in the program (dwell run --events-rate).
enum class EventLevel : uint32_t { kEvents = 0, kStatistics = 1, kCounts = 2 };
// The node has this level from now on. While it has no events, `count` and `ticks` are those that
// were added since its last record.
struct LevelChange {
    CellIndex node;
    EventLevel level;
    uint64_t real_ticks;
    uint64_t count;
    uint64_t ticks;
};
// What was left out, changed and added before the log was written (dwell run --events-longer,
// --events-filter). In such a log blocks stand for the words of the ring, not for those they have,
// and messages have a further value: their number among those of their communicator and tag with
// this partner.
struct LogFilter {
    uint64_t too_short = 0;  // instances that took no longer
    uint64_t left_out = 0;   // records outside of longer ones
    uint64_t untold = 0;     // instances written before it was known how long they take
    uint64_t dropped = 0;    // records, by the filter
    uint64_t changed = 0;
    uint64_t added = 0;
    uint64_t refused = 0;  // that found no room

    LogFilter& operator+=(const LogFilter& other) {
        too_short += other.too_short;
        left_out += other.left_out;
        untold += other.untold;
        dropped += other.dropped;
        changed += other.changed;
        added += other.added;
        refused += other.refused;
        return *this;
    }
};
enum class CellUse : uint16_t { kNode = 1, kModule = 2, kText = 3, kThread = 4, kComm = 5 };
constexpr int kCellUses = 6;
struct CellRun {
    CellIndex first;
    uint16_t cells;
    CellUse use;
};

struct LogHead {
    char magic[8];
    uint32_t version;
    uint32_t layout;  // kRecordLayoutVersion
    char host[64];
    char job[64];
};

// The job that the file is a log of; empty: it is none.
std::string job_of_log(const std::string& path);

// Appends to a log. Each function returns an error of one line once writing has failed; the file
// then ends with the last whole chunk.
class EventLogWriter {
  public:
    // The log of `host` in `directory`. Beside a log of the same job, which another process has
    // written so far, it gets another name; one of another job is replaced.
    static tl::expected<EventLogWriter, std::string> create(const std::string& directory,
                                                            const std::string& host,
                                                            const std::string& job);
    ~EventLogWriter();
    EventLogWriter(EventLogWriter&& other) noexcept;
    EventLogWriter& operator=(EventLogWriter&& other) = delete;
    EventLogWriter(const EventLogWriter&) = delete;

    bool write_process(uint32_t process, const FileHeader& header);
    bool write_cells(uint32_t process, const std::string& runs);
    bool write_levels(uint32_t process, const std::vector<LevelChange>& changes);
    bool write_filter(uint32_t process, const LogFilter& filter);
    // `words`: as pack_words(). `first_word`: the number of the first one since the thread began.
    bool write_events(uint32_t process, uint32_t thread, uint64_t first_word, const uint64_t* words,
                      size_t count);
    // The same where some were left out or added: they stand for `ring_words` words of the ring.
    bool write_filtered(uint32_t process, uint32_t thread, uint64_t first_word, uint64_t ring_words,
                        const uint64_t* words, size_t count);
    bool close();

    const std::string& path() const { return path_; }
    const std::string& error() const { return error_; }  // empty: none
    uint64_t bytes() const { return bytes_; }
    uint64_t words() const { return words_; }

  private:
    struct Packer;
    EventLogWriter(std::string path, int file);
    bool write_chunk(ChunkKind kind, uint32_t process, uint32_t thread, uint64_t first_word,
                     uint32_t words, const char* raw, size_t raw_bytes);
    bool append(const void* bytes, size_t count);

    std::string path_;
    std::string error_;
    int file_;
    uint64_t bytes_ = 0;
    uint64_t words_ = 0;
    std::unique_ptr<Packer> packer_;
};

struct LogBlock {
    uint64_t offset;  // of the packed columns in the file
    uint32_t packed_bytes;
    uint32_t raw_bytes;
    uint64_t first_word;
    uint32_t words;  // of the ring: of a filtered log not those in the block
};
struct LogThread {
    uint32_t number;
    std::vector<LogBlock> blocks;
};

// Bytes that are 0 until they are written, however many.
class SparseBytes {
  public:
    SparseBytes() = default;
    SparseBytes(SparseBytes&& other) noexcept;
    SparseBytes& operator=(SparseBytes&& other) noexcept;
    SparseBytes(const SparseBytes&) = delete;
    ~SparseBytes();
    bool resize(size_t bytes);  // grows
    char* data() { return data_; }
    const char* data() const { return data_; }
    size_t size() const { return size_; }

  private:
    char* data_ = nullptr;
    size_t size_ = 0;
};

struct LogProcess {
    uint32_t number;
    FileHeader header;
    SparseBytes cells;  // at their place in the record file, each with its links as they were
    std::vector<CellRun> runs;                           // as they were written
    std::array<std::vector<CellIndex>, kCellUses> used;  // by CellUse: the first of each run, once
    std::vector<CommRecord> comms;  // communicators: a freed one's cell becomes another one's
    std::vector<LevelChange> levels;
    LogFilter filter;
    bool is_filtered = false;
    std::vector<LogThread> threads;
};

struct ChunkHead;

class EventLog {
  public:
    // Of the whole file, or an error of one line.
    static tl::expected<EventLog, std::string> read(const std::string& path);
    EventLog(EventLog&& other) noexcept;
    ~EventLog();
    EventLog(const EventLog&) = delete;
    EventLog& operator=(EventLog&&) = delete;

    const std::string& path() const { return path_; }
    const std::string& host() const { return host_; }
    const std::string& job() const { return job_; }
    std::vector<LogProcess>& processes() { return processes_; }
    bool was_closed() const { return was_closed_; }
    uint64_t bytes_cut() const { return bytes_cut_; }  // in no whole chunk
    // The words of a block; false where they are damaged. From one thread at a time.
    bool read_block(const LogBlock& block, std::vector<uint64_t>* words);

  private:
    struct Unpacker;
    EventLog();
    LogProcess& process(uint32_t number);
    bool take(const ChunkHead& chunk, uint64_t packed);

    std::string path_;
    std::string host_;
    std::string job_;
    const char* bytes_ = nullptr;
    size_t size_ = 0;
    uint64_t bytes_cut_ = 0;
    bool was_closed_ = false;
    std::vector<LogProcess> processes_;
    std::unique_ptr<Unpacker> unpacker_;
};

// Makes the cells of a process a record file without figures, for add_record_file(): links what the
// log has anew, and drops links to the rest.
void link_cells(LogProcess* process);

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_EVENTS_EVENT_LOG_H_
