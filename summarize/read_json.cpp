// Reads profile.json with every value checked: the file may come from anywhere. Errors are values;
// the library's exceptions end at the calls that parse.
#include "summarize/read_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "runtime/mpi_calls.h"
#include "summarize/json_names.h"
#include "summarize/write_json.h"

namespace dwell {
namespace {

using Json = nlohmann::json;

// Takes values out of one object. The first thing that is wrong is kept as the error and everything
// after it is left as it was, so callers check once at the end.
class ObjectReader {
  public:
    ObjectReader(const Json& object, std::string place, std::string* error)
        : object_(object), place_(std::move(place)), error_(error) {
        if (!object.is_object()) fail("", "is not an object");
    }

    bool good() const { return error_->empty(); }
    void fail(const std::string& key, const std::string& what) {
        if (good()) *error_ = place_ + (key.empty() ? "" : "." + key) + " " + what;
    }
    // Null when the key is missing or an error came before.
    const Json* find(const char* key) const {
        if (!good()) return nullptr;
        const auto found = object_.find(key);
        return found == object_.end() ? nullptr : &*found;
    }

    template <typename Integer>
    void take(const char* key, Integer* value) {
        if (const Json* json = find(key)) take_integer(*json, key, value);
    }
    // As take, but the key must be there.
    template <typename Value>
    void need(const char* key, Value* value) {
        const Json* json = find(key);
        if (json == nullptr) return fail(key, "is missing");
        if constexpr (std::is_same_v<Value, std::string>) {
            take_string(*json, key, value);
        } else {
            take_integer(*json, key, value);
        }
    }
    void take_double(const char* key, double* value) {
        const Json* json = find(key);
        if (json == nullptr) return;
        if (!json->is_number()) return fail(key, "is not a number");
        *value = json->get<double>();
    }
    void take_node(const char* key, uint32_t* node) {
        const Json* json = find(key);
        if (json == nullptr) return fail(key, "is missing");
        if (json->is_null()) {
            *node = kNoNode;
        } else {
            take_integer(*json, key, node);
        }
    }
    template <typename Integer>
    void take_list(const char* key, std::vector<Integer>* list) {
        const Json* json = array(key);
        if (json == nullptr) return;
        for (const Json& item : *json) {
            Integer value{};
            if constexpr (std::is_same_v<Integer, std::string>) {
                take_string(item, key, &value);
            } else {
                take_integer(item, key, &value);
            }
            if (!good()) return;
            list->push_back(value);
        }
    }
    void take_slots(const char* key, uint64_t (&values)[kEventSlots]) {
        std::vector<uint64_t> list;
        take_list(key, &list);
        if (list.empty()) return;
        if (list.size() != kEventSlots) return fail(key, "has not four elements");
        std::copy(list.begin(), list.end(), values);
    }
    template <size_t kCount>
    void take_bits(const char* key, const std::array<BitName, kCount>& names, uint32_t* bits) {
        std::vector<std::string> words;
        take_list(key, &words);
        for (const std::string& word : words) {
            uint32_t found = 0;
            for (const BitName& known : names) {
                if (known.name == word) found = known.bit;
            }
            for (unsigned bit = 0; bit < 32 && found == 0; ++bit) {
                if (word == "bit_" + std::to_string(bit)) found = 1u << bit;
            }
            if (found == 0) return fail(key, "holds a word that is not known: " + word);
            *bits |= found;
        }
    }
    template <size_t kCount, typename Enum>
    void take_word(const char* key, const std::array<std::string_view, kCount>& words,
                   Enum* value) {
        std::string word;
        need(key, &word);
        for (size_t i = 0; good() && i < words.size(); ++i) {
            if (words[i] != word) continue;
            *value = static_cast<Enum>(i);
            return;
        }
        fail(key, "is a word that is not known: " + word);
    }
    // The array under `key`; an error, and null, when there is something else.
    const Json* array(const char* key) {
        const Json* json = find(key);
        if (json == nullptr) return nullptr;
        if (json->is_array()) return json;
        fail(key, "is not a list");
        return nullptr;
    }

  private:
    template <typename Integer>
    void take_integer(const Json& json, const char* key, Integer* value) {
        using Limits = std::numeric_limits<Integer>;
        if (json.is_number_unsigned()) {
            const auto number = json.get<uint64_t>();
            if (number > static_cast<uint64_t>(Limits::max())) return fail(key, "is too large");
            *value = static_cast<Integer>(number);
        } else if (json.is_number_integer()) {
            const auto number = json.get<int64_t>();
            if (!std::is_signed_v<Integer> || number < static_cast<int64_t>(Limits::min())) {
                return fail(key, "is too small");
            }
            *value = static_cast<Integer>(number);
        } else {
            fail(key, "is not a whole number");
        }
    }
    void take_string(const Json& json, const char* key, std::string* value) {
        if (!json.is_string()) return fail(key, "is not a string");
        *value = json.get<std::string>();
    }

    const Json& object_;
    std::string place_;
    std::string* error_;
};

void read_totals(ObjectReader* reader, Totals* totals) {
    totals->min_ns = UINT64_MAX;
    reader->take("count", &totals->count);
    reader->take("time_ns", &totals->time_ns);
    reader->take("min_ns", &totals->min_ns);
    reader->take("max_ns", &totals->max_ns);
    reader->take("sync_ns", &totals->sync_ns);
    reader->take("blocked_ns", &totals->blocked_ns);
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
    reader->take("estimated_ns", &totals->estimated_ns);
    reader->take("volume", &totals->volume);
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
    reader->take("start_unix_ns", &rank->start_unix_ns);
    reader->need("real_ns", &rank->real_ns);
    reader->take("intrusion_ns", &rank->intrusion_ns);
    reader->take("paused_ns", &rank->paused_ns);
    reader->take_double("call_cost_ns", &rank->call_cost_ns);
    reader->take("record_bytes", &rank->record_bytes);
    reader->take("samples", &rank->samples);
    reader->take("samples_in_calls", &rank->samples_in_calls);
    reader->take("samples_lost", &rank->samples_lost);
    reader->take("folded_paths", &rank->folded_paths);
    reader->take("dropped", &rank->dropped);
    reader->take("guessed", &rank->guessed);
    reader->take("clock_errors", &rank->clock_errors);
    reader->take("threads_served", &rank->threads_served);
    reader->take("probes", &rank->probes);
    reader->take("probes_missed", &rank->probes_missed);
    reader->take("probes_dropped", &rank->probes_dropped);
}

// Call numbers belong to one version of dwell, names to MPI: after a change of the table the name
// decides.
uint16_t call_number(uint16_t stored, const ProfileNode& node) {
    if (node.kind != SiteKind::kCommunication) return stored;
    const auto has_name = [&node](int call) { return node.name == kMpiCalls[call].name; };
    if (stored > 0 && stored < kMpiCallCount && has_name(stored)) return stored;
    for (int call = 1; call < kMpiCallCount; ++call) {
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
}

void read_item(ObjectReader* reader, ProfileRow* row) {
    reader->need("node", &row->node);
    reader->need("rank", &row->rank);
    reader->need("thread", &row->thread);
    read_totals(reader, &row->totals);
    reader->take("computation_ns", &row->computation_ns);
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
    reader->take("count", &interval->count);
    reader->take("time_ns", &interval->time_ns);
    reader->take("min_ns", &interval->min_ns);
    reader->take("max_ns", &interval->max_ns);
    read_list(reader, "lines", place + ".lines", error, &interval->lines);
}

void read_item(ObjectReader* reader, ProfilePeer* peer) {
    uint32_t world = 0;
    uint32_t rank = 0;
    peer->min_ns = UINT64_MAX;
    reader->need("node", &peer->node);
    reader->need("rank", &peer->rank);
    reader->need("peer_world", &world);
    reader->need("peer_rank", &rank);
    if (world >> (32 - kPeerRankBits)) reader->fail("peer_world", "is too large");
    if (rank >> kPeerRankBits) reader->fail("peer_rank", "is too large");
    peer->peer = world << kPeerRankBits | rank;
    reader->take("count", &peer->count);
    reader->take("time_ns", &peer->time_ns);
    reader->take("sync_ns", &peer->sync_ns);
    reader->take("bytes_sent", &peer->bytes_sent);
    reader->take("bytes_received", &peer->bytes_received);
    reader->take("min_ns", &peer->min_ns);
    reader->take("max_ns", &peer->max_ns);
}

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
    const auto interval_good = [&exists](const ProfileInterval& interval) {
        return (interval.from == kNoNode || exists(interval.from)) && exists(interval.to) &&
               exists(interval.booked_on);
    };
    check_all("intervals", profile.intervals, interval_good, error);
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

Profile read_document(const Json& document, std::string* error) {
    Profile profile;
    ObjectReader reader(document, "profile", error);
    int version = 0;
    if (reader.good() && reader.find("dwell_profile") == nullptr) {
        reader.fail("", "has no key \"dwell_profile\": this is not a profile of dwell");
    }
    reader.need("dwell_profile", &version);
    if (version != kProfileJsonVersion) {
        reader.fail("dwell_profile", "is " + std::to_string(version) + ", this dwell reads " +
                                         std::to_string(kProfileJsonVersion));
    }
    reader.need("version", &profile.version);
    reader.need("job", &profile.job);
    reader.need("world_size", &profile.world_size);
    reader.take_bits("flags", kMergedFlagNames, &profile.merged_flags);
    reader.need("total_ns", &profile.total_ns);
    reader.need("computation_ns", &profile.computation_ns);
    reader.need("transfer_ns", &profile.transfer_ns);
    reader.need("blocked_ns", &profile.blocked_ns);
    reader.need("paused_ns", &profile.paused_ns);
    reader.take_list("notes", &profile.notes);
    read_list(&reader, "ranks", "ranks", error, &profile.ranks);
    read_list(&reader, "nodes", "nodes", error, &profile.nodes);
    read_list(&reader, "intervals", "intervals", error, &profile.intervals);
    read_list(&reader, "rows", "rows", error, &profile.rows);
    read_list(&reader, "peers", "peers", error, &profile.peers);
    read_list(&reader, "distances", "distances", error, &profile.distances);
    read_sites(&reader, error, &profile.sites);
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
