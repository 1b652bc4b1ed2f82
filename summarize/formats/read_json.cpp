// Reads profile.json with every value checked: the file may come from anywhere. Errors are values;
// the library's exceptions end at the calls that parse.
#include "summarize/formats/read_json.h"

#include <nlohmann/json.hpp>

#include "summarize/formats/json_names.h"
#include "summarize/formats/json_objects.h"
#include "summarize/formats/write_json.h"
#include "summarize/model/statement_names.h"

namespace dwell {
namespace {

void read_totals(ObjectReader* reader, Totals* totals) {
    totals->min_ns = UINT64_MAX;
    reader->take("count", &totals->count);
    reader->take("time_ns", &totals->time_ns);
    reader->take("min_ns", &totals->min_ns);
    reader->take("max_ns", &totals->max_ns);
    reader->take("sync_ns", &totals->sync_ns);
    reader->take("blocked_ns", &totals->blocked_ns);
    reader->take("late_sender_ns", &totals->late_sender_ns);
    reader->take("late_receiver_ns", &totals->late_receiver_ns);
    reader->take("passed_on_ns", &totals->passed_on_ns);
    reader->take("unknown_waits", &totals->unknown_waits);
    reader->take("guessed_waits", &totals->guessed_waits);
    reader->take("estimated_waits", &totals->estimated_waits);
    reader->take("bytes_sent", &totals->bytes_sent);
    reader->take("bytes_received", &totals->bytes_received);
    reader->take("failed", &totals->failed);
    reader->take("folded_peers", &totals->folded_peers);
    reader->take("untimed", &totals->untimed);
    reader->take_slots("event_count", totals->event_count);
    reader->take_slots("event_ns", totals->event_ns);
    reader->take("iterations", &totals->iterations);
    reader->take("abandoned", &totals->abandoned);
    reader->take("off_entries", &totals->off_entries);
    reader->take("off_uncertain", &totals->off_uncertain);
    reader->take("off_error", &totals->off_error);
    reader->take("estimated_ns", &totals->estimated_ns);
    reader->take("volume", &totals->volume);
    reader->take("entered_ns", &totals->entered_ns);
    reader->take("omp_wait_ns", &totals->omp_wait_ns);
    reader->take("omp_idle_ns", &totals->omp_idle_ns);
    reader->take("omp_start_ns", &totals->omp_start_ns);
    reader->take("omp_overhead_ns", &totals->omp_overhead_ns);
    reader->take("created", &totals->created);
    reader->take("chunks", &totals->chunks);
}

void read_item(ObjectReader* reader, ProfileRank* rank) {
    reader->need("rank", &rank->rank);
    reader->take("pid", &rank->pid);
    reader->need("host", &rank->host);
    reader->need("program", &rank->program);
    reader->need("command", &rank->command);
    reader->take_word("state", kStateNames, &rank->state);
    reader->take_bits("flags", kFileFlagNames, &rank->flags);
    reader->take("exit_code", &rank->exit_code);
    reader->take("threads", &rank->threads);
    reader->take("sample_hz", &rank->sample_hz);
    reader->take("callpath_depth", &rank->callpath_depth);
    reader->take("processors", &rank->processors);
    reader->take("first_processor", &rank->first_processor);
    reader->take("start_unix_ns", &rank->start_unix_ns);
    reader->need("real_ns", &rank->real_ns);
    reader->take("intrusion_ns", &rank->intrusion_ns);
    reader->take("own_ns", &rank->own_ns);
    reader->take("injected_ns", &rank->injected_ns);
    reader->take("paused_ns", &rank->paused_ns);
    reader->take_double("call_cost_ns", &rank->call_cost_ns);
    reader->take("record_bytes", &rank->record_bytes);
    reader->take("samples", &rank->samples);
    reader->take("samples_in_calls", &rank->samples_in_calls);
    reader->take("samples_lost", &rank->samples_lost);
    reader->take("folded_paths", &rank->folded_paths);
    reader->take("files_unnamed", &rank->files_unnamed);
    reader->take("io_unobserved", &rank->io_unobserved);
    reader->take("dropped", &rank->dropped);
    reader->take("guessed", &rank->guessed);
    reader->take("clock_errors", &rank->clock_errors);
    reader->take("clock_offset_ns", &rank->clock_offset_ns);
    reader->take("clock_drift_ns", &rank->clock_drift_ns);
    reader->take("clock_bound_ns", &rank->clock_bound_ns);
    reader->take("order_kept", &rank->order_kept);
    reader->take("order_far", &rank->order_far);
    reader->take("order_posted", &rank->order_posted);
    reader->take("order_unknown", &rank->order_unknown);
    reader->take("queued_ns", &rank->queued_ns);
    reader->take("queued_call_ns", &rank->queued_call_ns);
    reader->take("stalls_dropped", &rank->stalls_dropped);
    reader->take("threads_served", &rank->threads_served);
    reader->take("probes", &rank->probes);
    reader->take("probes_missed", &rank->probes_missed);
    reader->take("probes_dropped", &rank->probes_dropped);
    reader->take("threads_cut", &rank->threads_cut);
    reader->take("usage_ns", &rank->usage_ns);
    for (const UsageName& known : kUsageNames) {
        reader->take(known.name, &(rank->usage.*known.figure));
    }
}

// Call numbers belong to one version of dwell, names to MPI: after a change of the table the name
// decides.
uint16_t call_number(uint16_t stored, const ProfileNode& node) {
    const bool io = node.kind == SiteKind::kIo;
    if (!io && node.kind != SiteKind::kCommunication) return stored;
    const int calls = io ? kIoCallCount : kMpiCallCount;
    const auto has_name = [&node](int call) {
        return node.name == statement_name(node.kind, static_cast<uint16_t>(call));
    };
    if (stored > 0 && stored < calls && has_name(stored)) return stored;
    for (int call = 1; call < calls; ++call) {
        if (has_name(call)) return static_cast<uint16_t>(call);
    }
    return 0;
}

void read_item(ObjectReader* reader, ProfileNode* node) {
    reader->take_word("kind", kKindNames, &node->kind);
    reader->need("name", &node->name);
    reader->take_bits("labels", kLabelNames, &node->labels);
    reader->need("file", &node->file);
    reader->need("line", &node->line);
    if (reader->find("module")) reader->need("module", &node->module);
    uint16_t call = 0;
    reader->take("call", &call);
    reader->take_node("parent", &node->parent);
    reader->take_list("children", &node->children);
    read_totals(reader, &node->totals);
    reader->need("computation_ns", &node->computation_ns);
    reader->take("samples", &node->samples);
    reader->take("ranks", &node->ranks);
    reader->take("rank_min_ns", &node->rank_min_ns);
    reader->take("rank_min", &node->rank_min);
    reader->take("rank_max_ns", &node->rank_max_ns);
    reader->take("rank_max", &node->rank_max);
    reader->take_list("messages", &node->messages);
    if (!node->messages.empty() && node->messages.size() != kSizeBuckets) {
        reader->fail("messages", "has not " + std::to_string(kSizeBuckets) + " elements");
    }
    if (reader->good()) node->call = call_number(call, *node);
    if (reader->find("io_file")) reader->need("io_file", &node->io_file);
    if (const Json* phase = reader->find("phase")) {
        ObjectReader inner = reader->inside("phase", *phase);
        node->phase.known = true;
        inner.need("first", &node->phase.first);
        inner.need("last", &node->phase.last);
        inner.need("last_behind", &node->phase.last_behind);
        inner.need("rank_behind", &node->phase.rank_behind);
    }
}

void read_item(ObjectReader* reader, ProfileGrid* grid) {
    reader->need("name", &grid->name);
    reader->take_word("by", kGridSources, &grid->by_mpi);
    reader->take_list("sizes", &grid->sizes);
    reader->take_list("periodic", &grid->periodic);
    reader->need("described_by", &grid->ranks);
    std::vector<uint32_t> ranks;
    reader->take_list("ranks", &ranks);
    const Json* coordinates = reader->array("coordinates");
    const size_t dimensions = grid->sizes.size();
    if (dimensions < 1 || dimensions > kGridDimensions || grid->periodic.size() != dimensions) {
        return reader->fail("sizes", "and periodic are not of one to six dimensions");
    }
    if (coordinates == nullptr || coordinates->size() != ranks.size()) {
        return reader->fail("coordinates", "are not as many as ranks");
    }
    for (size_t i = 0; i < ranks.size() && reader->good(); ++i) {
        ProfilePlace place{ranks[i], {}};
        reader->take_items((*coordinates)[i], "coordinates", &place.coordinates);
        for (size_t k = 0; k < dimensions && reader->good(); ++k) {
            const bool inside = place.coordinates.size() == dimensions &&
                                place.coordinates[k] >= 0 && place.coordinates[k] < grid->sizes[k];
            if (!inside) reader->fail("coordinates", "lie outside of the grid");
        }
        const bool sorted = i == 0 || ranks[i - 1] < ranks[i];
        if (!sorted) reader->fail("ranks", "are not in order");
        grid->places.push_back(std::move(place));
    }
}

void read_item(ObjectReader* reader, ProfileRow* row) {
    reader->need("node", &row->node);
    reader->need("rank", &row->rank);
    reader->need("thread", &row->thread);
    read_totals(reader, &row->totals);
    reader->take("computation_ns", &row->computation_ns);
}

void read_item(ObjectReader* reader, ProfileThread* thread) {
    reader->need("rank", &thread->rank);
    reader->need("thread", &thread->thread);
    reader->need("served", &thread->served);
    reader->need("name", &thread->name);
}

void read_item(ObjectReader* reader, ProfileCounts* counts) {
    reader->need("node", &counts->node);
    reader->take("rank", &counts->rank);
    reader->take("thread", &counts->thread);
    reader->need("entries", &counts->entries);
    reader->need("time_ns", &counts->time_ns);
    reader->take_list("own", &counts->own);
    reader->take_list("inclusive", &counts->inclusive);
}

void read_item(ObjectReader* reader, LeftOutSite* site) {
    reader->take_word("kind", kKindNames, &site->kind);
    reader->need("name", &site->name);
    reader->need("file", &site->file);
    reader->need("line", &site->line);
    reader->need("reason", &site->reason);
}

void read_item(ObjectReader* reader, SampledLine* line) {
    reader->need("function", &line->function);
    reader->need("file", &line->file);
    reader->need("line", &line->line);
    reader->need("samples", &line->samples);
    reader->need("node", &line->node);
    reader->take("system", &line->system);
}

template <typename Item>
void read_list(ObjectReader* parent, const char* key, const std::string& place, std::string* error,
               std::vector<Item>* items);

void read_item(ObjectReader* reader, ProfileInterval* interval, const std::string& place,
               std::string* error) {
    interval->min_ns = UINT64_MAX;
    reader->take_node("from", &interval->from);
    reader->take_node("to", &interval->to);
    reader->take_node("booked_on", &interval->booked_on);
    reader->take("in_or_after", &interval->or_after);
    reader->take("count", &interval->count);
    reader->take("time_ns", &interval->time_ns);
    reader->take("min_ns", &interval->min_ns);
    reader->take("max_ns", &interval->max_ns);
    read_list(reader, "lines", place + ".lines", error, &interval->lines);
}

uint32_t peer_in_world(ObjectReader* reader, uint32_t world, uint32_t rank) {
    if (world >> (32 - kPeerRankBits)) reader->fail("peer_world", "is too large");
    if (rank >> kPeerRankBits) reader->fail("peer_rank", "is too large");
    return world << kPeerRankBits | rank;
}

void read_item(ObjectReader* reader, ProfilePeer* peer) {
    uint32_t world = 0;
    uint32_t rank = 0;
    peer->min_ns = UINT64_MAX;
    reader->need("node", &peer->node);
    reader->need("rank", &peer->rank);
    reader->need("peer_world", &world);
    reader->need("peer_rank", &rank);
    peer->peer = peer_in_world(reader, world, rank);
    reader->take("count", &peer->count);
    reader->take("time_ns", &peer->time_ns);
    reader->take("sync_ns", &peer->sync_ns);
    reader->take("bytes_sent", &peer->bytes_sent);
    reader->take("bytes_received", &peer->bytes_received);
    reader->take("min_ns", &peer->min_ns);
    reader->take("max_ns", &peer->max_ns);
}

// The partner that `reader` names; kNoPeer when it is null.
void read_peer(ObjectReader* reader, uint32_t* peer) {
    uint32_t world = 0;
    uint32_t rank = 0;
    reader->take_node("peer_world", &world);
    reader->take_node("peer_rank", &rank);
    if ((world == kNoNode) != (rank == kNoNode)) reader->fail("peer_rank", "has no world");
    if (rank == kNoNode) {
        *peer = kNoPeer;
        return;
    }
    *peer = peer_in_world(reader, world, rank);
}

template <typename Blame>
void read_blame(ObjectReader* reader, Blame* blame) {
    read_peer(reader, &blame->peer);
    reader->take_node("interval", &blame->interval);
    reader->take("count", &blame->count);
    reader->take("time_ns", &blame->time_ns);
    reader->take("passed_on_ns", &blame->passed_on_ns);
    reader->take("lost_ns", &blame->lost_ns);
}

void read_item(ObjectReader* reader, ProfilePartner* partner) {
    reader->need("node", &partner->node);
    read_blame(reader, partner);
    reader->take("max_ns", &partner->max_ns);
}

void read_item(ObjectReader* reader, ProfileStall* stall) {
    reader->need("interval", &stall->interval);
    reader->need("rank", &stall->rank);
    reader->take("io_node", &stall->io_node);
    reader->take("count", &stall->count);
    reader->take("time_ns", &stall->time_ns);
    reader->take("io_ns", &stall->io_ns);
    reader->take("asleep_ns", &stall->asleep_ns);
    reader->take("queued_ns", &stall->queued_ns);
    reader->take("kernel_ns", &stall->kernel_ns);
}

void read_item(ObjectReader* reader, ProfileCause* cause) { read_blame(reader, cause); }

void read_item(ObjectReader* reader, MergedDistance* distance) {
    reader->need("node", &distance->node);
    const Json* of = reader->find("distance");
    if (of != nullptr && of->is_string() && *of == "other") {
        distance->distance = kOtherDistances;
    } else {
        reader->take_node("distance", &distance->distance);
    }
    reader->take("pairs", &distance->pairs);
    reader->take("count", &distance->count);
    reader->take("time_ns", &distance->time_ns);
    reader->take("sync_ns", &distance->sync_ns);
    reader->take("bytes_sent", &distance->bytes_sent);
    reader->take("bytes_received", &distance->bytes_received);
}

template <typename Item>
void read_list(ObjectReader* parent, const char* key, const std::string& place, std::string* error,
               std::vector<Item>* items) {
    const Json* list = parent->array(key);
    if (list == nullptr) return parent->fail(key, "is missing");
    items->reserve(list->size());
    for (size_t i = 0; i < list->size() && error->empty(); ++i) {
        const std::string item_place = place + "[" + std::to_string(i) + "]";
        ObjectReader reader((*list)[i], item_place, error);
        Item item{};
        if constexpr (std::is_same_v<Item, ProfileInterval>) {
            read_item(&reader, &item, item_place, error);
        } else {
            read_item(&reader, &item);
        }
        items->push_back(std::move(item));
    }
}

// Every node but the first must be the child of exactly the node that it names as its parent, and
// be reached from node 0.
std::string tree_error(const std::vector<ProfileNode>& nodes) {
    if (nodes.empty()) return "nodes is empty";
    if (nodes[0].parent != kNoNode) return "nodes[0].parent is not null";
    std::vector<bool> seen(nodes.size(), false);
    std::vector<uint32_t> open = {0};
    seen[0] = true;
    size_t reached = 1;
    while (!open.empty()) {
        const uint32_t index = open.back();
        open.pop_back();
        for (const uint32_t child : nodes[index].children) {
            const std::string place = "nodes[" + std::to_string(index) + "].children";
            if (child >= nodes.size()) return place + " names a node that does not exist";
            if (seen[child]) return place + " names a node that is a child already";
            if (nodes[child].parent != index) return place + " names a node with another parent";
            seen[child] = true;
            ++reached;
            open.push_back(child);
        }
    }
    return reached == nodes.size() ? "" : "nodes holds a node that is not reached from node 0";
}

template <typename Items, typename IsGood>
void check_all(const char* key, const Items& items, IsGood is_good, std::string* error) {
    for (size_t i = 0; i < items.size() && error->empty(); ++i) {
        if (is_good(items[i])) continue;
        *error = std::string(key) + "[" + std::to_string(i) + "] names a node that does not exist";
    }
}

void check_indices(const Profile& profile, std::string* error) {
    *error = tree_error(profile.nodes);
    const auto exists = [&profile](uint32_t node) { return node < profile.nodes.size(); };
    const auto node_exists = [&exists](const auto& item) { return exists(item.node); };
    check_all("rows", profile.rows, node_exists, error);
    check_all("peers", profile.peers, node_exists, error);
    check_all("distances", profile.distances, node_exists, error);
    check_all("metric_counts", profile.metrics.nodes, node_exists, error);
    check_all("metric_rows", profile.metrics.rows, node_exists, error);
    const auto interval_good = [&](const ProfileInterval& interval) {
        return (interval.from == kNoNode || exists(interval.from)) && exists(interval.to) &&
               exists(interval.booked_on) &&
               std::all_of(interval.lines.begin(), interval.lines.end(), node_exists);
    };
    check_all("intervals", profile.intervals, interval_good, error);
    const auto blame_good = [&profile](const auto& blame) {
        return blame.interval == kNoNode || blame.interval < profile.intervals.size();
    };
    check_all("partners", profile.partners, node_exists, error);
    check_all("partners", profile.partners, blame_good, error);
    check_all("causes", profile.causes, blame_good, error);
    const auto stall_good = [&](const ProfileStall& stall) {
        return stall.interval < profile.intervals.size() &&
               (stall.io_node == kNoNode || exists(stall.io_node));
    };
    check_all("stalls", profile.stalls, stall_good, error);
}

// Profiles of programs without probes may lack both.
void read_sites(ObjectReader* reader, std::string* error, ProfileSites* sites) {
    if (const Json* counts = reader->find("sites")) {
        ObjectReader inner(*counts, "sites", error);
        inner.take("procedures", &sites->procedures);
        inner.take("procedures_probed", &sites->procedures_probed);
        inner.take("loops", &sites->loops);
        inner.take("loops_probed", &sites->loops_probed);
    }
    if (reader->find("left_out") == nullptr) return;
    read_list(reader, "left_out", "left_out", error, &sites->left_out);
}

// The name of one metric; its unit follows from that.
struct MetricName {
    std::string name;
};
void read_item(ObjectReader* reader, MetricName* metric) { reader->need("name", &metric->name); }

// Profiles without metrics lack all of it.
void read_metrics(ObjectReader* reader, std::string* error, ProfileMetrics* metrics) {
    const Json* head = reader->find("metrics");
    if (head == nullptr) return;
    ObjectReader inner(*head, "metrics", error);
    std::vector<MetricName> names;
    read_list(&inner, "counted", "metrics.counted", error, &names);
    for (MetricName& metric : names) metrics->names.push_back(std::move(metric.name));
    inner.take_list("missing", &metrics->missing);
    inner.take("unwatched_threads", &metrics->unwatched_threads);
    inner.take("no_room_threads", &metrics->no_room_threads);
    inner.take("lost_threads", &metrics->lost_threads);
    inner.take("lost_ns", &metrics->lost_ns);
    inner.take("left_out", &metrics->left_out);
    inner.take("read_ns", &metrics->read_ns);
    inner.take("least_ns", &metrics->least_ns);
    read_list(reader, "metric_counts", "metric_counts", error, &metrics->nodes);
    read_list(reader, "metric_rows", "metric_rows", error, &metrics->rows);
    for (const auto* list : {&metrics->nodes, &metrics->rows}) {
        for (const ProfileCounts& counts : *list) {
            if (counts.own.size() == names.size() && counts.inclusive.size() == names.size()) {
                continue;
            }
            reader->fail("metric_counts", "have not one number for each metric");
        }
    }
    for (size_t i = 1; i < metrics->nodes.size(); ++i) {
        if (metrics->nodes[i - 1].node >= metrics->nodes[i].node) {
            reader->fail("metric_counts", "are not in the order of nodes");
        }
    }
}

Profile read_document(const Json& document, std::string* error) {
    Profile profile;
    ObjectReader reader(document, "profile", error);
    int version = 0;
    if (reader.good() && reader.find("dwell_profile") == nullptr) {
        reader.fail("", "has no key \"dwell_profile\": this is not a profile of dwell");
    }
    reader.need("dwell_profile", &version);
    if (version != kProfileJsonVersion) {
        const Json* const writer = reader.find("version");
        reader.fail("dwell_profile",
                    "is " + std::to_string(version) + ", this dwell reads " +
                        std::to_string(kProfileJsonVersion) +
                        (writer == nullptr || !writer->is_string()
                             ? ""
                             : "; written by dwell " + writer->get<std::string>()));
    }
    reader.need("version", &profile.version);
    reader.need("job", &profile.job);
    reader.need("world_size", &profile.world_size);
    reader.take_bits("flags", kMergedFlagNames, &profile.merged_flags);
    reader.need("total_ns", &profile.total_ns);
    reader.need("computation_ns", &profile.computation_ns);
    reader.need("transfer_ns", &profile.transfer_ns);
    reader.need("blocked_ns", &profile.blocked_ns);
    reader.take("sync_ns", &profile.sync_ns);
    reader.take("omp_wait_ns", &profile.omp_wait_ns);
    reader.take("omp_idle_ns", &profile.omp_idle_ns);
    reader.take("io_ns", &profile.io_ns);
    reader.need("paused_ns", &profile.paused_ns);
    reader.take_list("notes", &profile.notes);
    read_list(&reader, "ranks", "ranks", error, &profile.ranks);
    read_list(&reader, "nodes", "nodes", error, &profile.nodes);
    read_list(&reader, "intervals", "intervals", error, &profile.intervals);
    read_list(&reader, "rows", "rows", error, &profile.rows);
    read_list(&reader, "peers", "peers", error, &profile.peers);
    read_list(&reader, "distances", "distances", error, &profile.distances);
    // Profiles of versions that did not read grids have none.
    if (reader.find("grids")) read_list(&reader, "grids", "grids", error, &profile.grids);
    // Older profiles lack them.
    if (reader.find("threads")) read_list(&reader, "threads", "threads", error, &profile.threads);
    if (reader.find("partners"))
        read_list(&reader, "partners", "partners", error, &profile.partners);
    if (reader.find("causes")) read_list(&reader, "causes", "causes", error, &profile.causes);
    if (reader.find("stalls")) read_list(&reader, "stalls", "stalls", error, &profile.stalls);
    read_sites(&reader, error, &profile.sites);
    read_metrics(&reader, error, &profile.metrics);
    if (error->empty()) check_indices(profile, error);
    return profile;
}

}  // namespace

tl::expected<Profile, std::string> read_profile_json(std::string_view text) {
    try {
        const Json document = Json::parse(text.begin(), text.end());
        std::string error;
        Profile profile = read_document(document, &error);
        if (!error.empty()) return tl::unexpected(error);
        return profile;
    } catch (const Json::parse_error& failure) {
        return tl::unexpected("not JSON, or cut off, at byte " + std::to_string(failure.byte));
    } catch (const std::exception& failure) {
        return tl::unexpected(std::string("not readable: ") + failure.what());
    }
}

}  // namespace dwell
