// Makes the profile from merged records (DESIGN 2): builds the tree with its times, attributes the
// intervals to procedures, and adds the figures of single ranks. Keeps rule 5 of DESIGN 5 in whole
// nanoseconds: inclusive time = own computation + children, and computation + transfer + blocked +
// OpenMP waiting and idle time + paused = total.
#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "summarize/attribution/measured_owner.h"
#include "summarize/model/profile.h"
#include "summarize/model/profile_walk.h"
#include "summarize/model/script_name.h"
#include "summarize/profile/clamp_estimates.h"
#include "summarize/profile/job_profile.h"
#include "summarize/profile/metric_counts.h"
#include "summarize/profile/profile_builder.h"
#include "summarize/profile/profile_notes.h"
#include "summarize/profile/rank_figures.h"
#include "summarize/profile/settle_times.h"
#include "summarize/symbols/lines.h"

namespace dwell {

void ProfileBuilder::build() {
    add_job(merged_, &profile_);
    add_program();
    add_nodes();
    label_probes();
    place_samples();
    find_unmeasured();
    place_sleep();
    add_intervals();
    place_samples_of_ranks();
    Overcount overcount = sum_up();
    add_rank_figures(merged_, tree_, &division_, &profile_, &overcount);
    label_estimates();
    sum_up_job();
    add_metrics(merged_, tree_, interval_owner_, &profile_);
    name_measured_owners(possible_, &profile_);
    rank_intervals_.divide(merged_, wait_paths_, interval_number_, possible_, division_.samples,
                           &profile_);
    add_samples();
    label_uncertain_owners();
    add_peers();
    add_phases();
    add_waits();
    add_axis();
    add_sites();
    sort_all();
    clamp_estimates(&profile_);
    profile_.notes = notes_of(profile_, lines_, paths_.modules_used(), overcount);
}

void ProfileBuilder::renew() {
    for (ProfileNode& node : profile_.nodes) {
        node.totals = Totals{};
        node.totals.min_ns = UINT64_MAX;
    }
    add_figures();
    add_calls_of_probed();
    booked_ns_.assign(profile_.nodes.size(), 0);
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        if (!is_kind(merged_.nodes[i], SiteKind::kInterval)) continue;
        division_.of_interval[i].split(
            merged_.nodes[i].totals.time_ns,
            [this](uint32_t node, uint64_t ns) { booked_ns_[node] += ns; });
    }
    sum_up();
    sum_up_job();
}

void ProfileBuilder::add_program() {
    ProfileNode program;
    program.kind = SiteKind::kProgram;
    program.totals.min_ns = UINT64_MAX;
    if (!profile_.ranks.empty()) {
        const ProfileRank& first = profile_.ranks[0];
        program.name = shown_program(first.program, first.command);
        program.module = first.program;
    }
    profile_.nodes.push_back(std::move(program));
}

void ProfileBuilder::add_histogram(const MergedNode& merged, ProfileNode* node) {
    if (merged.histogram >= merged_.histograms.size()) return;
    const MergedHistogram& histogram = merged_.histograms[merged.histogram];
    node->messages.resize(kSizeBuckets, 0);
    for (int i = 0; i < kSizeBuckets; ++i) node->messages[i] += histogram.messages[i];
}

// A node made of several merged nodes names the file with most bytes.
void ProfileBuilder::add_io_file(const MergedNode& merged, ProfileNode* node) {
    const std::string name = merged_.text.data() + merged.file;
    uint64_t& most = io_file_bytes_[static_cast<uint32_t>(node - profile_.nodes.data())];
    const bool first = node->io_file.empty();
    const bool more = merged.other_files != 0 || (!first && name != node->io_file);
    if (more) node->labels |= kLabelMoreFiles;
    if (!first && merged.file_bytes <= most) return;
    node->io_file = name;
    most = merged.file_bytes;
}

void ProfileBuilder::add_nodes() {
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        const bool statement =
            is_kind(merged, SiteKind::kIo) || is_kind(merged, SiteKind::kCommunication);
        if (statement || is_measured_kind(merged.kind)) tree_.add(i);
    }
    std::vector<uint32_t> parts(profile_.nodes.size(), 0);
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        const bool probed = is_measured_kind(merged.kind);
        const bool io = is_kind(merged, SiteKind::kIo);
        const uint32_t leaf = tree_.leaf_of(i);
        if (leaf == kNoNode) continue;
        ProfileNode& node = profile_.nodes[leaf];
        const bool is_first = parts[leaf]++ == 0;
        if (is_first) node.totals.min_ns = UINT64_MAX;
        if (probed) node.labels |= kLabelProbed;
        if (tree_.is_partly_counted(i)) node.labels |= kLabelAtLeast;
        const bool is_phase = is_named(merged) && (merged.flags & kNodePhase) != 0;
        if (is_phase) node.labels |= kLabelPhase;
        if (io && merged.file != 0) add_io_file(merged, &node);
        add_histogram(merged, &node);
        // Several merged nodes: lower bounds, which add_rank_figures makes exact where it can.
        if (is_first || merged.rank_max_ns > node.rank_max_ns) {
            node.rank_max_ns = merged.rank_max_ns;
            node.rank_max = merged.rank_max;
        }
        if (is_first || merged.rank_min_ns < node.rank_min_ns) {
            node.rank_min_ns = merged.rank_min_ns;
            node.rank_min = merged.rank_min;
        }
        node.ranks = std::max(node.ranks, merged.ranks);
    }
    for (size_t i = 0; i < profile_.nodes.size(); ++i) {
        if (parts[i] == 0) profile_.nodes[i].totals.min_ns = UINT64_MAX;
    }
    add_figures();
}

void ProfileBuilder::add_figures() {
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const uint32_t leaf = tree_.leaf_of(i);
        if (leaf == kNoNode) continue;
        const Totals figures = tree_.figures_of(i, merged_.nodes[i].totals);
        add_statement(figures, &profile_.nodes[leaf].totals);
    }
}

// The count of calls of probed procedures: the entries of the procedure from that call.
void ProfileBuilder::add_calls_of_probed() {
    for (const ProfileNode& node : profile_.nodes) {
        if (!is_probed(node) || node.kind != SiteKind::kProcedure) continue;
        ProfileNode& parent = profile_.nodes[node.parent];
        if (parent.kind == SiteKind::kCall) parent.totals.count += node.totals.count;
    }
}

void ProfileBuilder::label_probes() {
    add_calls_of_probed();
    for (ProfileNode& node : profile_.nodes) {
        if (!is_probed(node)) continue;
        const Totals& totals = node.totals;
        if (totals.abandoned != 0) node.labels |= kLabelAbandoned;
        if (node.kind == SiteKind::kProcedure &&
            profile_.nodes[node.parent].kind == SiteKind::kCall) {
            profile_.nodes[node.parent].labels |= node.labels & kLabelAtLeast;
        }
        if (totals.untimed == 0 || node.kind == SiteKind::kMarker) continue;
        node.labels |= totals.untimed == totals.count ? kLabelCounted
                       : totals.estimated_ns != 0     ? kLabelReduced
                                                      : kLabelRecursive;
    }
}

Overcount ProfileBuilder::sum_up() {
    std::vector<ProfileNode>& nodes = profile_.nodes;
    std::vector<NodeTime> times(nodes.size());
    std::vector<uint32_t> all(nodes.size());
    std::iota(all.begin(), all.end(), 0u);
    for (const uint32_t i : all) {
        const Totals& totals = nodes[i].totals;
        times[i] = {totals.time_ns, booked_ns_[i], totals.omp_wait_ns + totals.omp_idle_ns, 0, 0};
    }
    TimeSettler settler(nodes, division_.inside);
    settler.settle(all, &times);
    // Children follow their parents, so one pass from the end adds up the whole tree.
    for (size_t i = nodes.size(); i-- > 0;) {
        ProfileNode& node = nodes[i];
        node.totals.time_ns = times[i].total_ns;
        node.computation_ns = times[i].own_ns;
        if (i != 0 && !is_io(node)) add_traffic(node.totals, &nodes[node.parent].totals);
    }
    return settler.overcount();
}

// Labels nodes whose time is estimated, or contains an estimate that no probe replaces. Time of the
// program itself outside of measured procedures is exact.
void ProfileBuilder::label_estimates() {
    std::vector<ProfileNode>& nodes = profile_.nodes;
    bool beside_probes = false;
    for (const ProfileNode& node : nodes) beside_probes = beside_probes || is_probed(node);
    for (size_t i = nodes.size(); i-- > 0;) {
        ProfileNode& node = nodes[i];
        const bool unmeasured = division_.unmeasured[i];
        if (is_statement(node) || (is_probed(node) && !unmeasured)) continue;
        const bool known = i == 0 && beside_probes;
        if ((node.computation_ns != 0 && !known) || unmeasured) node.labels |= kLabelEstimated;
        if (i == 0 || (node.labels & kLabelEstimated) == 0) continue;
        ProfileNode& parent = nodes[node.parent];
        if (!is_probed(parent)) parent.labels |= kLabelEstimated;
    }
}

// Labels nodes that may not own most of the computation attributed to them.
void ProfileBuilder::label_uncertain_owners() {
    std::vector<uint64_t> uncertain_ns(profile_.nodes.size(), 0);
    for (const ProfileInterval& interval : profile_.intervals) {
        if (interval.or_after) uncertain_ns[interval.booked_on] += interval.time_ns;
    }
    for (size_t i = 0; i < profile_.nodes.size(); ++i) {
        if (is_probed(profile_.nodes[i]) || 2 * uncertain_ns[i] <= booked_ns_[i]) continue;
        profile_.nodes[i].labels |= kLabelOrAfter;
    }
}

void ProfileBuilder::sum_up_job() {
    const Totals& all = profile_.nodes[0].totals;
    profile_.computation_ns = profile_.io_ns = profile_.paused_ns = 0;
    for (const ProfileNode& node : profile_.nodes) {
        if (!is_statement(node)) profile_.computation_ns += node.computation_ns;
        if (is_io(node)) profile_.io_ns += node.totals.time_ns;
    }
    profile_.omp_wait_ns = all.omp_wait_ns;
    profile_.omp_idle_ns = all.omp_idle_ns;
    profile_.blocked_ns = all.blocked_ns;
    profile_.sync_ns = all.sync_ns;
    profile_.transfer_ns = all.time_ns - profile_.computation_ns - all.blocked_ns - profile_.io_ns;
    // Waiting in OpenMP is own time of its nodes.
    profile_.computation_ns -= std::min(profile_.computation_ns, all.omp_wait_ns + all.omp_idle_ns);
    for (const ProfileRank& rank : profile_.ranks) profile_.paused_ns += rank.paused_ns;
    profile_.total_ns = all.time_ns + profile_.paused_ns;
}

// Adds every program and library of the job with a static table, even if none of it ran.
void ProfileBuilder::add_sites() {
    if (!has_probes(profile_)) return;
    std::vector<LeftOutSite> loops;
    std::set<std::array<std::string, 3>> known;
    for (uint32_t module = 0; module < merged_.modules.size(); ++module) {
        const SiteTable table = without_duplicates(paths_.probe_sites()->table_of(module));
        for (const StaticSite& site : table.sites) {
            const bool procedure = site.kind == SiteKind::kProcedure;
            if (!procedure && site.kind != SiteKind::kLoop) continue;
            ++(procedure ? profile_.sites.procedures : profile_.sites.loops);
            if (site.has_probes) {
                ++(procedure ? profile_.sites.procedures_probed : profile_.sites.loops_probed);
                continue;
            }
            const std::string line = std::to_string(site.line) + ":" + std::to_string(site.column);
            if (!site.left_out() || !known.insert({site.name, site.file, line}).second) continue;
            (procedure ? profile_.sites.left_out : loops)
                .push_back({site.kind, site.name, site.file, static_cast<int>(site.line),
                            std::string(left_out_reason(site))});
        }
    }
    std::vector<LeftOutSite>& list = profile_.sites.left_out;
    list.insert(list.end(), loops.begin(), loops.end());
}

void ProfileBuilder::add_peers() {
    std::map<std::array<uint32_t, 3>, ProfilePeer> peers;
    for (const MergedPeer& from : merged_.peers) {
        const uint32_t node = tree_.leaf_of(from.node);
        if (node == kNoNode) continue;
        const auto [entry, is_new] = peers.try_emplace({node, from.rank, from.peer});
        ProfilePeer& peer = entry->second;
        if (is_new) {
            peer.node = node;
            peer.rank = from.rank;
            peer.peer = from.peer;
            peer.min_ns = UINT64_MAX;
        }
        peer.count += from.count;
        peer.time_ns += from.time_ns;
        peer.sync_ns += from.sync_ns;
        peer.bytes_sent += from.bytes_sent;
        peer.bytes_received += from.bytes_received;
        peer.min_ns = std::min(peer.min_ns, from.min_ns);
        peer.max_ns = std::max(peer.max_ns, from.max_ns);
    }
    for (auto& [key, peer] : peers) profile_.peers.push_back(peer);
    std::map<std::array<uint32_t, 2>, MergedDistance> distances;
    for (const MergedDistance& from : merged_.distances) {
        const uint32_t node = tree_.leaf_of(from.node);
        if (node == kNoNode) continue;
        MergedDistance& distance = distances[{node, from.distance}];
        distance.node = node;
        distance.distance = from.distance;
        distance.pairs += from.pairs;
        distance.count += from.count;
        distance.time_ns += from.time_ns;
        distance.sync_ns += from.sync_ns;
        distance.bytes_sent += from.bytes_sent;
        distance.bytes_received += from.bytes_received;
    }
    for (auto& [key, distance] : distances) profile_.distances.push_back(distance);
}

void ProfileBuilder::add_phases() {
    for (const MergedPhase& from : merged_.phases) {
        const uint32_t node = tree_.leaf_of(from.node);
        if (node == kNoNode) continue;
        PhaseNumbers& phase = profile_.nodes[node].phase;
        phase = {true, from.first, from.last, from.last_behind, from.rank_behind};
    }
}

void ProfileBuilder::add_axis() {
    ProfileAxis& axis = profile_.axis;
    axis.missing_threads = merged_.axis_missing;
    if (merged_.axis.empty()) return;
    const uint64_t first = merged_.axis[0].bin;
    axis.width_ns = uint64_t{1} << merged_.axis_shift;
    axis.start_unix_ns = static_cast<int64_t>(first << merged_.axis_shift);
    for (const MergedAxisBin& from : merged_.axis) {
        const uint32_t phase = from.phase != kNoNode ? tree_.leaf_of(from.phase) : kNoNode;
        axis.bins.push_back({from.bin - first, from.ranks, phase, from.sum, from.least, from.most});
    }
    for (const MergedAxisRow& from : merged_.axis_rows) {
        axis.rows.push_back({from.bin - first, from.rank, from.figures});
    }
    std::sort(axis.rows.begin(), axis.rows.end(),
              [](const ProfileBinRow& a, const ProfileBinRow& b) {
                  return std::tie(a.rank, a.number) < std::tie(b.rank, b.number);
              });
}

void ProfileBuilder::add_waits() {
    const auto interval_of = [&](uint32_t path, uint32_t rank) {
        const uint32_t merged = wait_paths_.interval_of(path);
        const uint32_t number =
            merged < interval_number_.size() ? interval_number_[merged] : kNoNode;
        return rank_intervals_.on_rank(number, rank);
    };
    const auto add = [](const MergedCause& from, auto* to) {
        to->peer = from.peer;
        to->count += from.count;
        to->time_ns += from.time_ns;
        to->passed_on_ns += from.passed_on_ns;
        to->lost_ns += from.lost_ns;
    };
    std::map<std::array<uint32_t, 3>, ProfilePartner> partners;
    for (const MergedCause& from : merged_.partners) {
        const uint32_t node = tree_.leaf_of(from.group);
        if (node == kNoNode) continue;
        const uint32_t interval = interval_of(from.path, from.peer);
        ProfilePartner& partner = partners[{node, from.peer, interval}];
        partner.node = node;
        partner.interval = interval;
        partner.max_ns = std::max(partner.max_ns, from.max_ns);
        add(from, &partner);
    }
    for (const auto& [key, partner] : partners) profile_.partners.push_back(partner);
    std::map<std::array<uint32_t, 2>, ProfileCause> causes;
    for (const MergedCause& from : merged_.causes) {
        const uint32_t interval = interval_of(from.group, from.peer);
        ProfileCause& cause = causes[{interval, from.peer}];
        cause.interval = interval;
        add(from, &cause);
    }
    for (const auto& [key, cause] : causes) profile_.causes.push_back(cause);
    std::map<std::array<uint32_t, 2>, std::pair<ProfileStall, uint64_t>> stalls;
    for (const MergedStall& from : merged_.stalls) {
        const uint32_t interval = interval_of(from.path, from.rank);
        if (interval == kNoNode) continue;
        auto& [all, most_io_ns] = stalls[{interval, from.rank}];
        const uint32_t io_node = from.io_node == kNoNode ? kNoNode : tree_.leaf_of(from.io_node);
        add_stall({interval, from.rank, io_node, from.count, from.time_ns, from.io_ns,
                   from.asleep_ns + from.team_asleep_ns, from.queued_ns, from.kernel_ns},
                  &most_io_ns, &all);
    }
    for (const auto& [key, stall] : stalls) profile_.stalls.push_back(stall.first);
}

// Sorts intervals, longest first, and renumbers all references to them.
void ProfileBuilder::sort_intervals() {
    std::vector<ProfileInterval>& intervals = profile_.intervals;
    std::vector<uint32_t> order(intervals.size());
    std::iota(order.begin(), order.end(), 0u);
    std::stable_sort(order.begin(), order.end(), [&intervals](uint32_t a, uint32_t b) {
        return intervals[a].time_ns > intervals[b].time_ns;
    });
    std::vector<ProfileInterval> sorted;
    std::vector<uint32_t> place(intervals.size());
    for (const uint32_t old : order) {
        place[old] = static_cast<uint32_t>(sorted.size());
        sorted.push_back(std::move(intervals[old]));
    }
    intervals = std::move(sorted);
    for (ProfilePartner& partner : profile_.partners) {
        if (partner.interval != kNoNode) partner.interval = place[partner.interval];
    }
    for (ProfileCause& cause : profile_.causes) {
        if (cause.interval != kNoNode) cause.interval = place[cause.interval];
    }
    for (ProfileStall& stall : profile_.stalls) stall.interval = place[stall.interval];
}

void ProfileBuilder::sort_all() {
    const auto longest_first = [](const auto& a, const auto& b) { return a.time_ns > b.time_ns; };
    for (ProfileNode& node : profile_.nodes) {
        std::stable_sort(
            node.children.begin(), node.children.end(), [this](uint32_t a, uint32_t b) {
                return profile_.nodes[a].totals.time_ns > profile_.nodes[b].totals.time_ns;
            });
    }
    sort_intervals();
    std::stable_sort(profile_.peers.begin(), profile_.peers.end(), longest_first);
    std::stable_sort(profile_.partners.begin(), profile_.partners.end(), longest_first);
    std::stable_sort(profile_.causes.begin(), profile_.causes.end(), longest_first);
    std::stable_sort(profile_.stalls.begin(), profile_.stalls.end(), longest_first);
}

Profile build_profile(const Merged& merged) {
    LineResolver lines;
    ProfileBuilder builder(merged, &lines);
    builder.build();
    return std::move(builder.profile());
}

}  // namespace dwell
