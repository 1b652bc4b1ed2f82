// Writes the CSV of DESIGN 6 with the quoting of RFC 4180. Seconds have nine decimals, so sums over
// rows are exact to the nanosecond.
#include "summarize/formats/write_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "summarize/formats/csv_fields.h"
#include "summarize/formats/json_names.h"
#include "summarize/model/grid_places.h"
#include "summarize/model/profile_walk.h"
#include "summarize/profile/metric_counts.h"

namespace dwell {
namespace {

constexpr std::string_view kHeader =
    "path,kind,name,file,line,rank,thread,count,time_s,self_s,sync_s,transfer_s,bytes,"
    "blocked_s,sent,received,min_s,max_s,failed,estimated,labels,untimed,"
    "iterations,abandoned,estimated_s,volume,"
    "known_sync_s,late_sender_s,late_receiver_s,passed_on_s,unknown_waits,"
    "first_iteration,last_iteration,coordinates,"
    "omp_wait_s,omp_idle_s,omp_start_s,omp_overhead_s,created,chunks,"
    "user_s,system_s,peak_memory,minor_faults,major_faults,voluntary_switches,involuntary_switches,"
    "read_bytes,written_bytes,io_s,io_file,thread_name,unfinished_s";
constexpr std::string_view kNoUsage = ",,,,,,,,,";

std::string percent_encoded(std::string_view element) {
    std::string out;
    for (const char c : element) {
        if (c == '/') {
            out += "%2F";
        } else if (c == '%') {
            out += "%25";
        } else {
            out += c;
        }
    }
    return out;
}

std::string label_words(uint32_t labels) {
    std::string words;
    for (const BitName& known : kLabelNames) {
        if (!(labels & known.bit)) continue;
        if (!words.empty()) words += ' ';
        words += known.name;
    }
    return words;
}

// The first five fields, which are equal in all rows of one node.
std::vector<std::string> node_fields(const Profile& profile, const std::vector<uint32_t>& order) {
    std::vector<std::string> paths(profile.nodes.size());
    std::vector<std::string> fields(profile.nodes.size());
    for (const uint32_t index : order) {
        const ProfileNode& node = profile.nodes[index];
        const std::string element =
            percent_encoded(fmt::format("{}@{}:{}", node.name, base_name(node.file), node.line));
        paths[index] = node.parent == kNoNode ? element : paths[node.parent] + "/" + element;
        fields[index] = fmt::format("{},{},{},{},{}", csv_field(paths[index]), kind_name(node.kind),
                                    csv_field(node.name), csv_field(node.file), node.line);
    }
    return fields;
}

struct Figures {
    const Totals& totals;
    uint64_t computation_ns;
    uint64_t communication_ns;  // inclusive
};

void append_figures(std::string* out, const ProfileNode& node, const Figures& figures) {
    const Totals& totals = figures.totals;
    const uint64_t self_ns = is_statement(node) ? totals.time_ns : figures.computation_ns;
    const uint64_t blocked_ns = std::min(totals.blocked_ns, figures.communication_ns);
    const std::string blocked = csv_seconds(blocked_ns);
    const bool timed = totals.count != 0 && totals.min_ns != UINT64_MAX;
    *out +=
        fmt::format(",{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
                    totals.count, csv_seconds(totals.time_ns), csv_seconds(self_ns), blocked,
                    csv_seconds(figures.communication_ns - blocked_ns),
                    totals.bytes_sent + totals.bytes_received, blocked, totals.bytes_sent,
                    totals.bytes_received, timed ? csv_seconds(totals.min_ns) : "",
                    timed ? csv_seconds(totals.max_ns) : "", totals.failed,
                    node.labels & kLabelEstimated ? 1 : 0, label_words(node.labels), totals.untimed,
                    totals.iterations, totals.abandoned, csv_seconds(totals.estimated_ns),
                    totals.volume, csv_seconds(std::min(totals.sync_ns, blocked_ns)),
                    csv_seconds(totals.late_sender_ns), csv_seconds(totals.late_receiver_ns),
                    csv_seconds(totals.passed_on_ns), totals.unknown_waits);
}

std::string omp_figures(const Totals& totals) {
    return fmt::format(",{},{},{},{},{},{}", csv_seconds(totals.omp_wait_ns),
                       csv_seconds(totals.omp_idle_ns), csv_seconds(totals.omp_start_ns),
                       csv_seconds(totals.omp_overhead_ns), totals.created, totals.chunks);
}

// The last columns, only in the program's row: sums over the ranks with known values, but for
// memory the maximum. Empty where nothing is known.
template <typename Wanted>
void append_usage(std::string* out, const Profile& profile, Wanted wanted) {
    ProcessUsage sum{};
    bool known = false;
    bool bytes_known = false;
    for (const ProfileRank& rank : profile.ranks) {
        if (rank.usage_ns == 0 || !wanted(rank)) continue;
        known = true;
        bytes_known = bytes_known || (rank.flags & kFileNoBytes) == 0;
        const uint64_t peak = std::max(sum.peak_memory_bytes, rank.usage.peak_memory_bytes);
        for (const UsageName& name : kUsageNames) sum.*name.figure += rank.usage.*name.figure;
        sum.peak_memory_bytes = peak;
    }
    if (!known) {
        *out += kNoUsage;
        return;
    }
    *out += fmt::format(",{},{},{},{},{},{},{},", csv_seconds(sum.user_ns),
                        csv_seconds(sum.system_ns), sum.peak_memory_bytes, sum.minor_faults,
                        sum.major_faults, sum.voluntary_switches, sum.involuntary_switches);
    *out += bytes_known ? fmt::format("{},{}", sum.read_bytes, sum.written_bytes) : ",";
}

void append_io(std::string* out, const ProfileNode& node, uint64_t io_ns) {
    *out += fmt::format(",{},{}", csv_seconds(io_ns), csv_field(node.io_file));
}

// Two columns for each metric, inclusive and exclusive, after the number of entries that were read.
std::string header_of(const Profile& profile) {
    std::string header(kHeader);
    if (!profile.metrics.names.empty()) header += ",metric_entries,metric_s";
    for (const std::string& name : profile.metrics.names) {
        header += "," + csv_field(name) + "," + csv_field(name + " self");
    }
    return header + "\r\n";
}

// `counts` may be null.
void append_counts(std::string* out, const Profile& profile, const ProfileCounts* counts) {
    const size_t metrics = profile.metrics.names.size();
    if (counts == nullptr) {
        *out += std::string(metrics == 0 ? 0 : 2 + 2 * metrics, ',');
    } else {
        *out += fmt::format(",{},{}", counts->entries, csv_seconds(counts->time_ns));
        for (size_t i = 0; i < metrics; ++i) {
            *out += fmt::format(",{},{}", counts->inclusive[i], counts->own[i]);
        }
    }
    *out += "\r\n";
}

const ProfileCounts* counts_of_row(const Profile& profile, const ProfileRow& row) {
    const auto key = [](const auto& at) { return std::tie(at.rank, at.thread, at.node); };
    const auto& rows = profile.metrics.rows;
    const auto found = std::lower_bound(
        rows.begin(), rows.end(), row,
        [&key](const ProfileCounts& a, const ProfileRow& b) { return key(a) < key(b); });
    return found != rows.end() && key(*found) == key(row) ? &*found : nullptr;
}

}  // namespace

std::string write_csv(const Profile& profile) {
    const std::vector<uint32_t> order = nodes_from_root(profile);
    const std::vector<std::string> fields = node_fields(profile, order);
    std::vector<uint64_t> communication_ns(profile.nodes.size());
    for (const uint32_t index : order) {
        const ProfileNode& node = profile.nodes[index];
        if (is_communication(node)) communication_ns[index] = node.totals.time_ns;
    }
    sum_into_parents(profile, order, &communication_ns);
    std::vector<uint64_t> io_ns(profile.nodes.size());
    for (const uint32_t index : order) {
        if (is_io(profile.nodes[index])) io_ns[index] = profile.nodes[index].totals.time_ns;
    }
    sum_into_parents(profile, order, &io_ns);

    std::string out = header_of(profile);
    for (const uint32_t index : order) {
        const ProfileNode& node = profile.nodes[index];
        out += fields[index] + ",*,*";
        append_figures(&out, node, {node.totals, node.computation_ns, communication_ns[index]});
        const PhaseNumbers& phase = node.phase;
        out += phase.known ? fmt::format(",{},{},", phase.first, phase.last) : ",,,";
        out += omp_figures(node.totals);
        if (index == 0) {
            append_usage(&out, profile, [](const ProfileRank&) { return true; });
        } else {
            out += kNoUsage;
        }
        append_io(&out, node, io_ns[index]);
        out += ",," + csv_seconds(node.totals.unfinished_ns);
        append_counts(&out, profile, counts_of(profile.metrics, index));
    }
    return out;
}

tl::expected<std::string, std::string> write_csv_per_rank(const Profile& profile) {
    if (profile.merged_flags & kMergedRowsDropped) {
        return tl::unexpected<std::string>(
            "this profile holds no figures per rank: the job was over the row limit "
            "(run again with a higher DWELL_ROW_LIMIT, or leave out --per-rank)");
    }
    const std::vector<uint32_t> order = nodes_from_root(profile);
    const std::vector<std::string> fields = node_fields(profile, order);
    const std::vector<size_t> rows = rows_by_thread(profile);
    const GridPlaces grids(profile);
    std::vector<uint64_t> communication_ns(profile.nodes.size());
    std::vector<uint64_t> io_ns(profile.nodes.size());

    std::string out = header_of(profile);
    for (size_t first = 0; first < rows.size();) {
        const ProfileRow& head = profile.rows[rows[first]];
        size_t end = first;
        const auto same_thread = [&](const ProfileRow& row) {
            return row.rank == head.rank && row.thread == head.thread;
        };
        std::fill(communication_ns.begin(), communication_ns.end(), 0);
        std::fill(io_ns.begin(), io_ns.end(), 0);
        for (; end < rows.size() && same_thread(profile.rows[rows[end]]); ++end) {
            const ProfileRow& row = profile.rows[rows[end]];
            if (is_communication(profile.nodes[row.node])) {
                communication_ns[row.node] += row.totals.time_ns;
            }
            if (is_io(profile.nodes[row.node])) io_ns[row.node] += row.totals.time_ns;
        }
        sum_into_parents(profile, order, &communication_ns);
        sum_into_parents(profile, order, &io_ns);
        const std::string place =
            fmt::format("{}", fmt::join(grids.coordinates_of(head.rank), " "));
        const ProfileThread* const thread = find_thread(profile, head.rank, head.thread);
        const std::string name = thread != nullptr ? csv_field(thread->name) : "";
        // A process has these in one row, that of its first thread.
        const bool first_thread = first == 0 || profile.rows[rows[first - 1]].rank != head.rank;
        for (; first < end; ++first) {
            const ProfileRow& row = profile.rows[rows[first]];
            out += fmt::format("{},{},{}", fields[row.node], row.rank, row.thread);
            append_figures(&out, profile.nodes[row.node],
                           {row.totals, row.computation_ns, communication_ns[row.node]});
            out += fmt::format(",,,{}", place) + omp_figures(row.totals);
            if (row.node == 0 && first_thread) {
                append_usage(&out, profile,
                             [&row](const ProfileRank& rank) { return rank.rank == row.rank; });
            } else {
                out += kNoUsage;
            }
            append_io(&out, profile.nodes[row.node], io_ns[row.node]);
            out += ',' + name + ',' + csv_seconds(row.totals.unfinished_ns);
            append_counts(&out, profile, counts_of_row(profile, row));
        }
    }
    return out;
}

}  // namespace dwell
