// Writes profile.json. Nodes carry every figure; rows and peers, of which there can be hundreds of
// thousands, leave out figures that are zero.
#include "summarize/formats/write_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "summarize/formats/json_names.h"
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

Json state_name(FileState state) {
    const auto index = static_cast<size_t>(state);
    return kStateNames[index < kStateNames.size() ? index : 0];
}

enum class Zeros { kKeep, kLeaveOut };

class FigureWriter {
  public:
    FigureWriter(Json* object, Zeros zeros) : object_(object), zeros_(zeros) {}

    void put(const char* key, uint64_t value) {
        if (value != 0 || zeros_ == Zeros::kKeep) (*object_)[key] = value;
    }
    // A minimum of nothing has no value: the key is missing, not 2^64 - 1.
    void put_minimum(const char* key, uint64_t value) {
        if (value != UINT64_MAX) (*object_)[key] = value;
    }
    void put_slots(const char* key, const uint64_t (&values)[kEventSlots]) {
        bool any = false;
        for (uint64_t value : values) any = any || value != 0;
        if (any || zeros_ == Zeros::kKeep) (*object_)[key] = values;
    }

  private:
    Json* object_;
    Zeros zeros_;
};

void put_totals(Json* object, const Totals& totals, Zeros zeros) {
    FigureWriter writer(object, zeros);
    writer.put("count", totals.count);
    writer.put("time_ns", totals.time_ns);
    writer.put_minimum("min_ns", totals.min_ns);
    writer.put("max_ns", totals.max_ns);
    writer.put("sync_ns", totals.sync_ns);
    writer.put("blocked_ns", totals.blocked_ns);
    FigureWriter of_waits(object, Zeros::kLeaveOut);
    of_waits.put("late_sender_ns", totals.late_sender_ns);
    of_waits.put("late_receiver_ns", totals.late_receiver_ns);
    of_waits.put("passed_on_ns", totals.passed_on_ns);
    of_waits.put("unknown_waits", totals.unknown_waits);
    of_waits.put("guessed_waits", totals.guessed_waits);
    of_waits.put("estimated_waits", totals.estimated_waits);
    writer.put("bytes_sent", totals.bytes_sent);
    writer.put("bytes_received", totals.bytes_received);
    writer.put("failed", totals.failed);
    writer.put("folded_peers", totals.folded_peers);
    writer.put("untimed", totals.untimed);
    writer.put_slots("event_count", totals.event_count);
    writer.put_slots("event_ns", totals.event_ns);
    FigureWriter of_probes(object, Zeros::kLeaveOut);
    of_probes.put("iterations", totals.iterations);
    of_probes.put("abandoned", totals.abandoned);
    of_probes.put("off_entries", totals.off_entries);
    of_probes.put("off_uncertain", totals.off_uncertain);
    of_probes.put("off_error", totals.off_error);
    of_probes.put("estimated_ns", totals.estimated_ns);
    of_probes.put("volume", totals.volume);
    of_probes.put("entered_ns", totals.entered_ns);
    of_probes.put("omp_wait_ns", totals.omp_wait_ns);
    of_probes.put("omp_idle_ns", totals.omp_idle_ns);
    of_probes.put("omp_start_ns", totals.omp_start_ns);
    of_probes.put("omp_overhead_ns", totals.omp_overhead_ns);
    of_probes.put("created", totals.created);
    of_probes.put("chunks", totals.chunks);
}

Json node_or_null(uint32_t node) { return node == kNoNode ? Json(nullptr) : Json(node); }

Json rank_without_usage(const ProfileRank& rank) {
    return {{"rank", rank.rank},
            {"pid", rank.pid},
            {"host", rank.host},
            {"program", rank.program},
            {"command", rank.command},
            {"state", state_name(rank.state)},
            {"flags", bit_names(rank.flags, kFileFlagNames)},
            {"exit_code", rank.exit_code},
            {"threads", rank.threads},
            {"sample_hz", rank.sample_hz},
            {"callpath_depth", rank.callpath_depth},
            {"processors", rank.processors},
            {"first_processor", rank.first_processor},
            {"start_unix_ns", rank.start_unix_ns},
            {"real_ns", rank.real_ns},
            {"intrusion_ns", rank.intrusion_ns},
            {"own_ns", rank.own_ns},
            {"injected_ns", rank.injected_ns},
            {"paused_ns", rank.paused_ns},
            {"call_cost_ns", std::isfinite(rank.call_cost_ns) ? rank.call_cost_ns : 0.0},
            {"record_bytes", rank.record_bytes},
            {"samples", rank.samples},
            {"samples_in_calls", rank.samples_in_calls},
            {"samples_lost", rank.samples_lost},
            {"folded_paths", rank.folded_paths},
            {"files_unnamed", rank.files_unnamed},
            {"io_unobserved", rank.io_unobserved},
            {"dropped", rank.dropped},
            {"guessed", rank.guessed},
            {"clock_errors", rank.clock_errors},
            {"clock_offset_ns", rank.clock_offset_ns},
            {"clock_drift_ns", rank.clock_drift_ns},
            {"clock_bound_ns", rank.clock_bound_ns},
            {"order_kept", rank.order_kept},
            {"order_far", rank.order_far},
            {"order_posted", rank.order_posted},
            {"order_unknown", rank.order_unknown},
            {"queued_ns", rank.queued_ns},
            {"queued_call_ns", rank.queued_call_ns},
            {"stalls_dropped", rank.stalls_dropped},
            {"threads_served", rank.threads_served},
            {"probes", rank.probes},
            {"probes_missed", rank.probes_missed},
            {"probes_dropped", rank.probes_dropped},
            {"threads_cut", rank.threads_cut}};
}

Json rank_json(const ProfileRank& rank) {
    Json json = rank_without_usage(rank);
    json["usage_ns"] = rank.usage_ns;
    for (const UsageName& known : kUsageNames) json[known.name] = rank.usage.*known.figure;
    return json;
}

Json phase_json(const PhaseNumbers& phase) {
    return {{"first", phase.first},
            {"last", phase.last},
            {"last_behind", phase.last_behind},
            {"rank_behind", phase.rank_behind}};
}

Json node_json(const ProfileNode& node) {
    Json json = {{"kind", kind_name(node.kind)},
                 {"name", node.name},
                 {"file", node.file},
                 {"line", node.line},
                 {"module", node.module},
                 {"labels", bit_names(node.labels, kLabelNames)},
                 {"call", node.call},
                 {"parent", node_or_null(node.parent)},
                 {"children", node.children}};
    put_totals(&json, node.totals, Zeros::kKeep);
    json["computation_ns"] = node.computation_ns;
    json["samples"] = node.samples;
    json["ranks"] = node.ranks;
    json["rank_min_ns"] = node.rank_min_ns;
    json["rank_min"] = node.rank_min;
    json["rank_max_ns"] = node.rank_max_ns;
    json["rank_max"] = node.rank_max;
    json["messages"] = node.messages;
    if (node.phase.known) json["phase"] = phase_json(node.phase);
    if (!node.io_file.empty()) json["io_file"] = node.io_file;
    return json;
}

Json interval_json(const ProfileInterval& interval) {
    Json lines = Json::array();
    for (const SampledLine& line : interval.lines) {
        lines.push_back({{"function", line.function},
                         {"file", line.file},
                         {"line", line.line},
                         {"samples", line.samples},
                         {"node", line.node}});
        if (line.system) lines.back()["system"] = true;
    }
    Json json = {{"from", node_or_null(interval.from)},
                 {"to", node_or_null(interval.to)},
                 {"booked_on", node_or_null(interval.booked_on)}};
    FigureWriter writer(&json, Zeros::kKeep);
    writer.put("count", interval.count);
    writer.put("time_ns", interval.time_ns);
    writer.put_minimum("min_ns", interval.min_ns);
    writer.put("max_ns", interval.max_ns);
    if (interval.or_after) json["in_or_after"] = true;
    json["lines"] = std::move(lines);
    return json;
}

Json row_json(const ProfileRow& row) {
    Json json = {{"node", row.node}, {"rank", row.rank}, {"thread", row.thread}};
    put_totals(&json, row.totals, Zeros::kLeaveOut);
    FigureWriter(&json, Zeros::kLeaveOut).put("computation_ns", row.computation_ns);
    return json;
}

Json thread_json(const ProfileThread& thread) {
    return {{"rank", thread.rank},
            {"thread", thread.thread},
            {"served", thread.served},
            {"name", thread.name}};
}

Json peer_json(const ProfilePeer& peer) {
    Json json = {{"node", peer.node},
                 {"rank", peer.rank},
                 {"peer_world", peer.peer >> kPeerRankBits},
                 {"peer_rank", peer.peer & ((1u << kPeerRankBits) - 1)}};
    FigureWriter writer(&json, Zeros::kLeaveOut);
    writer.put("count", peer.count);
    writer.put("time_ns", peer.time_ns);
    writer.put("sync_ns", peer.sync_ns);
    writer.put("bytes_sent", peer.bytes_sent);
    writer.put("bytes_received", peer.bytes_received);
    writer.put_minimum("min_ns", peer.min_ns);
    writer.put("max_ns", peer.max_ns);
    return json;
}

// Who waited for whom, or nobody by name: then "peer_rank" is null.
template <typename Blame>
Json blame_json(const Blame& blame) {
    Json json;
    const bool named = blame.peer != kNoPeer;
    json["peer_world"] = named ? Json(blame.peer >> kPeerRankBits) : Json(nullptr);
    json["peer_rank"] = named ? Json(blame.peer & ((1u << kPeerRankBits) - 1)) : Json(nullptr);
    json["interval"] = node_or_null(blame.interval);
    FigureWriter(&json, Zeros::kKeep).put("count", blame.count);
    FigureWriter(&json, Zeros::kKeep).put("time_ns", blame.time_ns);
    FigureWriter writer(&json, Zeros::kLeaveOut);
    writer.put("passed_on_ns", blame.passed_on_ns);
    writer.put("lost_ns", blame.lost_ns);
    return json;
}

Json partner_json(const ProfilePartner& partner) {
    Json json = {{"node", partner.node}};
    json.update(blame_json(partner));
    FigureWriter(&json, Zeros::kLeaveOut).put("max_ns", partner.max_ns);
    return json;
}

Json stall_json(const ProfileStall& stall) {
    Json json = {{"interval", stall.interval}, {"rank", stall.rank}};
    if (stall.io_node != kNoNode) json["io_node"] = stall.io_node;
    json["count"] = stall.count;
    json["time_ns"] = stall.time_ns;
    FigureWriter writer(&json, Zeros::kLeaveOut);
    writer.put("io_ns", stall.io_ns);
    writer.put("asleep_ns", stall.asleep_ns);
    writer.put("queued_ns", stall.queued_ns);
    writer.put("kernel_ns", stall.kernel_ns);
    return json;
}

Json cause_json(const ProfileCause& cause) { return blame_json(cause); }

// A distance of kNoPeer (another world) is null, that of kOtherDistances the word "other".
Json distance_json(const MergedDistance& distance) {
    Json of = distance.distance;
    if (distance.distance == kNoPeer) of = nullptr;
    if (distance.distance == kOtherDistances) of = "other";
    return {{"node", distance.node},
            {"distance", std::move(of)},
            {"pairs", distance.pairs},
            {"count", distance.count},
            {"time_ns", distance.time_ns},
            {"sync_ns", distance.sync_ns},
            {"bytes_sent", distance.bytes_sent},
            {"bytes_received", distance.bytes_received}};
}

// Ranks and their coordinates are lists of the same length: of many ranks they are shorter so.
Json grid_json(const ProfileGrid& grid) {
    Json ranks = Json::array();
    Json coordinates = Json::array();
    for (const ProfilePlace& place : grid.places) {
        ranks.push_back(place.rank);
        coordinates.push_back(place.coordinates);
    }
    return {{"name", grid.name},
            {"by", kGridSources[grid.by_mpi ? 1 : 0]},
            {"sizes", grid.sizes},
            {"periodic", grid.periodic},
            {"described_by", grid.ranks},
            {"ranks", std::move(ranks)},
            {"coordinates", std::move(coordinates)}};
}

Json left_out_json(const LeftOutSite& site) {
    return {{"kind", kind_name(site.kind)},
            {"name", site.name},
            {"file", site.file},
            {"line", site.line},
            {"reason", site.reason}};
}

Json metrics_json(const ProfileMetrics& metrics) {
    Json names = Json::array();
    for (const std::string& name : metrics.names) {
        names.push_back({{"name", name}, {"unit", metric_unit(name)}});
    }
    return {{"counted", std::move(names)},
            {"missing", metrics.missing},
            {"unwatched_threads", metrics.unwatched_threads},
            {"no_room_threads", metrics.no_room_threads},
            {"lost_threads", metrics.lost_threads},
            {"lost_ns", metrics.lost_ns},
            {"left_out", metrics.left_out},
            {"read_ns", metrics.read_ns},
            {"least_ns", metrics.least_ns}};
}

Json figures_of(const ProfileCounts& counts) {
    return {{"entries", counts.entries},
            {"time_ns", counts.time_ns},
            {"own", counts.own},
            {"inclusive", counts.inclusive}};
}
Json counts_json(const ProfileCounts& counts) {
    Json json = {{"node", counts.node}};
    json.update(figures_of(counts));
    return json;
}
Json count_row_json(const ProfileCounts& counts) {
    Json json = {{"node", counts.node}, {"rank", counts.rank}, {"thread", counts.thread}};
    json.update(figures_of(counts));
    return json;
}

// Another key of the object. One line for each element: profiles can be compared with diff and read
// without a tool.
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
    const Json head = {{"dwell_profile", kProfileJsonVersion},
                       {"version", profile.version},
                       {"job", profile.job},
                       {"world_size", profile.world_size},
                       {"flags", bit_names(profile.merged_flags, kMergedFlagNames)},
                       {"total_ns", profile.total_ns},
                       {"computation_ns", profile.computation_ns},
                       {"transfer_ns", profile.transfer_ns},
                       {"blocked_ns", profile.blocked_ns},
                       {"sync_ns", profile.sync_ns},
                       {"omp_wait_ns", profile.omp_wait_ns},
                       {"omp_idle_ns", profile.omp_idle_ns},
                       {"io_ns", profile.io_ns},
                       {"paused_ns", profile.paused_ns},
                       {"sites",
                        {{"procedures", profile.sites.procedures},
                         {"procedures_probed", profile.sites.procedures_probed},
                         {"loops", profile.sites.loops},
                         {"loops_probed", profile.sites.loops_probed}}},
                       {"notes", profile.notes}};
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
    out += "\n}\n";
    return out;
}

}  // namespace dwell
