// From merged records to the profile (DESIGN 2): the tree with its times, the intervals on their
// procedures, the figures of single ranks. Keeps rule 5 of DESIGN 5 in whole nanoseconds: inclusive
// time = own computation + children, and computation + transfer + blocked + OpenMP waiting and idle
// time + paused = total.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "runtime/version.h"
#include "summarize/bound_estimates.h"
#include "summarize/call_paths.h"
#include "summarize/interval_owner.h"
#include "summarize/lines.h"
#include "summarize/measured_owner.h"
#include "summarize/metric_counts.h"
#include "summarize/profile.h"
#include "summarize/profile_notes.h"
#include "summarize/profile_tree.h"
#include "summarize/profile_walk.h"
#include "summarize/rank_figures.h"
#include "summarize/sampled_shares.h"
#include "summarize/script_name.h"
#include "summarize/settle_times.h"
#include "summarize/wait_paths.h"
#include "summarize/write_sites.h"

namespace dwell {
namespace {

bool is_kind(const MergedNode& node, SiteKind kind) {
    return node.kind == static_cast<uint8_t>(kind);
}

class ProfileBuilder {
  public:
    explicit ProfileBuilder(const Merged& merged)
        : merged_(merged), paths_(merged, &lines_), tree_(merged, &paths_, &profile_) {}

    Profile build() {
        describe_job();
        add_ranks();
        add_threads();
        add_program();
        add_nodes();
        label_probes();
        place_samples();
        add_intervals();
        add_samples();
        Overruns overruns = sum_up();
        add_rank_figures(merged_, tree_, shares_, inside_, &profile_, &overruns);
        label_estimates();
        sum_up_job();
        add_metrics(merged_, tree_, interval_owner_, &profile_);
        name_measured_owners(possible_, &profile_);
        divide_by_rank();
        label_uncertain_owners();
        add_peers();
        add_phases();
        add_grids();
        add_waits();
        add_sites();
        sort_all();
        bound_estimates(&profile_);
        profile_.notes = notes_of(profile_, lines_, paths_.modules_used(), overruns);
        return std::move(profile_);
    }

  private:
    void describe_job();
    void add_ranks();
    void add_program();
    void add_nodes();
    void add_histogram(const MergedNode& merged, ProfileNode* node);
    void add_io_file(const MergedNode& merged, ProfileNode* node);
    void label_probes();
    uint32_t interval_of(uint32_t sample) const;
    void place_samples();
    void add_intervals();
    void divide_inside(uint32_t owner, uint64_t time_ns, SampledShares* shares);
    void add_samples();
    void add_threads();
    Overruns sum_up();
    void label_estimates();
    void divide_by_rank();
    void label_uncertain_owners();
    void sum_up_job();
    void add_peers();
    void add_phases();
    void add_grids();
    void add_waits();
    void add_sites();
    void sort_all();
    void sort_intervals();

    const Merged& merged_;
    LineResolver lines_;
    Profile profile_;
    CallPaths paths_;
    ProfileTree tree_;
    std::map<uint32_t, uint64_t> io_file_bytes_;  // by node: of the file that it names
    std::vector<uint64_t> booked_ns_;             // on nodes of the profile, by intervals
    std::vector<uint32_t> interval_owner_;        // of merged interval nodes: node of the profile
    std::vector<PossibleNodes> possible_;         // by interval
    std::vector<SampledShares> shares_;           // of merged interval nodes: where it was spent
    std::vector<SampledShares> inside_;           // of nodes of the profile: of their own time
    std::vector<uint32_t> sampled_in_;  // of merged sample nodes: node of the profile, or kNoNode
    std::vector<std::vector<SampledCode>> without_path_;  // of merged interval nodes
    std::vector<uint32_t> owner_without_path_;            // and what they are booked on
    std::vector<uint32_t> interval_number_;  // of merged interval nodes: index into the profile's
    // Of those, by rank: where another procedure computed than on most ranks.
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> number_on_rank_;
};

void ProfileBuilder::describe_job() {
    profile_.job = std::string(merged_.job, strnlen(merged_.job, sizeof merged_.job));
    profile_.world_size = merged_.world_size;
    profile_.merged_flags = merged_.flags;
    profile_.threads_unsampled = merged_.threads_unsampled;
    profile_.spawned_unseen = merged_.spawned_unseen;
    profile_.version = DWELL_VERSION;
}

void ProfileBuilder::add_ranks() {
    RankReader reader(merged_.ranks);
    for (MergedRank from; reader.next(&from);) {
        ProfileRank rank;
        rank.rank = from.rank;
        rank.pid = from.pid;
        rank.host = from.host;
        rank.program = from.program;
        rank.command = from.command;
        rank.state = static_cast<FileState>(from.state);
        rank.flags = from.flags;
        rank.exit_code = from.exit_code;
        rank.threads = from.threads;
        rank.sample_hz = from.sample_hz;
        rank.callpath_depth = from.callpath_depth;
        rank.processors = from.processors;
        rank.first_processor = from.first_processor;
        rank.start_unix_ns = from.start_unix_ns;
        rank.real_ns = from.real_ns;
        rank.intrusion_ns = from.intrusion_ns;
        rank.own_ns = from.own_ns;
        rank.injected_ns = from.injected_ns;
        rank.paused_ns = from.paused_ns;
        rank.call_cost_ns = static_cast<double>(from.call_cost_ns_q8) / 256;
        rank.record_bytes = from.record_bytes;
        rank.samples = from.samples;
        rank.samples_in_calls = from.samples_in_calls;
        rank.samples_lost = from.samples_lost;
        rank.folded_paths = from.folded_paths;
        rank.files_unnamed = from.files_unnamed;
        rank.io_unobserved = from.io_unobserved;
        rank.process_thread = from.process_thread;
        rank.dropped = from.dropped;
        rank.guessed = from.guessed;
        rank.clock_errors = from.clock_errors;
        rank.clock_offset_ns = from.clock_offset_ns;
        rank.clock_drift_ns = from.clock_drift_ns;
        rank.clock_bound_ns = from.clock_bound_ns;
        rank.order_kept = from.order_kept;
        rank.order_far = from.order_far;
        rank.order_posted = from.order_posted;
        rank.order_unknown = from.order_unknown;
        rank.queued_ns = from.queued_ns;
        rank.queued_call_ns = from.queued_call_ns;
        rank.stalls_dropped = from.stalls_dropped;
        rank.usage_ns = from.usage_ns;
        rank.usage = from.usage;
        rank.threads_served = from.threads_served;
        rank.probes = from.probes;
        rank.probes_missed = from.probes_missed;
        rank.probes_dropped = from.probes_dropped;
        rank.threads_cut = from.threads_cut;
        profile_.ranks.push_back(std::move(rank));
    }
    std::stable_sort(profile_.ranks.begin(), profile_.ranks.end(),
                     [](const auto& a, const auto& b) { return a.rank < b.rank; });
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

// Of several parts of one node that of most bytes tells.
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
        // Several parts: bounds, which add_rank_figures makes exact where it can.
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

// Also gives calls of probed procedures their count: as often as these were entered from there.
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
        at = parent < at ? parent : 0;  // else it is damaged
    }
    return at;
}

void ProfileBuilder::place_samples() {
    shares_.resize(merged_.nodes.size());
    sampled_in_.assign(merged_.nodes.size(), kNoNode);
    without_path_.resize(merged_.nodes.size());
    owner_without_path_.assign(merged_.nodes.size(), 0);
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
        shares_[interval].add(in, samples);
        if (callers == SampledCallers::kAll) continue;
        uint32_t outermost = in;
        while (outermost != 0 && profile_.nodes[outermost].parent != 0) {
            outermost = profile_.nodes[outermost].parent;
        }
        if (outermost != 0) profile_.nodes[outermost].labels |= kLabelCallersUnknown;
    }
}

void ProfileBuilder::add_intervals() {
    interval_owner_.assign(merged_.nodes.size(), kNoNode);
    interval_number_.assign(merged_.nodes.size(), kNoNode);
    booked_ns_.assign(profile_.nodes.size(), 0);
    IntervalOwners owners(merged_, &paths_, &lines_, tree_, profile_);
    std::map<std::array<uint32_t, 4>, uint32_t> numbers;
    const bool measured = has_probes(profile_);
    inside_.resize(profile_.nodes.size());
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        if (!is_kind(merged, SiteKind::kInterval)) continue;
        // Without MPI the whole run is one interval, under the program itself.
        const uint32_t to = merged.parent == 0 ? 0 : tree_.leaf_of(merged.parent);
        if (to == kNoNode) continue;
        const uint32_t left =
            merged.offset < merged_.nodes.size() ? static_cast<uint32_t>(merged.offset) : kNoNode;
        const uint32_t from = tree_.leaf_of(left);
        SampledShares& shares = shares_[i];
        const bool by_samples = !shares.empty();
        IntervalOwner owner;
        uint32_t owned = 0;  // without samples
        if (!by_samples || measured || !without_path_[i].empty()) {
            owner = owners.owner_of(left, merged.parent, merged.meet, without_path_[i]);
            uint64_t samples = by_samples ? 0 : 1;
            for (const SampledCode& code : without_path_[i]) samples += code.samples;
            owner_without_path_[i] = owned = owner.node;
            shares.add(owner.node, samples);
        }
        if (by_samples) owner = {};
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
        if (measured && by_samples) divide_inside(owned, merged.totals.time_ns, &shares);
        shares.split(merged.totals.time_ns,
                     [this](uint32_t node, uint64_t ns) { booked_ns_[node] += ns; });
        PossibleNodes& possible = possible_[entry->second];
        if (is_new) possible = {owner.outermost, owner.passed_by};
        if (!is_new && possible.outermost != owner.outermost) possible.outermost = 0;
        if (!is_new && possible.passed_by != owner.passed_by) possible.passed_by.clear();
    }
}

// What was measured in an interval is known, the rest of it is divided as its samples are. So all
// of it is booked on the innermost node around it, `owner` or one further out; that and what was
// measured below it divide what is left of them.
void ProfileBuilder::divide_inside(uint32_t owner, uint64_t time_ns, SampledShares* shares) {
    const std::vector<ProfileNode>& nodes = profile_.nodes;
    const uint32_t around = shares->common(owner, nodes);
    shares->split(time_ns, [&](uint32_t node, uint64_t ns) {
        uint32_t holder = node;
        while (holder != around && !is_probed(nodes[holder])) holder = nodes[holder].parent;
        inside_[holder].add(node, ns);
    });
    *shares = SampledShares();
    shares->add(around, 1);
}

void ProfileBuilder::add_samples() {
    using Line = std::tuple<uint32_t, std::string, std::string, int, bool>;
    std::vector<std::map<Line, uint64_t>> lines(profile_.intervals.size());
    for (uint32_t i = 0; i < merged_.nodes.size(); ++i) {
        const MergedNode& merged = merged_.nodes[i];
        if (!is_kind(merged, SiteKind::kSample) || paths_.is_apart(i)) continue;
        const uint32_t number = interval_number_[interval_of(i)];
        if (number == kNoNode) continue;
        const bool placed = sampled_in_[i] != kNoNode;
        const uint32_t node = placed ? sampled_in_[i] : owner_without_path_[interval_of(i)];
        SampledLine line = paths_.sampled_line(i);
        lines[number][{node, std::move(line.function), std::move(line.file), line.line,
                       line.system}] += merged.totals.count;
        profile_.nodes[node].samples += merged.totals.count;
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

void ProfileBuilder::add_threads() {
    for (const MergedThread& from : merged_.threads) {
        profile_.threads.push_back(
            {from.rank, from.thread, from.served, merged_.text.data() + from.name});
    }
    std::sort(profile_.threads.begin(), profile_.threads.end(),
              [](const ProfileThread& a, const ProfileThread& b) {
                  return std::tie(a.rank, a.thread) < std::tie(b.rank, b.thread);
              });
}

Overruns ProfileBuilder::sum_up() {
    std::vector<ProfileNode>& nodes = profile_.nodes;
    std::vector<NodeTime> times(nodes.size());
    std::vector<uint32_t> all(nodes.size());
    std::iota(all.begin(), all.end(), 0u);
    for (const uint32_t i : all) {
        const Totals& totals = nodes[i].totals;
        times[i] = {totals.time_ns, booked_ns_[i], totals.omp_wait_ns + totals.omp_idle_ns, 0, 0};
    }
    TimeSettler settler(nodes, inside_);
    settler.settle(all, &times);
    // Children stand behind their parents, so one pass from the end adds up the whole tree.
    for (size_t i = nodes.size(); i-- > 0;) {
        ProfileNode& node = nodes[i];
        node.totals.time_ns = times[i].total_ns;
        node.computation_ns = times[i].own_ns;
        if (i != 0 && !is_io(node)) add_traffic(node.totals, &nodes[node.parent].totals);
    }
    return settler.overruns();
}

// What is estimated, or has an estimate in it that no probe makes up for. What is left of the
// program's own time beside measured procedures is known.
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

// The ranks that made others wait may have computed something else in an interval than most ranks
// did: what is theirs is an interval of its own then, with the procedure that took most of it
// there.
void ProfileBuilder::divide_by_rank() {
    if (merged_.rows.empty()) return;
    struct OnRank {
        uint64_t count = 0;
        uint64_t time_ns = 0;
        SampledShares shares;
        uint64_t samples = 0;
    };
    std::set<uint32_t> ranks;
    for (const MergedBlame& cause : merged_.causes) ranks.insert(cause.peer);
    std::map<std::pair<uint32_t, uint32_t>, OnRank> parts;  // rank, interval
    for (const MergedRow& row : merged_.rows) {
        const MergedNode& merged = merged_.nodes[row.node];
        if (ranks.count(row.rank) == 0) continue;
        if (is_kind(merged, SiteKind::kInterval) && interval_number_[row.node] != kNoNode) {
            OnRank& part = parts[{row.rank, interval_number_[row.node]}];
            part.count += row.totals.count;
            part.time_ns += row.totals.time_ns;
        } else if (is_kind(merged, SiteKind::kSample) && sampled_in_[row.node] != kNoNode) {
            const uint32_t number = interval_number_[interval_of(row.node)];
            if (number == kNoNode) continue;
            OnRank& part = parts[{row.rank, number}];
            part.shares.add(sampled_in_[row.node], row.totals.count);
            part.samples += row.totals.count;
        }
    }
    const bool measured = has_source_probes(profile_) || has_openmp(profile_);
    std::map<uint32_t, std::vector<uint64_t>> computed;  // by rank and node
    for (const ProfileRow& row : profile_.rows) {
        if (!measured || ranks.count(row.rank) == 0) continue;
        std::vector<uint64_t>& of_node = computed[row.rank];
        of_node.resize(profile_.nodes.size(), 0);
        if (!is_statement(profile_.nodes[row.node])) of_node[row.node] += row.computation_ns;
    }
    for (auto& [rank, of_node] : computed) {
        of_node = computation_below(profile_, std::move(of_node));
    }
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> numbers;  // interval, owner
    for (const auto& [key, part] : parts) {
        const auto [rank, number] = key;
        uint32_t owner = kNoNode;
        if (const auto of_rank = computed.find(rank); of_rank != computed.end()) {
            owner = measured_owner(profile_, possible_[number], of_rank->second, part.time_ns);
        }
        if (owner == kNoNode && part.samples >= kTellingSamples) {
            owner = part.shares.hottest(profile_.nodes);
        }
        if (owner == kNoNode || owner == profile_.intervals[number].booked_on) continue;
        const auto [entry, is_new] =
            numbers.try_emplace({number, owner}, static_cast<uint32_t>(profile_.intervals.size()));
        if (is_new) {
            ProfileInterval own;
            own.from = profile_.intervals[number].from;
            own.to = profile_.intervals[number].to;
            own.booked_on = owner;
            own.min_ns = profile_.intervals[number].min_ns;
            own.max_ns = profile_.intervals[number].max_ns;
            profile_.intervals.push_back(std::move(own));
            possible_.push_back(possible_[number]);
        }
        ProfileInterval& whole = profile_.intervals[number];
        ProfileInterval& own = profile_.intervals[entry->second];
        const uint64_t count = std::min(whole.count, part.count);
        const uint64_t time_ns = std::min(whole.time_ns, part.time_ns);
        whole.count -= count;
        whole.time_ns -= time_ns;
        own.count += count;
        own.time_ns += time_ns;
        number_on_rank_[{number, rank}] = entry->second;
    }
}

// Those that most of what is booked on them may not belong to.
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

// Every program and library of the job that has a table, whether something of it ran or not.
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

void ProfileBuilder::add_grids() {
    for (const MergedGrid& from : merged_.grids) {
        ProfileGrid grid;
        if (from.name < merged_.text.size()) grid.name = merged_.text.data() + from.name;
        for (uint32_t i = 0; i < from.dimensions; ++i) {
            grid.sizes.push_back(from.size[i]);
            grid.periodic.push_back((from.periodic >> i & 1) != 0);
        }
        grid.by_mpi = (from.periodic & kGridByMpi) != 0;
        grid.ranks = from.ranks;
        profile_.grids.push_back(std::move(grid));
    }
    for (const MergedPlace& from : merged_.places) {
        if (from.grid >= profile_.grids.size()) continue;
        ProfileGrid& grid = profile_.grids[from.grid];
        const auto dimensions = static_cast<ptrdiff_t>(grid.sizes.size());
        grid.places.push_back({from.rank, {from.coordinate, from.coordinate + dimensions}});
    }
    for (ProfileGrid& grid : profile_.grids) {
        std::stable_sort(grid.places.begin(), grid.places.end(),
                         [](const auto& a, const auto& b) { return a.rank < b.rank; });
    }
    std::stable_sort(profile_.grids.begin(), profile_.grids.end(),
                     [](const auto& a, const auto& b) {
                         return std::tie(a.by_mpi, b.ranks) < std::tie(b.by_mpi, a.ranks);
                     });
}

void ProfileBuilder::add_waits() {
    const WaitPaths paths(merged_);
    const auto interval_of = [&](uint32_t path, uint32_t rank) {
        const uint32_t merged = paths.interval_of(path);
        const uint32_t number =
            merged < interval_number_.size() ? interval_number_[merged] : kNoNode;
        const auto own = number_on_rank_.find({number, rank});
        return own != number_on_rank_.end() ? own->second : number;
    };
    const auto add = [](const MergedBlame& from, auto* to) {
        to->peer = from.peer;
        to->count += from.count;
        to->time_ns += from.time_ns;
        to->passed_on_ns += from.passed_on_ns;
        to->lost_ns += from.lost_ns;
    };
    std::map<std::array<uint32_t, 3>, ProfilePartner> partners;
    for (const MergedBlame& from : merged_.partners) {
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
    for (const MergedBlame& from : merged_.causes) {
        const uint32_t interval = interval_of(from.group, from.peer);
        ProfileCause& cause = causes[{interval, from.peer}];
        cause.interval = interval;
        add(from, &cause);
    }
    for (const auto& [key, cause] : causes) profile_.causes.push_back(cause);
    std::map<std::array<uint32_t, 2>, ProfileStall> stalls;
    for (const MergedStall& from : merged_.stalls) {
        const uint32_t interval = interval_of(from.path, from.rank);
        if (interval == kNoNode) continue;
        ProfileStall& stall = stalls[{interval, from.rank}];
        stall.interval = interval;
        stall.rank = from.rank;
        if (stall.io_ns <= from.io_ns && from.io_node != kNoNode) {
            stall.io_node = tree_.leaf_of(from.io_node);
        }
        stall.count += from.count;
        stall.time_ns += from.time_ns;
        stall.io_ns += from.io_ns;
        stall.asleep_ns += from.asleep_ns;
        stall.queued_ns += from.queued_ns;
        stall.kernel_ns += from.kernel_ns;
    }
    for (const auto& [key, stall] : stalls) profile_.stalls.push_back(stall);
}

// Longest first; what names them is told the new places.
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
