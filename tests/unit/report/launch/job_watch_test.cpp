// Which of several `dwell run` watches a job.
#include "report/watch/job_watch.h"

#include "report/results/record_files.h"
#include "tests/unit/report/launch/job_on_disk.h"

namespace dwell {
namespace {

class JobWatchTest : public JobOnDisk {
  protected:
    void write_watched(int rank, pid_t watcher) {
        write(rank, [watcher](FileHeader* header) { header->watcher = watcher; });
    }
};

TEST_F(JobWatchTest, TheLowestRankWatches) {
    const Sleeper parent_of_1;
    write_watched(1, parent_of_1.pid());
    write_watched(2, getpid());
    EXPECT_EQ(watcher_of(directory_, 1), Watcher::kThis);
    EXPECT_EQ(watcher_of(directory_, 2), Watcher::kAnother);
    EXPECT_EQ(watcher_of(directory_, 3), Watcher::kAnother);
    EXPECT_EQ(watcher_of(directory_, -1), Watcher::kThis);
}

TEST_F(JobWatchTest, TheNextOneTakesOverFromAStoppedAndAKilledOne) {
    Sleeper parent_of_0;
    write_watched(0, parent_of_0.pid());
    write_watched(1, getpid());
    parent_of_0.stop();
    EXPECT_EQ(watcher_of(directory_, 1), Watcher::kThis);
    parent_of_0.end();
    EXPECT_EQ(watcher_of(directory_, 1), Watcher::kThis);
}

TEST_F(JobWatchTest, NobodyWatchesWithoutRecords) {
    EXPECT_EQ(watcher_of(directory_, 0), Watcher::kNobody);
    EXPECT_EQ(watcher_of(directory_, -1), Watcher::kNobody);
    write(0);
    EXPECT_EQ(watcher_of(directory_, 1), Watcher::kNobody);  // not seen by its parent so far
}

// The records go some time before the program ends.
TEST_F(JobWatchTest, WhoWatchedLastIsKnownAfterTheRecords) {
    write(0);
    int looks = 0;
    JobWatch watch(page_.get(), 0, [&](const std::string&, bool) {
        __atomic_fetch_add(&looks, 1, __ATOMIC_RELAXED);
    });
    watch.start(1);
    ASSERT_TRUE(comes_true([&] { return __atomic_load_n(&looks, __ATOMIC_RELAXED) > 0; }));
    unlink(path(0).c_str());
    // The last answer holds for a tenth of a second.
    int before = -1;
    ASSERT_TRUE(comes_true([&] {
        const int now = __atomic_load_n(&looks, __ATOMIC_RELAXED);
        usleep(200'000);
        const bool rests = now == before;
        before = now;
        return rests;
    }));
    watch.stop();
    EXPECT_EQ(watch.last_watchers(), (std::map{std::pair{directory_, Watcher::kThis}}));
}

TEST_F(JobWatchTest, ATakeOverIsSaidOnce) {
    Sleeper parent_of_0;
    write_watched(0, parent_of_0.pid());
    write(1);
    int looks = 0;
    int taken_over = 0;
    JobWatch watch(page_.get(), 1, [&](const std::string&, bool is_first) {
        if (is_first) taken_over += 1;
        __atomic_fetch_add(&looks, 1, __ATOMIC_RELEASE);
    });
    watch.start(1);
    usleep(100'000);
    EXPECT_EQ(__atomic_load_n(&looks, __ATOMIC_ACQUIRE), 0);
    parent_of_0.end();
    ASSERT_TRUE(comes_true([&] { return __atomic_load_n(&looks, __ATOMIC_ACQUIRE) > 3; }));
    watch.stop();
    EXPECT_EQ(taken_over, 1);
}

}  // namespace
}  // namespace dwell
