// Snapshots of a host: what is read is what was written, and no content breaks the reader.
#include "report/live/snapshot.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "runtime/process/clock.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

class Snapshot : public testing::Test {
  protected:
    Snapshot() {
        char name[] = "/tmp/snapshot-XXXXXX";
        profile_ = mkdtemp(name);
        RecordFile file(0, 2);
        file.add_module(1, "/home/u/app", std::string(20, 'b'));
        const CellIndex root = file.add_thread(0, {});
        const CellIndex node = file.add_communication(root, 1, 0x200, "MPI_Recv", {});
        file.open_call(node, 5, 100, 1, 7);
        EXPECT_TRUE(add_record_file(&merged_, file.data(), file.bytes()));
        EXPECT_EQ(merged_.open.size(), 1u);
    }
    ~Snapshot() override { std::filesystem::remove_all(profile_); }

    // As it is read again, one second after it was taken.
    tl::expected<Snapshots, std::string> read() {
        constexpr int64_t kSecond_ns = 1'000'000'000;
        const Outcome written =
            write_snapshot(snapshot_file(profile_, "left"), merged_, unix_ns() - kSecond_ns);
        EXPECT_TRUE(written.has_value());
        return read_snapshots(profile_);
    }

    std::string profile_;
    Merged merged_;
};

TEST_F(Snapshot, IsReadAsItWasWritten) {
    const int64_t since = merged_.open[0].since_unix_ns;
    merged_.open[0].end_unix_ns = since + 7;
    const auto taken = read();
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->left_out, 0u);
    ASSERT_EQ(taken->merged.open.size(), 1u);
    const MergedOpen& open = taken->merged.open[0];
    EXPECT_EQ(open.tag, 7);
    // Times move with its age, all alike.
    EXPECT_EQ(open.since_unix_ns, since + taken->age_ns.at("left"));
    EXPECT_EQ(open.end_unix_ns, open.since_unix_ns + 7);
    EXPECT_GE(taken->age_ns.at("left"), 1'000'000'000);
}

TEST_F(Snapshot, ChangesItsStampWhenItIsReplaced) {
    ASSERT_TRUE(read().has_value());
    const std::string before = snapshots_stamp(profile_);
    EXPECT_EQ(snapshots_stamp(profile_), before);
    ASSERT_TRUE(read().has_value());
    EXPECT_NE(snapshots_stamp(profile_), before);
}

TEST_F(Snapshot, OfACallWithoutAStatementIsLeftOut) {
    merged_.open[0].statement = kNoNode;
    EXPECT_FALSE(read().has_value());
}

TEST_F(Snapshot, OfANodeThatIsNotThereIsLeftOut) {
    merged_.open[0].node = static_cast<uint32_t>(merged_.nodes.size());
    EXPECT_FALSE(read().has_value());
}

TEST_F(Snapshot, ThatIsCutIsLeftOut) {
    ASSERT_TRUE(read().has_value());
    const std::string path = snapshot_file(profile_, "left");
    for (const uint64_t bytes : {uint64_t{0}, uint64_t{40}, std::filesystem::file_size(path) - 1}) {
        std::filesystem::resize_file(path, bytes);
        EXPECT_FALSE(read_snapshots(profile_).has_value()) << bytes;
    }
}

}  // namespace
}  // namespace dwell
