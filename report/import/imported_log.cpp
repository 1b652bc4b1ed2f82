// Cells and words of an imported log; see imported_log.h.
#include "report/import/imported_log.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace dwell {
namespace {

namespace fs = std::filesystem;

const std::string kImportedJob = "import-";
constexpr uint64_t kTicksPerSecond = 1'000'000'000;
constexpr uint64_t kFirstTick = kTicksPerSecond;  // 0 stands for "not known" in some fields
constexpr size_t kWordsAtOnce = 4096;
constexpr uint32_t kStatementCells = 2 + kHistogramCells;  // the node and its parts
constexpr uint32_t kIoCells = 2;

template <size_t kSize>
void set_text(char (&field)[kSize], const std::string& text) {
    const size_t bytes = std::min(text.size(), kSize - 1);
    memcpy(field, text.data(), bytes);
    field[bytes] = 0;
}

// As programs write it: of statements the function, the file, their line and the function's
// (CallPaths::python_at()), of others the name, the file and the line. Never empty.
std::string text_of_place(const ImportedPlace& place) {
    const bool is_statement = place.kind == SiteKind::kCommunication || place.kind == SiteKind::kIo;
    std::string text = place.name;
    if (!place.file.empty()) {
        text += "\n" + place.file + ":" + std::to_string(place.line) + (is_statement ? ":0" : "");
    } else if (text.empty()) {
        text = is_statement ? "\n" : "?";
    }
    return text;
}

}  // namespace

ImportedLog::ImportedLog(std::string path, EventLogWriter writer)
    : path_(std::move(path)), writer_(std::move(writer)) {}

ImportedLog::ImportedLog(ImportedLog&& other) noexcept
    : path_(std::move(other.path_)),
      error_(std::move(other.error_)),
      writer_(std::move(other.writer_)),
      world_size_(other.world_size_),
      start_unix_ns_(other.start_unix_ns_),
      processes_(std::move(other.processes_)),
      threads_(std::move(other.threads_)),
      places_(std::move(other.places_)),
      known_places_(std::move(other.known_places_)),
      is_pending_(std::exchange(other.is_pending_, false)) {}

ImportedLog::~ImportedLog() {
    if (is_pending_) unlink(writer_.path().c_str());
}

// Beside its place, and with a job of its own: a log of that name is replaced, not continued.
tl::expected<ImportedLog, std::string> ImportedLog::create(const std::string& path) {
    std::error_code none;
    if (fs::exists(path, none) && !fs::is_regular_file(path, none))
        return tl::make_unexpected(path +
                                   ": this is no file");  // a device, which would be replaced
    const fs::path place(path);
    const std::string directory = place.has_parent_path() ? place.parent_path().string() : ".";
    const std::string own = std::to_string(getpid()) + "-" + std::to_string(time(nullptr));
    auto writer = EventLogWriter::create(
        directory, "." + place.filename().string().substr(0, 100) + "-" + own, kImportedJob + own);
    if (!writer) return tl::make_unexpected(path + ": " + strerror(errno));
    return ImportedLog(path, std::move(*writer));
}

bool ImportedLog::is_job(const std::string& name) { return name.starts_with(kImportedJob); }

void ImportedLog::fail(const std::string& error) {
    if (error_.empty()) error_ = path_ + ": " + error;
}

CellIndex ImportedLog::take(Process* process, uint32_t cells) {
    if (process->next >= kEventWhatMask - cells) {
        fail("a process has too many different call paths for a log");
        return kHeaderCells;
    }
    return std::exchange(process->next, process->next + cells);
}

void ImportedLog::add_run(Process* process, CellUse use, CellIndex cell, const void* bytes,
                          size_t bytes_known, uint32_t cells) {
    const CellRun run{cell, static_cast<uint16_t>(cells), use};
    process->runs.append(reinterpret_cast<const char*>(&run), sizeof run);
    process->runs.append(static_cast<const char*>(bytes), bytes_known);
    process->runs.append(size_t{cells} * kCellBytes - bytes_known, '\0');
}

uint32_t ImportedLog::add_process(const ImportedProcess& of) {
    Process process;
    FileHeader& header = process.header;
    header.magic = kRecordMagic;
    header.version = kRecordLayoutVersion;
    header.header_cells = kHeaderCells;
    header.state = FileState::kFinalized;
    header.pid = of.pid;
    header.rank = static_cast<int32_t>(of.rank);
    header.ticks_per_second = kTicksPerSecond;
    set_text(header.host, of.host);
    set_text(header.program, of.program);
    processes_.push_back(std::move(process));
    return static_cast<uint32_t>(processes_.size() - 1);
}

uint32_t ImportedLog::add_thread(uint32_t process, uint32_t number, int32_t tid,
                                 const std::string& name) {
    Process& of = processes_[process];
    Thread thread;
    thread.process = process;
    thread.cell = take(&of, kThreadCells);
    thread.record.number = number;
    thread.record.tid = tid;
    thread.record.state = ThreadState::kEnded;
    thread.record.threads_served = 1;
    set_text(thread.record.name, name);
    Node root{};
    root.site.kind = SiteKind::kProgram;
    root.count = 1;
    thread.record.root = take(&of, 1);
    add_run(&of, CellUse::kNode, thread.record.root, &root, sizeof root, 1);
    add_run(&of, CellUse::kThread, thread.cell, &thread.record, sizeof thread.record, kThreadCells);
    threads_.push_back(std::move(thread));
    return static_cast<uint32_t>(threads_.size() - 1);
}

uint32_t ImportedLog::add_place(const ImportedPlace& place) {
    const auto [known, is_new] = known_places_.emplace(
        std::tuple(place.kind, place.call, place.name, place.file, place.line),
        static_cast<uint32_t>(places_.size()));
    if (is_new) places_.push_back(place);
    return known->second;
}

uint32_t ImportedLog::world_comm() { return short_comm_id(kWorldId) & kEventCommMask; }

void ImportedLog::add_comm(uint32_t process, uint32_t id, int32_t rank, int32_t size) {
    CommRecord comm{};
    comm.handle = 1;
    comm.id = id == world_comm() ? kWorldId : id;
    comm.rank = rank;
    comm.size = size;
    add_run(&processes_[process], CellUse::kComm, kHeaderCells, &comm, sizeof comm, 1);
}

CellIndex ImportedLog::text_of(Process* process, uint32_t place) {
    CellIndex& known = process->texts[place];
    if (known != 0) return known;
    const std::string name = text_of_place(places_[place]);
    std::string bytes(sizeof(TextRecord) - sizeof(TextRecord::text), '\0');
    const size_t length = std::min(name.size(), size_t{4000});
    const auto count = static_cast<uint32_t>(length);
    memcpy(bytes.data() + offsetof(TextRecord, bytes), &count, sizeof count);
    bytes.append(name, 0, length);
    const auto cells = static_cast<uint32_t>(bytes.size() / kCellBytes + 1);
    known = take(process, cells);
    add_run(process, CellUse::kText, known, bytes.data(), bytes.size(), cells);
    return known;
}

CellIndex ImportedLog::make_node(Process* process, CellIndex parent, uint32_t place) {
    const ImportedPlace& of = places_[place];
    Node node{};
    node.site.kind = of.kind;
    node.site.call = of.call;
    node.parent = parent;
    node.count = 1;
    uint32_t cells = 1;
    if (of.kind == SiteKind::kCommunication) cells = kStatementCells;
    if (of.kind == SiteKind::kIo) cells = kIoCells;
    node.site.flags = kNodeNamed;
    node.site.offset = text_of(process, place);
    const CellIndex cell = take(process, cells);
    add_run(process, CellUse::kNode, cell, &node, sizeof node, cells);
    return cell;
}

CellIndex ImportedLog::node_of(Thread* thread, uint32_t place) {
    const CellIndex parent = thread->open.empty() ? thread->record.root : thread->open.back();
    CellIndex& known = thread->nodes[{parent, place}];
    if (known == 0) known = make_node(&processes_[thread->process], parent, place);
    return known;
}

void ImportedLog::put(uint32_t number, EventKind kind, uint32_t what, uint64_t ns,
                      std::initializer_list<uint64_t> values) {
    Thread& thread = threads_[number];
    const uint64_t ticks = kFirstTick + ns;
    std::vector<uint64_t>& words = thread.words;
    if (!thread.has_base || ((ticks - thread.base) >> kEventTimeBits) != 0) {
        words.push_back(
            event_what(EventKind::kControl, static_cast<uint32_t>(EventControl::kBase)));
        words.push_back(event_more(ticks));
        thread.base = ticks;
        thread.has_base = true;
    }
    words.push_back((ticks - thread.base) << kEventTimeShift | event_what(kind, what));
    for (const uint64_t value : values) words.push_back(event_more(value));
    Process& process = processes_[thread.process];
    if (thread.record.start_ticks == 0) thread.record.start_ticks = ticks;
    thread.record.last_ticks = ticks;
    process.first = std::min(process.first, ticks);
    process.last = std::max(process.last, ticks);
    if (words.size() >= kWordsAtOnce) flush(number);
}

void ImportedLog::enter(uint32_t thread, uint32_t place, uint64_t ns) {
    has_events_ = true;
    const CellIndex node = node_of(&threads_[thread], place);
    threads_[thread].open.push_back(node);
    put(thread, EventKind::kEnter, node, ns, {});
}

void ImportedLog::leave(uint32_t thread, uint64_t ns) {
    const CellIndex node = threads_[thread].open.back();
    threads_[thread].open.pop_back();
    put(thread, EventKind::kLeave, node, ns, {});
}

void ImportedLog::mark(uint32_t thread, uint32_t place, uint64_t ns,
                       std::optional<uint64_t> volume) {
    has_events_ = true;
    const CellIndex node = node_of(&threads_[thread], place);
    if (volume) {
        put(thread, EventKind::kMark, node, ns, {*volume});
    } else {
        put(thread, EventKind::kMark, node, ns, {});
    }
}

// Cells come before the events that refer to them.
void ImportedLog::flush(uint32_t number) {
    Thread& thread = threads_[number];
    Process& process = processes_[thread.process];
    if (!process.runs.empty()) {
        writer_.write_cells(thread.process, process.runs);
        process.runs.clear();
    }
    if (thread.words.empty()) return;
    writer_.write_events(thread.process, thread.record.number, thread.written, thread.words.data(),
                         thread.words.size());
    thread.written += thread.words.size();
    thread.words.clear();
}

Outcome ImportedLog::close() {
    for (uint32_t i = 0; i < threads_.size(); ++i) {
        Thread& thread = threads_[i];
        // Of a program of MPI time would end with its last statement.
        thread.record.span_ticks = thread.record.last_ticks - thread.record.start_ticks;
        add_run(&processes_[thread.process], CellUse::kThread, thread.cell, &thread.record,
                sizeof thread.record, kThreadCells);
        flush(i);
    }
    const bool has_several_hosts =
        std::any_of(processes_.begin(), processes_.end(), [this](const Process& process) {
            return strcmp(process.header.host, processes_.front().header.host) != 0;
        });
    for (uint32_t i = 0; i < processes_.size(); ++i) {
        Process& process = processes_[i];
        FileHeader& header = process.header;
        header.world_size = static_cast<int32_t>(world_size_);
        // Times stay those of the trace, figures begin with the first event.
        header.start_ticks = kFirstTick;
        header.init_ticks = header.reset_ticks = std::min(process.first, kFirstTick + process.last);
        header.end_ticks = std::max(process.last, header.reset_ticks);
        header.start_unix_ns = start_unix_ns_;
        if (has_several_hosts) header.clock_bound_ticks = 1;  // but times of one clock
        header.cells_reserved = header.cells_used = process.next;
        writer_.write_process(i, header);
    }
    writer_.close();
    if (error_.empty() && !writer_.error().empty()) {
        const size_t reason = writer_.error().rfind(": ");
        fail(writer_.error().substr(reason + 2));
    }
    if (!has_events_ && error_.empty())
        error_ = "the trace has no events: there is no log to write";
    if (!error_.empty()) return tl::make_unexpected(error_);
    if (rename(writer_.path().c_str(), path_.c_str()) != 0)
        return tl::make_unexpected(path_ + ": " + strerror(errno));
    is_pending_ = false;
    return {};
}

}  // namespace dwell
