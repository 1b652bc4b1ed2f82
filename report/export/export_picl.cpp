// PICL's trace format as ORNL/TM-12125 defines it, valid for ParaGraph (section 2.5): a processor
// for each rank, with one process. "Table" and "section" in the comments are those of the report;
// what it leaves open is in docs/picl.md.
#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/export/exporters.h"
#include "report/export/picl_calls.h"
#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/version.h"
#include "summarize/formats/json_names.h"
#include "summarize/formats/picl_records.h"

namespace dwell {
namespace {

constexpr int kNoEvent = -1;
constexpr size_t kPiclBuffer = 1 << 16;

void append(std::string* text, int64_t number) {
    const fmt::format_int digits(number);
    text->append(digits.data(), digits.size());
}

class PiclTrace {
  public:
    PiclTrace(Timeline* timeline, ExportJob* job)
        : timeline_(*timeline), job_(*job), out_(job->path), calls_(timeline) {
        for (uint32_t i = 0; i < timeline_.processes().size(); ++i) processors_.emplace_back();
        states_.resize(timeline_.threads().size());
        for (uint32_t i = 0; i < states_.size(); ++i) {
            const TimelineThread& thread = timeline_.threads()[i];
            uint32_t& written = processors_[thread.process].thread;
            if (written == UINT32_MAX ||
                thread.number == timeline_.processes()[thread.process].main_thread) {
                written = i;
            }
        }
    }

    Outcome write() {
        find_user_events();
        timeline_.rewind();
        write_header();
        TimelineEvent event;
        while (timeline_.next(&event)) {
            add(event);
            if (text_.size() > kPiclBuffer) flush();
        }
        for (uint32_t i = 0; i < processors_.size(); ++i) {
            if (!processors_[i].has_begun) begin(i);
            if (!processors_[i].has_ended) end(i);
        }
        flush();
        say_what_is_left_out();
        return out_.close();
    }

  private:
    struct Processor {
        uint32_t thread = UINT32_MAX;  // the one whose events are written: the main thread
        bool has_begun = false;
        bool has_ended = false;
    };
    struct OpenEvent {
        int user_event = kNoEvent;
        bool is_system_event = false;
        PiclEvent system;
        std::vector<PiclEvent> at_end;
    };
    struct ThreadState {
        std::vector<OpenEvent> open;
        size_t known = 0;            // records to come that belong to a statement which has begun
        uint64_t lost_words = 0;     // that were marked
        bool is_gap_marked = false;  // the one that comes next
        bool is_off = false;         // until the next event
    };

    bool is_written(uint32_t thread) const {
        return processors_[timeline_.threads()[thread].process].thread == thread;
    }

    void find_user_events() {
        std::vector<bool> used;
        TimelineEvent event;
        while (timeline_.next(&event)) {
            if (!is_written(event.thread)) {
                other_threads_ += 1;
                continue;
            }
            if (event.kind != TimelineKind::kBegin && event.kind != TimelineKind::kMark) continue;
            if (event.place >= used.size()) used.resize(event.place + size_t{1});
            used[event.place] = true;
        }
        user_events_.assign(used.size(), kNoEvent);
        std::map<std::string, int> numbers;  // places below different callers are one event type
        for (uint32_t i = 0; i < used.size(); ++i) {
            if (!used[i]) continue;
            const TimelinePlace& place = timeline_.place(i);
            if (PiclCalls::is_system_event(place)) {
                for (const int type : kMpiCalls[place.call].event) types_.insert(type);
                continue;
            }
            const std::string label = fmt::format("{} {}@{}:{}", kind_name(place.kind), place.name,
                                                  place.file, place.line);
            const auto [at, is_new] = numbers.emplace(label, static_cast<int>(numbers.size()));
            if (is_new) labels_.push_back(label);
            user_events_[i] = at->second;
            if (place.kind == SiteKind::kIo && place.call < kIoCallCount)
                types_.insert(kIoCalls[place.call].event);
        }
        const TimelineNotes& notes = timeline_.notes();
        if (notes.lost_records.all() == 0 && notes.lost_words == 0) return;
        loss_event_ = static_cast<int>(labels_.size());
        labels_.emplace_back("records lost: enters and leaves, messages and collectives, others");
    }

    // Before the earliest event (section 2.4).
    void write_header() {
        const PiclLocation everywhere = {picl_clock(-1), kPiclAnywhere, kPiclAnywhere};
        const std::string program =
            timeline_.processes().empty() ? "" : timeline_.processes().front().program;
        text_ += picl_text(PiclRecordType::kMessage, kPiclAllEvents, everywhere,
                           "events by dwell " DWELL_VERSION ": " + program);
        if (const uint64_t bound = timeline_.notes().clock_bound_ns; bound != 0) {
            text_ += picl_text(
                PiclRecordType::kMessage, kPiclAllEvents, everywhere,
                fmt::format("times of other hosts than the first are right to {} ns", bound));
        }
        constexpr std::pair<int, const char*> kDescriptors[] = {
            {kPiclCharacters, "%c"}, {kPiclIntegers, "%d"}, {kPiclLongIntegers, "%ld"}};
        for (const auto& [number, descriptor] : kDescriptors) {
            text_ +=
                fmt::format("{} {} {} {} {} 1 \"%d%s\" {} \"{}\"\n",
                            static_cast<int>(PiclRecordType::kDescriptor), kPiclAllEvents,
                            everywhere.clock, kPiclAnywhere, kPiclAnywhere, number, descriptor);
        }
        for (uint32_t i = 0; i < processors_.size(); ++i) {
            const TimelineProcess& process = timeline_.processes()[i];
            const PiclLocation at = {everywhere.clock, static_cast<int>(calls_.processor_of(i)), 0};
            text_ += picl_text(
                PiclRecordType::kLabel, kPiclAllEvents, at,
                fmt::format("rank {} on {}: {}", process.rank, process.host, process.program));
        }
        for (const TimelineComm& comm : timeline_.comms()) write_subset(comm, everywhere);
        for (auto type = types_.rbegin(); type != types_.rend(); ++type) {
            const std::string_view label = picl_label(*type);
            if (!label.empty())
                text_ += picl_text(PiclRecordType::kLabel, *type, everywhere, label);
        }
        for (size_t i = 0; i < labels_.size(); ++i) {
            text_ += picl_text(PiclRecordType::kLabel, static_cast<int>(i), everywhere, labels_[i]);
        }
    }

    // Table 18.
    void write_subset(const TimelineComm& comm, const PiclLocation& everywhere) {
        const int subset = calls_.subset_of(comm.id);
        if (subset == 0 || comm.is_world) return;
        text_ += fmt::format("{} {} {} {} {} {} {} {}",
                             static_cast<int>(PiclRecordType::kProcessorSubset), kPiclAllEvents,
                             everywhere.clock, kPiclAnywhere, kPiclAnywhere,
                             comm.members.size() + 1, kPiclIntegers, subset);
        for (const uint32_t rank : comm.members) text_ += ' ' + std::to_string(rank);
        text_ += '\n';
    }

    void add(const TimelineEvent& event) {
        ThreadState& state = states_[event.thread];
        if (!is_written(event.thread)) {
            if (event.kind == TimelineKind::kBegin && is_system_event(event.place))
                calls_.translate(event);
            return;
        }
        set_clock(event.ns);
        const uint32_t process = timeline_.threads()[event.thread].process;
        processor_ = calls_.processor_of(process);
        if (!processors_[process].has_begun) {
            begin(process);
            mark_losses(event.thread, &state);
        }
        const bool is_closing =
            event.kind == TimelineKind::kEnd && timeline_.following(event.thread, 0) == nullptr;
        if (!is_closing && std::exchange(state.is_off, false)) put_levels(1);
        switch (event.kind) {
            case TimelineKind::kBegin:
                add_begin(event, &state);
                break;
            case TimelineKind::kEnd:
                add_end(&state);
                break;
            case TimelineKind::kMark: {
                PiclFields volume;
                if (event.event.more != 0) volume.add(static_cast<int64_t>(event.event.values[0]));
                put(PiclRecordType::kMark, user_events_[event.place], volume);
                break;
            }
            case TimelineKind::kOther:
                add_other(event, &state);
        }
        mark_losses(event.thread, &state);
        if (timeline_.is_over(event.thread)) end(process);
    }

    bool is_system_event(uint32_t place) {
        if (place >= is_system_event_.size()) is_system_event_.resize(place + size_t{1}, kUnknown);
        char& known = is_system_event_[place];
        if (known == kUnknown) known = PiclCalls::is_system_event(timeline_.place(place)) ? 1 : 0;
        return known == 1;
    }

    void add_begin(const TimelineEvent& event, ThreadState* state) {
        state->open.emplace_back();
        OpenEvent& open = state->open.back();
        if (is_system_event(event.place)) {
            PiclCall call = calls_.translate(event);
            state->known = call.records;
            put_short(call.at_begin);
            open.is_system_event = true;
            open.system = call.main;
            open.at_end = std::move(call.at_end);
        } else {
            open.user_event = user_events_[event.place];
            put(PiclRecordType::kEntry, open.user_event, {});
            add_io(event, &open, state);
        }
        if (open.is_system_event) put(PiclRecordType::kEntry, open.system.type, open.system.entry);
    }

    // Table 9, as far as the log knows the data: bytes.
    void add_io(const TimelineEvent& event, OpenEvent* open, ThreadState* state) {
        const TimelinePlace& place = timeline_.place(event.place);
        if (place.kind != SiteKind::kIo || place.call >= kIoCallCount) return;
        open->is_system_event = true;
        open->system.type = kIoCalls[place.call].event;
        const Event* const next = timeline_.following(event.thread, 0);
        if (next == nullptr || next->kind != EventKind::kIo || next->more < 2) return;
        state->known = 1;
        if (open->system.type == kPiclFileRead)
            open->system.exit.add(static_cast<int64_t>(next->values[0]));
        if (open->system.type == kPiclFileWrite)
            open->system.entry.add(static_cast<int64_t>(next->values[1]));
    }

    void add_end(ThreadState* state) {
        if (state->open.empty()) return;
        const OpenEvent& open = state->open.back();
        if (open.is_system_event) put(PiclRecordType::kExit, open.system.type, open.system.exit);
        put_short(open.at_end);
        if (open.user_event != kNoEvent) put(PiclRecordType::kExit, open.user_event, {});
        state->open.pop_back();
        state->known = 0;
    }

    void add_other(const TimelineEvent& event, ThreadState* state) {
        const Event& record = event.event;
        if (record.kind == EventKind::kControl) {
            if (is_control(record, EventControl::kGap)) {
                // None follows.
                if (timeline_.is_over(event.thread)) mark_loss(event.thread, &record);
                state->is_gap_marked = false;
            } else if (is_control(record, EventControl::kOff)) {
                put_levels(0);
                state->is_off = true;
            } else if (is_control(record, EventControl::kFlushed)) {
                // Its time is dwell's own and is taken out.
                PiclFields bytes;
                if (record.more > 1) bytes.add(static_cast<int64_t>(record.values[1]));
                put(PiclRecordType::kEntry, kPiclTraceFlush, {});
                put(PiclRecordType::kExit, kPiclTraceFlush, bytes);
            }
            return;
        }
        const bool is_measured =
            record.kind == EventKind::kMetric || record.kind == EventKind::kSample;
        if (!is_measured && state->known != 0) {
            state->known -= 1;
            return;
        }
        left_out_ += 1;
    }

    // Records were lost behind the one that was just written.
    void mark_losses(uint32_t thread, ThreadState* state) {
        const uint64_t words = timeline_.lost_words(thread);
        const Event* const next = timeline_.following(thread, 0);
        const bool is_gap = next != nullptr && is_control(*next, EventControl::kGap);
        const bool is_new_gap = is_gap && !std::exchange(state->is_gap_marked, true);
        if (words == state->lost_words && !is_new_gap) return;
        state->lost_words = words;
        mark_loss(thread, is_gap ? next : nullptr);
    }

    // By the types of Table 13, which has none for records that were lost while tracing goes on.
    // `gap`: null where the log does not say how many.
    void mark_loss(uint32_t thread, const Event* gap) {
        const EventPolicy policy = timeline_.threads()[thread].policy;
        if (policy == EventPolicy::kOverwrite) {
            put(PiclRecordType::kMark, kPiclOverwriting, {});
        } else if (policy == EventPolicy::kStop && gap != nullptr) {
            put(PiclRecordType::kMark, kPiclBufferFull, {});
        } else {
            PiclFields lost;
            for (uint32_t i = 0; gap != nullptr && i < gap->more; ++i)
                lost.add(static_cast<int64_t>(gap->values[i]));
            put(PiclRecordType::kMark, loss_event_, lost);
        }
    }

    // What is traced from here on: MPI, user events and tracing itself, or nothing (Table 13).
    void put_levels(int level) {
        PiclFields levels;
        for (int i = 0; i < 3; ++i) levels.add(level);
        put(PiclRecordType::kMark, kPiclTraceLevel, levels);
    }

    void begin(uint32_t process) {
        processor_ = calls_.processor_of(process);
        put(PiclRecordType::kEntry, kPiclTracing, {});
        processors_[process].has_begun = true;
    }
    void end(uint32_t process) {
        processor_ = calls_.processor_of(process);
        put(PiclRecordType::kExit, kPiclTracing, {});
        processors_[process].has_ended = true;
    }

    void set_clock(uint64_t ns) {
        clock_.clear();
        append(&clock_, static_cast<int64_t>(ns / 1'000'000'000));
        clock_ += ".000000000";
        uint64_t fraction = ns % 1'000'000'000;
        for (size_t at = clock_.size() - 1; fraction != 0; --at, fraction /= 10)
            clock_[at] = static_cast<char>('0' + fraction % 10);
    }
    void put(PiclRecordType record, int type, const PiclFields& fields) {
        append(&text_, static_cast<int>(record));
        text_ += ' ';
        append(&text_, type);
        text_ += ' ';
        text_ += clock_;
        text_ += ' ';
        append(&text_, processor_);
        text_ += " 0";
        fields.append_to(&text_);
        text_ += '\n';
    }
    void put_short(const std::vector<PiclEvent>& events) {
        for (const PiclEvent& event : events) {
            put(PiclRecordType::kEntry, event.type, event.entry);
            put(PiclRecordType::kExit, event.type, event.exit);
        }
    }
    void flush() {
        out_.write(text_);
        text_.clear();
    }

    void say_what_is_left_out() {
        job_.note(other_threads_,
                  "events of further threads are left out: a processor of PICL has "
                  "one process");
        job_.note(left_out_, "metric values, samples and messages without a call are left out");
        if (!calls_.has_unique_ranks()) {
            job_.left_out.push_back(
                "several processes have one rank: processors are numbered as they "
                "come, and the partners of messages are -1");
        } else if (processors_.size() < timeline_.world_size()) {
            job_.note(timeline_.world_size() - processors_.size(),
                      "ranks are in none of the logs: ParaGraph expects all processors");
        }
    }

    static constexpr char kUnknown = 2;
    Timeline& timeline_;
    ExportJob& job_;
    OutFile out_;
    PiclCalls calls_;
    std::vector<Processor> processors_;  // by process
    std::vector<ThreadState> states_;    // by thread
    std::vector<int> user_events_;       // by place
    std::vector<std::string> labels_;    // of user events
    int loss_event_ = kNoEvent;          // the user event of lost records
    std::vector<char> is_system_event_;  // by place
    std::set<int> types_;                // of system events that may occur
    std::string text_;                   // to be written
    std::string clock_ = "0.000000000";
    int64_t processor_ = 0;
    uint64_t other_threads_ = 0;  // events
    uint64_t left_out_ = 0;
};

}  // namespace

Outcome export_picl(Timeline* timeline, ExportJob* job) { return PiclTrace(timeline, job).write(); }

}  // namespace dwell
