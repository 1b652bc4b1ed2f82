// Tests checked writing: complete or unchanged files, failed writes, and visible control
// characters.
#include "report/console/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "runtime/contract/visible_text.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

class OutputTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "dwell-output-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
    }
    void TearDown() override { fs::remove_all(folder_); }
    size_t entries() const {
        return size_t(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
    }
    std::string folder_;
};

TEST_F(OutputTest, WritesAllAndLeavesNothingElse) {
    const std::string bytes(300'000, 'x');
    ASSERT_TRUE(write_file(folder_ + "/a", bytes));
    EXPECT_EQ(*read_whole_file(folder_ + "/a"), bytes);
    EXPECT_EQ(entries(), 1u);
}

TEST_F(OutputTest, AFullDeviceIsAnErrorThatNamesTheFile) {
    const int full = open("/dev/full", O_WRONLY);
    ASSERT_GE(full, 0);
    const Outcome written = write_all(full, "x", "the file");
    close(full);
    ASSERT_FALSE(written);
    EXPECT_EQ(written.error(), "the file not written: No space left on device");
}

TEST_F(OutputTest, ShortWritesGoOn) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    // A pipe takes 64 KiB at a time; the reader makes room in pieces.
    const std::string bytes(1'000'000, 'y');
    const pid_t reader = fork();
    if (reader == 0) {
        close(ends[1]);
        char buffer[10'000];
        size_t total = 0;
        for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) total += size_t(got);
        _exit(total == 1'000'000 ? 0 : 1);
    }
    close(ends[0]);
    EXPECT_TRUE(write_all(ends[1], bytes, "pipe"));
    close(ends[1]);
    int status = 0;
    waitpid(reader, &status, 0);
    EXPECT_EQ(status, 0);
}

TEST_F(OutputTest, AFailedReplacementLeavesTheFormerFile) {
    ASSERT_TRUE(write_file(folder_ + "/a", "former"));
    ASSERT_EQ(mkdir((folder_ + "/d").c_str(), 0755), 0);
    EXPECT_FALSE(write_file(folder_ + "/d", "a directory cannot be replaced"));
    EXPECT_FALSE(write_file(folder_ + "/missing/a", "x"));
    EXPECT_EQ(*read_whole_file(folder_ + "/a"), "former");
    EXPECT_EQ(entries(), 2u);
}

TEST_F(OutputTest, AFileThatIsThereStaysIfWanted) {
    bool taken = true;
    ASSERT_TRUE(write_file(folder_ + "/a", "first", 0644, &taken));
    EXPECT_FALSE(taken);
    ASSERT_TRUE(write_file(folder_ + "/a", "second", 0644, &taken));
    EXPECT_TRUE(taken);
    EXPECT_EQ(*read_whole_file(folder_ + "/a"), "first");
    EXPECT_EQ(entries(), 1u);
}

// ECMA-48: C0 is 00 to 1f, C1 80 to 9f, which UTF-8 writes as c2 80 to c2 9f.
TEST(VisibleText, ShowsWhatATerminalWouldObey) {
    const auto visible = [](const char* text, size_t size) {
        char out[64];
        copy_visible(out, size, text);
        return std::string(out);
    };
    EXPECT_EQ(visible("caf\xc3\xa9 \xc2\xa0", 64), "caf\xc3\xa9 \xc2\xa0");
    EXPECT_EQ(visible("a\x1b[1m\n\t\x7f", 64), "a\\x1b[1m\\n\\t\\x7f");
    EXPECT_EQ(visible("\xc2\x9b", 64), "\\xc2\\x9b");
    EXPECT_EQ(visible("12345678", 8), "1234");
    EXPECT_EQ(visible("\xc2", 64), "\xc2");
}

TEST_F(OutputTest, MovingRemovesTheOriginalOnlyAtTheEnd) {
    ASSERT_TRUE(write_file(folder_ + "/a", "content"));
    EXPECT_FALSE(move_file(folder_ + "/a", folder_ + "/missing/b"));
    EXPECT_EQ(*read_whole_file(folder_ + "/a"), "content");
    ASSERT_TRUE(move_file(folder_ + "/a", folder_ + "/b"));
    EXPECT_EQ(*read_whole_file(folder_ + "/b"), "content");
    EXPECT_FALSE(fs::exists(folder_ + "/a"));
}

TEST_F(OutputTest, TemporaryFilesGoWhenNobodyHasWrittenForAMinute) {
    for (const time_t age_s : {50, 70}) {
        ASSERT_TRUE(write_file(folder_ + "/a.aB3xyZ", "half"));
        const timespec then{time(nullptr) - age_s, 0};
        const timespec times[] = {then, then};
        ASSERT_EQ(utimensat(AT_FDCWD, (folder_ + "/a.aB3xyZ").c_str(), times, 0), 0);
        remove_interrupted(folder_ + "/a.aB3xyZ");
        EXPECT_EQ(fs::exists(folder_ + "/a.aB3xyZ"), age_s < 60);
    }
}

TEST_F(OutputTest, ACopyIsChangedBeforeItHasItsName) {
    ASSERT_TRUE(write_file(folder_ + "/a", "content"));
    const auto change = [&](int file) {
        EXPECT_FALSE(fs::exists(folder_ + "/b"));
        EXPECT_EQ(pwrite(file, "C", 1, 0), 1);
        return Outcome{};
    };
    ASSERT_TRUE(copy_file(folder_ + "/a", folder_ + "/b", change));
    EXPECT_EQ(*read_whole_file(folder_ + "/b"), "Content");
    ASSERT_TRUE(write_file(folder_ + "/b", "moved"));
    ASSERT_TRUE(copy_file(folder_ + "/a", folder_ + "/b", [](int) { return Outcome{}; }));
    EXPECT_EQ(*read_whole_file(folder_ + "/b"), "moved");
    EXPECT_EQ(entries(), 2u);
}

TEST_F(OutputTest, DirectoriesAreMadeAllTheWay) {
    EXPECT_TRUE(make_directories(folder_ + "/x/y/z"));
    EXPECT_TRUE(make_directories(folder_ + "/x/y/z"));
    ASSERT_TRUE(write_file(folder_ + "/file", ""));
    EXPECT_FALSE(make_directories(folder_ + "/file"));
    EXPECT_FALSE(make_directories(folder_ + "/file/below"));
}

}  // namespace
}  // namespace dwell
