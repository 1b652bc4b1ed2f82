// Tests profile.json: nothing is lost, the document keeps to its schema, bad input is an error
// value.
#include "summarize/formats/write_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "summarize/formats/read_json.h"
#include "tests/unit/support/sample_metrics.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

bool same(const Totals& a, const Totals& b) { return memcmp(&a, &b, sizeof a) == 0; }

void expect_same(const Profile& a, const Profile& b) {
    EXPECT_EQ(std::tie(a.job, a.world_size, a.merged_flags, a.version, a.notes, a.total_ns),
              std::tie(b.job, b.world_size, b.merged_flags, b.version, b.notes, b.total_ns));
    EXPECT_EQ(std::tie(a.computation_ns, a.transfer_ns, a.blocked_ns, a.io_ns, a.paused_ns),
              std::tie(b.computation_ns, b.transfer_ns, b.blocked_ns, b.io_ns, b.paused_ns));
    ASSERT_EQ(a.ranks.size(), b.ranks.size());
    const auto rank_key = [](const ProfileRank& r) {
        return std::tuple(
            std::tie(r.rank, r.pid, r.host, r.program, r.command, r.state, r.flags, r.exit_code,
                     r.threads, r.sample_hz, r.callpath_depth, r.processors, r.first_processor),
            std::tie(r.start_unix_ns, r.real_ns, r.intrusion_ns, r.paused_ns, r.call_cost_ns,
                     r.record_bytes, r.samples),
            std::tie(r.samples_in_calls, r.samples_lost, r.folded_paths, r.files_unnamed, r.dropped,
                     r.guessed, r.clock_errors, r.threads_served, r.probes, r.probes_missed,
                     r.probes_dropped, r.threads_cut, r.io_unobserved),
            std::tie(r.clock_offset_ns, r.clock_drift_ns, r.clock_bound_ns, r.order_kept,
                     r.order_remote, r.order_posted, r.order_unknown, r.queued_ns, r.queued_call_ns,
                     r.stalls_dropped),
            std::tie(r.usage_ns, r.usage.user_ns, r.usage.system_ns, r.usage.peak_memory_bytes,
                     r.usage.minor_faults, r.usage.major_faults, r.usage.voluntary_switches,
                     r.usage.involuntary_switches),
            std::tie(r.usage.read_bytes, r.usage.written_bytes, r.usage.reads, r.usage.writes,
                     r.usage.storage_read_bytes, r.usage.storage_written_bytes));
    };
    EXPECT_EQ(std::tie(a.sites.procedures, a.sites.procedures_probed, a.sites.loops,
                       a.sites.loops_probed),
              std::tie(b.sites.procedures, b.sites.procedures_probed, b.sites.loops,
                       b.sites.loops_probed));
    ASSERT_EQ(a.sites.left_out.size(), b.sites.left_out.size());
    for (size_t i = 0; i < a.sites.left_out.size(); ++i) {
        const LeftOutSite& x = a.sites.left_out[i];
        const LeftOutSite& y = b.sites.left_out[i];
        EXPECT_EQ(std::tie(x.kind, x.name, x.file, x.line, x.reason),
                  std::tie(y.kind, y.name, y.file, y.line, y.reason));
    }
    for (size_t i = 0; i < a.ranks.size(); ++i) {
        EXPECT_TRUE(rank_key(a.ranks[i]) == rank_key(b.ranks[i])) << "rank " << i;
    }
    ASSERT_EQ(a.nodes.size(), b.nodes.size());
    const auto node_key = [](const ProfileNode& n) {
        return std::tuple(std::tie(n.kind, n.labels, n.call, n.name, n.file, n.line, n.module,
                                   n.parent, n.children, n.io_file),
                          std::tie(n.computation_ns, n.samples, n.ranks, n.rank_min_ns,
                                   n.rank_max_ns, n.rank_min, n.rank_max, n.messages));
    };
    for (size_t i = 0; i < a.nodes.size(); ++i) {
        EXPECT_TRUE(node_key(a.nodes[i]) == node_key(b.nodes[i])) << "node " << i;
        EXPECT_TRUE(same(a.nodes[i].totals, b.nodes[i].totals)) << "node " << i;
    }
    for (size_t i = 0; i < a.nodes.size(); ++i) {
        const PhaseNumbers& x = a.nodes[i].phase;
        const PhaseNumbers& y = b.nodes[i].phase;
        EXPECT_EQ(std::tie(x.known, x.first, x.last, x.last_behind, x.rank_behind),
                  std::tie(y.known, y.first, y.last, y.last_behind, y.rank_behind));
    }
    ASSERT_EQ(a.grids.size(), b.grids.size());
    for (size_t i = 0; i < a.grids.size(); ++i) {
        const ProfileGrid& x = a.grids[i];
        const ProfileGrid& y = b.grids[i];
        EXPECT_EQ(std::tie(x.name, x.sizes, x.periodic, x.ranks),
                  std::tie(y.name, y.sizes, y.periodic, y.ranks));
        ASSERT_EQ(x.places.size(), y.places.size());
        for (size_t j = 0; j < x.places.size(); ++j) {
            EXPECT_EQ(x.places[j].rank, y.places[j].rank);
            EXPECT_EQ(x.places[j].coordinates, y.places[j].coordinates);
        }
    }
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (size_t i = 0; i < a.rows.size(); ++i) {
        const ProfileRow& x = a.rows[i];
        const ProfileRow& y = b.rows[i];
        EXPECT_TRUE(std::tie(x.node, x.rank, x.thread, x.computation_ns) ==
                        std::tie(y.node, y.rank, y.thread, y.computation_ns) &&
                    same(x.totals, y.totals))
            << "row " << i;
    }
    ASSERT_EQ(a.intervals.size(), b.intervals.size());
    for (size_t i = 0; i < a.intervals.size(); ++i) {
        const ProfileInterval& x = a.intervals[i];
        const ProfileInterval& y = b.intervals[i];
        EXPECT_TRUE(std::tie(x.from, x.to, x.booked_on, x.count, x.time_ns, x.min_ns, x.max_ns) ==
                    std::tie(y.from, y.to, y.booked_on, y.count, y.time_ns, y.min_ns, y.max_ns));
        EXPECT_EQ(x.or_after, y.or_after);
        ASSERT_EQ(x.lines.size(), y.lines.size());
        for (size_t j = 0; j < x.lines.size(); ++j) {
            const SampledLine& l = x.lines[j];
            const SampledLine& m = y.lines[j];
            EXPECT_TRUE(std::tie(l.function, l.file, l.line, l.samples, l.node, l.system) ==
                        std::tie(m.function, m.file, m.line, m.samples, m.node, m.system));
        }
    }
    ASSERT_EQ(a.peers.size(), b.peers.size());
    for (size_t i = 0; i < a.peers.size(); ++i) {
        EXPECT_EQ(memcmp(&a.peers[i].count, &b.peers[i].count,
                         sizeof(ProfilePeer) - offsetof(ProfilePeer, count)),
                  0);
        EXPECT_EQ(std::tie(a.peers[i].node, a.peers[i].rank, a.peers[i].peer),
                  std::tie(b.peers[i].node, b.peers[i].rank, b.peers[i].peer));
    }
    ASSERT_EQ(a.distances.size(), b.distances.size());
    for (size_t i = 0; i < a.distances.size(); ++i) {
        EXPECT_EQ(memcmp(&a.distances[i], &b.distances[i], sizeof(MergedDistance)), 0);
    }
}

template <typename DelayState>
void expect_same_cause(const std::vector<DelayState>& a, const std::vector<DelayState>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(std::tie(a[i].peer, a[i].interval, a[i].count, a[i].time_ns, a[i].passed_on_ns,
                           a[i].lost_ns),
                  std::tie(b[i].peer, b[i].interval, b[i].count, b[i].time_ns, b[i].passed_on_ns,
                           b[i].lost_ns))
            << i;
    }
}

TEST(WriteJson, WaitingIsReadBack) {
    Profile profile = samples::chain_profile();
    profile.intervals[0].or_after = true;
    profile.intervals[0].lines = {{"exp", "", 0, 12, 1, true}, {"relax", "a.c", 7, 4, 1, false}};
    profile.stalls = {{0, 1, kNoNode, 3, 9 * samples::kMs, 0, 4 * samples::kMs, 2, 1},
                      {1, 0, 2, 1, 8, 7, 0, 0, 0}};
    const auto read = read_profile_json(write_profile_json(profile));
    ASSERT_TRUE(read.has_value()) << read.error();
    expect_same(profile, *read);
    EXPECT_EQ(read->sync_ns, profile.sync_ns);
    expect_same_cause(profile.partners, read->partners);
    expect_same_cause(profile.causes, read->causes);
    ASSERT_EQ(profile.stalls.size(), read->stalls.size());
    const auto stall_key = [](const ProfileStall& s) {
        return std::tie(s.interval, s.rank, s.io_node, s.count, s.time_ns, s.io_ns, s.asleep_ns,
                        s.queued_ns, s.kernel_ns);
    };
    for (size_t i = 0; i < profile.stalls.size(); ++i) {
        EXPECT_TRUE(stall_key(profile.stalls[i]) == stall_key(read->stalls[i])) << "stall " << i;
    }
    for (size_t i = 0; i < profile.partners.size(); ++i) {
        EXPECT_EQ(read->partners[i].node, profile.partners[i].node);
        EXPECT_EQ(read->partners[i].max_ns, profile.partners[i].max_ns);
    }
    EXPECT_EQ(read->ranks[1].own_ns, profile.ranks[1].own_ns);
}

TEST(WriteJson, NothingIsLost) {
    for (const Profile& profile :
         {samples::halo_profile(), samples::hostile_profile(), samples::large_profile(),
          samples::serial_profile(), samples::probed_profile(), samples::grid_profile(),
          samples::chain_profile(), samples::with_usage(samples::halo_profile()),
          samples::io_profile()}) {
        const auto read = read_profile_json(write_profile_json(profile));
        ASSERT_TRUE(read.has_value()) << read.error();
        expect_same(profile, *read);
    }
}

// The solver's phase in the second of two bins, in which both ranks are.
Profile with_axis(Profile profile) {
    const AxisFigures first{1, 2, 3, 4, 5, 6, 7};
    const AxisFigures least{10, 0, 0, 0, 0, 0, 1};
    const AxisFigures most{20, 0, 30, 0, 0, 0, 1};
    const AxisFigures both{30, 0, 30, 0, 0, 0, 2};
    profile.axis.start_unix_ns = 1'234'000'000'000;
    profile.axis.width_ns = 1024;
    profile.axis.missing_threads = 3;
    profile.axis.bins = {{0, 1, kNoNode, first, first, first}, {4, 2, 1, both, least, most}};
    profile.axis.rows = {{0, 0, first}, {4, 0, least}, {4, 1, most}};
    return profile;
}

TEST(WriteJson, TheRunOverTimeIsReadBack) {
    const Profile profile = with_axis(samples::halo_profile());
    const auto read = read_profile_json(write_profile_json(profile));
    ASSERT_TRUE(read.has_value()) << read.error();
    const ProfileAxis& axis = read->axis;
    EXPECT_EQ(axis.start_unix_ns, profile.axis.start_unix_ns);
    EXPECT_EQ(axis.width_ns, 1024u);
    EXPECT_EQ(axis.missing_threads, 3u);
    const auto key = [](const AxisFigures& f) {
        return std::tie(f.computation_ns, f.transfer_ns, f.waiting_ns, f.omp_wait_ns, f.omp_idle_ns,
                        f.io_ns, f.bytes_sent);
    };
    ASSERT_EQ(axis.bins.size(), 2u);
    for (size_t i = 0; i < axis.bins.size(); ++i) {
        const ProfileBin& a = profile.axis.bins[i];
        const ProfileBin& b = axis.bins[i];
        EXPECT_EQ(std::tie(a.number, a.ranks, a.phase), std::tie(b.number, b.ranks, b.phase));
        EXPECT_TRUE(key(a.sum) == key(b.sum) && key(a.least) == key(b.least) &&
                    key(a.most) == key(b.most))
            << i;
    }
    ASSERT_EQ(axis.rows.size(), 3u);
    for (size_t i = 0; i < axis.rows.size(); ++i) {
        const ProfileBinRow& a = profile.axis.rows[i];
        const ProfileBinRow& b = axis.rows[i];
        EXPECT_EQ(std::tie(a.number, a.rank), std::tie(b.number, b.rank));
        EXPECT_TRUE(key(a.figures) == key(b.figures)) << i;
    }
}

TEST(WriteJson, FiguresOfProbes) {
    const auto json = nlohmann::json::parse(write_profile_json(samples::probed_profile()));
    EXPECT_EQ(json["sites"]["procedures_probed"], 5);
    ASSERT_EQ(json["left_out"].size(), 3u);
    EXPECT_EQ(json["left_out"][0]["name"], "tiny");
    EXPECT_EQ(json["left_out"][2]["kind"], "loop");
    int loops = 0;
    for (const auto& node : json["nodes"]) {
        if (node["kind"] != "loop") {
            EXPECT_FALSE(node.contains("iterations"));
            continue;
        }
        ++loops;
        EXPECT_EQ(node["iterations"], node["line"] == 27 ? 22 : 120);
        EXPECT_EQ(node["labels"], nlohmann::json({"probed"}));
    }
    EXPECT_EQ(loops, 4);
}

TEST(WriteJson, TimesAreWholeNanoseconds) {
    const auto json = nlohmann::json::parse(write_profile_json(samples::halo_profile()));
    EXPECT_EQ(json["dwell_profile"], 1);
    EXPECT_EQ(json["total_ns"].get<uint64_t>(), 40 * samples::kSecond);
    EXPECT_EQ(json["nodes"][samples::kRecv]["time_ns"], 6'600'000'000);
    EXPECT_TRUE(json["nodes"][samples::kRecv]["time_ns"].is_number_unsigned());
    EXPECT_EQ(json["nodes"][samples::kRecv]["bytes_received"], 4 * 2000 * 4096);
}

using Json = nlohmann::json;

const Json& followed(const Json& schema, const Json& root) {
    if (!schema.contains("$ref")) return schema;
    const std::string target = schema["$ref"];
    return followed(root.at(Json::json_pointer(target.substr(1))), root);
}

// Checks that every key is described, and every required key exists.
void expect_keys(const Json& value, const Json& described, const Json& root,
                 const std::string& where) {
    const Json& schema = followed(described, root);
    if (value.is_array() && schema.contains("items")) {
        for (const Json& element : value) expect_keys(element, schema["items"], root, where + "[]");
    }
    if (!value.is_object()) return;
    ASSERT_TRUE(schema.contains("properties")) << where;
    for (const auto& [key, inner] : value.items()) {
        ASSERT_TRUE(schema["properties"].contains(key)) << where << "/" << key;
        expect_keys(inner, schema["properties"][key], root, where + "/" + key);
    }
    if (!schema.contains("required")) return;
    for (const Json& key : schema["required"]) {
        EXPECT_TRUE(value.contains(key.get<std::string>())) << where << "/" << key;
    }
}

Json profile_schema() {
    const auto folder = std::filesystem::path(DWELL_SOURCES);
    std::ifstream file(folder / "docs" / "profile.schema.json");
    return Json::parse(file);
}

TEST(WriteJson, KeysAreThoseOfTheSchema) {
    const Json schema = profile_schema();
    for (const Profile& profile :
         {samples::halo_profile(), samples::hostile_profile(), samples::large_profile(),
          samples::serial_profile(), samples::probed_profile(), samples::grid_profile(),
          samples::chain_profile(), samples::with_usage(samples::halo_profile()),
          samples::io_profile(), samples::openmp_profile(),
          samples::with_metrics(samples::halo_profile())}) {
        expect_keys(Json::parse(write_profile_json(profile)), schema, schema, "");
    }
}

// Figures of zero may be left out, so no sample has all of them; here none is zero.
TEST(WriteJson, EveryFigureIsInTheSchema) {
    Totals all{};
    static_assert(sizeof(all) % sizeof(uint64_t) == 0);
    std::fill_n(reinterpret_cast<uint64_t*>(&all), sizeof(all) / sizeof(uint64_t), 7);
    Profile profile = samples::with_metrics(samples::with_usage(samples::halo_profile()));
    ASSERT_GT(std::min(profile.rows.size(), profile.peers.size()), 1u);
    profile.nodes[1].totals = profile.rows[1].totals = all;
    profile.nodes[1].phase = {true, 1, 2, 3, 4};
    profile.nodes[1].io_file = "file";
    profile.rows[1].computation_ns = 7;
    profile.peers[0].min_ns = 7;
    profile.intervals[0].or_after = true;
    profile.intervals[0].lines = {{"exp", "", 0, 7, 1, true}};
    profile.stalls = {{0, 7, 1, 7, 7, 7, 7, 7, 7}};
    const AxisFigures course{7, 7, 7, 7, 7, 7, 7};
    profile.axis.width_ns = 8;
    profile.axis.bins = {{0, 1, 1, course, course, course}};
    profile.axis.rows = {{0, 0, course}};
    const Json written = Json::parse(write_profile_json(profile));
    expect_keys(written, profile_schema(), profile_schema(), "");
    // Their number equals the structure's: none is missing here, or written without a name.
    size_t figures = 0;
    for (const auto& [key, value] : written["rows"][1].items()) {
        figures += value.is_array() ? value.size() : 1;
    }
    EXPECT_EQ(figures, sizeof(all) / sizeof(uint64_t) + 4) << written["rows"][1];
}

TEST(WriteJson, BytesThatAreNotUtf8DoNotStopIt) {
    Profile profile = samples::serial_profile();
    profile.nodes[1].name = "bad\xff name";
    const auto read = read_profile_json(write_profile_json(profile));
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(read->nodes[1].name, "bad\xef\xbf\xbd name");
}

TEST(ReadJson, EveryCutIsAnError) {
    const std::string text = write_profile_json(samples::serial_profile());
    for (size_t size = 0; size + 2 < text.size(); ++size) {
        EXPECT_FALSE(read_profile_json(text.substr(0, size)).has_value()) << size;
    }
}

// The error of a good profile with one value changed; empty: there is none.
class ChangedValue {
  public:
    explicit ChangedValue(std::string_view good) : good_(nlohmann::json::parse(good)) {}
    std::string operator()(const char* pointer, const nlohmann::json& value) const {
        nlohmann::json json = good_;
        json[nlohmann::json::json_pointer(pointer)] = value;
        const auto read = read_profile_json(json.dump());
        return read.has_value() ? std::string() : read.error();
    }

  private:
    nlohmann::json good_;
};

TEST(ReadJson, WrongGridsAreErrors) {
    const std::string good = write_profile_json(samples::grid_profile());
    const ChangedValue error_with(good);
    EXPECT_EQ(error_with("/grids/0/coordinates/5", {1, 2}), "");
    EXPECT_NE(error_with("/grids/0/coordinates/5", {1, 4}), "");
    EXPECT_NE(error_with("/grids/0/coordinates/5", {-1, 2}), "");
    EXPECT_NE(error_with("/grids/0/coordinates/5", {1, 2, 0}), "");
    EXPECT_NE(error_with("/grids/0/coordinates/5", 7), "");
    EXPECT_NE(error_with("/grids/0/coordinates", nlohmann::json::array()), "");
    EXPECT_NE(error_with("/grids/0/ranks/5", 4), "");
    EXPECT_NE(error_with("/grids/0/sizes", nlohmann::json::array()), "");
    EXPECT_NE(error_with("/grids/0/sizes", {1, 1, 1, 1, 1, 1, 1}), "");
    EXPECT_NE(error_with("/grids/0/periodic", {true}), "");
    EXPECT_NE(error_with("/grids/0/periodic", {0, 1}), "");
    EXPECT_NE(error_with("/nodes/2/phase", 5), "");
    EXPECT_NE(error_with("/nodes/2/phase/last", -5), "");
    auto json = nlohmann::json::parse(good);
    json.erase("grids");
    EXPECT_TRUE(read_profile_json(json.dump()).has_value()) << "of an earlier version";
}

TEST(ReadJson, WrongAxesAreErrors) {
    const std::string good = write_profile_json(with_axis(samples::halo_profile()));
    const ChangedValue error_with(good);
    EXPECT_EQ(error_with("/time_axis/width_ns", 2048), "");
    EXPECT_NE(error_with("/time_axis/width_ns", 1000), "");
    EXPECT_NE(error_with("/time_axis/width_ns", 0), "");
    EXPECT_NE(error_with("/time_bins/0/bin", 1), "");  // the axis begins with bin 0
    EXPECT_NE(error_with("/time_bins/1/bin", 0), "");
    EXPECT_NE(error_with("/time_bins/1/ranks", 0), "");
    EXPECT_NE(error_with("/time_bins/1/phase", 99), "");
    EXPECT_NE(error_with("/time_bins/1/computation_ns", {30, 10}), "");
    EXPECT_NE(error_with("/time_bins/1/computation_ns", 30), "");
    EXPECT_NE(error_with("/time_bin_rows/0/rank", -1), "");
}

TEST(ReadJson, WrongValuesAreErrors) {
    const std::string good = write_profile_json(samples::halo_profile());
    const ChangedValue error_with(good);
    EXPECT_NE(error_with("/dwell_profile", 2), "");
    EXPECT_NE(error_with("/nodes/1/parent", 5), "");
    EXPECT_NE(error_with("/nodes/1/children/0", 4'000'000), "");
    EXPECT_NE(error_with("/nodes/3/children/0", 1), "");
    EXPECT_NE(error_with("/nodes/3/time_ns", -1), "");
    EXPECT_NE(error_with("/nodes/3/time_ns", 1.5), "");
    EXPECT_NE(error_with("/nodes/3/kind", "nonsense"), "");
    EXPECT_NE(error_with("/nodes/3/line", 3'000'000'000), "");
    EXPECT_NE(error_with("/rows/0/node", 99), "");
    EXPECT_NE(error_with("/intervals/0/to", nullptr), "");
    EXPECT_NE(error_with("/peers/0/peer_world", 256), "");
    const auto stall_error = [&](uint32_t interval, uint32_t io_node) {
        return error_with("/stalls", {{{"interval", interval}, {"rank", 0}, {"io_node", io_node}}});
    };
    EXPECT_EQ(stall_error(0, 1), "");
    EXPECT_NE(stall_error(kNoNode, 1), "");
    EXPECT_NE(stall_error(0, 99), "");
    EXPECT_NE(error_with("/ranks", 3), "");
    EXPECT_NE(error_with("/nodes", nlohmann::json::array()), "");
    EXPECT_EQ(error_with("/job", "other"), "");
    EXPECT_FALSE(read_profile_json("[]").has_value());
    EXPECT_FALSE(read_profile_json("{}").has_value());
}

}  // namespace
}  // namespace dwell
