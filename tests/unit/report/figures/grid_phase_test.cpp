// Grids and phases from record files to the profile: descriptions are kept, contradictions are
// reported, damaged records are left out, and many ranks stay within the limits. Also trends of a
// figure along a grid dimension, by arithmetic on small grids.
#include <gtest/gtest.h>

#include <random>

#include "report/figures/grid_trend.h"
#include "summarize/formats/write_json.h"
#include "summarize/model/grid_places.h"
#include "tests/unit/support/merged_builder.h"
#include "tests/unit/support/merged_view.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

using Coordinates = std::vector<int32_t>;

void add(const RecordFile& file, Merged* into) {
    ASSERT_TRUE(add_record_file(into, file.data(), file.bytes()));
}

Profile profile_of(const std::vector<RecordFile>& files) {
    Merged merged;
    for (const RecordFile& file : files) add(file, &merged);
    EXPECT_TRUE(is_well_formed(merged));
    return build_profile(merged);
}

RecordFile rank_file(int rank, int world_size) {
    RecordFile file(rank, world_size);
    file.add_thread(0, {1, 1000, 1000, 1000});
    return file;
}

TEST(Grids, FromRecordsToProfile) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 5; ++rank) {
        files.push_back(rank_file(rank, 5));
        if (rank < 4) files.back().add_grid("cart", {2, 2}, 2, {rank / 2, rank % 2});
        files.back().add_grid("line", {5}, 0, {rank});
    }
    for (const bool backwards : {false, true}) {
        if (backwards) std::reverse(files.begin(), files.end());
        const Profile profile = profile_of(files);
        ASSERT_EQ(profile.grids.size(), 2u);
        EXPECT_EQ(profile.grids[0].name, "line");  // has most ranks
        EXPECT_EQ(profile.grids[0].ranks, 5u);
        const ProfileGrid& cart = profile.grids[1];
        EXPECT_EQ(cart.name, "cart");
        EXPECT_EQ(cart.sizes, (Coordinates{2, 2}));
        EXPECT_EQ(cart.periodic, (std::vector<bool>{false, true}));
        ASSERT_EQ(cart.places.size(), 4u);
        EXPECT_EQ(cart.places[2].rank, 2u);
        EXPECT_EQ(cart.places[2].coordinates, (Coordinates{1, 0}));
        EXPECT_FALSE(has_note(profile, "grid"));
        EXPECT_EQ(GridPlaces(profile).name_of(3), "3 (3)");
    }
}

TEST(Grids, TheOneDescribedFirstComesFirst) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 2; ++rank) {
        files.push_back(rank_file(rank, 2));
        files.back().add_grid("first", {1, 2}, 0, {0, rank});
        files.back().add_grid("second", {2}, 0, {rank});
    }
    const Profile profile = profile_of(files);
    ASSERT_EQ(profile.grids.size(), 2u);
    EXPECT_EQ(profile.grids[0].name, "first");
    EXPECT_EQ(GridPlaces(profile).name_of(1), "1 (0,1)");
    EXPECT_EQ(GridPlaces(profile).name_of(7), "7");
}

TEST(Grids, ContradictionsAreSaidAndNameNoRank) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 4; ++rank) {
        files.push_back(rank_file(rank, 4));
        if (rank != 3) files.back().add_grid("cart", {2, 2}, 0, {rank / 2, rank % 2});
    }
    files[3].add_grid("cart", {4, 1}, 1, {3, 0});
    files[0].add_grid("pair", {2}, 0, {0});
    files[1].add_grid("pair", {2}, 0, {1});
    const Profile profile = profile_of(files);
    EXPECT_TRUE(has_note(profile,
                         "grid cart is described in 2 ways (2 x 2 by ranks 0, 1 and 2; "
                         "4 (periodic) x 1 by rank 3)"));
    EXPECT_EQ(GridPlaces(profile).grid()->name, "pair");
    EXPECT_EQ(GridPlaces(profile).name_of(3), "3");
}

// Communicators of MPI_Cart_create: several shapes are no contradiction, and the program's own
// grids come first.
TEST(Grids, ThoseOfMpiComeLast) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 4; ++rank) {
        files.push_back(rank_file(rank, 4));
        files.back().add_grid("MPI_Cart_create", {2, 2}, 2 | kGridByMpi, {rank / 2, rank % 2});
        files.back().add_grid("MPI_Cart_create", {4}, kGridByMpi, {0});
        if (rank < 2) files.back().add_grid("pair", {2}, 0, {rank});
    }
    Profile profile = profile_of(files);
    ASSERT_EQ(profile.grids.size(), 3u);
    EXPECT_EQ(profile.grids[0].name, "pair");
    EXPECT_FALSE(profile.grids[0].by_mpi);
    EXPECT_TRUE(profile.grids[1].by_mpi);
    EXPECT_EQ(profile.grids[1].sizes, (Coordinates{2, 2}));
    EXPECT_EQ(profile.grids[1].periodic, (std::vector<bool>{false, true}));
    EXPECT_FALSE(has_note(profile, "grid"));
    EXPECT_EQ(GridPlaces(profile).name_of(3), "3");
    profile.grids.erase(profile.grids.begin());
    EXPECT_EQ(GridPlaces(profile).name_of(3), "3 (1,1)");
}

TEST(Grids, TwoRanksAtOnePlaceAreSaid) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 3; ++rank) {
        files.push_back(rank_file(rank, 3));
        files.back().add_grid("ring", {3}, 1, {rank == 2 ? 1 : rank});
    }
    const Profile profile = profile_of(files);
    EXPECT_TRUE(has_note(profile, "ranks 1 and 2 are both at the same place in grid ring"));
    EXPECT_EQ(GridPlaces(profile).grid(), nullptr);
}

TEST(Grids, DamagedOnesAreLeftOut) {
    const auto grids_after = [](auto damage) {
        RecordFile file = rank_file(0, 1);
        const CellIndex cell = file.add_grid("cart", {2, 3}, 3, {1, 2});
        damage(&file, &file.at<GridRecord>(cell), cell);
        Merged merged;
        add(file, &merged);
        EXPECT_TRUE(is_well_formed(merged));
        return merged.grids.size();
    };
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord*, CellIndex) {}), 1u);
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord* g, CellIndex) { g->dimensions = 0; }), 0u);
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord* g, CellIndex) { g->dimensions = 7; }), 0u);
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord* g, CellIndex) { g->size[1] = 2; }), 0u);
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord* g, CellIndex) { g->coordinate[0] = -1; }),
              0u);
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord* g, CellIndex c) { g->next = c; }), 1u);
    EXPECT_EQ(grids_after([](RecordFile*, GridRecord* g, CellIndex) { g->next = 0xffffff; }), 1u);
    EXPECT_EQ(grids_after([](RecordFile* f, GridRecord*, CellIndex) {
                  f->header().first_grid = 0xfffffff;
              }),
              0u);
}

TEST(Grids, PlacesPastTheRowLimitAreDroppedAndSaid) {
    for (const uint32_t row_limit : {49u, 50u}) {
        Merged merged;
        merged.row_limit = row_limit;
        for (int rank = 0; rank < 50; ++rank) {
            RecordFile file = rank_file(rank, 50);
            file.add_grid("cart", {5, 10}, 0, {rank / 10, rank % 10});
            add(file, &merged);
        }
        const bool dropped = row_limit == 49;
        EXPECT_EQ(merged.places.size(), dropped ? 0u : 50u);
        EXPECT_EQ((merged.flags & kMergedPlacesDropped) != 0, dropped);
        EXPECT_TRUE(is_well_formed(merged));
        const Profile profile = build_profile(merged);
        EXPECT_EQ(profile.grids[0].ranks, 50u);
        EXPECT_EQ(GridPlaces(profile).name_of(11), dropped ? "11" : "11 (1,1)");
        EXPECT_EQ(has_note(profile, "where each rank is in its grids is not kept"), dropped);
    }
}

// One grid for each rank: their number is limited, as that of names is.
TEST(Grids, ManyDifferentOnesAreBounded) {
    Merged merged;
    for (int rank = 0; rank < 100; ++rank) {
        RecordFile file = rank_file(rank, 100);
        file.add_grid("of rank " + std::to_string(rank), {1}, 0, {0});
        add(file, &merged);
    }
    EXPECT_EQ(merged.grids.size(), kGridLimit);
    EXPECT_EQ(merged.places.size(), kGridLimit);
    EXPECT_TRUE(is_well_formed(merged));
    EXPECT_TRUE(has_note(build_profile(merged), "more than 64 different grids"));
}

// 100 000 ranks: a rank costs 32 bytes in the merge, and about as much in profile.json.
TEST(Grids, LargeJobsStaySmall) {
    constexpr uint32_t kRanks = 100'000;
    EXPECT_EQ(sizeof(MergedPlace), 32u);
    Profile profile;
    ProfileGrid grid{"cart", false, {100, 1000}, {false, false}, kRanks, {}};
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const auto number = static_cast<int32_t>(rank);
        grid.places.push_back({rank, {number / 1000, number % 1000}});
    }
    const size_t without = write_profile_json(profile).size();
    profile.grids.push_back(grid);
    EXPECT_LT(write_profile_json(profile).size() - without, 20 * size_t{kRanks});
    EXPECT_EQ(GridPlaces(profile).name_of(99'999), "99999 (99,999)");
}

TEST(Phases, NumbersOfRanksAndThreads) {
    std::vector<RecordFile> files;
    for (int rank = 0; rank < 3; ++rank) {
        RecordFile file(rank, 3);
        for (uint32_t thread = 0; thread < 2; ++thread) {
            const CellIndex root = file.add_thread(thread, {1, 1000, 1000, 1000});
            // The last number of rank 2's first thread is 7, of its second 8, of all others 9.
            const uint64_t last = rank == 2 ? 7 + thread : 9;
            file.add_phase(root, "step", 3 + thread, last, {5, 500, 50, 200});
            file.add_phase(root, "setup", 0, 0, {1, 100, 100, 100});
            file.add_named(root, SiteKind::kBlock, "block", {1, 10, 10, 10});
        }
        files.push_back(file);
    }
    for (const bool backwards : {false, true}) {
        if (backwards) std::reverse(files.begin(), files.end());
        const Profile profile = profile_of(files);
        const ProfileNode& step = profile.nodes[child(profile, 0, SiteKind::kBlock, "step")];
        EXPECT_EQ(step.labels, static_cast<uint32_t>(kLabelProbed | kLabelPhase));
        EXPECT_EQ(step.totals.count, 30u);
        EXPECT_EQ(step.totals.iterations, 0u) << "those of loops";
        EXPECT_TRUE(step.phase.known);
        EXPECT_EQ(step.phase.first, 3u);
        EXPECT_EQ(step.phase.last, 9u);
        EXPECT_EQ(step.phase.last_behind, 8u);
        EXPECT_EQ(step.phase.rank_behind, 2u);
        const ProfileNode& setup = profile.nodes[child(profile, 0, SiteKind::kBlock, "setup")];
        EXPECT_NE(setup.labels & kLabelPhase, 0u);
        EXPECT_FALSE(setup.phase.known) << "only zeros were given";
        const ProfileNode& block = profile.nodes[child(profile, 0, SiteKind::kBlock, "block")];
        EXPECT_EQ(block.labels, static_cast<uint32_t>(kLabelProbed));
    }
}

ProfileGrid square(int32_t side) {
    ProfileGrid grid{"square", false, {side, side}, {false, false}, 0, {}};
    for (int32_t rank = 0; rank < side * side; ++rank) {
        grid.places.push_back({static_cast<uint32_t>(rank), {rank / side, rank % side}});
    }
    grid.ranks = static_cast<uint32_t>(grid.places.size());
    return grid;
}

TEST(GridTrend, ARowThatTakesLonger) {
    const ProfileGrid grid = square(4);
    std::vector<double> values;
    for (int rank = 0; rank < 16; ++rank) {
        const double noise = rank % 3;  // 0, 1 or 2
        values.push_back((rank % 4 == 2 ? 20 : 10) + noise);
    }
    const auto trend = grid_trend(grid, values);
    ASSERT_TRUE(trend.has_value());
    EXPECT_EQ(trend->dimension, 1u);
    EXPECT_EQ(trend->most, 2);
    // Ranks 2, 6, 10, 14: noise 2, 0, 1, 2.
    EXPECT_DOUBLE_EQ(trend->most_mean, 21.25);
    // Ranks 0, 4, 8, 12: 0, 1, 2, 0; ranks 1, 5, 9, 13: 1, 2, 0, 1; ranks 3, 7, 11, 15: 0, 1, 2, 0.
    EXPECT_EQ(trend->least, 0);
    EXPECT_DOUBLE_EQ(trend->least_mean, 10.75);
}

TEST(GridTrend, SilentWhereChanceExplainsIt) {
    // Two of four ranks are slow: one of the three ways to pair them is by row.
    EXPECT_FALSE(grid_trend(square(2), {10, 10, 20, 20}).has_value());
    // One slow rank makes its row and its column slow, but neither explains it.
    std::vector<double> one(16, 10);
    one[5] = 100;
    EXPECT_FALSE(grid_trend(square(4), one).has_value());
    EXPECT_FALSE(grid_trend(square(4), std::vector<double>(16, 10)).has_value());
    EXPECT_FALSE(grid_trend(square(4), {}).has_value());
}

// Noise alone: about one of a hundred grids has a trend by chance.
TEST(GridTrend, NoiseHasNone) {
    std::mt19937 random(7);
    std::normal_distribution<double> noise(100, 10);
    const ProfileGrid grid = square(4);
    int found = 0;
    for (int round = 0; round < 200; ++round) {
        std::vector<double> values;
        for (int rank = 0; rank < 16; ++rank) values.push_back(noise(random));
        found += grid_trend(grid, values).has_value() ? 1 : 0;
    }
    EXPECT_LE(found, 8);  // 2 are expected; more than 8 has a probability below 1 in 5000
}

}  // namespace
}  // namespace dwell
