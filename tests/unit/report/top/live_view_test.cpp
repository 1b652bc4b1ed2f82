// Readings of a job whose files change: right, never falling, and at the end those of its profile.
#include "report/top/live_view.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "summarize/merge/figures.h"
#include "summarize/profile/blocked_estimate.h"
#include "tests/unit/report/top/job_files.h"

namespace dwell {
namespace {

LiveView opened(const JobFiles& files) {
    tl::expected<LiveView, std::string> view = LiveView::open(files.directory());
    EXPECT_TRUE(view.has_value()) << view.error();
    return std::move(*view);
}

// The node of that MPI function.
uint32_t node_of(const LiveSnapshot& snapshot, const std::string& name) {
    const std::vector<ProfileNode>& nodes = snapshot.profile->nodes;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
        if (nodes[i].name == name) return i;
    }
    ADD_FAILURE() << "no " << name;
    return 0;
}

const LiveNode& at(const LiveSnapshot& snapshot, const std::string& name) {
    return snapshot.nodes[node_of(snapshot, name)];
}

TEST(LiveView, ReadsWhatRanksCount) {
    JobFiles files;
    Stepping ranks[] = {Stepping(0), Stepping(1)};
    files.write(0, ranks[0].file);
    files.write(1, ranks[1].file);
    LiveView view = opened(files);
    const LiveSnapshot& first = view.read();
    EXPECT_FALSE(first.is_final);
    EXPECT_EQ(at(first, "MPI_Send").totals.count, 8u);
    EXPECT_EQ(at(first, "MPI_Send").totals.bytes_sent, 8192u);
    EXPECT_EQ(at(first, "MPI_Allreduce").totals.time_ns, 1800u);
    EXPECT_EQ(at(first, "MPI_Allreduce").totals.sync_ns, 1400u);
    EXPECT_EQ(first.sums.total_ns, 2 * (100u + 900 + 500 + 300));
    EXPECT_EQ(first.sums.computation_ns, 1600u);
    EXPECT_EQ(first.sums.blocked_ns, 1400u);
    EXPECT_EQ(first.sums.transfer_ns, 600u);

    files.at<Node>(1, ranks[1].send).count += 2;
    files.at<Node>(1, ranks[1].send).ticks += 50;
    const LiveSnapshot& second = view.read();
    EXPECT_EQ(at(second, "MPI_Send").totals.count, 10u);
    EXPECT_EQ(at(second, "MPI_Send").totals.time_ns, 250u);
    EXPECT_EQ(second.sums.total_ns, 3650u);
}

TEST(LiveView, ShowsOneRankAndTheSumsOfEach) {
    JobFiles files;
    Stepping ranks[] = {Stepping(0), Stepping(1)};
    files.write(0, ranks[0].file);
    ranks[1].file.at<Node>(ranks[1].send).ticks = 150;
    files.write(1, ranks[1].file);
    LiveView view = opened(files);
    const LiveSnapshot& all = view.read(kAllRanks, true);
    ASSERT_EQ(all.ranks.size(), 2u);
    EXPECT_EQ(all.ranks[0].sums.total_ns, 1800u);
    EXPECT_EQ(all.ranks[1].sums.total_ns, 1850u);
    EXPECT_EQ(all.ranks[1].sums.transfer_ns, 350u);
    EXPECT_EQ(at(all, "MPI_Send").totals.time_ns, 250u);
    const LiveSnapshot& one = view.read(1);
    EXPECT_EQ(at(one, "MPI_Send").totals.time_ns, 150u);
    EXPECT_EQ(one.sums.total_ns, 1850u);
}

TEST(LiveView, FindsNewPathsAndNewRanks) {
    JobFiles files;
    Stepping one(0);
    files.write(0, one.file);
    LiveView view = opened(files);
    const uint32_t id = at(view.read(), "MPI_Allreduce").id;
    const CellIndex wait =
        one.file.add_communication(one.call, 1, 0x40, "MPI_Barrier", {1, 70, 70, 70});
    EXPECT_NE(wait, 0u);
    files.write(0, one.file);
    files.write(1, Stepping(1).file);
    const LiveSnapshot& snapshot = view.read();
    EXPECT_EQ(at(snapshot, "MPI_Barrier").totals.time_ns, 70u);
    EXPECT_EQ(at(snapshot, "MPI_Send").totals.count, 8u);
    EXPECT_EQ(snapshot.ranks.size(), 2u);
    EXPECT_EQ(at(snapshot, "MPI_Allreduce").id, id);
}

TEST(LiveView, ShowsOpenTimeApart) {
    JobFiles files;
    Stepping one(0, 1);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    const int64_t now_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
    FileHeader& header = one.file.header();
    header.start_ticks = 0;
    header.start_unix_ns = now_ns - 10'000'000'000;
    ThreadRecord& thread = one.file.last_thread();
    thread.last_ticks = 3'000'000'000;
    thread.open_depth = 1;
    thread.open.node = one.meet;
    thread.open.entry_ticks = 4'000'000'000;  // 6 s ago
    files.write(0, one.file);
    LiveView view = opened(files);
    const LiveSnapshot& snapshot = view.read();
    EXPECT_NEAR(static_cast<double>(at(snapshot, "MPI_Allreduce").open_ns), 6e9, 5e8);
    EXPECT_EQ(at(snapshot, "MPI_Allreduce").totals.time_ns, 900u);
    EXPECT_EQ(at(snapshot, "MPI_Send").open_ns, 0u);
    // And what it computed before, which no record holds yet.
    EXPECT_NEAR(static_cast<double>(snapshot.nodes[0].open_ns), 7e9, 5e8);
    ASSERT_EQ(snapshot.positions.threads.size(), 1u);
    EXPECT_TRUE(snapshot.positions.threads[0].is_in_call);

    // An entry in the future, from torn readings, is no time.
    files.at<ThreadRecord>(0, header.first_thread).open.entry_ticks = 20'000'000'000;
    EXPECT_EQ(at(view.read(), "MPI_Allreduce").open_ns, 0u);
}

TEST(LiveView, BeginsAnewAfterAReset) {
    JobFiles files;
    Stepping one(0, 1);
    files.write(0, one.file);
    LiveView view = opened(files);
    EXPECT_EQ(view.read().resets, 0u);
    // Nodes are cleared before the thread says so: until then the counts stand.
    files.header(0).reset_ticks = 4000;
    EXPECT_EQ(view.read().resets, 1u);
    files.at<Node>(0, one.send).count = 0;
    files.at<Node>(0, one.send).ticks = 0;
    const LiveSnapshot& half = view.read();
    EXPECT_EQ(at(half, "MPI_Send").totals.count, 4u);
    files.at<Node>(0, one.meet).count = 1;
    files.at<ThreadRecord>(0, one.file.header().first_thread).start_ticks = 4000;
    const LiveSnapshot& whole = view.read();
    EXPECT_EQ(whole.resets, 2u);
    EXPECT_EQ(at(whole, "MPI_Send").totals.count, 0u);
    EXPECT_EQ(at(whole, "MPI_Allreduce").totals.count, 1u);
}

// All figures that are sums, of every node and of the job.
void expect_no_less(const LiveSnapshot& now, const LiveSnapshot& before) {
    const std::vector<LiveNode>& nodes = before.nodes;
    ASSERT_EQ(now.nodes.size(), nodes.size());
    for (size_t i = 0; i < nodes.size(); ++i) {
        for (const Figure& figure : kFigures) {
            if (figure.combine != Combine::kSum) continue;
            ASSERT_GE(now.nodes[i].totals.*figure.value, nodes[i].totals.*figure.value)
                << figure.name << " of node " << i;
        }
        ASSERT_GE(now.nodes[i].computation_ns, nodes[i].computation_ns);
    }
    for (const TimeSum& sum : kTimeSums) {
        ASSERT_GE(now.sums.*sum.value, before.sums.*sum.value) << sum.name;
    }
}

// A rank stores its figures one after the other, as leave() does, while they are read.
TEST(LiveView, NeverFallsWhileRanksCount) {
    JobFiles files;
    Stepping one(0, 1);
    files.write(0, one.file);
    LiveView view = opened(files);
    std::atomic<bool> ends{false};
    std::thread rank([&] {
        volatile auto* meet = &files.at<Node>(0, one.meet);
        volatile auto* part = &files.at<CommPart>(0, one.file.at<Node>(one.meet).part);
        volatile auto* interval = &files.at<Node>(0, one.before_meet);
        while (!ends) {
            part->sync_ticks = part->sync_ticks + 90;
            interval->count = interval->count + 1;
            interval->ticks = interval->ticks + 7;
            meet->count = meet->count + 1;
            meet->ticks = meet->ticks + 100;
        }
    });
    view.read();
    for (int i = 0; i < 300 && !::testing::Test::HasFatalFailure(); ++i) {
        const LiveSnapshot before = view.read();
        const LiveSnapshot& now = view.read();
        expect_no_less(now, before);
        const Totals& totals = at(now, "MPI_Allreduce").totals;
        EXPECT_LE(totals.sync_ns, totals.time_ns);
    }
    ends = true;
    rank.join();
}

TEST(LiveView, EndsAsItsProfile) {
    JobFiles files;
    Stepping ranks[] = {Stepping(0), Stepping(1)};
    for (int i = 0; i < 2; ++i) files.write(i, ranks[i].file);
    LiveView view = opened(files);
    view.read();
    Merged merged;
    for (int i = 0; i < 2; ++i) {
        files.at<Node>(i, ranks[i].send).ticks = 1'000'000'000 + i;
        files.header(i).state = FileState::kFinalized;
        files.header(i).end_ticks = 2'000'000'000;
        ASSERT_TRUE(add_record_file(&merged, &files.header(i), ranks[i].file.bytes()));
        std::filesystem::remove(files.path(i));  // as after the merge
    }
    std::filesystem::remove(files.directory());
    estimate_blocked(&merged);
    const Profile profile = build_profile(merged);
    const LiveSnapshot& last = view.read(kAllRanks, true);
    EXPECT_TRUE(last.is_final);
    EXPECT_TRUE(last.ended_well);
    ASSERT_EQ(last.nodes.size(), profile.nodes.size());
    for (size_t i = 0; i < profile.nodes.size(); ++i) {
        EXPECT_EQ(last.profile->nodes[i].name, profile.nodes[i].name);
        for (const Figure& figure : kFigures) {
            EXPECT_EQ(last.nodes[i].totals.*figure.value, profile.nodes[i].totals.*figure.value);
        }
        EXPECT_EQ(last.nodes[i].computation_ns, profile.nodes[i].computation_ns);
        EXPECT_EQ(last.nodes[i].open_ns, 0u);
    }
    EXPECT_EQ(last.sums.total_ns, profile.total_ns);
    EXPECT_EQ(last.sums.transfer_ns, profile.transfer_ns);
    EXPECT_EQ(last.ranks[0].sums.total_ns + last.ranks[1].sums.total_ns, profile.total_ns);
    EXPECT_EQ(view.read(1).sums.total_ns, last.ranks[1].sums.total_ns);
}

TEST(LiveView, SaysThatADeadJobHasNotEndedWell) {
    JobFiles files;
    Stepping one(0, 1);
    one.file.header().pid = 0x7ffffffe;  // no such process
    files.write(0, one.file);
    LiveView view = opened(files);
    const LiveSnapshot& last = view.read();
    EXPECT_TRUE(last.is_final);
    EXPECT_FALSE(last.ended_well);
    EXPECT_EQ(at(last, "MPI_Send").totals.count, 4u);
}

// A process of a container, whose ids mean nothing here, runs as long as its file says so.
TEST(LiveView, AJobOfAnotherNamespaceRuns) {
    JobFiles files;
    Stepping one(0, 1);
    one.file.header().pid = 0x7ffffffe;
    one.file.header().pid_namespace = 1;
    files.write(0, one.file);
    LiveView view = opened(files);
    view.read();
    EXPECT_FALSE(view.read().is_final);
}

TEST(LiveView, LeavesOutWhatItCannotRead) {
    JobFiles files;
    Stepping one(0);
    files.write(0, one.file);
    Stepping old(1);
    old.file.header().version = kRecordLayoutVersion - 1;
    files.write(1, old.file);
    LiveView view = opened(files);
    EXPECT_EQ(view.read().left_out, 1u);
    std::filesystem::remove(files.path(0));
    const auto none = LiveView::open(files.directory());
    ASSERT_FALSE(none.has_value());
    EXPECT_NE(none.error().find("records of another version"), std::string::npos);
    EXPECT_FALSE(LiveView::open("/nowhere").has_value());
}

}  // namespace
}  // namespace dwell
