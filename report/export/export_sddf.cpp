// Events as records of Pablo's self-describing data format. Each record names the rank, so that it
// can be used alone; each marker of the program is a type of record of its own.
#include <fmt/format.h>

#include <map>
#include <utility>

#include "report/export/exporters.h"
#include "report/export/sddf_file.h"
#include "runtime/contract/version.h"
#include "summarize/formats/json_names.h"

namespace dwell {
namespace {

constexpr SddfType kChar = SddfType::kChar;
constexpr SddfType kInt = SddfType::kInt;
constexpr SddfType kDouble = SddfType::kDouble;

// Of an event: when, where, and what is its own.
SddfDescriptor event_type(int32_t tag, const std::string& name, std::vector<SddfField> fields) {
    fields.insert(fields.begin(), {{"seconds", kDouble}, {"rank", kInt}, {"thread", kInt}});
    return {tag, name, std::move(fields)};
}
constexpr int32_t kCounts = 17;
constexpr int32_t kFirstMarker = 100;
SddfDescriptor marker_type(int32_t tag, const std::string& name) {
    return event_type(tag, name, {{"place", kInt}, {"volume", kDouble}});
}

struct SddfTypes {
    const SddfDescriptor process = {1,
                                    "process",
                                    {{"process", kInt},
                                     {"rank", kInt},
                                     {"pid", kInt},
                                     {"host", kChar, true},
                                     {"program", kChar, true}}};
    const SddfDescriptor thread = {2,
                                   "thread",
                                   {{"thread", kInt},
                                    {"process", kInt},
                                    {"number", kInt},
                                    {"tid", kInt},
                                    {"name", kChar, true}}};
    const SddfDescriptor communicator = {
        3, "communicator", {{"communicator", kInt}, {"members", kInt, true}}};
    const SddfDescriptor place = {4,
                                  "place",
                                  {{"place", kInt},
                                   {"kind", kChar, true},
                                   {"name", kChar, true},
                                   {"file", kChar, true},
                                   {"line", kInt}}};
    const SddfDescriptor enter = event_type(5, "enter", {{"place", kInt}});
    const SddfDescriptor leave = event_type(6, "leave", {{"place", kInt}});
    const SddfDescriptor send = event_type(
        7, "send",
        {{"destination", kInt}, {"communicator", kInt}, {"tag", kInt}, {"bytes", kDouble}});
    const SddfDescriptor receive =
        event_type(8, "receive",
                   {{"source", kInt}, {"communicator", kInt}, {"tag", kInt}, {"bytes", kDouble}});
    const SddfDescriptor one_sided = event_type(
        9, "one-sided", {{"target", kInt}, {"bytes put", kDouble}, {"bytes got", kDouble}});
    const SddfDescriptor collective = event_type(10, "collective",
                                                 {{"communicator", kInt},
                                                  {"number", kInt},
                                                  {"root", kInt},
                                                  {"bytes sent", kDouble},
                                                  {"bytes received", kDouble}});
    const SddfDescriptor start = event_type(11, "request start", {{"request", kInt}});
    const SddfDescriptor complete = event_type(12, "request end", {{"request", kInt}});
    const SddfDescriptor io =
        event_type(13, "I/O", {{"bytes read", kDouble}, {"bytes written", kDouble}});
    const SddfDescriptor lost = event_type(14, "lost", {{"records", kDouble}});
    const SddfDescriptor off = event_type(15, "events off", {});
    const SddfDescriptor sample = event_type(16, "sample", {{"place", kInt}, {"samples", kDouble}});

    std::vector<const SddfDescriptor*> all() const {
        return {&process,   &thread,     &communicator, &place,    &enter, &leave, &send, &receive,
                &one_sided, &collective, &start,        &complete, &io,    &lost,  &off,  &sample};
    }
};

int32_t rank_in(uint32_t rank) { return rank == kEventNobody ? -1 : static_cast<int32_t>(rank); }

class SddfTrace {
  public:
    SddfTrace(Timeline* timeline, ExportJob* job, std::unique_ptr<SddfFile> file)
        : timeline_(*timeline),
          job_(*job),
          file_(std::move(file)),
          metrics_(metric_names(*timeline)),
          counts_(counts_type(metrics_)) {}

    Outcome write() {
        find_markers();
        timeline_.rewind();
        put_head();
        define_all();
        TimelineEvent event;
        while (timeline_.next(&event)) add(event);
        job_.note(file_->rounded(), "numbers beyond 2^53 are rounded");
        return file_->close();
    }

  private:
    static std::vector<std::string> metric_names(const Timeline& timeline) {
        std::vector<std::string> names;
        for (const std::string& name : timeline.metrics()) names.push_back(sddf_text(name));
        return names;
    }
    // A field for each metric: what was counted since the thread's last record of this type.
    static SddfDescriptor counts_type(const std::vector<std::string>& metrics) {
        std::vector<SddfField> fields;
        for (const std::string& metric : metrics) fields.push_back({metric.c_str(), kDouble});
        return event_type(kCounts, "counts", fields);
    }

    // Descriptors come before all data, so the places of markers must be known first.
    void find_markers() {
        TimelineEvent event;
        while (timeline_.next(&event)) {
            if (event.kind != TimelineKind::kMark || markers_.count(event.place) != 0) continue;
            const std::string name = "marker " + sddf_text(timeline_.place(event.place).name);
            const auto number = static_cast<int32_t>(marker_types_.size());
            const auto known =
                marker_types_.try_emplace(name, marker_type(kFirstMarker + number, name)).first;
            markers_[event.place] = &known->second;
        }
    }

    void put_head() {
        SddfAttributes attributes = {
            {"created by", "dwell " DWELL_VERSION},
            {"clock", "seconds of virtual time since the first process began"},
            {"begin", fmt::format("{} ns since 1970", timeline_.start_unix_ns())},
            {"ranks", std::to_string(timeline_.world_size())}};
        if (const uint64_t bound = timeline_.notes().clock_bound_ns; bound != 0)
            attributes.emplace_back("times of other hosts than the first are right to",
                                    fmt::format("{} ns", bound));
        file_->put_head(attributes);
        for (const SddfDescriptor* type : types_.all()) file_->put_descriptor(*type);
        if (!timeline_.metrics().empty()) file_->put_descriptor(counts_);
        for (const auto& [name, type] : marker_types_) file_->put_descriptor(type);
    }

    void define_all() {
        for (uint32_t i = 0; i < timeline_.processes().size(); ++i) {
            const TimelineProcess& process = timeline_.processes()[i];
            file_->begin(types_.process);
            file_->put_int(static_cast<int32_t>(i));
            file_->put_int(rank_in(process.rank));
            file_->put_int(process.pid);
            file_->put_text(process.host);
            file_->put_text(process.program);
            file_->end();
        }
        for (uint32_t i = 0; i < timeline_.threads().size(); ++i) {
            const TimelineThread& thread = timeline_.threads()[i];
            file_->begin(types_.thread);
            file_->put_int(static_cast<int32_t>(i));
            file_->put_int(static_cast<int32_t>(thread.process));
            file_->put_int(static_cast<int32_t>(thread.number));
            file_->put_int(thread.tid);
            file_->put_text(thread.name);
            file_->end();
        }
        for (const TimelineComm& comm : timeline_.comms()) {
            if (comm.members.empty()) continue;  // of two groups: its members are not known
            std::vector<int32_t> members;
            for (const uint32_t rank : comm.members) members.push_back(rank_in(rank));
            file_->begin(types_.communicator);
            file_->put_int(static_cast<int32_t>(comm.id));
            file_->put_ints(members);
            file_->end();
        }
        for (uint32_t i = 0; i < timeline_.places(); ++i) {
            const TimelinePlace& place = timeline_.place(i);
            file_->begin(types_.place);
            file_->put_int(static_cast<int32_t>(i));
            file_->put_text(kind_name(place.kind));
            file_->put_text(place.name);
            file_->put_text(place.file);
            file_->put_int(place.line);
            file_->end();
        }
    }

    void begin(const SddfDescriptor& type, const TimelineEvent& event) {
        file_->begin(type);
        file_->put_seconds(event.ns);
        const TimelineThread& thread = timeline_.threads()[event.thread];
        file_->put_int(rank_in(timeline_.processes()[thread.process].rank));
        file_->put_int(static_cast<int32_t>(event.thread));
    }

    void add(const TimelineEvent& event) {
        switch (event.kind) {
            case TimelineKind::kBegin:
            case TimelineKind::kEnd:
                begin(event.kind == TimelineKind::kBegin ? types_.enter : types_.leave, event);
                file_->put_int(static_cast<int32_t>(event.place));
                file_->end();
                break;
            case TimelineKind::kMark:
                begin(*markers_.at(event.place), event);
                file_->put_int(static_cast<int32_t>(event.place));
                file_->put_number(value(event.event, 0));
                file_->end();
                break;
            case TimelineKind::kOther:
                add_record(event);
        }
    }

    static uint64_t value(const Event& record, uint32_t number) {
        return number < record.more ? record.values[number] : 0;
    }

    void add_record(const TimelineEvent& event) {
        const Event& record = event.event;
        switch (record.kind) {
            case EventKind::kSend:
            case EventKind::kReceive:
                begin(record.kind == EventKind::kSend ? types_.send : types_.receive, event);
                file_->put_int(rank_in(record.what));
                file_->put_int(static_cast<int32_t>(comm_of_message(value(record, 1))));
                file_->put_int(static_cast<int32_t>(tag_of_message(value(record, 1))));
                file_->put_number(value(record, 0));
                break;
            case EventKind::kOneSided:
                begin(types_.one_sided, event);
                file_->put_int(rank_in(record.what));
                file_->put_number(value(record, 0));
                file_->put_number(value(record, 1));
                break;
            case EventKind::kCollective:
                begin(types_.collective, event);
                file_->put_int(static_cast<int32_t>(comm_of_message(value(record, 2))));
                file_->put_int(static_cast<int32_t>(tag_of_message(value(record, 2))));
                file_->put_int(rank_in(record.what));
                file_->put_number(value(record, 0));
                file_->put_number(value(record, 1));
                break;
            case EventKind::kStart:
            case EventKind::kComplete:
                begin(record.kind == EventKind::kStart ? types_.start : types_.complete, event);
                file_->put_int(static_cast<int32_t>(record.what));
                break;
            case EventKind::kIo:
                begin(types_.io, event);
                file_->put_number(value(record, 0));
                file_->put_number(value(record, 1));
                break;
            case EventKind::kControl:
                if (is_control(record, EventControl::kOff)) {
                    begin(types_.off, event);
                    break;
                }
                if (!is_control(record, EventControl::kGap)) return;
                begin(types_.lost, event);
                file_->put_number(value(record, 0) + value(record, 1) + value(record, 2));
                break;
            case EventKind::kSample:
                begin(types_.sample, event);
                file_->put_int(static_cast<int32_t>(event.place));
                file_->put_number(value(record, 0));
                break;
            case EventKind::kMetric:
                begin(counts_, event);
                put_counts(event);
                break;
            default:
                return;
        }
        file_->end();
    }

    void put_counts(const TimelineEvent& event) {
        const uint32_t process = timeline_.threads()[event.thread].process;
        const std::vector<uint32_t>& metrics = timeline_.processes()[process].metrics;
        std::vector<uint64_t> counts(timeline_.metrics().size());
        for (uint32_t i = 0; i < metrics.size(); ++i) counts[metrics[i]] = value(event.event, i);
        for (const uint64_t count : counts) file_->put_number(count);
    }

    Timeline& timeline_;
    ExportJob& job_;
    std::unique_ptr<SddfFile> file_;
    const SddfTypes types_;
    const std::vector<std::string> metrics_;
    const SddfDescriptor counts_;
    std::map<std::string, SddfDescriptor> marker_types_;  // by name
    std::map<uint32_t, const SddfDescriptor*> markers_;   // by place
};

}  // namespace

Outcome export_sddf(Timeline* timeline, ExportJob* job) {
    return SddfTrace(timeline, job, sddf_ascii(job->path)).write();
}
Outcome export_sddf_binary(Timeline* timeline, ExportJob* job) {
    return SddfTrace(timeline, job, sddf_binary(job->path)).write();
}

}  // namespace dwell
