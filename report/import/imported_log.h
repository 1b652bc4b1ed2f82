// An event log that is made from a trace: the cells and words that processes write themselves while
// they run. It comes into being as a whole, or not at all.
#ifndef DWELL_REPORT_IMPORT_IMPORTED_LOG_H_
#define DWELL_REPORT_IMPORT_IMPORTED_LOG_H_

#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <tuple>
#include <utility>
#include <vector>

#include "report/console/output.h"
#include "summarize/events/event_log.h"

namespace dwell {

struct ImportedProcess {
    uint32_t rank = 0;
    int32_t pid = 0;
    std::string host{};
    std::string program{};
};
// A place in the program, as a log without the program can describe it: statements by number,
// others by name.
struct ImportedPlace {
    SiteKind kind = SiteKind::kBlock;  // kCommunication, kIo, kBlock or kMarker
    uint16_t call = 0;
    std::string name{};
    std::string file{};  // empty: not known
    int line = 0;
};

// Times are nanoseconds since the beginning of the trace. Those of one thread must not go back.
// Errors are told by close().
class ImportedLog {
  public:
    static tl::expected<ImportedLog, std::string> create(const std::string& path);
    // Whether a log with this name of a job was imported.
    static bool is_job(const std::string& name);
    ~ImportedLog();
    ImportedLog(ImportedLog&& other) noexcept;
    ImportedLog& operator=(ImportedLog&& other) = delete;
    ImportedLog(const ImportedLog&) = delete;

    void set_world_size(uint32_t ranks) { world_size_ = ranks; }
    void set_start(int64_t unix_ns) { start_unix_ns_ = unix_ns; }
    // Each of these returns an index.
    uint32_t add_process(const ImportedProcess& process);
    uint32_t add_thread(uint32_t process, uint32_t number, int32_t tid, const std::string& name);
    uint32_t add_place(const ImportedPlace& place);
    // A communicator of which the process is a member.
    void add_comm(uint32_t process, uint32_t id, int32_t rank, int32_t size);

    void enter(uint32_t thread, uint32_t place, uint64_t ns);
    void leave(uint32_t thread, uint64_t ns);  // the innermost place, which there must be
    void mark(uint32_t thread, uint32_t place, uint64_t ns, std::optional<uint64_t> volume);
    void put(uint32_t thread, EventKind kind, uint32_t what, uint64_t ns,
             std::initializer_list<uint64_t> values);
    void control(uint32_t thread, EventControl control, uint64_t ns,
                 std::initializer_list<uint64_t> values = {}) {
        put(thread, EventKind::kControl, static_cast<uint32_t>(control), ns, values);
    }
    size_t depth(uint32_t thread) const { return threads_[thread].open.size(); }

    Outcome close();

    // The number that everybody's communicator has in records.
    static uint32_t world_comm();

  private:
    struct Process {
        FileHeader header{};
        CellIndex next = kHeaderCells;
        std::string runs{};                     // to be written
        std::map<uint32_t, CellIndex> texts{};  // by place
        uint64_t first = UINT64_MAX;
        uint64_t last = 0;
    };
    struct Thread {
        uint32_t process = 0;
        CellIndex cell = 0;
        ThreadRecord record{};
        std::vector<CellIndex> open{};                                // nodes
        std::map<std::pair<CellIndex, uint32_t>, CellIndex> nodes{};  // by parent and place
        std::vector<uint64_t> words{};                                // to be written
        uint64_t written = 0;
        uint64_t base = 0;
        bool has_base = false;
    };

    ImportedLog(std::string path, EventLogWriter writer);
    void fail(const std::string& error);
    CellIndex take(Process* process, uint32_t cells);
    static void add_run(Process* process, CellUse use, CellIndex cell, const void* bytes,
                        size_t bytes_known, uint32_t cells);
    CellIndex text_of(Process* process, uint32_t place);
    CellIndex make_node(Process* process, CellIndex parent, uint32_t place);
    CellIndex node_of(Thread* thread, uint32_t place);
    void flush(uint32_t number);

    std::string path_;
    std::string error_{};
    EventLogWriter writer_;
    uint32_t world_size_ = 1;
    int64_t start_unix_ns_ = 0;
    std::vector<Process> processes_{};
    std::vector<Thread> threads_{};
    std::vector<ImportedPlace> places_{};
    std::map<std::tuple<SiteKind, uint16_t, std::string, std::string, int>, uint32_t>
        known_places_{};
    bool has_events_ = false;
    bool is_pending_ = true;  // the file has not its name yet
};

}  // namespace dwell

#endif  // DWELL_REPORT_IMPORT_IMPORTED_LOG_H_
