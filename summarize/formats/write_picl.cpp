// Writes PICL statistics. "Table" and "section" in the comments are those of ORNL/TM-12125.
#include "summarize/formats/write_picl.h"

#include <fmt/format.h>

#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "runtime/contract/io_calls.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/version.h"
#include "summarize/formats/json_names.h"
#include "summarize/formats/picl_records.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

constexpr int kSubsetOfAll = -2;  // processor id of the subset that the -201 record defines

// Volume is undefined for events that only check or complete a send (Tables 7 and 8: no length
// field).
bool has_volume(int event) {
    const bool checks = event == -53 || event == -54 || event == -29 || event == -59;
    return !checks && !(event <= -28 && event >= -31) && event != -57;
}

struct Statistic {
    uint64_t time_ns = 0;
    uint64_t count = 0;
    uint64_t volume = 0;
};
using Statistics = std::map<int, Statistic, std::greater<>>;  // -21 before -52, as in the sample

// The statistics of one communication node, by event type. Bytes are not recorded for each slot:
// where both a ready and a blocked slot were used, they are divided by the number of calls, and
// `*volumes_estimated` is set.
void add_call(uint16_t call, const Totals& totals, Statistics* out, bool* volumes_estimated) {
    if (call == 0 || call >= kMpiCallCount) return;
    const int16_t(&events)[kEventSlots] = kMpiCalls[call].event;
    bool split_known = false;
    for (const uint64_t count : totals.event_count) split_known = split_known || count != 0;
    if (!split_known) {
        for (const int16_t event : events) {
            if (event == 0) continue;
            (*out)[event].count += totals.count;
            (*out)[event].time_ns += totals.time_ns;
            if (has_volume(event)) {
                (*out)[event].volume += totals.bytes_sent + totals.bytes_received;
            }
            return;
        }
        return;
    }
    for (int slot = 0; slot < kEventSlots; ++slot) {
        if (events[slot] == 0) continue;
        (*out)[events[slot]].count += totals.event_count[slot];
        (*out)[events[slot]].time_ns += totals.event_ns[slot];
    }
    const auto add_bytes = [&](uint64_t bytes, int ready, int blocked) {
        if (bytes == 0) return;
        // One event type for the whole function gets all bytes.
        if (events[ready] == 0 && events[blocked] == 0) {
            ready = ready == kSendReady ? kRecvReady : kSendReady;
            blocked = ready + 1;
        }
        const bool ready_has = events[ready] != 0 && has_volume(events[ready]);
        const bool blocked_has = events[blocked] != 0 && has_volume(events[blocked]);
        const uint64_t ready_count = totals.event_count[ready];
        const uint64_t calls = ready_count + totals.event_count[blocked];
        uint64_t ready_bytes = bytes;
        if (!ready_has) {
            ready_bytes = 0;
        } else if (blocked_has && events[ready] != events[blocked] && calls != 0) {
            ready_bytes =
                static_cast<uint64_t>(static_cast<unsigned __int128>(bytes) * ready_count / calls);
            if (ready_count != 0 && ready_count != calls) *volumes_estimated = true;
        }
        if (ready_has) (*out)[events[ready]].volume += ready_bytes;
        if (blocked_has) (*out)[events[blocked]].volume += bytes - ready_bytes;
    };
    add_bytes(totals.bytes_sent, kSendReady, kSendBlocked);
    add_bytes(totals.bytes_received, kRecvReady, kRecvBlocked);
}

void add_io(uint16_t call, const Totals& totals, Statistics* out) {
    if (call == 0 || call >= kIoCallCount) return;
    const int event = kIoCalls[call].event;
    Statistic& sum = (*out)[event];
    sum.count += totals.count;
    sum.time_ns += totals.time_ns;
    if (event == kPiclFileWrite) sum.volume += totals.bytes_sent;
    if (event == kPiclFileRead) sum.volume += totals.bytes_received;
}

void add_all(const Statistics& from, Statistics* into) {
    for (const auto& [event, statistic] : from) {
        Statistic& sum = (*into)[event];
        sum.time_ns += statistic.time_ns;
        sum.count += statistic.count;
        sum.volume += statistic.volume;
    }
}

std::string clock_text(uint64_t ns) { return picl_clock(static_cast<int64_t>(ns)); }

// Data of a record; `wide` when a value needs "%ld" to be read on every machine.
class Pairs {
  public:
    void add_time(int event, uint64_t ns) {
        if (ns != 0) add(event, clock_text(ns));
    }
    void add_number(int event, uint64_t number) {
        if (number == 0) return;
        add(event, std::to_string(number));
        wide_ = wide_ || number > INT32_MAX;
    }
    void add_undefined(int event) { add(event, "-1"); }
    size_t size() const { return size_; }
    bool wide() const { return wide_; }
    const std::string& text() const { return text_; }

  private:
    void add(int event, const std::string& value) {
        text_ += fmt::format(" {} {}", event, value);
        ++size_;
    }
    std::string text_;
    size_t size_ = 0;
    bool wide_ = false;
};

class PiclWriter {
  public:
    explicit PiclWriter(std::string* out) : out_(out) {}

    void mark(PiclRecordType record, int event, const PiclLocation& at) {
        *out_ += picl_mark(record, event, at);
    }
    void text(PiclRecordType record, int event, const PiclLocation& at, std::string_view words) {
        *out_ += picl_text(record, event, at, words);
    }
    void pairs(PiclRecordType record, int event, const PiclLocation& at, const Pairs& data) {
        if (data.size() == 0) return;
        const char* descriptor = "%d%d";
        if (record == PiclRecordType::kTime) descriptor = "%d%lf";
        if (data.wide()) descriptor = "%d%ld";
        *out_ +=
            fmt::format("{} {} {} {} {} {} \"{}\"{}\n", static_cast<int>(record), event, at.clock,
                        at.processor, at.process, data.size(), descriptor, data.text());
    }
    void statistics(int event, const PiclLocation& at, const Statistics& values) {
        Pairs times;
        Pairs counts;
        Pairs volumes;
        for (const auto& [type, value] : values) {
            times.add_time(type, value.time_ns);
            counts.add_number(type, value.count);
            volumes.add_number(type, value.volume);
        }
        pairs(PiclRecordType::kTime, event, at, times);
        pairs(PiclRecordType::kCount, event, at, counts);
        pairs(PiclRecordType::kVolume, event, at, volumes);
    }

  private:
    std::string* out_;
};

// The totals of each node for one process, or for a subset of processes.
struct NodeFigures {
    bool present = false;
    uint64_t time_ns = 0;
    uint64_t count = 0;
    uint64_t volume = 0;  // the user's, of a block or marker
    Statistics inside;
};

class StatisticsBuilder {
  public:
    explicit StatisticsBuilder(const Profile& profile)
        : profile_(profile), order_(nodes_from_root(profile)), user_event_(profile.nodes.size()) {
        int next = 0;
        for (size_t i = 0; i < profile.nodes.size(); ++i) {
            user_event_[i] = profile.nodes[i].kind == SiteKind::kProgram ? kPiclAllEvents : next++;
        }
    }

    int user_event(size_t node) const { return user_event_[node]; }
    // The events of metrics follow those of the sites.
    int metric_event(size_t metric) const {
        return static_cast<int>(profile_.nodes.size() - 1 + metric);
    }
    void add_counts(const ProfileCounts& counts, std::vector<NodeFigures>* figures) const {
        for (size_t i = 0; i < counts.own.size(); ++i) {
            (*figures)[counts.node].inside[metric_event(i)].volume += counts.own[i];
        }
    }
    bool volumes_estimated() const { return volumes_estimated_; }
    const std::set<int, std::greater<>>& used_events() const { return used_events_; }

    std::vector<NodeFigures> empty() const {
        return std::vector<NodeFigures>(profile_.nodes.size());
    }
    void add(uint32_t index, const Totals& totals, std::vector<NodeFigures>* figures) {
        NodeFigures& node = (*figures)[index];
        node.present = true;
        node.time_ns += totals.time_ns;
        node.count += totals.count;
        node.volume += totals.volume;
        if (is_communication(profile_.nodes[index])) {
            add_call(profile_.nodes[index].call, totals, &node.inside, &volumes_estimated_);
        } else if (is_io(profile_.nodes[index])) {
            add_io(profile_.nodes[index].call, totals, &node.inside);
        }
    }
    void sum_up(std::vector<NodeFigures>* figures) {
        for (auto index = order_.rbegin(); index != order_.rend(); ++index) {
            for (const auto& [event, value] : (*figures)[*index].inside) {
                if (value.count != 0) used_events_.insert(event);
            }
            const uint32_t parent = profile_.nodes[*index].parent;
            if (parent != kNoNode) add_all((*figures)[*index].inside, &(*figures)[parent].inside);
        }
    }
    void write(const PiclLocation& at, const std::vector<NodeFigures>& figures,
               const Statistic& tracing, PiclWriter* writer) const {
        Statistics system = figures.empty() ? Statistics{} : figures[0].inside;
        system[kPiclTracing] = tracing;
        writer->statistics(kPiclAllEvents, at, system);

        Pairs times;
        Pairs counts;
        Pairs volumes;
        for (size_t i = 0; i < figures.size(); ++i) {
            if (user_event_[i] == kPiclAllEvents || !figures[i].present) continue;
            times.add_time(user_event_[i], figures[i].time_ns);
            volumes.add_number(user_event_[i], figures[i].volume);
            const ProfileNode& node = profile_.nodes[i];
            if (is_statement(node) || is_probed(node) || node.totals.count != 0) {
                counts.add_number(user_event_[i], figures[i].count);
            } else {
                counts.add_undefined(user_event_[i]);  // not counted without probes
            }
        }
        writer->pairs(PiclRecordType::kTime, kPiclAllEvents, at, times);
        writer->pairs(PiclRecordType::kCount, kPiclAllEvents, at, counts);
        writer->pairs(PiclRecordType::kVolume, kPiclAllEvents, at, volumes);
        for (size_t i = 0; i < figures.size(); ++i) {
            if (user_event_[i] == kPiclAllEvents) continue;
            writer->statistics(user_event_[i], at, figures[i].inside);
        }
    }

  private:
    const Profile& profile_;
    std::vector<uint32_t> order_;
    std::vector<int> user_event_;
    std::set<int, std::greater<>> used_events_;
    bool volumes_estimated_ = false;
};

// Start and end of a process in virtual time, in nanoseconds since the first start of the job.
struct Lifetime {
    uint64_t start_ns = 0;
    uint64_t end_ns = 0;
    size_t rank_index = 0;
    uint64_t threads_ns = 0;  // of all threads: upper bound of any site
};

std::vector<Lifetime> lifetimes(const Profile& profile) {
    int64_t first = INT64_MAX;
    for (const ProfileRank& rank : profile.ranks) first = std::min(first, rank.start_unix_ns);
    // Threads' times are sums of statements and computation, while clocks are read once: they
    // differ by rounding.
    struct Threads {
        uint64_t longest_ns = 0;
        uint64_t all_ns = 0;
    };
    std::map<uint32_t, Threads> threads;
    for (const ProfileRow& row : profile.rows) {
        if (row.node != 0) continue;
        Threads& of_rank = threads[row.rank];
        of_rank.longest_ns = std::max(of_rank.longest_ns, row.totals.time_ns);
        of_rank.all_ns += row.totals.time_ns;
    }
    std::vector<Lifetime> lives;
    for (size_t i = 0; i < profile.ranks.size(); ++i) {
        const ProfileRank& rank = profile.ranks[i];
        const auto start = static_cast<uint64_t>(rank.start_unix_ns) - static_cast<uint64_t>(first);
        const Threads& of_rank = threads[rank.rank];
        const uint64_t virtual_ns =
            std::max(rank.real_ns - std::min(rank.real_ns, rank.intrusion_ns), of_rank.longest_ns);
        lives.push_back({start, start + virtual_ns, i, std::max(virtual_ns, of_rank.all_ns)});
    }
    return lives;
}

Statistic tracing_of(const ProfileRank& rank, const Lifetime& life) {
    return {life.threads_ns, 1, rank.record_bytes};
}

// The start records in order of time: a process may end before another one begins.
class Starts {
  public:
    Starts(const Profile& profile, std::vector<Lifetime> lives)
        : profile_(profile), lives_(std::move(lives)) {
        std::stable_sort(lives_.begin(), lives_.end(), [](const Lifetime& a, const Lifetime& b) {
            return a.start_ns < b.start_ns;
        });
    }

    void write_until(uint64_t ns, PiclWriter* writer) {
        for (; next_ < lives_.size() && lives_[next_].start_ns <= ns; ++next_) {
            const int processor = static_cast<int>(profile_.ranks[lives_[next_].rank_index].rank);
            writer->mark(PiclRecordType::kEntry, kPiclTracing,
                         {clock_text(lives_[next_].start_ns), processor, 0});
        }
    }

  private:
    const Profile& profile_;
    std::vector<Lifetime> lives_;
    size_t next_ = 0;
};

// Writes the statistics of every process.
void write_processes(const Profile& profile, std::vector<Lifetime> lives,
                     StatisticsBuilder* builder, PiclWriter* writer) {
    const std::vector<size_t> rows = rows_by_thread(profile);
    const auto earlier = [](const Lifetime& a, const Lifetime& b) { return a.end_ns < b.end_ns; };
    Starts starts(profile, lives);
    std::stable_sort(lives.begin(), lives.end(), earlier);
    for (const Lifetime& life : lives) {
        starts.write_until(life.end_ns, writer);
        const ProfileRank& rank = profile.ranks[life.rank_index];
        std::vector<NodeFigures> figures = builder->empty();
        auto row = std::lower_bound(
            rows.begin(), rows.end(), rank.rank,
            [&profile](size_t i, uint32_t wanted) { return profile.rows[i].rank < wanted; });
        for (; row != rows.end() && profile.rows[*row].rank == rank.rank; ++row) {
            builder->add(profile.rows[*row].node, profile.rows[*row].totals, &figures);
        }
        for (const ProfileCounts& counts : profile.metrics.rows) {
            if (counts.rank == rank.rank) builder->add_counts(counts, &figures);
        }
        builder->sum_up(&figures);
        const PiclLocation at = {clock_text(life.end_ns), static_cast<int>(rank.rank), 0};
        writer->mark(PiclRecordType::kExit, kPiclTracing, at);
        builder->write(at, figures, tracing_of(rank, life), writer);
    }
}

// Writes the sums over all processes, as statistics of one processor subset.
void write_subset(const Profile& profile, std::vector<Lifetime> lives, StatisticsBuilder* builder,
                  PiclWriter* writer) {
    const auto earlier = [](const Lifetime& a, const Lifetime& b) { return a.end_ns < b.end_ns; };
    Starts starts(profile, lives);
    std::stable_sort(lives.begin(), lives.end(), earlier);
    Statistic tracing;
    for (const Lifetime& life : lives) {
        starts.write_until(life.end_ns, writer);
        const ProfileRank& rank = profile.ranks[life.rank_index];
        writer->mark(PiclRecordType::kExit, kPiclTracing,
                     {clock_text(life.end_ns), static_cast<int>(rank.rank), 0});
        const Statistic one = tracing_of(rank, life);
        tracing.time_ns += one.time_ns;
        tracing.count += one.count;
        tracing.volume += one.volume;
    }
    std::vector<NodeFigures> figures = builder->empty();
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        builder->add(i, profile.nodes[i].totals, &figures);
    }
    tracing.time_ns = std::max(tracing.time_ns, figures.empty() ? 0 : figures[0].time_ns);
    for (const ProfileCounts& counts : profile.metrics.nodes) builder->add_counts(counts, &figures);
    builder->sum_up(&figures);
    const PiclLocation at = {clock_text(lives.empty() ? 0 : lives.back().end_ns), kSubsetOfAll, 0};
    builder->write(at, figures, tracing, writer);
}

void write_labels(const Profile& profile, const StatisticsBuilder& builder, PiclWriter* writer) {
    const PiclLocation everywhere = {clock_text(0), kPiclAnywhere, kPiclAnywhere};
    const std::string program = profile.ranks.empty() ? "" : profile.ranks.front().command;
    writer->text(PiclRecordType::kMessage, kPiclAllEvents, everywhere,
                 fmt::format("statistics by dwell " DWELL_VERSION ": {}", program));
    if (builder.volumes_estimated()) {
        writer->text(PiclRecordType::kMessage, kPiclAllEvents, everywhere,
                     "estimated: volumes of receives that waited and that did not, where one "
                     "statement did both, are divided by their number");
    }
    for (const int event : builder.used_events()) {
        const std::string_view label = picl_label(event);
        if (!label.empty()) writer->text(PiclRecordType::kLabel, event, everywhere, label);
    }
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        if (builder.user_event(i) == kPiclAllEvents) continue;
        writer->text(
            PiclRecordType::kLabel, builder.user_event(i), everywhere,
            fmt::format("{} {}@{}:{}", kind_name(node.kind), node.name, node.file, node.line));
    }
    for (size_t i = 0; i < profile.metrics.names.size(); ++i) {
        writer->text(PiclRecordType::kLabel, builder.metric_event(i), everywhere,
                     "metric " + profile.metrics.names[i]);
    }
}

void write_subset_definition(const Profile& profile, std::string* out) {
    *out +=
        fmt::format("{} {} {} {} {} {} 2 {}", static_cast<int>(PiclRecordType::kProcessorSubset),
                    kPiclAllEvents, clock_text(0), kPiclAnywhere, kPiclAnywhere,
                    profile.ranks.size() + 1, kSubsetOfAll);
    for (const ProfileRank& rank : profile.ranks) *out += fmt::format(" {}", rank.rank);
    *out += '\n';
}

}  // namespace

std::string write_picl(const Profile& profile) {
    const bool per_process = !(profile.merged_flags & kMergedRowsDropped);
    const std::vector<Lifetime> lives = lifetimes(profile);
    StatisticsBuilder builder(profile);
    std::string body;
    PiclWriter body_writer(&body);
    if (per_process) {
        write_processes(profile, lives, &builder, &body_writer);
    } else {
        write_subset(profile, lives, &builder, &body_writer);
    }
    // Labels come first (section 2.4), although the needed labels are known only at the end.
    std::string out;
    PiclWriter head_writer(&out);
    write_labels(profile, builder, &head_writer);
    if (!per_process) write_subset_definition(profile, &out);
    return out + body;
}

}  // namespace dwell
