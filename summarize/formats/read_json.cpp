// Reads profile.json and checks every value, because the file may come from anywhere. Errors are
// values; exceptions of the JSON library end at the calls that parse.
#include "summarize/formats/read_json.h"

#include <nlohmann/json.hpp>

#include "summarize/formats/json_fields.h"
#include "summarize/formats/json_objects.h"
#include "summarize/formats/write_json.h"
#include "summarize/merge/figures.h"
#include "summarize/model/statement_names.h"

namespace dwell {
namespace {

template <typename Item, typename Value>
void take(ObjectReader* reader, const Field<Item, Value>& field, Item* item) {
    Value* const value = &(item->*field.value);
    if constexpr (std::is_same_v<Value, double>) {
        reader->take_double(field.name, value);
    } else if constexpr (std::is_same_v<Value, std::string>) {
        if (field.presence == kNeeded || reader->find(field.name)) reader->need(field.name, value);
    } else if constexpr (std::is_integral_v<Value>) {
        if constexpr (std::is_same_v<Value, uint32_t>) {
            if (field.presence == Presence::kNull) return reader->take_node(field.name, value);
        }
        if constexpr (std::is_same_v<Value, uint64_t>) {
            if (field.presence == Presence::kUnlessNone) *value = UINT64_MAX;
        }
        if constexpr (!std::is_same_v<Value, bool>) {
            if (field.presence == kNeeded) return reader->need(field.name, value);
        }
        reader->take(field.name, value);
    } else {
        reader->take_list(field.name, value);
    }
}

template <typename Item, typename Names>
void take(ObjectReader* reader, const Bits<Item, Names>& bits, Item* item) {
    reader->take_bits(bits.name, *bits.names, &(item->*bits.value));
}

template <typename Item, typename Value, typename Words>
void take(ObjectReader* reader, const Word<Item, Value, Words>& word, Item* item) {
    reader->take_word(word.name, *word.words, &(item->*word.value));
}

template <typename Item, typename Fields>
void take_fields(ObjectReader* reader, const Fields& fields, Item* item) {
    std::apply([&](const auto&... field) { (take(reader, field, item), ...); }, fields);
}

void read_totals(ObjectReader* reader, Totals* totals) {
    for (const Figure& figure : kFigures) {
        if (figure.combine == Combine::kLeast) totals->*figure.value = UINT64_MAX;
        reader->take(figure.name, &(totals->*figure.value));
    }
    reader->take_slots("event_count", totals->event_count);
    reader->take_slots("event_ns", totals->event_ns);
}

void read_item(ObjectReader* reader, ProfileRank* rank) {
    take_fields(reader, kRankFields, rank);
    for (const UsageName& known : kUsageNames) {
        reader->take(known.name, &(rank->usage.*known.figure));
    }
}

// Call numbers depend on the version of dwell, names on MPI: after a change of the table the name
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
    take_fields(reader, kNodeHeadFields, node);
    read_totals(reader, &node->totals);
    take_fields(reader, kNodeFields, node);
    if (!node->messages.empty() && node->messages.size() != kSizeBuckets) {
        reader->fail("messages", "has not " + std::to_string(kSizeBuckets) + " elements");
    }
    if (reader->good()) node->call = call_number(node->call, *node);
    if (const Json* phase = reader->find("phase")) {
        ObjectReader inner = reader->inside("phase", *phase);
        node->phase.known = true;
        take_fields(&inner, kPhaseFields, &node->phase);
    }
}

void read_item(ObjectReader* reader, ProfileGrid* grid) {
    take_fields(reader, kGridFields, grid);
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
    take_fields(reader, kRowFields, row);
    read_totals(reader, &row->totals);
}

void read_item(ObjectReader* reader, ProfileThread* thread) {
    take_fields(reader, kThreadFields, thread);
}

void read_item(ObjectReader* reader, ProfileCounts* counts) {
    take_fields(reader, kCountsFields, counts);
    reader->take("rank", &counts->rank);  // of rows
    reader->take("thread", &counts->thread);
}

void read_item(ObjectReader* reader, LeftOutSite* site) {
    take_fields(reader, kLeftOutFields, site);
}

void read_item(ObjectReader* reader, SampledLine* line) { take_fields(reader, kLineFields, line); }

template <typename Item>
void read_list(ObjectReader* parent, const char* key, const std::string& place, std::string* error,
               std::vector<Item>* items);

void read_item(ObjectReader* reader, ProfileInterval* interval, const std::string& place,
               std::string* error) {
    take_fields(reader, kIntervalFields, interval);
    read_list(reader, "lines", place + ".lines", error, &interval->lines);
}

// A rank of one of the worlds. With `or_none` it may be null, kNoPeer.
void read_peer(ObjectReader* reader, uint32_t* peer, bool or_none) {
    uint32_t world = 0;
    uint32_t rank = 0;
    reader->take_node("peer_world", &world);
    reader->take_node("peer_rank", &rank);
    if ((world == kNoNode) != (rank == kNoNode)) reader->fail("peer_rank", "has no world");
    if (or_none && rank == kNoNode) {
        *peer = kNoPeer;
        return;
    }
    if (world >> (32 - kPeerRankBits)) reader->fail("peer_world", "is too large");
    if (rank >> kPeerRankBits) reader->fail("peer_rank", "is too large");
    *peer = world << kPeerRankBits | rank;
}

void read_item(ObjectReader* reader, ProfilePeer* peer) {
    take_fields(reader, kPeerFields, peer);
    read_peer(reader, &peer->peer, false);
}

void read_item(ObjectReader* reader, ProfilePartner* partner) {
    take_fields(reader, kPartnerFields, partner);
    read_peer(reader, &partner->peer, true);
    take_fields(reader, kWaitingFields<ProfilePartner>, partner);
}

void read_item(ObjectReader* reader, ProfileCause* cause) {
    read_peer(reader, &cause->peer, true);
    take_fields(reader, kWaitingFields<ProfileCause>, cause);
}

void read_item(ObjectReader* reader, ProfileStall* stall) {
    take_fields(reader, kStallFields, stall);
}

void read_item(ObjectReader* reader, ProfileBin* bin) {
    take_fields(reader, kBinFields, bin);
    for (const auto& [name, figure] : kAxisFigureNames) {
        if (reader->find(name) == nullptr) continue;
        std::vector<uint64_t> values;
        reader->take_list(name, &values);
        if (values.size() != 3) return reader->fail(name, "is not sum, least and most");
        bin->sum.*figure = values[0];
        bin->least.*figure = values[1];
        bin->most.*figure = values[2];
    }
    if (bin->ranks == 0) reader->fail("ranks", "is 0");
}

void read_item(ObjectReader* reader, ProfileBinRow* row) {
    take_fields(reader, kBinRowFields, row);
    for (const auto& [name, figure] : kAxisFigureNames) {
        reader->take(name, &(row->figures.*figure));
    }
}

void read_item(ObjectReader* reader, MergedDistance* distance) {
    take_fields(reader, kDistanceFields, distance);
    const Json* of = reader->find("distance");
    if (of != nullptr && of->is_string() && *of == "other") {
        distance->distance = kOtherDistances;
    } else {
        reader->take_node("distance", &distance->distance);
    }
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

// Every node but the first must be a child of exactly its parent, and reachable from node 0.
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
    const auto phase_good = [&exists](const ProfileBin& bin) {
        return bin.phase == kNoNode || exists(bin.phase);
    };
    check_all("time_bins", profile.axis.bins, phase_good, error);
    const auto interval_good = [&](const ProfileInterval& interval) {
        return (interval.from == kNoNode || exists(interval.from)) && exists(interval.to) &&
               exists(interval.booked_on) &&
               std::all_of(interval.lines.begin(), interval.lines.end(), node_exists);
    };
    check_all("intervals", profile.intervals, interval_good, error);
    const auto cause_good = [&profile](const auto& cause) {
        return cause.interval == kNoNode || cause.interval < profile.intervals.size();
    };
    check_all("partners", profile.partners, node_exists, error);
    check_all("partners", profile.partners, cause_good, error);
    check_all("causes", profile.causes, cause_good, error);
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
        take_fields(&inner, kSitesFields, sites);
    }
    if (reader->find("left_out") == nullptr) return;
    read_list(reader, "left_out", "left_out", error, &sites->left_out);
}

// Profiles of older versions have no time axis.
void read_axis(ObjectReader* reader, std::string* error, ProfileAxis* axis) {
    const Json* head = reader->find("time_axis");
    if (head == nullptr) return;
    ObjectReader inner(*head, "time_axis", error);
    take_fields(&inner, kAxisFields, axis);
    read_list(reader, "time_bins", "time_bins", error, &axis->bins);
    read_list(reader, "time_bin_rows", "time_bin_rows", error, &axis->rows);
    const bool has_width = axis->width_ns != 0 && (axis->width_ns & (axis->width_ns - 1)) == 0;
    if (!axis->bins.empty() && !has_width) inner.fail("width_ns", "is not a power of two");
    for (size_t i = 0; i < axis->bins.size(); ++i) {
        const uint64_t number = axis->bins[i].number;
        const bool ascends = i == 0 ? number == 0 : number > axis->bins[i - 1].number;
        if (!ascends) reader->fail("time_bins", "are not in order, from bin 0 on");
    }
}

// The name of one metric; its unit follows from the name.
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
    take_fields(&inner, kMetricsFields, metrics);
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
    take_fields(&reader, kProfileFields, &profile);
    reader.take_list("notes", &profile.notes);
    read_list(&reader, "ranks", "ranks", error, &profile.ranks);
    read_list(&reader, "nodes", "nodes", error, &profile.nodes);
    read_list(&reader, "intervals", "intervals", error, &profile.intervals);
    read_list(&reader, "rows", "rows", error, &profile.rows);
    read_list(&reader, "peers", "peers", error, &profile.peers);
    read_list(&reader, "distances", "distances", error, &profile.distances);
    // Profiles of older versions have no grids.
    if (reader.find("grids")) read_list(&reader, "grids", "grids", error, &profile.grids);
    // Profiles of older versions have no threads.
    if (reader.find("threads")) read_list(&reader, "threads", "threads", error, &profile.threads);
    if (reader.find("partners"))
        read_list(&reader, "partners", "partners", error, &profile.partners);
    if (reader.find("causes")) read_list(&reader, "causes", "causes", error, &profile.causes);
    if (reader.find("stalls")) read_list(&reader, "stalls", "stalls", error, &profile.stalls);
    read_sites(&reader, error, &profile.sites);
    read_metrics(&reader, error, &profile.metrics);
    read_axis(&reader, error, &profile.axis);
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
