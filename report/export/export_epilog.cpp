// The EPILOG binary trace-data format, version 1.2: definitions, then events. A second pass writes
// the events: a process whose next event is a receive is held until the message was sent.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "report/export/epilog_file.h"
#include "report/export/epilog_survey.h"

namespace dwell {
namespace {

constexpr uint32_t kMostMetrics = 28;  // in the longest record, of 255 bytes

class EpilogWriter {
  public:
    EpilogWriter(Timeline* timeline, ExportJob* job)
        : timeline_(*timeline),
          job_(*job),
          world_(*timeline),
          survey_(timeline, world_),
          sums_(*timeline) {}

    Outcome write() {
        const Outcome fits = survey_.run();
        if (!fits) return fits;
        EpilogFile file(job_.path, job_.is_big_endian);
        file_ = &file;
        define_locations();
        define_regions();
        define_metrics();
        for (uint32_t i = 0; i < survey_.groups().size(); ++i) file.comm(i, survey_.groups()[i]);
        file.end_definitions();
        write_events();
        say_what_is_left_out();
        return file.close();
    }

  private:
    struct Open {
        uint32_t place;
        bool is_written;
        bool has_lock = false;  // of an exclusive section
        uint64_t lock = 0;      // its own
    };
    struct Collective {
        bool is_there = false;
        uint32_t root = 0;
        uint32_t comm = 0;
        uint32_t sent = 0;
        uint32_t received = 0;
    };
    struct ThreadState {
        std::vector<Open> open;
        Collective collective;
    };
    struct ProcessState {
        uint32_t regions = 0;  // that the main thread has forked and not joined
        bool is_held = false;
        TimelineEvent receive{};  // that is held
    };

    void define_locations();
    void define_regions();
    void define_metrics();
    void put_metrics(uint32_t thread);
    void write_events();
    void add(const TimelineEvent& event);
    void begin(const TimelineEvent& event, ThreadState* thread);
    void end(const TimelineEvent& event, ThreadState* thread);
    void put_exit(uint32_t thread, uint64_t ns, const Open& left, bool is_outermost);
    void join(const TimelineEvent& event);
    void add_other(const TimelineEvent& event, ThreadState* thread);
    void dump(const TimelineEvent& event);
    void lock(const TimelineEvent& event, ThreadState* thread);
    void send(const TimelineEvent& event);
    void receive(const TimelineEvent& event);
    void put_receive(const TimelineEvent& event, const EpilogMessage& message);
    void collective(const TimelineEvent& event, ThreadState* thread);
    bool give_up_a_receive();
    void say_what_is_left_out();

    Timeline& timeline_;
    ExportJob& job_;
    TraceWorld world_;
    EpilogSurvey survey_;
    MetricSums sums_;
    EpilogFile* file_ = nullptr;
    std::vector<ThreadState> threads_;
    std::vector<ProcessState> processes_;
    uint64_t outside_ = 0;
    uint64_t idle_ = 0;
    uint64_t cut_ = 0;
    uint64_t unknown_partners_ = 0;
    uint64_t of_other_threads_ = 0;
    uint64_t without_send_ = 0;
    uint64_t plain_collectives_ = 0;
    uint64_t marks_ = 0;
    uint64_t lone_locks_ = 0;
    LockNumbers locks_;
    UnsaidRecords unsaid_;
    uint32_t metrics_left_out_ = 0;
};

// One machine of all hosts. A rank that is in no log is on a node without a name.
void EpilogWriter::define_locations() {
    EpilogFile& file = *file_;
    const std::vector<TraceProcess>& processes = world_.processes();
    const std::vector<std::string>& hosts = world_.hosts();
    std::vector<uint32_t> threads_on(hosts.size());
    std::vector<double> clock_of(hosts.size());
    for (uint32_t i = 0; i < processes.size(); ++i) {
        const uint32_t host = world_.host_of(i);
        threads_on[host] += static_cast<uint32_t>(processes[i].threads.size());
        if (processes[i].process == kNotObserved) continue;
        clock_of[host] =
            static_cast<double>(timeline_.processes()[processes[i].process].ticks_per_second);
    }
    const auto name_of = [&](const std::string& name) {
        return name.empty() ? kEpilogNone : file.string(name);
    };
    constexpr uint32_t kMachine = 0;
    const uint32_t machine_name = hosts.size() == 1 ? name_of(hosts.front()) : kEpilogNone;
    file.begin(EpilogRecord::kMachine);
    file.ui4(kMachine);
    file.ui4(static_cast<uint32_t>(hosts.size()));
    file.ui4(machine_name);
    file.end();
    for (uint32_t i = 0; i < hosts.size(); ++i) {
        const uint32_t name = name_of(hosts[i]);
        file.begin(EpilogRecord::kNode);
        file.ui4(i);
        file.ui4(kMachine);
        file.ui4(threads_on[i]);  // at least the processors that were in use
        file.ui4(name);
        file.d8(clock_of[i]);
        file.end();
    }
    for (uint32_t i = 0; i < processes.size(); ++i) {
        const TraceProcess& process = processes[i];
        const bool is_observed = process.process != kNotObserved;
        std::string program = "(in no log)";
        if (is_observed) {
            program = timeline_.processes()[process.process].program;
            program.erase(0, program.rfind('/') + 1);
        }
        const uint32_t name = file.string(fmt::format("rank {} {}", process.rank, program));
        file.begin(EpilogRecord::kProcess);
        file.ui4(i);
        file.ui4(name);
        file.end();
        for (uint32_t k = 0; k < process.threads.size(); ++k) {
            const uint32_t thread = process.threads[k];
            std::string text = thread == kNotObserved ? "" : timeline_.threads()[thread].name;
            if (text.empty()) text = k == 0 ? "main" : fmt::format("thread {}", k);
            const uint32_t thread_name = file.string(text);
            file.begin(EpilogRecord::kThread);
            file.ui4(k);
            file.ui4(i);
            file.ui4(thread_name);
            file.end();
            file.begin(EpilogRecord::kLocation);
            file.ui4(process.first_location + k);
            file.ui4(kMachine);
            file.ui4(world_.host_of(i));
            file.ui4(i);
            file.ui4(k);
            file.end();
        }
    }
}

void EpilogWriter::define_regions() {
    EpilogFile& file = *file_;
    for (uint32_t i = 0; i < survey_.files().size(); ++i) {
        const uint32_t name = file.string(survey_.files()[i]);
        file.begin(EpilogRecord::kFile);
        file.ui4(i);
        file.ui4(name);
        file.end();
    }
    for (uint32_t i = 0; i < survey_.regions().size(); ++i) {
        const EpilogRegionRow& region = survey_.regions()[i];
        const uint32_t name = file.string(region.name);
        file.begin(EpilogRecord::kRegion);
        file.ui4(i);
        file.ui4(name);
        file.ui4(region.file);
        file.ui4(region.line);
        file.ui4(region.line);  // the last line is not known
        file.ui4(kEpilogNone);
        file.ui1(static_cast<uint8_t>(region.type));
        file.end();
    }
    for (uint32_t i = 0; i < survey_.call_sites().size(); ++i) {
        const EpilogCallSite& site = survey_.call_sites()[i];
        file.begin(EpilogRecord::kCallSite);
        file.ui4(i);
        file.ui4(site.file);
        file.ui4(site.line);
        file.ui4(site.callee);
        file.ui4(site.caller);
        file.end();
    }
}

// Section 4.4: counts since the start of a thread.
void EpilogWriter::define_metrics() {
    constexpr uint8_t kInteger = 0;
    constexpr uint8_t kCounter = 0;
    constexpr uint8_t kSinceStart = 0;
    const auto metrics = static_cast<uint32_t>(timeline_.metrics().size());
    metrics_left_out_ = metrics > kMostMetrics ? metrics - kMostMetrics : 0;
    for (uint32_t i = 0; i < metrics - metrics_left_out_; ++i) {
        const uint32_t name = file_->string(timeline_.metrics()[i]);
        file_->begin(EpilogRecord::kMetric);
        file_->ui4(i);
        file_->ui4(name);
        file_->ui4(kEpilogNone);
        file_->ui1(kInteger);
        file_->ui1(kCounter);
        file_->ui1(kSinceStart);
        file_->end();
    }
}

// In each enter and exit (section 5.1), as they were read last.
void EpilogWriter::put_metrics(uint32_t thread) {
    const std::vector<uint64_t>& sums = sums_.of(thread);
    for (size_t i = 0; i < sums.size() - metrics_left_out_; ++i) file_->ui8(sums[i]);
}

void EpilogWriter::write_events() {
    threads_.resize(timeline_.threads().size());
    processes_.resize(world_.processes().size());
    timeline_.rewind();
    TimelineEvent event;
    do {
        while (timeline_.next(&event)) add(event);
    } while (give_up_a_receive());
}

void EpilogWriter::add(const TimelineEvent& event) {
    ThreadState& thread = threads_[event.thread];
    switch (event.kind) {
        case TimelineKind::kBegin:
            begin(event, &thread);
            break;
        case TimelineKind::kEnd:
            end(event, &thread);
            break;
        case TimelineKind::kMark:
            marks_ += 1;
            break;
        case TimelineKind::kOther:
            add_other(event, &thread);
    }
}

// Section 5.3: events of other threads stand between a fork and a join of the main thread.
void EpilogWriter::begin(const TimelineEvent& event, ThreadState* thread) {
    EpilogFile& file = *file_;
    const uint32_t location = world_.location_of(event.thread);
    ProcessState& process = processes_[world_.process_of(event.thread)];
    const bool is_main = world_.is_main(event.thread);
    if (survey_.is_idle(event.place)) {
        thread->open.push_back({event.place, false});
        idle_ += 1;
        return;
    }
    const bool is_inside = is_main || (process.regions != 0 &&
                                       (thread->open.empty() || thread->open.back().is_written));
    if (!is_inside) {
        thread->open.push_back({event.place, false});
        outside_ += 1;
        return;
    }
    if (is_main && survey_.is_fork(event.place)) {
        if (process.regions == 0) {
            file.begin_event(EpilogRecord::kFork, location, event.ns);
            file.end();
        }
        process.regions += 1;
    }
    const uint32_t caller =
        thread->open.empty() ? kEpilogNone : survey_.region_of(thread->open.back().place);
    const uint32_t call_site = survey_.call_site_of(event.place, caller);
    if (call_site != kEpilogNone) {
        file.begin_event(EpilogRecord::kEnterFromCall, location, event.ns);
        file.ui4(call_site);
    } else {
        file.begin_event(EpilogRecord::kEnter, location, event.ns);
        file.ui4(survey_.region_of(event.place));
    }
    put_metrics(event.thread);
    file.end();
    thread->open.push_back({event.place, true});
    thread->collective.is_there = false;
}

void EpilogWriter::end(const TimelineEvent& event, ThreadState* thread) {
    const Open left = thread->open.back();
    thread->open.pop_back();
    if (!left.is_written) return;
    ProcessState& process = processes_[world_.process_of(event.thread)];
    const bool joins = world_.is_main(event.thread) && survey_.is_fork(left.place);
    if (joins && process.regions == 1) {
        join(event);
        put_exit(event.thread, event.ns, left, true);
        file_->begin_event(EpilogRecord::kJoin, world_.location_of(event.thread), event.ns);
        file_->end();
        process.regions = 0;
        return;
    }
    if (joins) process.regions -= 1;
    put_exit(event.thread, event.ns, left, thread->open.empty());
}

void EpilogWriter::put_exit(uint32_t thread, uint64_t ns, const Open& left, bool is_outermost) {
    EpilogFile& file = *file_;
    const uint32_t location = world_.location_of(thread);
    Collective& collective = threads_[thread].collective;
    if (collective.is_there) {
        file.begin_event(EpilogRecord::kCollectiveExit, location, ns);
        put_metrics(thread);
        file.ui4(collective.root);
        file.ui4(collective.comm);
        file.ui4(collective.sent);
        file.ui4(collective.received);
        collective.is_there = false;
    } else {
        // Nested parallelism is not supported (section 4.2).
        const bool is_team =
            is_outermost &&
            survey_.regions()[survey_.region_of(left.place)].type == EpilogRegion::kParallel;
        file.begin_event(is_team ? EpilogRecord::kParallelExit : EpilogRecord::kExit, location, ns);
        put_metrics(thread);
    }
    file.end();
}

// Other threads of the team have nothing open when the main thread leaves it.
void EpilogWriter::join(const TimelineEvent& event) {
    for (const uint32_t other : world_.processes()[world_.process_of(event.thread)].threads) {
        if (other == kNotObserved || other == event.thread) continue;
        std::vector<Open>& open = threads_[other].open;
        for (size_t i = open.size(); i-- != 0;) {
            if (!open[i].is_written) continue;
            put_exit(other, event.ns, open[i], i == 0);
            open[i].is_written = false;
            cut_ += 1;
        }
    }
}

void EpilogWriter::add_other(const TimelineEvent& event, ThreadState* thread) {
    const Event& record = event.event;
    switch (record.kind) {
        case EventKind::kSend:
            send(event);
            break;
        case EventKind::kReceive:
            receive(event);
            break;
        case EventKind::kCollective:
            collective(event, thread);
            break;
        case EventKind::kMetric:
            sums_.add(event);
            break;
        case EventKind::kControl:
            if (is_control(record, EventControl::kFlushed)) {
                dump(event);
            } else {
                lock(event, thread);
            }
            break;
        default:
            unsaid_.count(record);
    }
}

// Section 5.4. Its time is dwell's own and is taken out.
void EpilogWriter::dump(const TimelineEvent& event) {
    const bool is_inside =
        world_.is_main(event.thread) || processes_[world_.process_of(event.thread)].regions != 0;
    if (!is_inside) {
        outside_ += 1;
        return;
    }
    for (const EpilogRecord record : {EpilogRecord::kEnterDump, EpilogRecord::kExitDump}) {
        file_->begin_event(record, world_.location_of(event.thread), event.ns);
        file_->end();
    }
}

// Section 5.3: locks; exclusive sections have regions of their own. Their lock is the first one
// that the thread acquires in them.
void EpilogWriter::lock(const TimelineEvent& event, ThreadState* thread) {
    const Event& record = event.event;
    const bool acquires = is_control(record, EventControl::kLocked);
    const bool releases = is_control(record, EventControl::kUnlocked);
    if ((!acquires && !releases) || record.more == 0) return;
    const uint32_t process = world_.process_of(event.thread);
    const uint64_t address = record.values[0];
    if (!thread->open.empty() && survey_.is_exclusive(thread->open.back().place)) {
        Open& section = thread->open.back();
        if (acquires && !std::exchange(section.has_lock, true)) {
            section.lock = address;
            return;
        }
        if (releases && section.has_lock && section.lock == address) return;
    }
    const bool is_inside = world_.is_main(event.thread) || processes_[process].regions != 0;
    std::optional<LockNumbers::Acquisition> known;
    if (is_inside) {
        known = acquires ? locks_.acquire(process, event.thread, address)
                         : locks_.release(process, event.thread, address);
    }
    if (!known) {
        lone_locks_ += 1;
        return;
    }
    file_->begin_event(acquires ? EpilogRecord::kAcquireLock : EpilogRecord::kReleaseLock,
                       world_.location_of(event.thread), event.ns);
    file_->ui4(known->lock);
    file_->end();
}

void EpilogWriter::send(const TimelineEvent& event) {
    if (event.is_split) return;
    EpilogMessage message{};
    if (!survey_.message(event, &message)) {
        unknown_partners_ += 1;
        return;
    }
    if (message.channel->is_mixed) {
        of_other_threads_ += 1;
        return;
    }
    file_->begin_event(EpilogRecord::kSend, world_.location_of(event.thread), event.ns);
    file_->ui4(world_.processes()[message.to].first_location);
    file_->ui4(message.comm);
    file_->ui4(tag_of_message(event.event.values[1]));
    file_->ui4(static_cast<uint32_t>(event.event.values[0]));
    file_->end();
    message.channel->sent += 1;
    if (!message.channel->is_waiting) return;
    message.channel->is_waiting = false;
    ProcessState& receiver = processes_[message.to];
    receiver.is_held = false;
    put_receive(receiver.receive, message);
    timeline_.release(world_.processes()[message.to].process);
}

void EpilogWriter::receive(const TimelineEvent& event) {
    if (event.is_split) return;
    EpilogMessage message{};
    if (!survey_.message(event, &message)) {
        unknown_partners_ += 1;
        return;
    }
    EpilogChannel& channel = *message.channel;
    if (channel.is_mixed) {
        of_other_threads_ += 1;
    } else if (channel.received >= channel.sends) {
        without_send_ += 1;
    } else if (channel.received < channel.sent) {
        put_receive(event, message);
    } else {
        channel.is_waiting = true;
        processes_[message.to].is_held = true;
        processes_[message.to].receive = event;
        timeline_.hold(world_.processes()[message.to].process);
    }
}

void EpilogWriter::put_receive(const TimelineEvent& event, const EpilogMessage& message) {
    file_->begin_event(EpilogRecord::kReceive, world_.location_of(event.thread), event.ns);
    file_->ui4(world_.processes()[message.from].first_location);
    file_->ui4(message.comm);
    file_->ui4(tag_of_message(event.event.values[1]));
    file_->end();
    message.channel->received += 1;
}

// Where processes wait for each other, because the log lacks messages, the earliest receive is left
// out. False: nothing waits.
bool EpilogWriter::give_up_a_receive() {
    ProcessState* earliest = nullptr;
    for (ProcessState& process : processes_) {
        if (process.is_held && (earliest == nullptr || process.receive.ns < earliest->receive.ns))
            earliest = &process;
    }
    if (earliest == nullptr) return false;
    EpilogMessage message{};
    if (survey_.message(earliest->receive, &message)) {
        message.channel->is_waiting = false;
        message.channel->received += 1;
    }
    earliest->is_held = false;
    without_send_ += 1;
    timeline_.release(world_.processes()[message.to].process);
    return true;
}

void EpilogWriter::collective(const TimelineEvent& event, ThreadState* thread) {
    const Event& record = event.event;
    if (record.more < 3 || thread->open.empty()) return;
    if (!world_.is_main(event.thread) || !survey_.is_collective(thread->open.back().place)) {
        plain_collectives_ += 1;
        return;
    }
    thread->collective = {
        true, survey_.root_of(event),
        survey_.comm_of(comm_of_message(record.values[2]), world_.process_of(event.thread)),
        static_cast<uint32_t>(record.values[0]), static_cast<uint32_t>(record.values[1])};
}

void EpilogWriter::say_what_is_left_out() {
    job_.note(outside_,
              "calls of threads outside of parallel regions are left out: EPILOG has "
              "other threads than the main one only there");
    job_.note(idle_, "times without work between parallel regions are left out");
    job_.note(lone_locks_,
              "acquisitions and releases of locks are left out: outside of parallel regions, or "
              "without the other one");
    job_.note(cut_, "calls of threads end where the main thread leaves the parallel region");
    job_.note(of_other_threads_,
              "sends and receives are left out, because other threads than the "
              "main ones take part");
    job_.note(unknown_partners_, "sends and receives with processes of other worlds are left out");
    job_.note(without_send_, "receives are left out whose messages are not in the log");
    job_.note(plain_collectives_,
              "collectives are written as other calls: EPILOG has those of the main thread that "
              "block");
    job_.note(unsaid_.one_sided, "one-sided transfers are left out: EPILOG has no record for them");
    job_.note(unsaid_.requests,
              "starts and ends of requests are left out: EPILOG has no record for them");
    job_.note(unsaid_.io_sizes, "sizes of I/O are left out: EPILOG has no record for them");
    job_.note(unsaid_.samples, "samples are left out: EPILOG has no record for them");
    job_.note(metrics_left_out_, "metrics are left out: a record of EPILOG has no room for them");
    job_.note(marks_, "marks are left out: EPILOG has no record for them");
    job_.note(file_->strings_cut(), "texts are cut to 65274 bytes");
}

}  // namespace

Outcome export_epilog(Timeline* timeline, ExportJob* job) {
    return EpilogWriter(timeline, job).write();
}

}  // namespace dwell
