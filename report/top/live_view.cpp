// Reads a running job again and again; see live_view.h. Its tree is made from a whole reading of
// all record files, when there are new paths; in between only figures are read.
#include "report/top/live_view.h"

#include <fmt/format.h>
#include <string.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "report/console/process.h"
#include "report/live/kernel_view.h"
#include "report/live/live_job.h"
#include "report/live/snapshot.h"
#include "report/results/crash_recovery.h"
#include "report/results/show.h"
#include "runtime/process/clock.h"
#include "summarize/formats/read_json.h"
#include "summarize/merge/figures.h"
#include "summarize/merge/merged_tables.h"
#include "summarize/model/profile_walk.h"
#include "summarize/profile/blocked_estimate.h"

namespace dwell {
namespace {

constexpr int64_t kSecond_ns = 1'000'000'000;
// The profile is written after the last snapshot.
constexpr int64_t kPatienceForProfile_ns = 10 * kSecond_ns;
// Trees are made as often as this share of one processor allows, for new paths and new samples.
constexpr int64_t kShareOfPaths = 10;
constexpr int64_t kShareOfSamples = 100;

// The node for the time of threads outside of all nodes (RecordReader::add_rest_of_life).
uint32_t node_of_rest(const Merged& merged) {
    for (uint32_t i = 1; i < merged.nodes.size(); ++i) {
        const MergedNode& node = merged.nodes[i];
        if (node.parent == 0 && node.kind == static_cast<uint8_t>(SiteKind::kInterval)) return i;
    }
    return kNoNode;
}

// Adds a node's part to the sums (ProfileBuilder::sum_up_job); settle() ends them.
void add_node(const ProfileNode& node, const Totals& totals, uint64_t computation_ns,
              TimeSums* sums) {
    if (!is_statement(node)) sums->computation_ns += computation_ns;
    if (is_io(node)) sums->io_ns += totals.time_ns;
    if (node.kind != SiteKind::kProgram) return;
    sums->total_ns += totals.time_ns;
    sums->blocked_ns += totals.blocked_ns;
    sums->sync_ns += totals.sync_ns;
    sums->omp_wait_ns += totals.omp_wait_ns;
    sums->omp_idle_ns += totals.omp_idle_ns;
}

void settle(uint64_t paused_ns, TimeSums* sums) {
    const uint64_t other_ns = sums->computation_ns + sums->blocked_ns + sums->io_ns;
    sums->transfer_ns = sums->total_ns - std::min(sums->total_ns, other_ns);
    // Waiting in OpenMP is own time of its nodes.
    const uint64_t omp_ns = sums->omp_wait_ns + sums->omp_idle_ns;
    sums->computation_ns -= std::min(sums->computation_ns, omp_ns);
    sums->paused_ns = paused_ns;
    sums->total_ns += paused_ns;
}

uint64_t paused_ns(const Profile& profile, uint32_t only) {
    uint64_t sum_ns = 0;
    for (const ProfileRank& rank : profile.ranks) {
        if (only == kAllRanks || only == rank.rank) sum_ns += rank.paused_ns;
    }
    return sum_ns;
}

TimeSums sums_of(const Profile& profile, uint32_t only) {
    TimeSums sums;
    for (const ProfileNode& node : profile.nodes) {
        add_node(node, node.totals, node.computation_ns, &sums);
    }
    settle(paused_ns(profile, only), &sums);
    return sums;
}

void list_ranks_of(const Profile& profile, LiveSnapshot* snapshot) {
    snapshot->ranks.clear();
    snapshot->start_unix_ns = 0;
    for (const ProfileRank& rank : profile.ranks) {
        LiveRank shown;
        shown.rank = rank.rank;
        shown.pid = rank.pid;
        shown.host = rank.host;
        shown.state = rank.state;
        const int64_t start = rank.start_unix_ns;
        if (snapshot->start_unix_ns == 0 || start < snapshot->start_unix_ns) {
            snapshot->start_unix_ns = start;
        }
        shown.is_gone = rank.state != FileState::kRunning;
        snapshot->ranks.push_back(std::move(shown));
    }
}

}  // namespace

LiveView::LiveView(LiveView&&) noexcept = default;
LiveView& LiveView::operator=(LiveView&&) noexcept = default;
LiveView::~LiveView() = default;

tl::expected<LiveView, std::string> LiveView::open(const std::string& directory) {
    LiveView view;
    view.directory_ = directory;
    if (has_snapshots(directory)) {
        view.of_hosts_ = true;
        if (view.read_snapshots_of_hosts(kAllRanks)) return view;
        return tl::make_unexpected("no snapshot in " + directory +
                                   " can be read by this version of dwell");
    }
    view.find_files();
    if (!view.ranks_.empty() && view.build()) return view;
    return tl::make_unexpected(
        unread_text(directory, view.unreadable_.size() + view.ranks_.size()));
}

// Files of ranks that came later, or that became other programs. Files that have gone stay mapped.
void LiveView::find_files() {
    unreadable_.clear();
    for (const std::string& name : record_files(directory_)) {
        const auto known = std::find_if(ranks_.begin(), ranks_.end(),
                                        [&](const auto& rank) { return rank.second.name == name; });
        if (known != ranks_.end()) continue;
        std::optional<WatchedFile> file = WatchedFile::open(directory_ + "/" + name);
        const FileHeader header = file ? file->header() : FileHeader{};
        if (!file || header.rank < 0) {
            unreadable_.insert(name);
            continue;
        }
        const auto rank = static_cast<uint32_t>(header.rank);
        if (ranks_.count(rank) != 0) snapshot_.resets += 1;
        ranks_.erase(rank);
        Rank added{name, std::move(*file), header};
        added.is_visible = is_visible(header);
        // Another process may have its process id now.
        added.is_gone = added.is_visible && !process_maps(header.pid, directory_ + "/" + name);
        ranks_.emplace(rank, std::move(added));
        built_ns_ = 0;
    }
    snapshot_.left_out = unreadable_.size();
}

bool LiveView::build() {
    const auto begun = static_cast<int64_t>(monotonic_ns());
    Merged merged;
    merged.row_limit = 0;
    for (auto& [number, rank] : ranks_) rank.file.read_all(&merged);
    if (merged.ranks.empty() || merged.nodes.empty()) return false;
    live_.reset();
    rest_ = node_of_rest(merged);
    LineResolver* const lines = lines_->of(merged);
    live_ = std::make_unique<LiveProfile>(std::move(merged), lines);
    number_nodes(live_->profile());
    built_ns_ = static_cast<int64_t>(monotonic_ns());
    build_cost_ns_ = built_ns_ - begun;
    snapshot_.is_new_tree = true;
    return true;
}

bool LiveView::is_worth_building(const Reading& reading) const {
    if (built_ns_ == 0) return true;
    const int64_t since = static_cast<int64_t>(monotonic_ns()) - built_ns_;
    if (reading.has_new_paths) return since >= build_cost_ns_ * kShareOfPaths;
    return reading.has_new_samples && since >= build_cost_ns_ * kShareOfSamples;
}

// Equal nodes of two trees get the same number.
void LiveView::number_nodes(const Profile& profile) {
    std::set<std::string> taken;
    snapshot_.nodes.assign(profile.nodes.size(), LiveNode{});
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        const int64_t parent = i == 0 ? -1 : int64_t{snapshot_.nodes[node.parent].id};
        std::string key = fmt::format("{} {} {} {} {}\n{}\n{}", parent, static_cast<int>(node.kind),
                                      node.call, node.line, node.name, node.file, node.module);
        while (!taken.insert(key).second) key += '+';
        snapshot_.nodes[i].id = ids_.emplace(key, static_cast<uint32_t>(ids_.size())).first->second;
    }
}

Reading LiveView::read_figures(uint32_t only) {
    Merged& merged = live_->merged();
    clear_places(&merged);
    totals_.assign(merged.nodes.size(), empty_totals());
    Reading all;
    for (auto& [number, rank] : ranks_) {
        if (only != kAllRanks && only != number) continue;
        const Reading reading = rank.file.read(rest_, &merged, &totals_);
        rank.last_unix_ns = reading.last_unix_ns;
        all.has_new_paths |= reading.has_new_paths;
        all.has_new_samples |= reading.has_new_samples;
        if (reading.was_reset) snapshot_.resets += 1;
        for (ProfileRank& known : live_->profile().ranks) {
            if (known.rank == number) known.paused_ns = reading.paused_ns;
        }
    }
    const bool of_all = only == kAllRanks;
    if (of_all) least_ns_.assign(totals_.size(), UINT64_MAX);
    for (size_t i = 0; i < totals_.size(); ++i) {
        merged.nodes[i].totals = totals_[i];
        // Estimates of waiting compare with the shortest call of any rank (blocked_estimate.h).
        uint64_t& least_ns = merged.nodes[i].totals.min_ns;
        if (of_all) least_ns_[i] = least_ns;
        if (!of_all && i < least_ns_.size() && totals_[i].count != 0) least_ns = least_ns_[i];
    }
    live_->renew();
    return all;
}

void LiveView::take_figures() {
    const Profile& profile = live_->profile();
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        snapshot_.nodes[i].totals = profile.nodes[i].totals;
        snapshot_.nodes[i].computation_ns = profile.nodes[i].computation_ns;
    }
    snapshot_.sums = sums_of(profile, snapshot_.rank);
}

// What belongs together is not read at one moment, and shares of time are rounded: where a figure
// is less than before, the earlier one stands. Times that are estimated may be attributed anew.
void LiveView::never_fall(const std::vector<LiveNode>& before, const TimeSums& sums) {
    std::vector<uint32_t> place(ids_.size(), kNoNode);
    for (size_t i = 0; i < before.size(); ++i) place[before[i].id] = static_cast<uint32_t>(i);
    const Profile& profile = *snapshot_.profile;
    for (size_t i = 0; i < snapshot_.nodes.size(); ++i) {
        LiveNode& node = snapshot_.nodes[i];
        if (place[node.id] == kNoNode) continue;
        const LiveNode& earlier = before[place[node.id]];
        const bool estimated = snapshot_.is_new_tree && !is_statement(profile.nodes[i]) && i != 0;
        if (!estimated) node.computation_ns = std::max(node.computation_ns, earlier.computation_ns);
        for (const Figure& figure : kFigures) {
            if (figure.combine != Combine::kSum) continue;
            const bool is_time = figure.value == &Totals::time_ns;
            if (is_time && estimated && !is_probed(profile.nodes[i])) continue;
            uint64_t& now = node.totals.*figure.value;
            now = std::max(now, earlier.totals.*figure.value);
        }
    }
    for (const TimeSum& sum : kTimeSums) {
        snapshot_.sums.*sum.value = std::max(snapshot_.sums.*sum.value, sums.*sum.value);
    }
}

// What no record holds yet: of each thread the time since its last stamp. In a call it is the
// call's from its entry on, and computation of the procedure around it before.
void LiveView::add_open_times(uint32_t only) {
    const Profile& profile = *snapshot_.profile;
    for (LiveNode& node : snapshot_.nodes) node.open_ns = 0;
    const auto add = [&](uint32_t node, int64_t since_ns, int64_t until_ns) {
        if (until_ns <= since_ns) return;
        for (; node != kNoNode; node = profile.nodes[node].parent) {
            snapshot_.nodes[node].open_ns += static_cast<uint64_t>(until_ns - since_ns);
        }
    };
    for (const MergedOpen& open : live_->merged().open) {
        if (only != kAllRanks && only != open.rank) continue;
        const auto rank = ranks_.find(open.rank);
        const bool is_known = rank != ranks_.end();
        if (is_known ? rank->second.is_gone : open.has_ended || !of_hosts_) continue;
        const uint32_t node = live_->node_of(open.node);
        add(node, open.since_unix_ns, snapshot_.unix_ns);
        if (!open.is_in_call || node == 0 || !is_known) continue;
        const auto last = rank->second.last_unix_ns.find(open.thread);
        if (last == rank->second.last_unix_ns.end()) continue;
        add(profile.nodes[node].parent, last->second,
            std::min(open.since_unix_ns, snapshot_.unix_ns));
    }
}

void LiveView::list_ranks() {
    snapshot_.ranks.clear();
    snapshot_.start_unix_ns = 0;
    for (auto& [number, rank] : ranks_) {
        LiveRank shown;
        shown.rank = number;
        shown.pid = rank.header.pid;
        shown.host = text_in(rank.header.host);
        shown.state = rank.header.state;
        shown.is_gone = rank.is_gone;
        const int64_t start = rank.header.start_unix_ns;
        if (snapshot_.start_unix_ns == 0 || start < snapshot_.start_unix_ns) {
            snapshot_.start_unix_ns = start;
        }
        snapshot_.ranks.push_back(std::move(shown));
    }
}

void LiveView::add_rank_sums() {
    for (LiveRank& rank : snapshot_.ranks) {
        read_figures(rank.rank);
        rank.sums = sums_of(live_->profile(), rank.rank);
    }
}

void LiveView::note_ends() {
    for (auto& [number, rank] : ranks_) {
        rank.header = rank.file.header();
        const bool ended = rank.header.state != FileState::kRunning;
        const bool is_dead = rank.is_visible && !process_is_alive(rank.header.pid);
        rank.is_gone = rank.is_gone || ended || is_dead;
    }
}

bool LiveView::has_ended() const {
    return std::all_of(ranks_.begin(), ranks_.end(),
                       [](const auto& rank) { return rank.second.is_gone; });
}

const LiveSnapshot& LiveView::read(uint32_t rank, bool with_ranks) {
    if (final_ != nullptr) {
        if (rank != snapshot_.rank) show(*final_, rank);
        return snapshot_;
    }
    if (of_hosts_) {
        if (!read_snapshots_of_hosts(rank)) finish_from_profile(rank);
        return snapshot_;
    }
    std::vector<LiveNode> before = snapshot_.nodes;
    const TimeSums sums = snapshot_.sums;
    const uint32_t resets = snapshot_.resets;
    const bool is_first = snapshot_.unix_ns == 0;
    snapshot_.is_new_tree = false;
    find_files();
    note_ends();
    if (has_ended()) {
        finish(rank);
        return snapshot_;
    }
    snapshot_.unix_ns = snapshot_.figures_unix_ns = unix_ns();
    if (with_ranks) {
        list_ranks();
        add_rank_sums();
    }
    Reading reading = read_figures(kAllRanks);
    const bool rebuilt = is_worth_building(reading) && build();
    if (rebuilt) read_figures(kAllRanks);
    snapshot_.has_new_paths = reading.has_new_paths && !rebuilt;
    snapshot_.profile = &live_->profile();
    std::vector<LiveRank> summed = std::move(snapshot_.ranks);
    list_ranks();
    for (size_t i = 0; with_ranks && i < snapshot_.ranks.size() && i < summed.size(); ++i) {
        snapshot_.ranks[i].sums = summed[i].sums;
    }
    // Of all ranks, also where one is shown: it waits for others.
    snapshot_.positions = positions_of(live_->merged(), nullptr, lines_.get(), live_->paths());
    for (const auto& [number, known] : ranks_) {
        if (known.is_gone) snapshot_.positions.gone.insert(number);
    }
    add_open_times(rank);
    if (rank != kAllRanks) read_figures(rank);
    const bool is_same = !is_first && rank == snapshot_.rank && resets == snapshot_.resets;
    snapshot_.rank = rank;
    take_figures();
    if (is_same) never_fall(before, sums);
    return snapshot_;
}

// The same as `dwell recover` would do with these files, or as the ranks have done.
void LiveView::finish(uint32_t only) {
    if (final_ == nullptr) {
        NewestTimes times;
        for (const auto& [number, rank] : ranks_) rank.file.tell_newest(&times);
        Merged merged;
        for (auto& [number, rank] : ranks_) {
            rank.file.read_all(&merged, newest_time(times, rank.header));
        }
        estimate_blocked(&merged);
        live_.reset();
        final_ = std::make_unique<Profile>(build_profile(merged));
        snapshot_.unix_ns = snapshot_.figures_unix_ns = unix_ns();
        snapshot_.is_final = true;
        snapshot_.is_new_tree = true;
        snapshot_.has_new_paths = false;
        snapshot_.profile = final_.get();
        snapshot_.positions = Positions{};
        number_nodes(*final_);
        list_ranks();
        snapshot_.ended_well = std::all_of(ranks_.begin(), ranks_.end(), [](const auto& rank) {
            return rank.second.header.state == FileState::kFinalized;
        });
    }
    show(*final_, only);
}

void LiveView::show(const Profile& profile, uint32_t only) {
    snapshot_.rank = only;
    const bool all = only == kAllRanks;
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        snapshot_.nodes[i].totals = all ? profile.nodes[i].totals : empty_totals();
        snapshot_.nodes[i].computation_ns = all ? profile.nodes[i].computation_ns : 0;
    }
    std::map<uint32_t, LiveRank*> by_number;
    for (LiveRank& rank : snapshot_.ranks) {
        rank.sums = TimeSums{};
        by_number[rank.rank] = &rank;
    }
    for (const ProfileRow& row : profile.rows) {
        const ProfileNode& node = profile.nodes[row.node];
        const auto rank = by_number.find(row.rank);
        if (rank != by_number.end()) {
            add_node(node, row.totals, row.computation_ns, &rank->second->sums);
        }
        if (row.rank != only) continue;
        add_totals(&snapshot_.nodes[row.node].totals, row.totals);
        snapshot_.nodes[row.node].computation_ns += row.computation_ns;
    }
    snapshot_.sums = sums_of(profile, only);
    for (LiveRank& rank : snapshot_.ranks) {
        settle(paused_ns(profile, rank.rank), &rank.sums);
        if (rank.rank == only) snapshot_.sums = rank.sums;
    }
}

// False: there are none any more.
bool LiveView::read_snapshots_of_hosts(uint32_t only) {
    const std::string stamp = snapshots_stamp(directory_);
    const int64_t read_unix_ns = snapshot_.unix_ns;
    if (read_unix_ns != 0 && stamp == snapshots_stamp_) {
        snapshot_.unix_ns = unix_ns();
        for (auto& [host, age_ns] : snapshot_.positions.snapshot_age_ns) {
            age_ns += snapshot_.unix_ns - read_unix_ns;
        }
        if (only != snapshot_.rank) show(*snapshot_.profile, only);
        return true;
    }
    tl::expected<Snapshots, std::string> taken = read_snapshots(directory_);
    if (!taken) return false;
    snapshot_.left_out = taken->left_out;
    live_.reset();
    LineResolver* const lines = lines_->of(taken->merged);
    live_ = std::make_unique<LiveProfile>(std::move(taken->merged), lines);
    snapshot_.profile = &live_->profile();
    snapshots_stamp_ = stamp;
    snapshot_.unix_ns = unix_ns();
    snapshot_.figures_unix_ns = taken->newest_unix_ns;
    snapshot_.is_new_tree = true;
    number_nodes(*snapshot_.profile);
    list_ranks_of(*snapshot_.profile, &snapshot_);
    show(*snapshot_.profile, only);
    snapshot_.positions = positions_of(live_->merged(), nullptr, lines_.get(), live_->paths());
    for (LiveRank& rank : snapshot_.ranks) {
        rank.is_gone = rank.is_gone || snapshot_.positions.gone.count(rank.rank) != 0;
    }
    snapshot_.positions.snapshot_age_ns = taken->age_ns;
    add_open_times(only);
    return true;
}

// The job has ended: its profile stands beside.
void LiveView::finish_from_profile(uint32_t only) {
    const auto text = read_whole_file(directory_ + "/profile.json");
    tl::expected<Profile, std::string> profile =
        text ? read_profile_json(*text) : tl::make_unexpected(text.error());
    const auto now_ns = static_cast<int64_t>(monotonic_ns());
    if (missed_ns_ == 0) missed_ns_ = now_ns;
    if (!profile && now_ns - missed_ns_ < kPatienceForProfile_ns) return;
    snapshot_.is_final = true;
    if (!profile) return;  // it was killed: what was seen last
    final_ = std::make_unique<Profile>(std::move(*profile));
    snapshot_.ended_well = true;
    snapshot_.profile = final_.get();
    snapshot_.positions = Positions{};
    number_nodes(*final_);
    list_ranks_of(*final_, &snapshot_);
    show(*final_, only);
}

}  // namespace dwell
