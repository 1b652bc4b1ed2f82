// An OTF2 archive, by OTF2's own library: the events of each thread first, then the definitions of
// what they name.
#include <fcntl.h>
#include <fmt/format.h>
#include <otf2/otf2.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "report/export/exporters.h"
#include "report/export/otf2_metrics.h"
#include "report/export/otf2_roles.h"
#include "report/export/trace_world.h"
#include "runtime/contract/omp_constructs.h"

namespace dwell {
namespace {

constexpr uint32_t kNoRef = UINT32_MAX;
constexpr uint64_t kSpareBytes = 1 << 16;
constexpr uint64_t kBlockBytes = 4096;     // a small file takes so much
constexpr uint64_t kMostEventBytes = 128;  // eight metrics take about 100

OTF2_FlushType flush_always(void*, OTF2_FileType, OTF2_LocationRef, void*, bool) {
    return OTF2_FLUSH;
}
// Without these, OTF2 takes memory for all events of a thread before it writes any.
constexpr size_t kChunks = 2;
using Chunks = std::vector<std::unique_ptr<char[]>>;
void* take_chunk(void*, OTF2_FileType, OTF2_LocationRef, void** of_buffer, uint64_t bytes) {
    auto* chunks = static_cast<Chunks*>(*of_buffer);
    if (chunks == nullptr) *of_buffer = chunks = new Chunks;
    if (chunks->size() == kChunks) return nullptr;
    return chunks->emplace_back(new char[bytes]).get();
}
void drop_chunks(void*, OTF2_FileType, OTF2_LocationRef, void** of_buffer, bool is_last) {
    auto* const chunks = static_cast<Chunks*>(*of_buffer);
    if (chunks == nullptr) return;
    chunks->clear();
    if (!is_last) return;
    delete chunks;
    *of_buffer = nullptr;
}
// The caller says what went wrong.
OTF2_ErrorCode say_nothing(void*, const char*, uint64_t, const char*, OTF2_ErrorCode code,
                           const char*, va_list) {
    return code;
}

// OTF2 keeps a file open for each thread.
void allow_files(size_t count) {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > count + 64) return;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, count + 64);
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Readers want definitions in the order of their numbers.
template <typename Key>
std::vector<const std::pair<const Key, uint32_t>*> in_order(
    const std::map<Key, uint32_t>& numbers) {
    std::vector<const std::pair<const Key, uint32_t>*> sorted(numbers.size());
    for (const auto& known : numbers) sorted[known.second] = &known;
    return sorted;
}

class Otf2Writer {
  public:
    Otf2Writer(Timeline* timeline, ExportJob* job)
        : timeline_(*timeline),
          job_(*job),
          world_(*timeline),
          threads_(timeline->threads().size()),
          metrics_(*timeline) {
        for (const TimelineComm& comm : timeline->comms()) described_[comm.id] = &comm;
    }
    Outcome write();

  private:
    struct Place {
        uint32_t region = kNoRef;
        uint32_t parameter = kNoRef;  // of a mark
        const Otf2Operation* operation = nullptr;
        bool is_fork = false;
    };
    // A collective's beginning waits for the communicator, which its end names.
    struct Thread {
        OTF2_EvtWriter* writer = nullptr;
        std::vector<uint32_t> open{};  // places
        bool is_pending = false;
        uint64_t pending_ns = 0;
    };
    // Of a communicator whose members are not known, ranks are those of MPI_COMM_WORLD.
    struct Comm {
        uint32_t ref = 0;
        const TimelineComm* described = nullptr;
        bool is_self = false;
        bool is_world = false;
        std::unordered_map<uint32_t, uint32_t> ranks{};  // by rank in MPI_COMM_WORLD
        bool has_members() const { return is_self || is_world || !ranks.empty(); }
    };

    // After an error nothing of OTF2 is called, which frees twice where it cannot close a file.
    void ok(OTF2_ErrorCode code) {
        if (code != OTF2_SUCCESS && error_.empty())
            error_ = job_.path + ": OTF2 says: " + OTF2_Error_GetDescription(code);
    }
    bool has_room(uint64_t bytes);
    void open();
    void write_events();
    void add(const TimelineEvent& event);
    void begin(const TimelineEvent& event, Thread* thread);
    void flush(Thread* thread);
    void end(const TimelineEvent& event, Thread* thread);
    void mark(const TimelineEvent& event, Thread* thread);
    void add_other(const TimelineEvent& event, Thread* thread);
    void lock(const TimelineEvent& event, Thread* thread);
    void message(const TimelineEvent& event, Thread* thread);
    void collective(const TimelineEvent& event, Thread* thread);
    Place& place(uint32_t number);
    Comm& comm(uint32_t id);
    static uint32_t rank_in(const Comm& comm, uint32_t rank);

    uint32_t string(const std::string& text);
    void define();
    void define_locations();
    void define_comms();
    void say_what_is_left_out();

    Timeline& timeline_;
    ExportJob& job_;
    TraceWorld world_;
    OTF2_Archive* archive_ = nullptr;
    OTF2_GlobalDefWriter* definitions_ = nullptr;
    std::string error_;
    std::vector<Thread> threads_;
    Otf2Metrics metrics_;
    std::vector<uint64_t> events_;  // by location
    std::vector<Place> places_;
    struct RegionRow {
        std::string name, file;
        uint32_t line;
        OTF2_RegionRole role;
        OTF2_Paradigm paradigm;
        auto operator<=>(const RegionRow&) const = default;
    };
    std::map<RegionRow, uint32_t> regions_;
    std::map<std::string, uint32_t> parameters_;
    std::map<std::string, uint32_t> strings_;
    std::unordered_map<uint32_t, const TimelineComm*> described_;
    std::map<uint32_t, Comm> comms_;
    uint64_t last_ns_ = 0;
    uint64_t unknown_partners_ = 0;
    uint64_t plain_collectives_ = 0;
    uint64_t lone_locks_ = 0;
    LockNumbers locks_;
    UnsaidRecords unsaid_;
};

Outcome Otf2Writer::write() {
    std::error_code error;
    if (std::filesystem::exists(job_.path, error) && !std::filesystem::is_empty(job_.path, error)) {
        return tl::make_unexpected(
            job_.path + " is there already: remove it, or name another directory with -o");
    }
    OTF2_Error_RegisterCallback(say_nothing, nullptr);
    open();
    if (error_.empty()) write_events();
    if (error_.empty()) define();
    if (has_room(0)) ok(OTF2_Archive_Close(archive_));
    if (error_.empty()) {
        say_what_is_left_out();
        return {};
    }
    for (const auto& entry : std::filesystem::directory_iterator(job_.path, error))
        std::filesystem::remove_all(entry.path(), error);
    std::filesystem::remove(job_.path, error);
    return tl::make_unexpected(error_);
}

// OTF2 aborts where it cannot write the rest of a file that it closes: that rest has room before.
bool Otf2Writer::has_room(uint64_t bytes) {
    if (!error_.empty()) return false;
    int failure = fflush(nullptr) == 0 ? 0 : errno;
    const std::string path = job_.path + "/room";
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && failure == 0) failure = errno;
    if (failure == 0) failure = posix_fallocate(file, 0, static_cast<off_t>(bytes + kSpareBytes));
    if (file >= 0) {
        ::close(file);
        unlink(path.c_str());
    }
    if (failure != 0) error_ = job_.path + ": " + strerror(failure);
    return failure == 0;
}

void Otf2Writer::open() {
    allow_files(world_.locations());
    archive_ =
        OTF2_Archive_Open(job_.path.c_str(), "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
                          OTF2_CHUNK_SIZE_MIN, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive_ == nullptr) {
        error_ = job_.path + ": OTF2 cannot make an archive there";
        return;
    }
    static const OTF2_FlushCallbacks kFlush = {flush_always, nullptr};
    ok(OTF2_Archive_SetFlushCallbacks(archive_, &kFlush, nullptr));
    static const OTF2_MemoryCallbacks kMemory = {take_chunk, drop_chunks};
    ok(OTF2_Archive_SetMemoryCallbacks(archive_, &kMemory, nullptr));
    ok(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    ok(OTF2_Archive_SetCreator(archive_, "dwell"));
    ok(OTF2_Archive_OpenEvtFiles(archive_));
}

void Otf2Writer::write_events() {
    std::vector<OTF2_EvtWriter*> writers(world_.locations());
    for (uint32_t i = 0; i < writers.size(); ++i) {
        writers[i] = OTF2_Archive_GetEvtWriter(archive_, i);
        if (writers[i] == nullptr) {
            error_ = job_.path + ": OTF2 cannot write the events of all threads";
            return;
        }
    }
    for (uint32_t i = 0; i < threads_.size(); ++i)
        threads_[i].writer = writers[world_.location_of(i)];
    TimelineEvent event;
    while (error_.empty() && timeline_.next(&event)) add(event);
    events_.resize(writers.size());
    uint64_t unwritten = 0;
    for (uint32_t i = 0; i < writers.size(); ++i) {
        ok(OTF2_EvtWriter_GetNumberOfEvents(writers[i], &events_[i]));
        unwritten += kBlockBytes + std::min<uint64_t>(kChunks * OTF2_CHUNK_SIZE_MIN,
                                                      events_[i] * kMostEventBytes);
    }
    if (!has_room(unwritten)) return;
    for (OTF2_EvtWriter* const writer : writers) {
        if (error_.empty()) ok(OTF2_Archive_CloseEvtWriter(archive_, writer));
    }
    if (error_.empty()) ok(OTF2_Archive_CloseEvtFiles(archive_));
}

void Otf2Writer::add(const TimelineEvent& event) {
    Thread& thread = threads_[event.thread];
    last_ns_ = std::max(last_ns_, event.ns);
    switch (event.kind) {
        case TimelineKind::kBegin:
            begin(event, &thread);
            break;
        case TimelineKind::kEnd:
            end(event, &thread);
            break;
        case TimelineKind::kMark:
            mark(event, &thread);
            break;
        case TimelineKind::kOther:
            add_other(event, &thread);
    }
}

void Otf2Writer::begin(const TimelineEvent& event, Thread* thread) {
    flush(thread);
    const Place& of = place(event.place);
    thread->open.push_back(event.place);
    if (of.operation != nullptr) {
        thread->is_pending = true;
        thread->pending_ns = event.ns;
        return;
    }
    // Only the main thread's regions are known to be forked by it; how many threads it asked for is
    // not in the log.
    if (of.is_fork && world_.is_main(event.thread)) {
        ok(OTF2_EvtWriter_ThreadFork(thread->writer, nullptr, event.ns, OTF2_PARADIGM_OPENMP,
                                     OTF2_UNDEFINED_UINT32));
    }
    ok(OTF2_EvtWriter_Enter(thread->writer, nullptr, event.ns, of.region));
}

void Otf2Writer::flush(Thread* thread) {
    if (!thread->is_pending) return;
    thread->is_pending = false;
    ok(OTF2_EvtWriter_Enter(thread->writer, nullptr, thread->pending_ns,
                            place(thread->open.back()).region));
}

void Otf2Writer::end(const TimelineEvent& event, Thread* thread) {
    flush(thread);
    const Place& of = place(event.place);
    thread->open.pop_back();
    ok(OTF2_EvtWriter_Leave(thread->writer, nullptr, event.ns, of.region));
    if (of.is_fork && world_.is_main(event.thread))
        ok(OTF2_EvtWriter_ThreadJoin(thread->writer, nullptr, event.ns, OTF2_PARADIGM_OPENMP));
}

void Otf2Writer::mark(const TimelineEvent& event, Thread* thread) {
    flush(thread);
    Place& of = place(event.place);
    if (of.parameter == kNoRef) {
        const auto number = static_cast<uint32_t>(parameters_.size());
        of.parameter = parameters_.emplace(timeline_.place(event.place).name, number).first->second;
    }
    const uint64_t volume = event.event.more != 0 ? event.event.values[0] : 0;
    ok(OTF2_EvtWriter_ParameterUnsignedInt(thread->writer, nullptr, event.ns, of.parameter,
                                           volume));
}

void Otf2Writer::add_other(const TimelineEvent& event, Thread* thread) {
    const Event& record = event.event;
    switch (record.kind) {
        case EventKind::kSend:
        case EventKind::kReceive:
            flush(thread);
            message(event, thread);
            break;
        case EventKind::kCollective:
            collective(event, thread);
            break;
        case EventKind::kControl:
            if (is_control(record, EventControl::kFlushed)) {
                flush(thread);  // its time is dwell's own and is taken out
                ok(OTF2_EvtWriter_BufferFlush(thread->writer, nullptr, event.ns, event.ns));
            } else {
                lock(event, thread);
            }
            break;
        case EventKind::kMetric:
            flush(thread);
            ok(metrics_.write(event, thread->writer));
            break;
        default:
            unsaid_.count(record);
    }
}

void Otf2Writer::lock(const TimelineEvent& event, Thread* thread) {
    const Event& record = event.event;
    const bool acquires = is_control(record, EventControl::kLocked);
    const bool releases = is_control(record, EventControl::kUnlocked);
    if ((!acquires && !releases) || record.more == 0) return;
    const uint32_t process = world_.process_of(event.thread);
    const std::optional<LockNumbers::Acquisition> known =
        acquires ? locks_.acquire(process, event.thread, record.values[0])
                 : locks_.release(process, event.thread, record.values[0]);
    if (!known) {
        lone_locks_ += 1;
        return;
    }
    flush(thread);
    const auto put = acquires ? OTF2_EvtWriter_ThreadAcquireLock : OTF2_EvtWriter_ThreadReleaseLock;
    ok(put(thread->writer, nullptr, event.ns, OTF2_PARADIGM_OPENMP, known->lock, known->number));
}

// Readers match sends and receives by their order, so none has one end.
void Otf2Writer::message(const TimelineEvent& event, Thread* thread) {
    if (event.is_split) return;
    const Event& record = event.event;
    const bool is_known = record.more >= 2 && world_.process_of_rank(record.what) != kNotObserved;
    Comm* const in = is_known ? &comm(comm_of_message(record.values[1])) : nullptr;
    const uint32_t partner = is_known ? rank_in(*in, record.what) : kNoRef;
    if (partner == kNoRef) {
        unknown_partners_ += 1;
        return;
    }
    const auto put =
        record.kind == EventKind::kSend ? OTF2_EvtWriter_MpiSend : OTF2_EvtWriter_MpiRecv;
    ok(put(thread->writer, nullptr, event.ns, partner, in->ref, tag_of_message(record.values[1]),
           record.values[0]));
}

void Otf2Writer::collective(const TimelineEvent& event, Thread* thread) {
    const Event& record = event.event;
    Comm* const in =
        thread->is_pending && record.more >= 3 ? &comm(comm_of_message(record.values[2])) : nullptr;
    if (in == nullptr || !in->has_members()) {
        plain_collectives_ += 1;
        return;
    }
    flush(thread);
    const Otf2Operation& operation = *place(thread->open.back()).operation;
    const bool has_root = operation.has_root && record.what != kEventNobody;
    ok(OTF2_EvtWriter_MpiCollectiveBegin(thread->writer, nullptr, thread->pending_ns));
    ok(OTF2_EvtWriter_MpiCollectiveEnd(thread->writer, nullptr, event.ns, operation.operation,
                                       in->ref, has_root ? record.what : OTF2_COLLECTIVE_ROOT_NONE,
                                       record.values[0], record.values[1]));
}

Otf2Writer::Place& Otf2Writer::place(uint32_t number) {
    if (number >= places_.size()) places_.resize(number + size_t{1});
    Place& place = places_[number];
    if (place.region != kNoRef) [[likely]]
        return place;
    const TimelinePlace& of = timeline_.place(number);
    const RegionRow row{of.name, of.file, of.line > 0 ? static_cast<uint32_t>(of.line) : 0,
                        otf2_role_of(of), otf2_paradigm_of(of)};
    place.region = regions_.emplace(row, static_cast<uint32_t>(regions_.size())).first->second;
    place.operation = otf2_operation_of(of);
    place.is_fork = of.kind == SiteKind::kOpenMp && is_omp_region(of.call);
    return place;
}

Otf2Writer::Comm& Otf2Writer::comm(uint32_t id) {
    const auto [found, is_new] = comms_.emplace(id, Comm{});
    Comm& comm = found->second;
    if (!is_new) return comm;
    comm.ref = static_cast<uint32_t>(comms_.size() - 1);
    const auto described = described_.find(id);
    if (described == described_.end()) return comm;
    comm.described = described->second;
    const std::vector<uint32_t>& members = comm.described->members;
    comm.is_world = comm.described->is_world;
    comm.is_self = !comm.is_world && members.size() == 1;
    if (comm.is_world || comm.is_self) return comm;
    for (uint32_t rank = 0; rank < members.size(); ++rank) {
        if (members[rank] == kEventNobody) {
            comm.ranks.clear();
            break;
        }
        comm.ranks[members[rank]] = rank;
    }
    return comm;
}

uint32_t Otf2Writer::rank_in(const Comm& comm, uint32_t rank) {
    if (comm.is_self) return 0;
    if (comm.ranks.empty()) return rank;
    const auto found = comm.ranks.find(rank);
    return found == comm.ranks.end() ? kNoRef : found->second;
}

uint32_t Otf2Writer::string(const std::string& text) {
    const auto [known, is_new] = strings_.emplace(text, static_cast<uint32_t>(strings_.size()));
    if (is_new)
        ok(OTF2_GlobalDefWriter_WriteString(definitions_, known->second, utf8_text(text).c_str()));
    return known->second;
}

void Otf2Writer::define() {
    ok(OTF2_Archive_OpenDefFiles(archive_));
    if (!has_room(world_.locations() * kBlockBytes)) return;
    for (const TraceProcess& process : world_.processes()) {
        const uint64_t bound_ns = process.process == kNotObserved
                                      ? 0
                                      : timeline_.processes()[process.process].clock_bound_ns;
        for (uint32_t k = 0; k < process.threads.size() && error_.empty(); ++k) {
            OTF2_DefWriter* const writer =
                OTF2_Archive_GetDefWriter(archive_, process.first_location + k);
            if (writer == nullptr) continue;
            // Times are those of one clock already; how good they are has its place there.
            for (const uint64_t ns : {uint64_t{0}, last_ns_}) {
                if (bound_ns > 1)
                    ok(OTF2_DefWriter_WriteClockOffset(writer, ns, 0,
                                                       static_cast<double>(bound_ns)));
            }
            ok(OTF2_Archive_CloseDefWriter(archive_, writer));
        }
    }
    if (!error_.empty()) return;
    ok(OTF2_Archive_CloseDefFiles(archive_));
    definitions_ = OTF2_Archive_GetGlobalDefWriter(archive_);
    if (definitions_ == nullptr) {
        error_ = job_.path + ": OTF2 cannot write definitions";
        return;
    }
    constexpr uint64_t kSecond_ns = 1'000'000'000;
    ok(OTF2_GlobalDefWriter_WriteClockProperties(definitions_, kSecond_ns, 0, last_ns_ + 1,
                                                 static_cast<uint64_t>(timeline_.start_unix_ns())));
    string("");
    define_locations();
    for (const auto* const region : in_order(regions_)) {
        const RegionRow& row = region->first;
        const uint32_t name = string(row.name);
        ok(OTF2_GlobalDefWriter_WriteRegion(definitions_, region->second, name, name, string(""),
                                            row.role, row.paradigm, OTF2_REGION_FLAG_NONE,
                                            string(row.file), row.line, row.line));
    }
    for (const auto* const parameter : in_order(parameters_)) {
        ok(OTF2_GlobalDefWriter_WriteParameter(
            definitions_, parameter->second, string(parameter->first), OTF2_PARAMETER_TYPE_UINT64));
    }
    if (!comms_.empty()) define_comms();
    ok(metrics_.define(definitions_, [this](const std::string& text) { return string(text); }));
    if (has_room(kChunks * OTF2_CHUNK_SIZE_MIN))
        ok(OTF2_Archive_CloseGlobalDefWriter(archive_, definitions_));
}

void Otf2Writer::define_locations() {
    constexpr uint32_t kMachine = 0;
    const std::vector<std::string>& hosts = world_.hosts();
    ok(OTF2_GlobalDefWriter_WriteSystemTreeNode(definitions_, kMachine, string("machine"),
                                                string("machine"),
                                                OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    ok(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(definitions_, kMachine,
                                                      OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    for (uint32_t i = 0; i < hosts.size(); ++i) {
        ok(OTF2_GlobalDefWriter_WriteSystemTreeNode(
            definitions_, kMachine + 1 + i, string(hosts[i].empty() ? "(in no log)" : hosts[i]),
            string("node"), kMachine));
        ok(OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(definitions_, kMachine + 1 + i,
                                                          OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
    }
    for (uint32_t i = 0; i < world_.processes().size(); ++i) {
        const TraceProcess& process = world_.processes()[i];
        const bool is_observed = process.process != kNotObserved;
        ok(OTF2_GlobalDefWriter_WriteLocationGroup(
            definitions_, i,
            string(fmt::format("rank {}{}", process.rank, is_observed ? "" : " (in no log)")),
            OTF2_LOCATION_GROUP_TYPE_PROCESS, kMachine + 1 + world_.host_of(i),
            OTF2_UNDEFINED_LOCATION_GROUP));
        for (uint32_t k = 0; k < process.threads.size(); ++k) {
            const uint32_t location = process.first_location + k;
            ok(OTF2_GlobalDefWriter_WriteLocation(
                definitions_, location,
                string(k == 0 ? "main thread" : fmt::format("thread {}", k)),
                OTF2_LOCATION_TYPE_CPU_THREAD, events_[location], i));
        }
    }
}

void Otf2Writer::define_comms() {
    constexpr uint32_t kLocations = 0;
    constexpr uint32_t kWorld = 1;
    constexpr uint32_t kSelf = 2;
    const auto group = [&](uint32_t ref, const char* name, OTF2_GroupType type,
                           const std::vector<uint64_t>& members) {
        ok(OTF2_GlobalDefWriter_WriteGroup(definitions_, ref, string(name), type, OTF2_PARADIGM_MPI,
                                           OTF2_GROUP_FLAG_NONE,
                                           static_cast<uint32_t>(members.size()), members.data()));
    };
    std::vector<uint64_t> locations;
    std::vector<uint64_t> ranks;
    for (uint32_t rank = 0; rank < timeline_.world_size(); ++rank) {
        locations.push_back(world_.processes()[rank].first_location);
        ranks.push_back(rank);
    }
    group(kLocations, "", OTF2_GROUP_TYPE_COMM_LOCATIONS, locations);
    group(kWorld, "", OTF2_GROUP_TYPE_COMM_GROUP, ranks);
    group(kSelf, "", OTF2_GROUP_TYPE_COMM_SELF, {});
    uint32_t next = kSelf + 1;
    std::vector<const std::pair<const uint32_t, Comm>*> sorted(comms_.size());
    for (const auto& known : comms_) sorted[known.second.ref] = &known;
    for (const auto* const next_comm : sorted) {
        const auto& [id, comm] = *next_comm;
        uint32_t members = comm.is_self ? kSelf : kWorld;
        std::string name = comm.is_world ? "MPI_COMM_WORLD" : comm.is_self ? "MPI_COMM_SELF" : "";
        if (!comm.ranks.empty()) {
            members = next++;
            const std::vector<uint32_t>& known = comm.described->members;
            group(members, "", OTF2_GROUP_TYPE_COMM_GROUP, {known.begin(), known.end()});
        } else if (name.empty()) {
            name =
                fmt::format("communicator {:x} (members not known, ranks of MPI_COMM_WORLD)", id);
        }
        if (name.empty()) name = fmt::format("communicator {:x}", id);
        ok(OTF2_GlobalDefWriter_WriteComm(definitions_, comm.ref, string(name), members,
                                          OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
    }
}

void Otf2Writer::say_what_is_left_out() {
    job_.note(unknown_partners_, "sends and receives with processes of other worlds are left out");
    job_.note(plain_collectives_,
              "collectives are written as other calls: those of OTF2 block, and the members of "
              "their communicators are known");
    job_.note(unsaid_.one_sided,
              "one-sided transfers are left out: the log does not name their windows");
    job_.note(lone_locks_, "releases of locks are left out: they were not acquired in the log");
    job_.note(unsaid_.requests,
              "starts and ends of requests are left out: sends and receives stand where "
              "they were started and completed");
    job_.note(unsaid_.samples, "samples are left out: OTF2 has them with whole call paths only");
    job_.note(unsaid_.io_sizes, "sizes of I/O are left out: the log does not name the files");
}

}  // namespace

Outcome export_otf2(Timeline* timeline, ExportJob* job) {
    return Otf2Writer(timeline, job).write();
}

}  // namespace dwell
