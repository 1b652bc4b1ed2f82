// Perfetto's trace format (protobuf; field numbers from its public definition,
// protos/perfetto/trace): a track for each thread, a slice for each call, a flow for each message.
#include <algorithm>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "report/export/exporters.h"
#include "summarize/merge/tick_scale.h"
#include "summarize/profile/metric_counts.h"

namespace dwell {
namespace {

enum Field : uint32_t {
    // Trace
    kPacket = 1,
    // TracePacket
    kTimestamp = 8,
    kSequence = 10,
    kTrackEvent = 11,
    kInternedData = 12,
    kSequenceFlags = 13,
    kTrackDescriptor = 60,
    // TrackEvent
    kCategoryIids = 3,
    kDebugAnnotations = 4,
    kType = 9,
    kNameIid = 10,
    kTrackUuid = 11,
    kEventName = 23,
    kFlowIds = 47,
    kTerminatingFlowIds = 48,
    kCounterValue = 30,
    // InternedData
    kEventCategories = 1,
    kEventNames = 2,
    // their entries
    kIid = 1,
    kIidName = 2,
    // TrackDescriptor
    kUuid = 1,
    kTrackName = 2,
    kProcess = 3,
    kThread = 4,
    kParentUuid = 5,
    kCounter = 8,
    // ProcessDescriptor, ThreadDescriptor
    kPid = 1,
    kProcessName = 6,
    kProcessLabels = 8,
    kTid = 2,
    kThreadName = 5,
    // CounterDescriptor
    kUnit = 3,
    // DebugAnnotation
    kUintValue = 3,
    kStringValue = 6,
    kAnnotationName = 10,
};
enum Type : int32_t { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterPoint = 4 };
enum Unit : int32_t { kTimeNs = 1, kCount = 2 };
constexpr uint32_t kSequenceId = 1;
constexpr uint32_t kStateCleared = 1;
constexpr uint32_t kNeedsState = 2;
constexpr uint32_t kNoPlace = UINT32_MAX;

const char* category_of(SiteKind kind) {
    switch (kind) {
        case SiteKind::kCommunication:
            return "mpi";
        case SiteKind::kOpenMp:
            return "openmp";
        case SiteKind::kIo:
            return "io";
        case SiteKind::kBlock:
        case SiteKind::kMarker:
            return "block";
        case SiteKind::kLoop:
            return "loop";
        case SiteKind::kSample:
            return "sample";
        default:
            return "procedure";
    }
}

class PerfettoWriter {
  public:
    PerfettoWriter(Timeline* timeline, ExportJob* job)
        : timeline_(*timeline), job_(*job), out_(job->path), sums_(*timeline) {}

    Outcome write() {
        describe_tracks();
        describe_counters();
        TimelineEvent event;
        pending_.resize(timeline_.threads().size());
        while (timeline_.next(&event)) add(event);
        for (Pending& pending : pending_) flush(&pending);
        job_.note(unseen_waits_, "waiting times are left out: when they began is not known");
        return out_.close();
    }

  private:
    struct Details {
        std::vector<uint64_t> sent;
        std::vector<uint64_t> received;
        std::vector<std::pair<const char*, uint64_t>> numbers;
    };
    // The beginning of a slice waits for what belongs to it.
    struct Pending {
        bool is_there = false;
        TimelineEvent begin{};
        Details details;
        uint64_t waited_ns = 0;
        uint32_t waited_in = 0;  // node of the call
        // A slice "waiting" that has begun; 0: there is none.
        uint64_t wait_end_ns = 0;
    };

    void put(const std::string& packet) {
        std::string framed;
        protozero::pbf_writer trace(framed);
        trace.add_message(kPacket, packet);
        out_.write(framed);
    }
    static uint64_t track_of(uint32_t thread) { return uint64_t{1} << 32 | (thread + 1); }
    static uint64_t track_of_counter(uint32_t metric, uint32_t thread) {
        return uint64_t{3 + metric} << 32 | (thread + 1);
    }
    static uint64_t track_of_process(uint32_t process) { return uint64_t{2} << 32 | (process + 1); }

    // Two processes on different hosts may have one id: the number of the process is used instead.
    void describe_tracks() {
        bool first = true;
        for (uint32_t i = 0; i < timeline_.processes().size(); ++i) {
            const TimelineProcess& process = timeline_.processes()[i];
            std::string packet;
            {
                protozero::pbf_writer writer(packet);
                if (first) writer.add_uint32(kSequenceFlags, kStateCleared);
                first = false;
                writer.add_uint32(kSequence, kSequenceId);
                protozero::pbf_writer track(writer, kTrackDescriptor);
                track.add_uint64(kUuid, track_of_process(i));
                protozero::pbf_writer described(track, kProcess);
                described.add_int32(kPid, static_cast<int32_t>(i + 1));
                const std::string program = process.program.substr(process.program.rfind('/') + 1);
                described.add_string(
                    kProcessName, utf8_text("rank " + std::to_string(process.rank) + " " + program +
                                            " (" + process.host + ")"));
                if (const std::string label = clock_label(process); !label.empty())
                    described.add_string(kProcessLabels, label);
            }
            put(packet);
        }
        for (uint32_t i = 0; i < timeline_.threads().size(); ++i) {
            const TimelineThread& thread = timeline_.threads()[i];
            std::string packet;
            {
                protozero::pbf_writer writer(packet);
                writer.add_uint32(kSequence, kSequenceId);
                protozero::pbf_writer track(writer, kTrackDescriptor);
                track.add_uint64(kUuid, track_of(i));
                track.add_uint64(kParentUuid, track_of_process(thread.process));
                protozero::pbf_writer described(track, kThread);
                described.add_int32(kPid, static_cast<int32_t>(thread.process + 1));
                described.add_int32(kTid, static_cast<int32_t>(i + 1));
                described.add_string(kThreadName,
                                     "thread " + std::to_string(thread.number) +
                                         (thread.name.empty() ? "" : " " + utf8_text(thread.name)));
            }
            put(packet);
        }
    }

    // Each thread has a counter of each metric of its process.
    void describe_counters() {
        for (uint32_t i = 0; i < timeline_.threads().size(); ++i) {
            const uint32_t process = timeline_.threads()[i].process;
            for (const uint32_t metric : timeline_.processes()[process].metrics) {
                const std::string& name = timeline_.metrics()[metric];
                std::string packet;
                {
                    protozero::pbf_writer writer(packet);
                    writer.add_uint32(kSequence, kSequenceId);
                    protozero::pbf_writer track(writer, kTrackDescriptor);
                    track.add_uint64(kUuid, track_of_counter(metric, i));
                    track.add_string(kTrackName, name);
                    track.add_uint64(kParentUuid, track_of(i));
                    protozero::pbf_writer described(track, kCounter);
                    described.add_enum(kUnit, metric_unit(name) == "ns" ? kTimeNs : kCount);
                }
                put(packet);
            }
        }
    }

    void put_counters(const TimelineEvent& event) {
        sums_.add(event);
        for (const uint32_t metric : sums_.known_by(event)) {
            std::string packet;
            {
                protozero::pbf_writer writer(packet);
                writer.add_uint64(kTimestamp, event.ns);
                writer.add_uint32(kSequence, kSequenceId);
                protozero::pbf_writer point(writer, kTrackEvent);
                point.add_enum(kType, kCounterPoint);
                point.add_uint64(kTrackUuid, track_of_counter(metric, event.thread));
                point.add_int64(kCounterValue,
                                static_cast<int64_t>(sums_.of(event.thread)[metric]));
            }
            put(packet);
        }
    }

    void add(const TimelineEvent& event) {
        Pending& pending = pending_[event.thread];
        switch (event.kind) {
            case TimelineKind::kBegin:
                flush(&pending);
                end_wait(&pending, event, true);
                pending.is_there = true;
                pending.begin = event;
                pending.waited_ns = waited_in(event);
                pending.waited_in = event.event.what;
                break;
            case TimelineKind::kEnd:
                flush(&pending);
                end_wait(&pending, event, true);
                put_event(event.ns, event.thread, kSliceEnd, nullptr, event.place);
                break;
            case TimelineKind::kMark:
                flush(&pending);
                end_wait(&pending, event, false);
                put_event(event.ns, event.thread, kInstant, nullptr, event.place);
                break;
            case TimelineKind::kOther:
                attach(&pending, event);
        }
    }

    // Waiting comes first in a call: for a partner that was late. The log tells of it at the end of
    // the call, or right behind it.
    uint64_t waited_in(const TimelineEvent& begin) {
        const SiteKind kind = timeline_.place(begin.place).kind;
        if (kind != SiteKind::kCommunication && kind != SiteKind::kOpenMp) return 0;
        bool has_left = false;
        for (size_t i = 0;; ++i) {
            const Event* const next = timeline_.following(begin.thread, i);
            if (next == nullptr) return 0;
            if (is_wait_of(*next, begin.event.what)) {
                const uint32_t process = timeline_.threads()[begin.thread].process;
                return scale(next->values[1], 1'000'000'000,
                             timeline_.processes()[process].ticks_per_second);
            }
            if (next->kind == EventKind::kMetric || next->kind == EventKind::kSample) continue;
            if (has_left || next->kind == EventKind::kEnter || next->kind == EventKind::kMark)
                return 0;
            has_left = next->kind == EventKind::kLeave;
        }
    }
    static bool is_wait(const Event& record) {
        return is_control(record, EventControl::kWaited) && record.more == 2 &&
               record.values[1] != 0;
    }
    static bool is_wait_of(const Event& record, uint32_t node) {
        return is_wait(record) && record.values[0] == node;
    }
    // Where it is over at `event`, or has to be.
    void end_wait(Pending* pending, const TimelineEvent& event, bool must_end) {
        if (pending->wait_end_ns == 0 || (!must_end && pending->wait_end_ns > event.ns)) return;
        put_event(std::min(pending->wait_end_ns, event.ns), event.thread, kSliceEnd, nullptr,
                  kNoPlace);
        pending->wait_end_ns = 0;
    }

    // Readers take the slice that begins first for the source of a flow, and forget flows that end
    // before they begin. A receive often begins before its send, so a message ends at an instant.
    void attach(Pending* pending, const TimelineEvent& event) {
        if (is_wait(event.event) && !is_wait_of(event.event, pending->waited_in))
            unseen_waits_ += 1;
        if (event.event.kind == EventKind::kMetric) return put_counters(event);
        if (event.event.kind == EventKind::kSample) return put_sample(pending, event);
        if (const std::string text = text_of_control(event.event); !text.empty())
            return put_control(pending, event, text);
        Details details;
        const char* const name = describe(event, &details);
        if (name == nullptr) return;
        if (event.event.kind == EventKind::kReceive || !pending->is_there) {
            flush(pending);
            end_wait(pending, event, false);
            put_event(event.ns, event.thread, kInstant, &details, kNoPlace, name);
            return;
        }
        Details& to = pending->details;
        to.sent.insert(to.sent.end(), details.sent.begin(), details.sent.end());
        to.numbers.insert(to.numbers.end(), details.numbers.begin(), details.numbers.end());
    }

    void put_sample(Pending* pending, const TimelineEvent& event) {
        flush(pending);
        end_wait(pending, event, false);
        Details details;
        if (event.event.more != 0 && event.event.values[0] > 1)
            details.numbers = {{"samples", event.event.values[0]}};
        put_event(event.ns, event.thread, kInstant, &details, event.place);
    }

    void put_control(Pending* pending, const TimelineEvent& event, const std::string& text) {
        flush(pending);
        end_wait(pending, event, false);
        put_event(event.ns, event.thread, kInstant, nullptr, kNoPlace, text.c_str());
    }

    // What an instant of it is called; null: it is not shown.
    const char* describe(const TimelineEvent& event, Details* details) {
        const uint32_t own = timeline_.processes()[timeline_.threads()[event.thread].process].rank;
        const Event& record = event.event;
        const auto value = [&](uint32_t number) {
            return number < record.more ? record.values[number] : 0;
        };
        const auto tell = [&](const char* role,
                              std::initializer_list<std::pair<const char*, uint64_t>> numbers) {
            if (record.what != kEventNobody) details->numbers.emplace_back(role, record.what);
            details->numbers.insert(details->numbers.end(), numbers);
        };
        switch (record.kind) {
            case EventKind::kSend:
                if (!event.is_split) details->sent = {numbers_.of(own, record)};
                tell("to rank", {{"bytes sent", value(0)}, {"tag", tag_of_message(value(1))}});
                return "message sent";
            case EventKind::kReceive:
                if (!event.is_split) details->received = {numbers_.of(own, record)};
                tell("from rank",
                     {{"bytes received", value(0)}, {"tag", tag_of_message(value(1))}});
                return "message received";
            case EventKind::kOneSided:
                tell("target", {{"bytes put", value(0)}, {"bytes got", value(1)}});
                return "one-sided";
            case EventKind::kCollective:
                tell("root", {{"bytes sent", value(0)},
                              {"bytes received", value(1)},
                              {"number", tag_of_message(value(2))}});
                return "collective";
            case EventKind::kIo:
                details->numbers = {{"bytes read", value(0)}, {"bytes written", value(1)}};
                return "input or output";
            default:
                return nullptr;
        }
    }

    void flush(Pending* pending) {
        if (!pending->is_there) return;
        put_event(pending->begin.ns, pending->begin.thread, kSliceBegin, &pending->details,
                  pending->begin.place);
        pending->is_there = false;
        pending->details = {};
        if (pending->waited_ns == 0) return;
        put_event(pending->begin.ns, pending->begin.thread, kSliceBegin, nullptr, kNoPlace,
                  "waiting");
        pending->wait_end_ns = pending->begin.ns + std::exchange(pending->waited_ns, 0);
    }

    uint64_t intern(protozero::pbf_writer* interned, uint32_t place, const char* category,
                    uint64_t* category_iid) {
        const auto [known, is_new] = categories_.emplace(category, categories_.size() + 1);
        *category_iid = known->second;
        if (is_new) {
            protozero::pbf_writer entry(*interned, kEventCategories);
            entry.add_uint64(kIid, known->second);
            entry.add_string(kIidName, category);
        }
        if (place >= named_.size()) {
            named_.resize(place + size_t{1});
            where_.resize(named_.size());
        }
        if (!named_[place]) {
            named_[place] = true;
            where_[place] = utf8_text(timeline_.place(place).where);
            protozero::pbf_writer entry(*interned, kEventNames);
            entry.add_uint64(kIid, place + uint64_t{1});
            entry.add_string(kIidName, utf8_text(timeline_.place(place).name));
        }
        return place + uint64_t{1};
    }

    // `name`: of what has no place.
    void put_event(uint64_t ns, uint32_t thread, Type type, const Details* details, uint32_t place,
                   const char* name = nullptr) {
        std::string packet;
        {
            protozero::pbf_writer writer(packet);
            writer.add_uint64(kTimestamp, ns);
            writer.add_uint32(kSequence, kSequenceId);
            writer.add_uint32(kSequenceFlags, kNeedsState);
            uint64_t category_iid = 0;
            uint64_t name_iid = 0;
            if (type != kSliceEnd && name == nullptr) {
                std::string interned;
                {
                    protozero::pbf_writer of(interned);
                    name_iid =
                        intern(&of, place, category_of(timeline_.place(place).kind), &category_iid);
                }
                if (!interned.empty()) writer.add_message(kInternedData, interned);
            }
            protozero::pbf_writer event(writer, kTrackEvent);
            event.add_enum(kType, type);
            event.add_uint64(kTrackUuid, track_of(thread));
            if (name != nullptr) {
                event.add_string(kEventName, name);
            } else if (type != kSliceEnd) {
                event.add_uint64(kCategoryIids, category_iid);
                event.add_uint64(kNameIid, name_iid);
                annotate(&event, "at", where_[place]);
            }
            if (details != nullptr) {
                for (const auto& [number, value] : details->numbers) {
                    protozero::pbf_writer annotation(event, kDebugAnnotations);
                    annotation.add_string(kAnnotationName, number);
                    annotation.add_uint64(kUintValue, value);
                }
                for (const uint64_t flow : details->sent) event.add_fixed64(kFlowIds, flow);
                for (const uint64_t flow : details->received)
                    event.add_fixed64(kTerminatingFlowIds, flow);
            }
        }
        put(packet);
    }
    static void annotate(protozero::pbf_writer* event, const char* name, const std::string& text) {
        if (text.empty()) return;
        protozero::pbf_writer annotation(*event, kDebugAnnotations);
        annotation.add_string(kAnnotationName, name);
        annotation.add_string(kStringValue, text);
    }

    Timeline& timeline_;
    ExportJob& job_;
    OutFile out_;
    MessageNumbers numbers_;
    uint64_t unseen_waits_ = 0;
    MetricSums sums_;
    std::vector<Pending> pending_;
    std::vector<bool> named_;         // by place
    std::vector<std::string> where_;  // of these
    std::map<std::string, uint64_t> categories_;
};

}  // namespace

Outcome export_perfetto(Timeline* timeline, ExportJob* job) {
    return PerfettoWriter(timeline, job).write();
}

}  // namespace dwell
