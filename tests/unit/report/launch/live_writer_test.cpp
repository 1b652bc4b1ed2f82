// The snapshots of `dwell run --live`: what they say of ended processes, and what they leave.
#include "report/watch/live_writer.h"

#include <fstream>

#include "report/live/snapshot.h"
#include "tests/unit/report/launch/job_on_disk.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

class LiveWriterTest : public JobOnDisk {
  protected:
    void write_once(const std::string& out, const std::function<void()>& before_the_end) {
        write(0);
        LiveWriter writer(page_.get(), 0, 1, out);
        writer.start();
        // Nothing else is in the folder meanwhile.
        ASSERT_TRUE(comes_true([&] {
            std::error_code error;
            for (const auto& entry : fs::recursive_directory_iterator(folder_, error)) {
                if (entry.path().extension() == ".snapshot") return true;
            }
            return false;
        }));
        writer.stop();
        before_the_end();
        writer.clean_up();
    }
};

TEST_F(LiveWriterTest, ProcessesThatAreNotVisibleHaveNotEnded) {
    Sleeper gone;
    gone.end();
    Merged merged;
    for (int rank = 0; rank < 3; ++rank) {
        RecordFile file(rank, 3);
        file.header().state = FileState::kRunning;
        file.header().pid = rank == 0 ? getpid() : gone.pid();
        file.header().pid_namespace = rank == 2 ? 1 : 0;  // no namespace has this inode
        file.add_thread(0, {});
        file.last_thread().tid = file.header().pid;
        ASSERT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
    }
    note_ends(&merged, 42);
    ASSERT_EQ(merged.open.size(), 3u);
    for (const MergedOpen& open : merged.open) {
        EXPECT_EQ(open.has_ended, open.rank == 1);
        EXPECT_EQ(open.end_unix_ns, open.rank == 1 ? 42 : 0);
    }
}

// In the working directory, which is the test's.
TEST_F(LiveWriterTest, NothingStaysInTheDefaultDirectory) {
    const fs::path before = fs::current_path();
    fs::current_path(folder_);
    write_once("", [&] {
        ASSERT_TRUE(fs::exists(folder_ + "/dwell-app-job/live/host0.snapshot"));
        std::ofstream(folder_ + "/dwell-app-job/live/host0.snapshot.aB3xyZ") << "half";
    });
    EXPECT_FALSE(fs::exists(folder_ + "/dwell-app-job"));
    fs::current_path(before);
}

TEST_F(LiveWriterTest, SnapshotsOfOtherHostsAndTheUsersDirectoryStay) {
    const std::string out = folder_ + "/out";
    write_once(out, [&] { std::ofstream(out + "/live/host1.snapshot") << "x"; });
    EXPECT_FALSE(fs::exists(out + "/live/host0.snapshot"));
    EXPECT_TRUE(fs::exists(out + "/live/host1.snapshot"));
    fs::remove(out + "/live/host1.snapshot");
    write_once(out, [] {});
    EXPECT_TRUE(fs::is_empty(out));
}

TEST_F(LiveWriterTest, SaysItsPlaceIfItIsNotTheWantedOne) {
    const std::string out = folder_ + "/out";
    testing::internal::CaptureStderr();
    write_once(out + "/", [] {});
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    std::ofstream(out + "/profile.json") << R"({"name": "earlier"})";
    testing::internal::CaptureStderr();
    write_once(out, [] {});
    EXPECT_EQ(
        testing::internal::GetCapturedStderr(),
        "dwell: --live writes to " + out + ".2: " + out + " holds the profile of another run\n");
}

}  // namespace
}  // namespace dwell
