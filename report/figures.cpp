// Sums that the text report shows.
#include "report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "report/text_style.h"
#include "summarize/profile_walk.h"

namespace dwell {
namespace {

using LineKey = std::tuple<std::string, std::string, int, std::string>;

// Without a line a statement is told apart by its procedure, whose name holds the offset.
LineKey line_key(const Profile& profile, uint32_t index) {
    const ProfileNode& node = profile.nodes[index];
    std::string extra = node.module;
    if (node.line == 0 && node.parent != kNoNode) extra += '\n' + profile.nodes[node.parent].name;
    return {node.name, node.file, node.line, extra};
}

void add_totals(const Totals& from, Totals* into) {
    into->count += from.count;
    into->time_ns += from.time_ns;
    into->min_ns = std::min(into->min_ns, from.min_ns);
    into->max_ns = std::max(into->max_ns, from.max_ns);
    into->sync_ns += from.sync_ns;
    into->blocked_ns += from.blocked_ns;
    into->bytes_sent += from.bytes_sent;
    into->bytes_received += from.bytes_received;
    into->failed += from.failed;
    into->folded_peers += from.folded_peers;
}

// The rank with most time in each line.
void find_worst_ranks(const Profile& profile, std::vector<CommLine>* lines) {
    std::vector<size_t> line_of(profile.nodes.size(), SIZE_MAX);
    for (size_t i = 0; i < lines->size(); ++i) {
        for (const uint32_t node : (*lines)[i].nodes) line_of[node] = i;
    }
    std::map<std::pair<size_t, uint32_t>, double> time_ns;
    for (const ProfileRow& row : profile.rows) {
        if (line_of[row.node] == SIZE_MAX) continue;
        time_ns[{line_of[row.node], row.rank}] += static_cast<double>(row.totals.time_ns);
    }
    for (const auto& [key, ns] : time_ns) {
        std::optional<Peak>& worst = (*lines)[key.first].worst;
        if (!worst || ns > worst->ns) worst = Peak{key.second, ns};
    }
    for (CommLine& line : *lines) {
        if (line.worst || line.nodes.size() != 1) continue;
        const ProfileNode& node = profile.nodes[line.node];
        line.worst = Peak{node.rank_max, static_cast<double>(node.rank_max_ns)};
    }
}

std::string peer_text(uint32_t peer) {
    if (peer == kNoPeer) return "any";
    const uint32_t world = peer >> kPeerRankBits;
    const uint32_t rank = peer & ((1u << kPeerRankBits) - 1);
    if (world == 0) return fmt::format("{}", rank);
    if (world == kParentWorld) return fmt::format("parent:{}", rank);
    return fmt::format("w{}:{}", world, rank);
}

std::string distance_text(uint32_t distance, uint32_t world_size) {
    if (distance == kNoPeer) return "other worlds";
    if (distance == kOtherDistances) return "others";
    if (distance > world_size / 2) return fmt::format("-{}", world_size - distance);
    return fmt::format("+{}", distance);
}

// The way of the bytes: from the rank, to the rank, or both.
std::string pair_text(uint32_t rank, uint32_t peer, bool sent, bool received, bool utf8) {
    const std::string own = fmt::format("{}", rank);
    if (sent && received) return own + std::string(glyphs(utf8).both_ways) + peer_text(peer);
    if (received) return peer_text(peer) + std::string(glyphs(utf8).arrow) + own;
    return own + std::string(glyphs(utf8).arrow) + peer_text(peer);
}

struct PairWeight {
    double time_ns = 0;
    bool sent = false;
    bool received = false;
};

}  // namespace

std::vector<RankFigures> rank_figures(const Profile& profile) {
    std::vector<RankFigures> figures;
    if (profile.rows.empty()) return figures;
    std::map<uint32_t, size_t> index_of;
    for (const ProfileRank& rank : profile.ranks) {
        index_of.emplace(rank.rank, figures.size());
        figures.push_back({rank.rank, 0, 0, 0, 0, 0});
    }
    for (const ProfileRow& row : profile.rows) {
        const auto found = index_of.find(row.rank);
        if (found == index_of.end()) continue;
        RankFigures& rank = figures[found->second];
        rank.computation_ns += row.computation_ns;
        if (!is_communication(profile.nodes[row.node])) continue;
        const uint64_t blocked = std::min(row.totals.blocked_ns, row.totals.time_ns);
        rank.blocked_ns += blocked;
        rank.transfer_ns += row.totals.time_ns - blocked;
        rank.bytes_sent += row.totals.bytes_sent;
        rank.bytes_received += row.totals.bytes_received;
    }
    return figures;
}

std::optional<Peak> peak(const std::vector<RankFigures>& ranks, uint64_t RankFigures::*member) {
    std::optional<Peak> most;
    for (const RankFigures& rank : ranks) {
        const auto ns = static_cast<double>(rank.*member);
        if (!most || ns > most->ns) most = Peak{rank.rank, ns};
    }
    return most;
}

std::vector<CommLine> comm_lines(const Profile& profile) {
    std::map<LineKey, CommLine> by_key;
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        if (!is_communication(profile.nodes[i])) continue;
        CommLine& line = by_key[line_key(profile, i)];
        if (line.nodes.empty()) {
            line.node = i;
            line.totals.min_ns = UINT64_MAX;
        } else if (profile.nodes[i].totals.time_ns > profile.nodes[line.node].totals.time_ns) {
            line.node = i;
        }
        line.nodes.push_back(i);
        add_totals(profile.nodes[i].totals, &line.totals);
    }
    std::vector<CommLine> lines;
    for (auto& [key, line] : by_key) lines.push_back(std::move(line));
    find_worst_ranks(profile, &lines);
    std::stable_sort(lines.begin(), lines.end(), [](const CommLine& a, const CommLine& b) {
        return a.totals.time_ns > b.totals.time_ns;
    });
    return lines;
}

std::vector<PairShare> heaviest_pairs(const Profile& profile, const CommLine& line, bool utf8,
                                      size_t limit, size_t* others) {
    const auto in_line = [&line](uint32_t node) {
        return std::find(line.nodes.begin(), line.nodes.end(), node) != line.nodes.end();
    };
    std::vector<PairShare> pairs;
    if (profile.distances.empty()) {
        std::map<std::pair<uint32_t, uint32_t>, PairWeight> weights;
        for (const ProfilePeer& peer : profile.peers) {
            if (!in_line(peer.node)) continue;
            PairWeight& weight = weights[{peer.rank, peer.peer}];
            weight.time_ns += static_cast<double>(peer.time_ns);
            weight.sent = weight.sent || peer.bytes_sent != 0;
            weight.received = weight.received || peer.bytes_received != 0;
        }
        for (const auto& [key, weight] : weights) {
            pairs.push_back({pair_text(key.first, key.second, weight.sent, weight.received, utf8),
                             weight.time_ns});
        }
    } else {
        std::map<uint32_t, double> weights;
        for (const MergedDistance& distance : profile.distances) {
            if (!in_line(distance.node)) continue;
            weights[distance.distance] += static_cast<double>(distance.time_ns);
        }
        for (const auto& [distance, ns] : weights) {
            pairs.push_back({distance_text(distance, profile.world_size), ns});
        }
    }
    std::stable_sort(pairs.begin(), pairs.end(),
                     [](const PairShare& a, const PairShare& b) { return a.share > b.share; });
    double sum_ns = 0;
    for (const PairShare& pair : pairs) sum_ns += pair.share;
    const double whole = std::max(static_cast<double>(line.totals.time_ns), sum_ns);
    for (PairShare& pair : pairs) pair.share = whole > 0 ? pair.share / whole : 0;
    *others = pairs.size() > limit ? pairs.size() - limit : 0;
    if (*others != 0) pairs.resize(limit);
    return pairs;
}

std::vector<IntervalLine> interval_lines(const Profile& profile) {
    using Key = std::tuple<LineKey, LineKey, std::string>;
    std::map<Key, IntervalLine> by_key;
    std::map<Key, uint64_t> largest_ns;
    for (const ProfileInterval& interval : profile.intervals) {
        const LineKey from =
            interval.from == kNoNode ? LineKey{} : line_key(profile, interval.from);
        const Key key = {from, line_key(profile, interval.to),
                         profile.nodes[interval.booked_on].name};
        IntervalLine& line = by_key[key];
        if (line.count == 0 || interval.time_ns > largest_ns[key]) {
            line.from = interval.from;
            line.to = interval.to;
            line.booked_on = interval.booked_on;
            largest_ns[key] = interval.time_ns;
        }
        line.count += interval.count;
        line.time_ns += interval.time_ns;
        line.max_ns = std::max(line.max_ns, interval.max_ns);
        for (const SampledLine& sampled : interval.lines) {
            line.samples += sampled.samples;
            const auto same = std::find_if(
                line.lines.begin(), line.lines.end(), [&sampled](const SampledLine& known) {
                    return known.line == sampled.line && known.file == sampled.file &&
                           known.function == sampled.function;
                });
            if (same == line.lines.end()) {
                line.lines.push_back(sampled);
            } else {
                same->samples += sampled.samples;
            }
        }
    }
    std::vector<IntervalLine> lines;
    for (auto& [key, line] : by_key) {
        std::stable_sort(
            line.lines.begin(), line.lines.end(),
            [](const SampledLine& a, const SampledLine& b) { return a.samples > b.samples; });
        lines.push_back(std::move(line));
    }
    std::stable_sort(lines.begin(), lines.end(), [](const IntervalLine& a, const IntervalLine& b) {
        return a.time_ns > b.time_ns;
    });
    return lines;
}

std::string place_text(const ProfileNode& node, bool utf8) {
    if (node.file.empty()) return printable(base_name(node.module), utf8);
    const std::string file = printable(base_name(node.file), utf8);
    if (node.line == 0) return file;
    return fmt::format("{}:{}{}", file, node.line, node.labels & kLabelLineUnknown ? "?" : "");
}

std::string procedure_of(const Profile& profile, uint32_t node, bool utf8) {
    for (uint32_t i = profile.nodes[node].parent; i != kNoNode; i = profile.nodes[i].parent) {
        if (profile.nodes[i].kind == SiteKind::kProcedure) {
            return short_name(profile.nodes[i].name, utf8);
        }
    }
    return "";
}

double rank_count(const Profile& profile) {
    return static_cast<double>(std::max<size_t>(profile.ranks.size(), 1));
}

}  // namespace dwell
