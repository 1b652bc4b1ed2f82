// Tests that records of dead processes are kept once, whatever other processes of the job do
// meanwhile.
#include "report/results/crash_recovery.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "report/results/unfinished.h"
#include "runtime/contract/record_layout.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

class CrashRecovery : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "dwell-rescue-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        setenv("DWELL_RECORD_DIR", folder_.c_str(), 1);
    }
    void TearDown() override {
        unsetenv("DWELL_RECORD_DIR");
        fs::remove_all(folder_);
    }
    // Leaves records of processes that became other programs, or ended in MPI_Init, before anything
    // was counted.
    void leave_records_of_nothing(int ranks) const {
        FileHeader header{};
        header.magic = kRecordMagic;
        header.version = kRecordLayoutVersion;
        const std::string directory = folder_ + "/dwell-" + std::to_string(getuid()) + "-job";
        fs::create_directory(directory);
        for (int rank = 0; rank < ranks; ++rank) {
            header.flags = rank % 2 == 0 ? kFileReplaced : kFileInInit;
            std::ofstream file(directory + "/rank." + std::to_string(rank), std::ios::binary);
            file.write(reinterpret_cast<const char*>(&header), sizeof header);
        }
    }
    // The record of a process that runs.
    void leave_record(int rank, FileState state = FileState::kRunning) const {
        FileHeader header{};
        header.magic = kRecordMagic;
        header.version = kRecordLayoutVersion;
        header.state = state;
        header.pid = getpid();
        strcpy(header.job, "job");
        const std::string directory = folder_ + "/dwell-" + std::to_string(getuid()) + "-job";
        fs::create_directory(directory);
        std::ofstream file(directory + "/rank." + std::to_string(rank), std::ios::binary);
        file.write(reinterpret_cast<const char*>(&header), sizeof header);
        fs::create_symlink("job", directory + "/told");  // another process prints
    }
    Recovery rescue_of(int rank) const {
        Recovery rescue;
        rescue.job = "job";
        rescue.own_rank = rank;
        rescue.out_directory = folder_ + "/out";
        return rescue;
    }
    // A process that reports for one rank; exits with 0 when it kept no records.
    pid_t parent_of(int rank) const {
        const pid_t pid = fork();
        if (pid != 0) return pid;
        Recovery rescue;
        rescue.job = "job";
        rescue.own_rank = rank;
        rescue.out_directory = folder_ + "/out";
        rescue.program = "app";
        rescue.what_happened = "app ended";
        _exit(recover_records(rescue) ? 1 : 0);
    }
    std::string folder_;
};

TEST_F(CrashRecovery, RecordsOfAnotherJobStay) {
    FileHeader header{};
    header.magic = kRecordMagic;
    strcpy(header.job, "earlier");
    fs::create_directory(folder_ + "/out");
    std::ofstream(folder_ + "/out/rank.0", std::ios::binary)
        .write(reinterpret_cast<const char*>(&header), sizeof header);
    EXPECT_EQ(choose_record_shelter(folder_ + "/out", "run", "earlier"), folder_ + "/out");
    EXPECT_EQ(choose_record_shelter(folder_ + "/out/", "run", "later"), folder_ + "/out.2");
}

// Hosts may share the directory of records: another process with this number may run on the other
// host.
TEST_F(CrashRecovery, RecordsOfAnotherHostStay) {
    const pid_t ended = fork();
    if (ended == 0) _exit(0);
    waitpid(ended, nullptr, 0);
    FileHeader header{};
    header.magic = kRecordMagic;
    header.version = kRecordLayoutVersion;
    header.flags = kFileInInit;
    header.pid = ended;
    const std::string directory = folder_ + "/dwell-" + std::to_string(getuid()) + "-job";
    for (const bool elsewhere : {true, false}) {
        memset(header.host, 0, sizeof header.host);
        gethostname(header.host, sizeof header.host - 1);
        if (elsewhere) strcpy(header.host, "another.host.example");
        fs::create_directory(directory);
        std::ofstream(directory + "/rank.0", std::ios::binary)
            .write(reinterpret_cast<const char*>(&header), sizeof header);
        name_unfinished_runs({});
        EXPECT_EQ(fs::exists(directory + "/rank.0"), elsewhere);
    }
}

TEST_F(CrashRecovery, CopiesGoWhenTheJobEndsWell) {
    for (const FileState state : {FileState::kRunning, FileState::kFinalized}) {
        leave_record(0, state);
        const SavedRecords saved = save_records(rescue_of(0));
        ASSERT_EQ(saved.copies, std::vector<std::string>{folder_ + "/out/rank.0"});
        remove_copies(saved, 60);
        EXPECT_FALSE(fs::exists(folder_ + "/out"));
        fs::remove_all(folder_ + "/dwell-" + std::to_string(getuid()) + "-job");
    }
}

TEST_F(CrashRecovery, NobodyWaitsLongForCopies) {
    SavedRecords saved;
    saved.copier = fork();
    if (saved.copier == 0) {
        for (;;) pause();
    }
    remove_copies(saved, 0);
    int status = 0;
    EXPECT_EQ(waitpid(saved.copier, &status, 0), saved.copier);
    EXPECT_TRUE(WIFSIGNALED(status));
}

// Another parent was faster than the copy.
TEST_F(CrashRecovery, ACopyReplacesNoRecord) {
    leave_record(0);
    const std::string job = folder_ + "/dwell-" + std::to_string(getuid()) + "-job";
    fs::create_directory(folder_ + "/out");
    fs::copy_file(job + "/rank.0", folder_ + "/out/rank.0");
    remove_copies(save_records(rescue_of(0)), 60);
    EXPECT_TRUE(fs::exists(folder_ + "/out/rank.0"));
}

// The parent of another rank moves all records of the dead.
TEST_F(CrashRecovery, RecordsThatWereMovedOverACopyStay) {
    leave_record(0);
    const SavedRecords saved = save_records(rescue_of(0));
    const std::string record = folder_ + "/dwell-" + std::to_string(getuid()) + "-job/rank.0";
    ASSERT_TRUE(move_file(record, folder_ + "/out/rank.0"));
    remove_copies(saved, 60);
    EXPECT_TRUE(fs::exists(folder_ + "/out/rank.0"));
}

TEST(Words, AreTypedWithTheEscapesOfALine) {
    EXPECT_EQ(word_to_type("a b"), "'a b'");
    EXPECT_EQ(word_to_type("a\x1b'\\"), "$'a\x1b\\'\\\\'");  // say() turns the one byte into \x1b
}

TEST_F(CrashRecovery, ParentsThatRemoveRecordsOfNothingAtOnceAreSilent) {
    constexpr int kRanks = 4;
    for (int round = 0; round < 200; ++round) {
        leave_records_of_nothing(kRanks);
        std::vector<pid_t> parents;
        for (int rank = 0; rank < kRanks; ++rank) parents.push_back(parent_of(rank));
        for (const pid_t parent : parents) {
            int status = 0;
            ASSERT_EQ(waitpid(parent, &status, 0), parent);
            EXPECT_EQ(status, 0) << "round " << round;
        }
        ASSERT_TRUE(fs::is_empty(folder_)) << "round " << round;
    }
}

}  // namespace
}  // namespace dwell
