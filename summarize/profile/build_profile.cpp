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

#include "summarize/attribution/asleep.h"
#include "summarize/attribution/call_paths.h"
#include "summarize/attribution/interval_owner.h"
#include "summarize/attribution/measured_owner.h"
#include "summarize/attribution/profile_tree.h"
#include "summarize/attribution/rank_intervals.h"
#include "summarize/attribution/rank_samples.h"
#include "summarize/attribution/wait_paths.h"
#include "summarize/model/profile.h"
#include "summarize/model/profile_walk.h"
#include "summarize/model/script_name.h"
#include "summarize/profile/clamp_estimates.h"
#include "summarize/profile/job_profile.h"
#include "summarize/profile/metric_counts.h"
#include "summarize/profile/profile_notes.h"
#include "summarize/profile/rank_figures.h"
#include "summarize/profile/settle_times.h"
#include "summarize/symbols/lines.h"

namespace dwell {
namespace {

bool is_kind(const MergedNode& node, SiteKind kind) {
    return node.kind == static_cast<uint8_t>(kind);
}

class ProfileBuilder {
  public:
    explicit ProfileBuilder(const Merged& merged)
        : merged_(merged),
          wait_paths_(merged),
          paths_(merged, &lines_),
          tree_(merged, &paths_, &profile_) {}

    Profile build() {
        add_job(merged_, &profile_);
        add_program();
        add_nodes();
        label_probes();
        place_samples();
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
        add_sites();
        sort_all();
        clamp_estimates(&profile_);
        profile_.notes = notes_of(profile_, lines_, paths_.modules_used(), overcount);
        return std::move(profile_);
    }

  private:
    void add_program();
    void add_nodes();
    void add_histogram(const MergedNode& merged, ProfileNode* node);
    void add_io_file(const MergedNode& merged, ProfileNode* node);
    void label_probes();
    uint32_t interval_of(uint32_t sample) const;
    uint32_t node_of(uint32_t sample, uint32_t interval) const;
    void place_samples();
    void place_sleep();
    void add_intervals();
    void divide_inside(uint32_t interval, uint32_t owner);
    void place_samples_of_ranks();
    void add_samples();
    Overcount sum_up();
    void label_estimates();
    void label_uncertain_owners();
    void sum_up_job();
    void add_peers();
    void add_phases();
    void add_waits();
    void add_sites();
    void sort_all();
    void sort_intervals();

    const Merged& merged_;
    const WaitPaths wait_paths_;
    LineResolver lines_;
    Profile profile_;
    CallPaths paths_;
    ProfileTree tree_;
    std::map<uint32_t, uint64_t> io_file_bytes_;  // by node: bytes of the file that the node names
    std::vector<uint64_t> booked_ns_;             // time of intervals attributed to each node of
                                                  // the profile
    std::vector<uint32_t> interval_owner_;        // of merged interval nodes: node of the profile
    std::vector<PossibleNodes> possible_;         // by interval
    Division division_;
    std::vector<uint32_t> sampled_in_;  // of merged sample nodes: node of the profile, or kNoNode
    std::vector<std::vector<SampledCode>> without_path_;  // of merged interval nodes
    std::vector<uint32_t> owner_without_path_;            // and the node they are attributed to
    std::vector<bool> is_uncertain_;         // and whether that node's procedure may have returned
                                             // meanwhile
    std::vector<RankSample> asleep_;         // estimated samples of sleeping ranks, by interval
    std::vector<uint64_t> asleep_in_;        // by merged interval node: their sum over all ranks
    std::vector<uint32_t> interval_number_;  // of merged interval nodes: index into the profile's
    RankIntervals rank_intervals_;
};

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
        add_statement(tree_.figures_of(i, merged.totals), &node.totals);
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
}

// Also sets the count of calls of probed procedures: the entries of the procedure from that call.
void ProfileBuilder::label_probes() {
    for (ProfileNode& node : profile_.nodes) {
        if (!is_probed(node)) continue;
        const Totals& totals = node.totals;
        if (totals.abandoned != 0) node.labels |= kLabelAbandoned;
        if (node.kind == SiteKind::kProcedure &&
            profile_.nodes[node.parent].kind == SiteKind::kCall) {
            profile_.nodes[node.parent].totals.count += totals.count;
            profile_.nodes[node.parent].labels |= node.labels & kLabelAtLeast;
        }
        if (totals.untimed == 0 || node.kind == SiteKind::kMarker) continue;
        node.labels |= totals.untimed == totals.count ? kLabelCounted
                       : totals.estimated_ns != 0     ? kLabelReduced
                                                      : kLabelRecursive;
    }
}

uint32_t ProfileBuilder::interval_of(uint32_t sample) const {
    uint32_t at = sample;
    while (at != 0 && !is_kind(merged_.nodes[at], SiteKind::kInterval)) {
        const uint32_t parent = merged_.nodes[at].parent;
        at = parent < at ? parent : 0;  // a greater index means damage
    }
    return at;
}

void ProfileBuilder::place_samples() {
    division_.of_interval.resize(merged_.nodes.size());
    division_.around.assign(merged_.nodes.size(), kNoNode);
    sampled_in_.assign(merged_.nodes.size(), kNoNode);
    without_path_.resize(merged_.nodes.size());
    owner_without_path_.assign(merged_.nodes.size(), 0);
    is_uncertain_.assign(merged_.nodes.size(), false);
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        if (!is_kind(merged_.nodes[i], SiteKind::kSample) || paths_.is_apart(i)) continue;
        const uint32_t interval = interval_of(i);
        const uint64_t samples = merged_.nodes[i].totals.count;
        if (interval == 0) continue;
        const SampledCallers callers = paths_.callers_of(i);
        if (callers == SampledCallers::kNone) {
            without_path_[interval].push_back({paths_.sampled_procedures(i), samples});
            continue;
        }
        const uint32_t in = tree_.add(i);
        sampled_in_[i] = in;
        division_.of_interval[interval].add(in, samples);
        if (callers == SampledCallers::kAll) continue;
        uint32_t outermost = in;
        while (outermost != 0 && profile_.nodes[outermost].parent != 0) {
            outermost = profile_.nodes[outermost].parent;
        }
        if (outermost != 0) profile_.nodes[outermost].labels |= kLabelCallersUnknown;
    }
}

void ProfileBuilder::place_sleep() {
    asleep_in_.assign(merged_.nodes.size(), 0);
    asleep_ = asleep_samples(merged_, wait_paths_, profile_);
    for (const RankSample& sample : asleep_) asleep_in_[sample.interval] += sample.count;
}

void ProfileBuilder::add_intervals() {
    interval_owner_.assign(merged_.nodes.size(), kNoNode);
    interval_number_.assign(merged_.nodes.size(), kNoNode);
    booked_ns_.assign(profile_.nodes.size(), 0);
    IntervalOwners owners(merged_, &paths_, &lines_, tree_, profile_);
    std::map<std::array<uint32_t, 4>, uint32_t> numbers;
    const bool measured = has_probes(profile_);
    division_.inside.resize(profile_.nodes.size());
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        if (!is_kind(merged, SiteKind::kInterval)) continue;
        // Without MPI the whole run is one interval, directly in the program.
        const uint32_t to = merged.parent == 0 ? 0 : tree_.leaf_of(merged.parent);
        if (to == kNoNode) continue;
        const uint32_t left =
            merged.offset < merged_.nodes.size() ? static_cast<uint32_t>(merged.offset) : kNoNode;
        const uint32_t from = tree_.leaf_of(left);
        SampledShares& shares = division_.of_interval[i];
        const bool by_samples = !shares.empty();
        const uint64_t asleep = asleep_in_[i];
        IntervalOwner owner;
        uint32_t owned = 0;  // time of intervals without samples
        if (!by_samples || measured || asleep != 0 || !without_path_[i].empty()) {
            owner = owners.owner_of(left, merged.parent, merged.meet, without_path_[i]);
            uint64_t samples = by_samples ? asleep : 1;
            for (const SampledCode& code : without_path_[i]) samples += code.samples;
            owner_without_path_[i] = owned = owner.node;
            is_uncertain_[i] = owner.or_after;
            shares.add(owner.node, samples);
        }
        if (by_samples && 2 * asleep <= shares.count()) owner = {};
        owner.node = shares.hottest(profile_.nodes);
        interval_owner_[i] = owner.node;
        const auto [entry, is_new] =
            numbers.try_emplace({from, to, owner.node, owner.or_after ? 1u : 0u},
                                static_cast<uint32_t>(profile_.intervals.size()));
        interval_number_[i] = entry->second;
        if (is_new) {
            ProfileInterval interval;
            interval.from = from;
            interval.to = to;
            interval.booked_on = owner.node;
            interval.or_after = owner.or_after;
            interval.min_ns = UINT64_MAX;
            profile_.intervals.push_back(std::move(interval));
            possible_.emplace_back();
        }
        ProfileInterval& interval = profile_.intervals[entry->second];
        interval.count += merged.totals.count;
        interval.time_ns += merged.totals.time_ns;
        interval.min_ns = std::min(interval.min_ns, merged.totals.min_ns);
        interval.max_ns = std::max(interval.max_ns, merged.totals.max_ns);
        if (measured && by_samples) divide_inside(i, owned);
        shares.split(merged.totals.time_ns,
                     [this](uint32_t node, uint64_t ns) { booked_ns_[node] += ns; });
        PossibleNodes& possible = possible_[entry->second];
        if (is_new) possible = {owner.outermost, owner.passed_by};
        if (!is_new && possible.outermost != owner.outermost) possible.outermost = 0;
        if (!is_new && possible.passed_by != owner.passed_by) possible.passed_by.clear();
    }
}

// The measured part of an interval is known; the rest is divided by its samples. So the whole
// interval is attributed to the innermost measured node around it, `owner` or an outer one; that
// node and the nodes measured below it then divide their own time.
void ProfileBuilder::divide_inside(uint32_t interval, uint32_t owner) {
    SampledShares& shares = division_.of_interval[interval];
    const uint32_t around = shares.common(owner, profile_.nodes);
    shares.split(merged_.nodes[interval].totals.time_ns, [&](uint32_t node, uint64_t ns) {
        division_.inside[divided_by(node, around, profile_.nodes)].add(node, ns);
    });
    shares = SampledShares();
    shares.add(around, 1);
    division_.around[interval] = around;
}

void ProfileBuilder::place_samples_of_ranks() {
    for (const MergedSamples& row : merged_.sample_rows) {
        if (row.node >= merged_.nodes.size()) continue;  // damaged
        if (!is_kind(merged_.nodes[row.node], SiteKind::kSample)) continue;
        const uint32_t interval = interval_of(row.node);
        if (paths_.is_apart(row.node) || interval_number_[interval] == kNoNode) continue;
        division_.samples.push_back({row.rank, row.thread, row.node, interval,
                                     node_of(row.node, interval), row.count, false});
    }
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> threads;  // by rank and interval
    for (const RankSample& sample : division_.samples) {
        threads.try_emplace({sample.rank, sample.interval}, sample.thread);
    }
    for (RankSample sample : asleep_) {
        if (interval_number_[sample.interval] == kNoNode) continue;
        const auto thread = threads.find({sample.rank, sample.interval});
        if (thread != threads.end()) sample.thread = thread->second;
        sample.node = owner_without_path_[sample.interval];
        sample.or_after = is_uncertain_[sample.interval];
        division_.samples.push_back(sample);
    }
    std::stable_sort(division_.samples.begin(), division_.samples.end(),
                     [](const RankSample& a, const RankSample& b) {
                         return std::tie(a.rank, a.thread) < std::tie(b.rank, b.thread);
                     });
}

// The node of the profile that a sample counts for.
uint32_t ProfileBuilder::node_of(uint32_t sample, uint32_t interval) const {
    const uint32_t in = sampled_in_[sample];
    return in != kNoNode ? in : owner_without_path_[interval];
}

void ProfileBuilder::add_samples() {
    using Line = std::tuple<uint32_t, std::string, std::string, int, bool>;
    std::vector<std::map<Line, uint64_t>> lines(profile_.intervals.size());
    std::map<uint32_t, std::map<uint32_t, uint64_t>> of_ranks;  // by sample: own interval of each
                                                                // rank
    for (const RankSample& sample : division_.samples) {
        const uint32_t number = interval_number_[sample.interval];
        const uint32_t own = rank_intervals_.on_rank(number, sample.rank);
        if (own == number) continue;
        const uint32_t owner = profile_.intervals[own].booked_on;
        if (is_around(profile_.nodes, owner, sample.node))
            of_ranks[sample.sample][own] += sample.count;
    }
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        if (!is_kind(merged, SiteKind::kSample) || paths_.is_apart(i)) continue;
        const uint32_t interval = interval_of(i);
        const uint32_t number = interval_number_[interval];
        if (number == kNoNode) continue;
        const uint32_t node = node_of(i, interval);
        profile_.nodes[node].samples += merged.totals.count;
        SampledLine at = paths_.sampled_line(i);
        const Line line{node, std::move(at.function), std::move(at.file), at.line, at.system};
        uint64_t left = merged.totals.count;
        if (const auto own = of_ranks.find(i); own != of_ranks.end()) {
            for (const auto& [of_rank, samples] : own->second) {
                const uint64_t moved = std::min(left, samples);
                lines[of_rank][line] += moved;
                left -= moved;
            }
        }
        if (left != 0) lines[number][line] += left;
    }
    for (size_t number = 0; number < lines.size(); ++number) {
        std::vector<SampledLine>& sorted = profile_.intervals[number].lines;
        for (const auto& [line, samples] : lines[number]) {
            const auto& [node, function, file, number_of_line, system] = line;
            sorted.push_back({function, file, number_of_line, samples, node, system});
        }
        std::stable_sort(sorted.begin(), sorted.end(),
                         [](const auto& a, const auto& b) { return a.samples > b.samples; });
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
        if (is_statement(node) || is_probed(node)) continue;
        const bool known = i == 0 && beside_probes;
        if (node.computation_ns != 0 && !known) node.labels |= kLabelEstimated;
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
    profile_.computation_ns = 0;
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

}  // namespace

Profile build_profile(const Merged& merged) { return ProfileBuilder(merged).build(); }

}  // namespace dwell
