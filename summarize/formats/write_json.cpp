// Writes profile.json. Nodes have every figure; rows and peers, of which there can be hundreds of
// thousands, omit figures that are zero.
#include "summarize/formats/write_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "summarize/formats/json_fields.h"
#include "summarize/merge/figures.h"
#include "summarize/profile/metric_counts.h"

namespace dwell {
namespace {

using Json = nlohmann::ordered_json;

template <size_t kCount>
Json bit_names(uint32_t bits, const std::array<BitName, kCount>& names) {
    Json list = Json::array();
    for (const BitName& known : names) {
        if (bits & known.bit) list.push_back(known.name);
        bits &= ~known.bit;
    }
    for (unsigned bit = 0; bit < 32; ++bit) {
        if (bits & (1u << bit)) list.push_back("bit_" + std::to_string(bit));
    }
    return list;
}

template <typename Item, typename Value>
void put(const Item& item, const Field<Item, Value>& field, Json* json) {
    const Value& value = item.*field.value;
    if constexpr (std::is_same_v<Value, uint32_t>) {
        if (field.presence == Presence::kNull && value == kNoNode) {
            (*json)[field.name] = nullptr;
            return;
        }
        if (field.presence == Presence::kUnlessNone && value == kNoNode) return;
    } else if constexpr (std::is_same_v<Value, uint64_t>) {
        if (field.presence == Presence::kUnlessNone && value == UINT64_MAX) return;
    }
    if (field.presence == Presence::kUnlessZero && value == Value{}) return;
    if constexpr (std::is_same_v<Value, double>) {
        (*json)[field.name] = std::isfinite(value) ? value : 0.0;
    } else {
        (*json)[field.name] = value;
    }
}

template <typename Item, typename Names>
void put(const Item& item, const Bits<Item, Names>& bits, Json* json) {
    (*json)[bits.name] = bit_names(item.*bits.value, *bits.names);
}

template <typename Item, typename Value, typename Words>
void put(const Item& item, const Word<Item, Value, Words>& word, Json* json) {
    const auto index = static_cast<size_t>(item.*word.value);
    (*json)[word.name] = (*word.words)[index < word.words->size() ? index : 0];
}

template <typename Item, typename Fields>
void put_fields(const Item& item, const Fields& fields, Json* json) {
    std::apply([&](const auto&... field) { (put(item, field, json), ...); }, fields);
}

template <typename Item, typename Fields>
Json object_of(const Item& item, const Fields& fields) {
    Json json = Json::object();
    put_fields(item, fields, &json);
    return json;
}

void put_slots(const char* key, const uint64_t (&values)[kEventSlots], bool zeros, Json* json) {
    const bool any = std::any_of(values, values + kEventSlots, [](uint64_t v) { return v != 0; });
    if (any || zeros) (*json)[key] = values;
}

// `zeros`: nodes also write zeros, except for figures that few nodes have.
void put_totals(const Totals& totals, bool zeros, Json* json) {
    for (const Figure& figure : kFigures) {
        const uint64_t value = totals.*figure.value;
        // Without a minimum the key is missing, instead of 2^64 - 1.
        const bool none = figure.combine == Combine::kLeast ? value == UINT64_MAX : value == 0;
        const bool shown = zeros && figure.in_json == InJson::kAlways;
        if (!none || (shown && figure.combine != Combine::kLeast)) (*json)[figure.name] = value;
    }
    put_slots("event_count", totals.event_count, zeros, json);
    put_slots("event_ns", totals.event_ns, zeros, json);
}

Json rank_json(const ProfileRank& rank) {
    Json json = object_of(rank, kRankFields);
    for (const UsageName& known : kUsageNames) json[known.name] = rank.usage.*known.figure;
    return json;
}

Json node_json(const ProfileNode& node) {
    Json json = object_of(node, kNodeHeadFields);
    put_totals(node.totals, true, &json);
    put_fields(node, kNodeFields, &json);
    if (node.phase.known) json["phase"] = object_of(node.phase, kPhaseFields);
    return json;
}

Json interval_json(const ProfileInterval& interval) {
    Json lines = Json::array();
    for (const SampledLine& line : interval.lines) lines.push_back(object_of(line, kLineFields));
    Json json = object_of(interval, kIntervalFields);
    json["lines"] = std::move(lines);
    return json;
}

Json row_json(const ProfileRow& row) {
    Json json = object_of(row, kRowFields);
    put_totals(row.totals, false, &json);
    return json;
}

Json thread_json(const ProfileThread& thread) { return object_of(thread, kThreadFields); }

void put_rank(uint32_t peer, Json* json) {
    (*json)["peer_world"] = peer >> kPeerRankBits;
    (*json)["peer_rank"] = peer & ((1u << kPeerRankBits) - 1);
}
// The sum over ranks without an entry of their own has null.
void put_partner(uint32_t peer, Json* json) {
    if (peer != kNoPeer) return put_rank(peer, json);
    (*json)["peer_world"] = (*json)["peer_rank"] = nullptr;
}

Json peer_json(const ProfilePeer& peer) {
    Json json = object_of(peer, kPeerFields);
    put_rank(peer.peer, &json);
    return json;
}

Json partner_json(const ProfilePartner& partner) {
    Json json = object_of(partner, kPartnerFields);
    put_partner(partner.peer, &json);
    put_fields(partner, kWaitingFields<ProfilePartner>, &json);
    return json;
}

Json cause_json(const ProfileCause& cause) {
    Json json;
    put_partner(cause.peer, &json);
    put_fields(cause, kWaitingFields<ProfileCause>, &json);
    return json;
}

Json stall_json(const ProfileStall& stall) { return object_of(stall, kStallFields); }

// A distance of kNoPeer (another world) is null, that of kOtherDistances the word "other".
Json distance_json(const MergedDistance& distance) {
    Json json = object_of(distance, kDistanceFields);
    Json of = distance.distance;
    if (distance.distance == kNoPeer) of = nullptr;
    if (distance.distance == kOtherDistances) of = "other";
    json["distance"] = std::move(of);
    return json;
}

// Ranks and their coordinates are lists of equal length, which is shorter than a list of objects.
Json grid_json(const ProfileGrid& grid) {
    Json ranks = Json::array();
    Json coordinates = Json::array();
    for (const ProfilePlace& place : grid.places) {
        ranks.push_back(place.rank);
        coordinates.push_back(place.coordinates);
    }
    Json json = object_of(grid, kGridFields);
    json["ranks"] = std::move(ranks);
    json["coordinates"] = std::move(coordinates);
    return json;
}

Json left_out_json(const LeftOutSite& site) { return object_of(site, kLeftOutFields); }

Json metrics_json(const ProfileMetrics& metrics) {
    Json names = Json::array();
    for (const std::string& name : metrics.names) {
        names.push_back({{"name", name}, {"unit", metric_unit(name)}});
    }
    Json json = {{"counted", std::move(names)}};
    put_fields(metrics, kMetricsFields, &json);
    return json;
}

Json counts_json(const ProfileCounts& counts) { return object_of(counts, kCountsFields); }
Json count_row_json(const ProfileCounts& counts) {
    Json json = object_of(counts, kCountsFields);
    put_fields(counts, kCountRowFields, &json);
    return json;
}

Json bin_json(const ProfileBin& bin) {
    Json json = object_of(bin, kBinFields);
    for (const auto& [name, figure] : kAxisFigureNames) {
        if (bin.most.*figure == 0) continue;
        json[name] = {bin.sum.*figure, bin.least.*figure, bin.most.*figure};
    }
    return json;
}

Json bin_row_json(const ProfileBinRow& row) {
    Json json = object_of(row, kBinRowFields);
    for (const auto& [name, figure] : kAxisFigureNames) {
        if (row.figures.*figure != 0) json[name] = row.figures.*figure;
    }
    return json;
}

// Adds a key to the object, with one line for each element: profiles can be compared with diff and
// read without a tool.
template <typename Items, typename ToJson>
void append_list(std::string* out, const char* key, const Items& items, ToJson to_json) {
    *out += std::string(",\n  \"") + key + "\": [";
    const char* separator = "\n    ";
    for (const auto& item : items) {
        *out += separator;
        *out += to_json(item).dump(-1, ' ', false, Json::error_handler_t::replace);
        separator = ",\n    ";
    }
    *out += items.empty() ? "]" : "\n  ]";
}

}  // namespace

std::string write_profile_json(const Profile& profile) {
    Json head = {{"dwell_profile", kProfileJsonVersion}};
    put_fields(profile, kProfileFields, &head);
    head["sites"] = object_of(profile.sites, kSitesFields);
    head["notes"] = profile.notes;
    std::string out = head.dump(2, ' ', false, Json::error_handler_t::replace);
    out.resize(out.rfind('\n'));  // the closing brace follows after the lists
    append_list(&out, "ranks", profile.ranks, rank_json);
    append_list(&out, "nodes", profile.nodes, node_json);
    append_list(&out, "intervals", profile.intervals, interval_json);
    append_list(&out, "rows", profile.rows, row_json);
    append_list(&out, "threads", profile.threads, thread_json);
    append_list(&out, "peers", profile.peers, peer_json);
    append_list(&out, "distances", profile.distances, distance_json);
    append_list(&out, "grids", profile.grids, grid_json);
    append_list(&out, "partners", profile.partners, partner_json);
    append_list(&out, "causes", profile.causes, cause_json);
    append_list(&out, "stalls", profile.stalls, stall_json);
    append_list(&out, "left_out", profile.sites.left_out, left_out_json);
    const ProfileMetrics& metrics = profile.metrics;
    if (!metrics.names.empty() || !metrics.missing.empty() || metrics.no_room_threads != 0) {
        out += ",\n  \"metrics\": ";
        out += metrics_json(metrics).dump(-1, ' ', false, Json::error_handler_t::replace);
        append_list(&out, "metric_counts", metrics.nodes, counts_json);
        append_list(&out, "metric_rows", metrics.rows, count_row_json);
    }
    if (!profile.axis.bins.empty() || profile.axis.missing_threads != 0) {
        out += ",\n  \"time_axis\": ";
        out += object_of(profile.axis, kAxisFields).dump();
        append_list(&out, "time_bins", profile.axis.bins, bin_json);
        append_list(&out, "time_bin_rows", profile.axis.rows, bin_row_json);
    }
    out += "\n}\n";
    return out;
}

}  // namespace dwell
