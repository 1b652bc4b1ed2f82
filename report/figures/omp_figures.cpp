// Sums OpenMP constructs over call paths, and finds the code that runs while threads are idle; see
// omp_figures.h.
#include "report/figures/omp_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "report/figures/figures.h"
#include "report/figures/names.h"
#include "report/figures/text_style.h"
#include "runtime/contract/omp_constructs.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/model/profile_walk.h"

namespace dwell {
namespace {

bool is_construct(const ProfileNode& node, OmpConstruct construct) {
    return is_openmp(node) && node.call == static_cast<uint16_t>(construct);
}
using LineKey = std::tuple<std::string, std::string, int>;
using ThreadKey = std::pair<uint32_t, uint32_t>;  // rank, thread

// Whether an ancestor belongs to the same line and its time includes the node's.
bool lies_in_same(const Profile& profile, uint32_t index) {
    const ProfileNode& node = profile.nodes[index];
    for (uint32_t at = node.parent; at != kNoNode; at = profile.nodes[at].parent) {
        const ProfileNode& around = profile.nodes[at];
        if (is_openmp(around) && around.name == node.name && around.file == node.file &&
            around.line == node.line) {
            return true;
        }
    }
    return false;
}

// By node: whether it is a region, or inside one.
std::vector<bool> nodes_in_regions(const Profile& profile) {
    std::vector<bool> inside(profile.nodes.size());
    for (const uint32_t i : nodes_from_root(profile)) {
        const ProfileNode& node = profile.nodes[i];
        inside[i] = is_region(node) || (node.parent != kNoNode && inside[node.parent]);
    }
    return inside;
}

// Code that regions also execute does not show which code is serial, so its caller is named.
void name_serial_caller(const Profile& profile, const std::vector<bool>& parallel,
                        SerialCode* code) {
    if (code->node == kNoNode) return;
    std::set<std::pair<std::string, std::string>> in_regions;  // name, file
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        if (parallel[i] && node.kind == SiteKind::kProcedure) {
            in_regions.insert({node.name, node.file});
        }
    }
    uint32_t call = kNoNode;
    for (uint32_t at = code->node; at != kNoNode; at = profile.nodes[at].parent) {
        const ProfileNode& node = profile.nodes[at];
        if (node.kind == SiteKind::kCall) call = at;
        if (node.kind != SiteKind::kProcedure) continue;
        if (in_regions.count({node.name, node.file}) != 0) continue;
        // The measured node is a loop or block inside it.
        if (call != kNoNode) {
            code->node = at;
            code->call = call;
        }
        return;
    }
}

}  // namespace

bool is_region(const ProfileNode& node) { return is_openmp(node) && is_omp_region(node.call); }

std::vector<OmpLine> omp_lines(const Profile& profile) {
    std::map<LineKey, OmpLine> by_key;
    std::vector<OmpLine*> line_of(profile.nodes.size(), nullptr);
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        if (!is_openmp(node) || is_construct(node, OmpConstruct::kIdle)) continue;
        OmpLine& line = by_key[{node.name, node.file, node.line}];
        if (line.node == kNoNode) line.totals.min_ns = UINT64_MAX;
        const bool most =
            line.node == kNoNode || node.totals.time_ns > profile.nodes[line.node].totals.time_ns;
        if (most) line.node = i;
        Totals totals = node.totals;
        if (lies_in_same(profile, i)) totals.time_ns = totals.omp_wait_ns = 0;
        add_totals(&line.totals, totals);
        line_of[i] = &line;
    }
    std::map<std::pair<const OmpLine*, ThreadKey>, uint64_t> work_ns;
    for (const ProfileRow& row : profile.rows) {
        const OmpLine* const line = line_of[row.node];
        if (line == nullptr || lies_in_same(profile, row.node)) continue;
        work_ns[{line, {row.rank, row.thread}}] +=
            row.totals.time_ns - std::min(row.totals.time_ns, row.totals.omp_wait_ns);
    }
    std::vector<OmpLine> lines;
    for (auto& [key, line] : by_key) {
        line.work_ns = line.totals.time_ns - std::min(line.totals.time_ns, line.totals.omp_wait_ns);
        auto at = work_ns.lower_bound({&line, {0, 0}});
        for (; at != work_ns.end() && at->first.first == &line; ++at) {
            ++line.threads;
            if (at->second <= line.most_ns) continue;
            line.most_ns = at->second;
            std::tie(line.most_rank, line.most_thread) = at->first.second;
        }
        lines.push_back(line);
    }
    std::stable_sort(lines.begin(), lines.end(), [](const OmpLine& a, const OmpLine& b) {
        return a.totals.time_ns > b.totals.time_ns;
    });
    return lines;
}

double mean_work_ns(const OmpLine& line) {
    return static_cast<double>(line.work_ns) /
           static_cast<double>(std::max<size_t>(line.threads, 1));
}

std::string thread_name(const Profile& profile, const OmpLine& line) {
    std::string text = fmt::format("thread {}", line.most_thread);
    if (profile.ranks.size() > 1) text += fmt::format(" of rank {}", line.most_rank);
    return text;
}

std::string uneven_text(const Profile& profile, const OmpLine& line) {
    const double mean_ns = mean_work_ns(line);
    if (line.threads < 2 || static_cast<double>(line.most_ns) < kLeastImbalance * mean_ns) {
        return "";
    }
    return fmt::format(": {} works {} times the mean", thread_name(profile, line),
                       ratio_text(static_cast<double>(line.most_ns), mean_ns));
}

SerialCode serial_code(const Profile& profile) {
    std::vector<uint64_t> own_ns(profile.nodes.size());
    const std::vector<bool> parallel = nodes_in_regions(profile);
    std::vector<uint64_t> of_code_ns(profile.nodes.size());
    SerialCode code;
    for (const uint32_t i : nodes_from_root(profile)) {
        const ProfileNode& node = profile.nodes[i];
        if (!is_communication(node)) own_ns[i] = node.computation_ns;
        if (parallel[i] || is_openmp(node) || is_statement(node)) continue;
        const uint32_t own = own_code(profile, i);
        of_code_ns[own] += own_ns[i];
        if (code.node == kNoNode || of_code_ns[own] > of_code_ns[code.node]) code.node = own;
    }
    name_serial_caller(profile, parallel, &code);
    sum_into_parents(profile, nodes_from_root(profile), &own_ns);
    uint64_t parallel_ns = 0;
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        const bool outermost = parallel[i] && (node.parent == kNoNode || !parallel[node.parent]);
        if (outermost) parallel_ns += own_ns[i] - std::min(own_ns[i], node.totals.omp_wait_ns);
    }
    code.all_ns = profile.computation_ns - std::min(profile.computation_ns, parallel_ns);
    std::map<uint32_t, uint64_t> of_rank_ns;
    for (const ProfileRow& row : profile.rows) {
        const ProfileNode& node = profile.nodes[row.node];
        if (parallel[row.node] || is_openmp(node) || is_statement(node)) continue;
        uint64_t& rank_ns = of_rank_ns[row.rank];
        rank_ns += row.computation_ns;
        if (rank_ns <= code.most_ns) continue;
        code.most_ns = rank_ns;
        code.most_rank = row.rank;
    }
    return code;
}

SerialTime serial_time(const Profile& profile) {
    SerialTime time;
    time.computed_ns = serial_code(profile).all_ns;
    const std::vector<bool> parallel = nodes_in_regions(profile);
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        if (parallel[i]) continue;
        if (is_io(node)) time.io_ns += node.totals.time_ns;
        if (!is_communication(node) || is_setup(node)) continue;
        const uint64_t time_ns = node.totals.time_ns - setup_part_ns(node, node.totals);
        const uint64_t blocked_ns = std::min(node.totals.blocked_ns, time_ns);
        time.blocked_ns += blocked_ns;
        time.transfer_ns += time_ns - blocked_ns;
    }
    return time;
}

std::string omp_wait_text(const Profile& profile, int room, bool utf8) {
    const std::vector<OmpLine> lines = omp_lines(profile);
    const OmpLine* most = nullptr;
    for (const OmpLine& line : lines) {
        if (!is_region(profile.nodes[line.node])) continue;
        if (most == nullptr || line.totals.omp_wait_ns > most->totals.omp_wait_ns) most = &line;
    }
    if (most == nullptr || most->totals.omp_wait_ns == 0) return "";
    const std::string procedure = procedure_of(profile, most->node, utf8);
    return "the region at " + cut_place(place_text(profile.nodes[most->node], utf8), room, utf8) +
           (procedure.empty() ? "" : " in " + cut_name(procedure, room, utf8)) +
           uneven_text(profile, *most);
}

}  // namespace dwell
