// The JSON trace format of Chrome, which many viewers read: begin and end of calls, messages as
// flows. Viewers read the file as a whole, so its size is limited.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "report/export/exporters.h"

namespace dwell {
namespace {

std::string quoted(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string us(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

class ChromeWriter {
  public:
    ChromeWriter(Timeline* timeline, ExportJob* job)
        : timeline_(*timeline), job_(*job), out_(job->path), sums_(*timeline) {}

    Outcome write() {
        out_.write("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
        for (uint32_t i = 0; i < timeline_.processes().size(); ++i) {
            const TimelineProcess& process = timeline_.processes()[i];
            put(fmt::format(
                "{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_name\",\"args\":{{\"name\":{}}}}}", i,
                quoted(fmt::format("rank {} ({})", process.rank, process.host))));
            if (const std::string label = clock_label(process); !label.empty()) {
                put(
                    fmt::format("{{\"ph\":\"M\",\"pid\":{},\"name\":\"process_labels\",\"args\":"
                                "{{\"labels\":{}}}}}",
                                i, quoted(label)));
            }
        }
        for (uint32_t i = 0; i < timeline_.threads().size(); ++i) {
            const TimelineThread& thread = timeline_.threads()[i];
            put(fmt::format(
                "{{\"ph\":\"M\",\"pid\":{},\"tid\":{},\"name\":\"thread_name\",\"args\":"
                "{{\"name\":{}}}}}",
                thread.process, thread.number,
                quoted(fmt::format("thread {} {}", thread.number, thread.name))));
        }
        if (out_.bytes() + kTail.size() > job_.limit_bytes) return refuse();
        open_.resize(timeline_.threads().size());
        TimelineEvent event;
        while (timeline_.next(&event)) add(event);
        out_.write(kTail);
        job_.note(
            left_out_,
            fmt::format("events from {:.6f} s on are left out, calls that were open end there: "
                        "the file would be larger than {} MiB (--limit)",
                        static_cast<double>(full_ns_) / 1e9, job_.limit_bytes >> 20));
        job_.note(collectives_,
                  "collectives have no root and no bytes: Chrome's format shows calls alone");
        job_.note(unsaid_.one_sided, "one-sided transfers are left out");
        job_.note(unsaid_.requests,
                  "starts and ends of requests are left out; their calls and messages are there");
        job_.note(unsaid_.io_sizes,
                  "reads and writes have no bytes: Chrome's format shows calls alone");
        return out_.close();
    }

  private:
    static inline const std::string kTail = "\n]}\n";
    // An end without its name, and what separates it.
    static constexpr uint64_t kMostEndBytes = 96;

    // Viewers want the names of all threads, whatever else there is.
    Outcome refuse() {
        return out_.refuse(fmt::format(
            "the names of the threads alone take more than {} MiB: use a larger --limit",
            job_.limit_bytes >> 20));
    }

    void put(const std::string& event) {
        out_.write((first_ ? "\n" : ",\n") + event);
        first_ = false;
    }

    std::string head(const char* phase, const TimelineEvent& event) const {
        const TimelineThread& thread = timeline_.threads()[event.thread];
        return fmt::format("{{\"ph\":\"{}\",\"ts\":{},\"pid\":{},\"tid\":{}", phase, us(event.ns),
                           thread.process, thread.number);
    }
    const std::string& name_of(uint32_t place) {
        if (place >= names_.size()) names_.resize(place + size_t{1});
        std::string& name = names_[place];
        if (name.empty()) {
            const TimelinePlace& of = timeline_.place(place);
            name = quoted(of.where.empty() ? of.name : of.name + " " + of.where);
        }
        return name;
    }

    static bool can_say(const TimelineEvent& event) {
        const EventKind kind = event.event.kind;
        if (event.kind != TimelineKind::kOther || kind == EventKind::kSample) return true;
        if (kind == EventKind::kMetric) return event.event.more != 0;
        if (!text_of_control(event.event).empty()) return true;
        return (kind == EventKind::kSend || kind == EventKind::kReceive) && event.event.more >= 2;
    }
    static uint64_t records_of(const TimelineEvent& event) {
        return is_arrival(event) && !event.is_split ? 2 : 1;
    }
    static bool is_arrival(const TimelineEvent& event) {
        return event.kind == TimelineKind::kOther && event.event.kind == EventKind::kReceive;
    }

    // The file keeps room for the ends of the calls that are open.
    void add(const TimelineEvent& event) {
        if (!can_say(event)) {
            collectives_ += event.event.kind == EventKind::kCollective ? 1 : 0;
            unsaid_.count(event.event);
            return;
        }
        if (is_full_) {
            left_out_ += records_of(event);
            return;
        }
        const std::string text = text_of(event);
        uint64_t ends_bytes = ends_bytes_;
        if (event.kind == TimelineKind::kBegin) ends_bytes += end_bytes(event.place);
        if (event.kind == TimelineKind::kEnd) ends_bytes -= end_bytes(event.place);
        const uint64_t most = out_.bytes() + text.size() + 2 + ends_bytes + kTail.size();
        if (most > job_.limit_bytes) {
            finish(event.ns);
            left_out_ += records_of(event);
            return;
        }
        ends_bytes_ = ends_bytes;
        std::vector<uint32_t>& open = open_[event.thread];
        if (event.kind == TimelineKind::kBegin) open.push_back(event.place);
        if (event.kind == TimelineKind::kEnd) open.pop_back();
        put(text);
    }
    uint64_t end_bytes(uint32_t place) { return kMostEndBytes + name_of(place).size(); }

    void finish(uint64_t ns) {
        is_full_ = true;
        full_ns_ = ns;
        TimelineEvent end{};
        end.kind = TimelineKind::kEnd;
        end.ns = ns;
        for (end.thread = 0; end.thread < open_.size(); ++end.thread) {
            std::vector<uint32_t>& open = open_[end.thread];
            for (; !open.empty(); open.pop_back()) {
                end.place = open.back();
                put(text_of(end));
            }
        }
    }

    std::string text_of(const TimelineEvent& event) {
        switch (event.kind) {
            case TimelineKind::kBegin:
                return head("B", event) + ",\"name\":" + name_of(event.place) + "}";
            case TimelineKind::kEnd:
                return head("E", event) + ",\"name\":" + name_of(event.place) + "}";
            case TimelineKind::kMark:
                return head("i", event) + ",\"s\":\"t\",\"name\":" + name_of(event.place) +
                       (event.event.more == 0
                            ? ""
                            : fmt::format(",\"args\":{{\"volume\":{}}}", event.event.values[0])) +
                       "}";
            case TimelineKind::kOther:
                break;
        }
        if (event.event.kind == EventKind::kSample) {
            // One may stand for several.
            const uint64_t number = event.event.more != 0 ? event.event.values[0] : 1;
            return head("i", event) +
                   fmt::format(
                       ",\"s\":\"t\",\"cat\":\"sample\",\"name\":{}{}}}", name_of(event.place),
                       number == 1 ? "" : fmt::format(",\"args\":{{\"samples\":{}}}", number));
        }
        if (const std::string text = text_of_control(event.event); !text.empty())
            return head("i", event) + ",\"s\":\"t\",\"name\":" + quoted(text) + "}";
        return event.event.kind == EventKind::kMetric ? text_of_counts(event)
                                                      : text_of_message(event);
    }

    // Counters are of a process; each thread has its own.
    std::string text_of_counts(const TimelineEvent& event) {
        sums_.add(event);
        std::string text;
        for (const uint32_t metric : sums_.known_by(event)) {
            text +=
                (text.empty() ? "" : ",\n") + head("C", event) +
                fmt::format(",\"id\":\"{}\",\"name\":{},\"args\":{{\"value\":{}}}}}",
                            timeline_.threads()[event.thread].number,
                            quoted(timeline_.metrics()[metric]), sums_.of(event.thread)[metric]);
        }
        return text;
    }

    // A flow that ended with its call would point backwards where the call began before the send:
    // it ends at the next slice, which is the instant of the receipt.
    std::string text_of_message(const TimelineEvent& event) {
        const Event& record = event.event;
        const uint32_t own = timeline_.processes()[timeline_.threads()[event.thread].process].rank;
        const std::string name =
            fmt::format("{} bytes, tag {}", record.values[0], tag_of_message(record.values[1]));
        const auto flow = [&](const char* phase) {
            return head(phase, event) +
                   fmt::format(",\"cat\":\"message\",\"name\":\"{}\",\"id\":\"{:x}\"}}", name,
                               numbers_.of(own, record));
        };
        const bool arrives = is_arrival(event);
        if (!arrives && !event.is_split) return flow("s");
        const std::string text = arrives && !event.is_split ? flow("f") + ",\n" : "";
        return text + head("i", event) + ",\"s\":\"t\",\"name\":\"" +
               (arrives ? "received: " : "sent: ") + name + "\"}";
    }

    Timeline& timeline_;
    ExportJob& job_;
    OutFile out_;
    MessageNumbers numbers_;
    MetricSums sums_;
    std::vector<std::string> names_;
    std::vector<std::vector<uint32_t>> open_;  // by thread: places of calls
    uint64_t ends_bytes_ = 0;                  // most that the ends of these take
    bool is_full_ = false;
    uint64_t full_ns_ = 0;
    uint64_t left_out_ = 0;
    uint64_t collectives_ = 0;
    UnsaidRecords unsaid_;
    bool first_ = true;
};

}  // namespace

Outcome export_chrome(Timeline* timeline, ExportJob* job) {
    return ChromeWriter(timeline, job).write();
}

}  // namespace dwell
