// Metrics from record files to the reports, with synthetic records, so that every number is
// arithmetic.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "report/console/metric_names.h"
#include "report/figures/text_style.h"
#include "report/text/text_report.h"
#include "summarize/formats/read_json.h"
#include "summarize/formats/write_csv.h"
#include "summarize/formats/write_json.h"
#include "summarize/formats/write_picl.h"
#include "summarize/model/profile_walk.h"
#include "summarize/profile/metric_counts.h"
#include "tests/unit/support/merged_view.h"
#include "tests/unit/support/sample_metrics.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

bool same(const std::vector<ProfileCounts>& a, const std::vector<ProfileCounts>& b) {
    return std::equal(
        a.begin(), a.end(), b.begin(), b.end(), [](const ProfileCounts& x, const ProfileCounts& y) {
            return std::tie(x.node, x.rank, x.thread, x.entries, x.time_ns, x.own, x.inclusive) ==
                   std::tie(y.node, y.rank, y.thread, y.entries, y.time_ns, y.own, y.inclusive);
        });
}

// A rank with a call of MPI_Send: counts `work` before the call and `in_call` inside it.
RecordFile record(int rank, const std::string& names, uint64_t work, uint64_t in_call) {
    RecordFile file(rank, 3);
    const CellIndex root = file.add_thread(0, {});
    const CellIndex send = file.add_communication(root, 0, 9, "MPI_Send", {4, 40, 10, 10});
    const CellIndex interval = file.add_interval(send, 0, root, {4, 400, 100, 100});
    file.set_metric_names(names, "");
    file.add_counts(root, 1, 1000, {1});
    file.add_counts(interval, 0, 0, {work});
    file.add_counts(send, 3, 30, {in_call, 2 * in_call});
    file.header().metric_ticks = 5;
    file.header().metric_least_ticks = 500;
    return file;
}

Merged merged_of(std::vector<RecordFile> files, uint32_t row_limit = 1000) {
    Merged merged;
    merged.row_limit = row_limit;
    for (const RecordFile& file : files) {
        EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    }
    return merged;
}

const ProfileCounts* counts_at(const Profile& profile, SiteKind kind) {
    for (uint32_t i = 0; i < profile.nodes.size(); ++i) {
        if (profile.nodes[i].kind == kind) return counts_of(profile.metrics, i);
    }
    return nullptr;
}

TEST(MetricProfile, SumsOverRanksByName) {
    // The second rank has the same metrics in reverse order.
    const Profile profile =
        build_profile(merged_of({record(0, "A\nB", 10, 3), record(1, "B\nA", 100, 30)}));
    EXPECT_EQ(profile.metrics.names, (std::vector<std::string>{"A", "B"}));
    EXPECT_EQ(profile.metrics.least_ns, 500u);
    const ProfileCounts* send = counts_at(profile, SiteKind::kCommunication);
    ASSERT_NE(send, nullptr);
    EXPECT_EQ(send->entries, 6u);
    EXPECT_EQ(send->time_ns, 60u);
    EXPECT_EQ(send->own, (std::vector<uint64_t>{3 + 2 * 30, 2 * 3 + 30}));
    const ProfileCounts* all = counts_of(profile.metrics, 0);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all->inclusive, (std::vector<uint64_t>{1 + 10 + 3 + 60, 1 + 100 + 6 + 30}));
    EXPECT_EQ(profile.metrics.rows.size(), 2 * profile.metrics.nodes.size());
}

TEST(MetricProfile, InclusiveIsOwnAndChildren) {
    const Profile profile =
        build_profile(merged_of({record(0, "A\nB", 10, 3), record(2, "A\nB", 100, 30)}));
    for (const auto* list : {&profile.metrics.nodes, &profile.metrics.rows}) {
        for (const ProfileCounts& counts : *list) {
            for (size_t i = 0; i < counts.own.size(); ++i) {
                uint64_t inside = 0;
                for (const ProfileCounts& other : *list) {
                    const bool child = other.node != 0 && other.rank == counts.rank &&
                                       profile.nodes[other.node].parent == counts.node;
                    if (child) inside += other.inclusive[i];
                }
                EXPECT_EQ(counts.inclusive[i], counts.own[i] + inside);
            }
        }
    }
}

TEST(MetricProfile, RowsGoOverTheLimitAndSumsStay) {
    const Profile profile =
        build_profile(merged_of({record(0, "A", 10, 3), record(1, "A", 100, 30)}, 1));
    EXPECT_TRUE(profile.metrics.rows.empty());
    EXPECT_EQ(counts_of(profile.metrics, 0)->inclusive[0], 2u + 110 + 33);
}

TEST(MetricProfile, TravelsBetweenRanks) {
    const Merged merged = merged_of({record(0, "A\nB", 10, 3), record(1, "A\nB", 1, 30)});
    const Profile one = build_profile(merged);
    const Profile two = build_profile(sent(merged));
    EXPECT_EQ(one.metrics.names, two.metrics.names);
    EXPECT_TRUE(same(one.metrics.nodes, two.metrics.nodes));
    EXPECT_TRUE(same(one.metrics.rows, two.metrics.rows));
}

TEST(MetricProfile, MissingMetricsAreNamed) {
    RecordFile file = record(0, "A", 10, 3);
    file.set_metric_names("A", "PAPI_TOT_CYC\nPAPI_FP_OPS");
    file.header().metrics_unwatched = 2;
    const Profile profile = build_profile(merged_of({file}));
    EXPECT_EQ(profile.metrics.names, std::vector<std::string>{"A"});
    EXPECT_EQ(profile.metrics.missing, (std::vector<std::string>{"PAPI_TOT_CYC", "PAPI_FP_OPS"}));
    const std::string text = write_text_report(profile, {});
    EXPECT_NE(text.find("PAPI_TOT_CYC, PAPI_FP_OPS"), std::string::npos);
    EXPECT_NE(text.find("2 threads came too fast"), std::string::npos);
    EXPECT_EQ(text.find("were not read"), std::string::npos);
}

// Rank 0 loses two threads' counters a quarter of a second after its start, rank 1 one thread's
// after half a second; rank 2 loses none.
TEST(MetricProfile, CountersThatTheProgramClosedAreTold) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 3; ++rank) {
        RecordFile file = record(rank, "A", 10, 3);
        FileHeader& header = file.header();
        header.metrics_lost = static_cast<uint32_t>(2 - rank);
        if (rank < 2) {
            header.metrics_lost_ticks =
                header.start_ticks + header.ticks_per_second / (rank == 0 ? 4 : 2);
        }
        header.metrics_no_room = 4;
        files.push_back(file);
    }
    const Profile profile = build_profile(sent(merged_of(files)));
    EXPECT_EQ(profile.metrics.lost_threads, 3u);
    EXPECT_EQ(profile.metrics.lost_ns, 250'000'000u);
    EXPECT_EQ(profile.metrics.no_room_threads, 12u);
    const std::string text = write_text_report(profile, {});
    EXPECT_NE(text.find("closed the counters of 3 threads, first 0.250 s"), std::string::npos);
    EXPECT_NE(text.find("12 threads were not counted"), std::string::npos);
}

TEST(MetricProfile, EntriesLeftOutAreTold) {
    RecordFile one = record(0, "A", 10, 3);
    one.at<MetricPart>(one.last_thread().first_metric).left_out = 40;
    RecordFile two = record(1, "A", 10, 3);
    two.at<MetricPart>(two.last_thread().first_metric).left_out = 2;
    const Profile profile = build_profile(sent(merged_of({one, two})));
    EXPECT_EQ(profile.metrics.left_out, 42u);
    EXPECT_NE(write_text_report(profile, {}).find("42 entries of places were not"),
              std::string::npos);
}

TEST(MetricProfile, DamagedPartsAreLeftOut) {
    RecordFile file = record(0, "A", 10, 3);
    file.add_counts(1 << 20, 1, 1, {7});  // without a node
    file.last_thread().first_metric = 1 << 21;
    const Profile profile = build_profile(merged_of({file}));
    EXPECT_EQ(counts_of(profile.metrics, 0), nullptr);
}

TEST(MetricProfile, JsonComesBack) {
    const Profile profile = samples::with_metrics(samples::halo_profile());
    const auto read = read_profile_json(write_profile_json(profile));
    ASSERT_TRUE(read.has_value()) << read.error();
    EXPECT_EQ(read->metrics.names, profile.metrics.names);
    EXPECT_EQ(read->metrics.missing, profile.metrics.missing);
    EXPECT_EQ(read->metrics.unwatched_threads, 2u);
    EXPECT_EQ(read->metrics.no_room_threads, 5u);
    EXPECT_EQ(read->metrics.lost_threads, 1u);
    EXPECT_EQ(read->metrics.lost_ns, 1'250'000'000u);
    EXPECT_EQ(read->metrics.left_out, 30u);
    EXPECT_EQ(read->metrics.read_ns, 400u);
    EXPECT_EQ(read->metrics.least_ns, 180'000u);
    EXPECT_TRUE(same(read->metrics.nodes, profile.metrics.nodes));
    EXPECT_TRUE(same(read->metrics.rows, profile.metrics.rows));
    // Without metrics no output mentions them.
    EXPECT_EQ(write_profile_json(samples::halo_profile()).find("metric"), std::string::npos);
}

TEST(MetricProfile, WrongJsonIsAnError) {
    const std::string good = write_profile_json(samples::with_metrics(samples::halo_profile()));
    const auto error_with = [&good](const char* pointer, const nlohmann::json& value) {
        auto json = nlohmann::json::parse(good);
        json[nlohmann::json::json_pointer(pointer)] = value;
        const auto read = read_profile_json(json.dump());
        return read.has_value() ? std::string() : read.error();
    };
    EXPECT_EQ(error_with("/metric_counts/0/own", {1, 2, 3}), "");
    EXPECT_NE(error_with("/metric_counts/0/own", {1, 2}), "");
    EXPECT_NE(error_with("/metric_counts/0/node", 1000), "");
    EXPECT_NE(error_with("/metric_counts/1/node", 0), "");
    EXPECT_NE(error_with("/metric_rows/0/inclusive", {1, 2, -3}), "");
    EXPECT_NE(error_with("/metrics/counted", 7), "");
}

TEST(MetricProfile, Csv) {
    const std::string csv = write_csv(samples::with_metrics(samples::halo_profile()));
    EXPECT_NE(
        csv.find(",thread_name,unfinished_s,metric_entries,metric_s,PAPI_TOT_CYC,PAPI_TOT_CYC self,"
                 "PAPI_TOT_INS,PAPI_TOT_INS self,perf::PAGE-FAULTS,perf::PAGE-FAULTS self\r\n"),
        std::string::npos);
    // 1 + 2 + 3 + 4 = 10 million cycles, plus a tenth.
    EXPECT_NE(csv.find(",4,4.000000000,11000000,0,16500000,0,1000,0\r\n"), std::string::npos);
    EXPECT_NE(csv.find(",8,0.012000000,1000000,1000000,1500000,1500000,1000,1000\r\n"),
              std::string::npos);
    const auto per_rank = write_csv_per_rank(samples::with_metrics(samples::halo_profile()));
    ASSERT_TRUE(per_rank.has_value());
    EXPECT_NE(per_rank->find(",2,0.003000000,300000,300000,450000,450000,300,300\r\n"),
              std::string::npos);
}

TEST(MetricProfile, PiclVolumes) {
    const Profile profile = samples::with_metrics(samples::halo_profile());
    const std::string picl = write_picl(profile);
    const size_t first = profile.nodes.size() - 1;
    EXPECT_NE(picl.find(" metric PAPI_TOT_CYC\n"), std::string::npos);
    // Rank 0 as a whole: the record for all events holds the pair.
    EXPECT_NE(picl.find(" " + std::to_string(first) + " 1100000"), std::string::npos);
}

TEST(MetricProfile, TextAtSeveralWidths) {
    const Profile profile = samples::with_metrics(samples::halo_profile());
    for (const int width : {80, 100}) {
        TextOptions options;
        options.width = width;
        const std::string text = write_text_report(profile, options);
        for (size_t at = 0; at < text.size();) {
            const size_t end = text.find('\n', at);
            EXPECT_LE(display_width(text.substr(at, end - at)), width);
            at = end + 1;
        }
        EXPECT_NE(text.find("from 180 µs on"), std::string::npos);
        EXPECT_NE(text.find("11.0 M  PAPI_TOT_CYC  most on rank 3: 4.40 M, 1.60 times the mean"),
                  std::string::npos)
            << text;
        EXPECT_NE(text.find("1.50 instructions per cycle"), std::string::npos);
        EXPECT_NE(text.find("8 of "), std::string::npos);
    }
    EXPECT_EQ(write_text_report(samples::halo_profile(), {}).find("Metrics"), std::string::npos);
}

TEST(MetricNames, NearOnes) {
    const std::vector<std::string> names = {"PAPI_TOT_CYC", "PAPI_TOT_INS", "perf::PAGE-FAULTS",
                                            "perf::MAJOR-FAULTS", "perf::CYCLES"};
    EXPECT_EQ(near_names("PAPI_TOT_CYCS", names).front(), "PAPI_TOT_CYC");
    EXPECT_EQ(near_names("page_faults", names).front(), "perf::PAGE-FAULTS");
    EXPECT_EQ(near_names("perf::page-falts", names).front(), "perf::PAGE-FAULTS");
    EXPECT_TRUE(near_names("nothing_like_that_at_all", names).empty());
}

TEST(MetricNames, Form) {
    EXPECT_EQ(metrics_form_error("default"), "");
    EXPECT_EQ(metrics_form_error("a,b,c,d,e,f,g,h"), "");
    EXPECT_NE(metrics_form_error("a,b,c,d,e,f,g,h,i"), "");
    EXPECT_NE(metrics_form_error("a,,b"), "");
    EXPECT_NE(metrics_form_error("a,"), "");
    EXPECT_NE(metrics_form_error("a,off"), "");
}

// A column is as wide as the name of its metric, within the available room.
TEST(MetricColumns, GrowToTheirNames) {
    Profile profile = samples::with_metrics(samples::halo_profile());
    profile.metrics.names = {"perf::CONTEXT-SWITCHES", "PAPI_TOT_INS", "perf::PAGE-FAULTS"};
    TextOptions options;
    for (const int width : {70, 90}) {
        options.width = width;
        const std::string report = write_text_report(profile, options);
        EXPECT_EQ(report.find(" CONTEXT-SWITCHES     TOT_INS PAGE-FAULTS\n") != std::string::npos,
                  width == 90)
            << report;
        std::istringstream lines(report);
        for (std::string line; std::getline(lines, line);) {
            EXPECT_LE(display_width(line), width) << line;
        }
    }
}

}  // namespace
}  // namespace dwell
