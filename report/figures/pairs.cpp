// The partners of a communication line: combines both sides' records into one entry for each pair
// of ranks.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/figures/figures.h"
#include "report/figures/text_style.h"
#include "runtime/contract/mpi_calls.h"
#include "summarize/merge/merged_tables.h"

namespace dwell {
namespace {

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

struct PairWeight {
    double time_ns = 0;
    double bytes = 0;
    double messages = 0;
};

// Direction of the messages between a rank and a partner: sent, received, or both or unknown.
enum Way : int { kSent, kReceived, kBoth, kWays };

Way way_of(const ProfilePeer& peer, uint16_t call) {
    if (peer.bytes_sent != 0 && peer.bytes_received != 0) return kBoth;
    if (peer.bytes_sent != 0) return kSent;
    if (peer.bytes_received != 0) return kReceived;
    const CallClass call_class =
        call < kMpiCallCount ? kMpiCalls[call].call_class : CallClass::kNone;
    if (call_class == CallClass::kSend) return kSent;
    const bool receives = call_class == CallClass::kReceive || call_class == CallClass::kProbe;
    return receives ? kReceived : kBoth;
}

// One partner's records of the other partner, at one line.
struct Side {
    double time_ns[kWays] = {};
    double messages[kWays] = {};
    double sent = 0;
    double received = 0;
};

void add_record(const ProfilePeer& peer, Way way, Side* side) {
    side->time_ns[way] += static_cast<double>(peer.time_ns);
    side->messages[way] += static_cast<double>(peer.count);
    side->sent += static_cast<double>(peer.bytes_sent);
    side->received += static_cast<double>(peer.bytes_received);
}

// The messages from one partner to the other. Time counts on both sides; a message recorded by both
// counts once.
PairWeight one_way(const Side& sender, const Side& receiver) {
    return {sender.time_ns[kSent] + receiver.time_ns[kReceived],
            std::max(sender.sent, receiver.received),
            std::max(sender.messages[kSent], receiver.messages[kReceived])};
}

PairWeight both_ways(const Side& first, const Side& second) {
    const auto sum = [](const double(&of_ways)[kWays]) {
        return of_ways[kSent] + of_ways[kReceived] + of_ways[kBoth];
    };
    return {sum(first.time_ns) + sum(second.time_ns),
            std::max(first.sent, second.received) + std::max(first.received, second.sent),
            std::max(sum(first.messages), sum(second.messages))};
}

// The partners of a line, by name.
std::vector<std::pair<std::string, PairWeight>> pair_weights(const Profile& profile,
                                                             const CommLine& line, bool utf8) {
    const auto in_line = [&line](uint32_t node) {
        return std::find(line.nodes.begin(), line.nodes.end(), node) != line.nodes.end();
    };
    struct Pair {
        Side first, second;
    };
    // Each pair of partners once, in the order of their numbers; ranks of another world come last.
    std::map<std::pair<uint32_t, uint32_t>, Pair> by_pair;
    std::map<uint32_t, PairWeight> by_distance;
    std::vector<std::pair<std::string, PairWeight>> named;
    if (profile.distances.empty()) {
        for (const ProfilePeer& peer : profile.peers) {
            if (!in_line(peer.node)) continue;
            const Way way = way_of(peer, profile.nodes[peer.node].call);
            Pair& pair = by_pair[std::minmax(peer.rank, peer.peer)];
            const bool with_itself = peer.rank == peer.peer && way == kReceived;
            const bool is_first = peer.rank <= peer.peer && !with_itself;
            add_record(peer, way, is_first ? &pair.first : &pair.second);
        }
    }
    for (const MergedDistance& distance : profile.distances) {
        if (!in_line(distance.node)) continue;
        PairWeight& weight = by_distance[distance.distance];
        weight.time_ns += static_cast<double>(distance.time_ns);
        weight.bytes += static_cast<double>(distance.bytes_sent + distance.bytes_received);
        weight.messages += static_cast<double>(distance.count);
    }
    const auto add = [&named](const std::string& from, std::string_view sign, const std::string& to,
                              const PairWeight& weight) {
        if (weight.messages != 0) named.emplace_back(from + std::string(sign) + to, weight);
    };
    for (const auto& [key, pair] : by_pair) {
        const std::string first = peer_text(key.first);
        const std::string second = peer_text(key.second);
        const Glyphs& signs = glyphs(utf8);
        if (pair.first.messages[kBoth] != 0 || pair.second.messages[kBoth] != 0) {
            add(first, signs.both_ways, second, both_ways(pair.first, pair.second));
        } else {
            add(first, signs.arrow, second, one_way(pair.first, pair.second));
            add(second, signs.arrow, first, one_way(pair.second, pair.first));
        }
    }
    for (const auto& [distance, weight] : by_distance) {
        named.emplace_back(distance_text(distance, profile.world_size), weight);
    }
    return named;
}

// Below this part, time with partners says nothing about the line's time.
constexpr double kTellingTime = 0.05;

}  // namespace

HeaviestPairs heaviest_pairs(const Profile& profile, const CommLine& line, bool utf8,
                             size_t limit) {
    const auto weights = pair_weights(profile, line, utf8);
    PairWeight sum;
    for (const auto& [text, weight] : weights) {
        sum.time_ns += weight.time_ns;
        sum.bytes += weight.bytes;
        sum.messages += weight.messages;
    }
    HeaviestPairs heaviest;
    double whole = std::max(static_cast<double>(line.totals.time_ns), sum.time_ns);
    double PairWeight::*member = &PairWeight::time_ns;
    if (sum.time_ns < kTellingTime * whole || whole <= 0) {
        const bool bytes = sum.bytes > 0;
        heaviest.measure = bytes ? PairMeasure::kBytes : PairMeasure::kMessages;
        member = bytes ? &PairWeight::bytes : &PairWeight::messages;
        whole = sum.*member;
    }
    for (const auto& [text, weight] : weights) {
        heaviest.pairs.push_back({text, whole > 0 ? weight.*member / whole : 0});
    }
    std::stable_sort(heaviest.pairs.begin(), heaviest.pairs.end(),
                     [](const PairShare& a, const PairShare& b) { return a.share > b.share; });
    if (heaviest.pairs.size() > limit) {
        heaviest.others = heaviest.pairs.size() - limit;
        heaviest.pairs.resize(limit);
    }
    return heaviest;
}

}  // namespace dwell
