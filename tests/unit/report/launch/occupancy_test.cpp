// How many ranks are where at once, from looks at known times.
#include "report/watch/occupancy.h"

#include "tests/unit/report/launch/job_on_disk.h"

namespace dwell {
namespace {

constexpr uint64_t kOneSecond_ns = 1'000'000'000;

using OccupancyTest = JobOnDisk;

// Two ranks for 2 s, then one for 1 s.
TEST_F(OccupancyTest, AKilledRankIsBusyUntilItsEndIsNoted) {
    write(0);
    write(1);
    Occupancy occupancy;
    occupancy.look(directory_, 10 * kOneSecond_ns);
    occupancy.look(directory_, 12 * kOneSecond_ns);
    write(1, [](FileHeader* header) { header->death_ticks = 1; });
    occupancy.look(directory_, 13 * kOneSecond_ns);
    EXPECT_EQ(occupancy.samples(), 2u);
    const std::string tables = occupancy.tables();
    EXPECT_NE(tables.find("NCPU STATISTIC, sampled: 2 samples at 100 Hz, host host0, in seconds\n"
                          "Routine\t1\t2\n"
                          "<no probe>\t1.000\t2.000\n"),
              std::string::npos)
        << tables;
    EXPECT_NE(tables.find("ROUTINE CONCURRENCY STATISTIC, sampled: 2 samples at 100 Hz, host host0,"
                          " in seconds\nRoutine\t1\t2\n<no probe>\t1.000\t2.000\n"),
              std::string::npos)
        << tables;
}

// Ranks do not begin at one time.
TEST_F(OccupancyTest, ARankThatComesLaterIsFoundSoon) {
    write(0);
    Occupancy occupancy;
    occupancy.look(directory_, 10 * kOneSecond_ns);
    write(1);
    occupancy.look(directory_, 10 * kOneSecond_ns + kOneSecond_ns / 8);
    const std::string tables = occupancy.tables();
    EXPECT_NE(tables.find("Routine\t1\t2\n<no probe>\t0.000\t0.125\n"), std::string::npos)
        << tables;
}

TEST_F(OccupancyTest, OneLookIsNoSample) {
    write(0);
    Occupancy occupancy;
    occupancy.look(directory_, 10 * kOneSecond_ns);
    EXPECT_EQ(occupancy.samples(), 0u);
}

}  // namespace
}  // namespace dwell
