// Reads stats.picl with a parser written from the report alone, and compares it with plain sums.
#include "summarize/formats/write_picl.h"

#include <gtest/gtest.h>

#include "tests/unit/support/picl_parser.h"
#include "tests/unit/support/sample_profiles.h"

namespace dwell {
namespace {

using Pairs = std::map<int64_t, double>;

// The pairs of all records of one kind together.
Pairs pairs_of(const PiclFile& file, int type, int event, int processor) {
    Pairs pairs;
    for (const PiclRecord& record : file.records) {
        if (record.type != type || record.event != event || record.processor != processor) continue;
        for (const PiclField& field : record.fields) {
            EXPECT_EQ(field.size(), 2u);
            const bool fresh = pairs.emplace(field[0].integer, field[1].real).second;
            EXPECT_TRUE(fresh) << "event type " << field[0].integer << " twice";
        }
    }
    return pairs;
}

void expect_no_errors(const PiclFile& file) {
    for (const std::string& error : file.errors) ADD_FAILURE() << error;
}

TEST(WritePicl, EveryProcessHasItsFigures) {
    const PiclFile file = parse_picl(write_picl(samples::halo_profile()));
    expect_no_errors(file);
    const Pairs time = pairs_of(file, -101, -1, 1);
    EXPECT_DOUBLE_EQ(time.at(-901), 10.0);
    EXPECT_DOUBLE_EQ(time.at(-51), 0.020);
    EXPECT_DOUBLE_EQ(time.at(-52), 2.080);
    EXPECT_DOUBLE_EQ(time.at(-27), 0.040);
    const Pairs count = pairs_of(file, -102, -1, 1);
    EXPECT_EQ(count.at(-901), 1);
    EXPECT_EQ(count.at(-51), 500);
    EXPECT_EQ(count.at(-52), 1500);
    EXPECT_EQ(count.at(0), -1) << "procedures are not counted: undefined";
    const Pairs volume = pairs_of(file, -103, -1, 1);
    EXPECT_EQ(volume.at(-27), 2000 * 4096);
    EXPECT_EQ(volume.at(-51), 2'048'000) << "500 of 2000 receives of 4096 bytes";
    EXPECT_EQ(volume.at(-52), 6'144'000);
    EXPECT_EQ(volume.count(-30), 0u) << "waits for sends have no length";
    EXPECT_EQ(volume.at(-901), 65536);
}

TEST(WritePicl, InputAndOutput) {
    const PiclFile file = parse_picl(write_picl(samples::io_profile()));
    expect_no_errors(file);
    EXPECT_DOUBLE_EQ(pairs_of(file, -101, -1, 0).at(-221), 1.0);
    EXPECT_DOUBLE_EQ(pairs_of(file, -101, -1, 1).at(-221), 3.0);
    EXPECT_DOUBLE_EQ(pairs_of(file, -101, -1, 1).at(-251), 1.0);
    EXPECT_EQ(pairs_of(file, -102, -1, 0).at(-221), 8);
    EXPECT_EQ(pairs_of(file, -102, -1, 1).at(-251), 2);
    EXPECT_EQ(pairs_of(file, -103, -1, 0).at(-221), 800);
    EXPECT_EQ(pairs_of(file, -103, -1, 1).at(-251), 64);
    EXPECT_EQ(pairs_of(file, -103, -1, 0).count(-251), 0u);
}

TEST(WritePicl, SitesHoldWhatIsBelowThem) {
    const PiclFile file = parse_picl(write_picl(samples::halo_profile()));
    const int exchange = samples::kExchange - 1;  // node 0, the program, is no user event
    const Pairs time = pairs_of(file, -101, exchange, 0);
    EXPECT_EQ(time.size(), 4u);
    EXPECT_DOUBLE_EQ(time.at(-52), 2.980);
    EXPECT_DOUBLE_EQ(time.at(-30), 0.010);
    EXPECT_EQ(pairs_of(file, -102, samples::kAllreduce - 1, 2).at(-782), 500);
    EXPECT_DOUBLE_EQ(pairs_of(file, -101, -1, 0).at(exchange), 3.150);
}

TEST(WritePicl, EveryEventOutsideTheReportHasALabel) {
    const PiclFile file = parse_picl(write_picl(samples::halo_profile()));
    std::map<int64_t, std::string> labels;
    for (const PiclRecord& record : file.records) {
        if (record.type == -5) labels[record.event] = record.fields.at(0).at(0).text;
    }
    EXPECT_EQ(labels.at(-782), "MPI_Allreduce");
    EXPECT_EQ(labels.at(samples::kRecv - 1), "comm MPI_Recv@/home/ada/heat/src/halo.c:88");
    EXPECT_EQ(labels.count(-52), 0u);
}

TEST(WritePicl, ProbesAreCounted) {
    const Profile profile = samples::probed_profile();
    const PiclFile file = parse_picl(write_picl(profile));
    expect_no_errors(file);
    const Pairs count = pairs_of(file, -102, -1, 0);
    const Pairs time = pairs_of(file, -101, -1, 0);
    const Pairs volume = pairs_of(file, -103, -1, 0);
    int loops = 0;
    for (size_t i = 1; i < profile.nodes.size(); ++i) {
        const ProfileNode& node = profile.nodes[i];
        const int event = static_cast<int>(i) - 1;
        if (node.kind == SiteKind::kLoop && node.line == 27) {
            ++loops;
            EXPECT_EQ(count.at(event), 1);
            EXPECT_DOUBLE_EQ(time.at(event), loops == 1 ? 0.700 : 0.180);
        }
        if (node.name == "report") {
            EXPECT_EQ(count.at(event), -1) << "without probes";
        }
        if (node.kind == SiteKind::kMarker) {
            EXPECT_EQ(count.at(event), 7);
            EXPECT_EQ(volume.at(event), 70);
        }
        if (node.kind == SiteKind::kBlock) {
            EXPECT_EQ(volume.at(event), 4096);
        }
    }
    EXPECT_EQ(loops, 2);
}

TEST(WritePicl, AProcessMayEndBeforeAnotherOneBegins) {
    Profile profile = samples::halo_profile();
    profile.ranks[0].start_unix_ns -= 3'600'000'000'000;
    for (const uint32_t dropped : {0u, static_cast<uint32_t>(kMergedRowsDropped)}) {
        profile.merged_flags |= dropped;
        const PiclFile file = parse_picl(write_picl(profile));
        double clock = 0;
        for (const PiclRecord& record : file.records) {
            EXPECT_GE(record.clock, clock);
            clock = record.clock;
        }
        EXPECT_GT(clock, 3600);
    }
}

TEST(WritePicl, LargeJobsAreOneSubset) {
    const PiclFile file = parse_picl(write_picl(samples::large_profile()));
    expect_no_errors(file);
    EXPECT_DOUBLE_EQ(pairs_of(file, -101, -1, -2).at(-901), 40.0);
    EXPECT_EQ(pairs_of(file, -102, -1, -2).at(-52), 6000);
    EXPECT_TRUE(pairs_of(file, -101, -1, 0).empty());
}

TEST(WritePicl, LargeValuesAndOddNames) {
    const std::string text = write_picl(samples::hostile_profile());
    const PiclFile file = parse_picl(text);
    expect_no_errors(file);
    for (const char c : text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
    EXPECT_NE(text.find("\"%d%ld\" -21 10000000000"), std::string::npos);
    EXPECT_TRUE(parse_picl(write_picl(samples::serial_profile())).errors.empty());
    write_picl(Profile{});
}

}  // namespace
}  // namespace dwell
