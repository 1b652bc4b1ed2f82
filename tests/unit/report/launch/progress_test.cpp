// What counts as progress of a job, from two readings.
#include "report/watch/progress.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/contract/mpi_calls.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {
namespace {

constexpr uint64_t kSecond_ns = 1'000'000'000;

// A thread that has received `received` messages, and tested `tests` times for one, in vain but for
// `found`. It computes, or is in the receive.
struct OneThread {
    uint64_t received = 5;
    uint64_t tests = 100;
    uint64_t found = 2;
    bool in_receive = false;
    std::optional<uint64_t> processor_ns = 0;
    bool is_visible = true;

    Progress progress() const {
        RecordFile file{0, 1};
        file.header().state = FileState::kRunning;
        file.header().pid_namespace = is_visible ? 0 : 1;  // no namespace has this inode
        file.add_module(1, "/bin/app", "id");
        const CellIndex root = file.add_thread(0, {});
        const CellIndex receive =
            file.add_communication(root, 1, 0x20, "MPI_Recv", {received, 50, 1, 10});
        file.histogram(receive).event_count[kRecvBlocked] = received;
        const CellIndex test = file.add_communication(root, 1, 0x30, "MPI_Test", {tests, 90, 1, 1});
        file.histogram(test).event_count[kRecvReady] = found;
        file.histogram(test).event_count[kRecvBlocked] = tests - found;
        ThreadRecord& thread = file.last_thread();
        thread.last_ticks = 1000;
        thread.open.node = in_receive ? receive : test;
        thread.open.entry_ticks = in_receive ? 2000 : 900;
        thread.open_depth = in_receive ? 1 : 0;
        Merged merged;
        EXPECT_TRUE(add_record_file(&merged, file.data(), file.bytes()));
        return progress_of(merged, [this](int32_t, int32_t) { return processor_ns; });
    }
};

bool moves(const OneThread& before, const OneThread& now) {
    return has_progress(before.progress(), now.progress(), kSecond_ns);
}

TEST(Progress, AFinishedCallIs) {
    EXPECT_FALSE(moves({}, {}));
    EXPECT_TRUE(moves({.received = 5}, {.received = 6}));
}

TEST(Progress, PollsThatFoundNothingAreNot) {
    const uint64_t spun_ns = kSecond_ns;
    EXPECT_FALSE(moves({.tests = 100}, {.tests = 1'000'000, .processor_ns = spun_ns}));
    EXPECT_TRUE(moves({.tests = 100, .found = 2}, {.tests = 200, .found = 3}));
}

// With 5000 polls in a second of processor time there is a fifth of a millisecond between two.
TEST(Progress, WhoPollsNowAndThenComputes) {
    EXPECT_TRUE(moves({.tests = 100}, {.tests = 5100, .processor_ns = kSecond_ns}));
}

TEST(Progress, ABusyProcessorIsOutsideOfCallsOnly) {
    EXPECT_TRUE(moves({}, {.processor_ns = kSecond_ns}));
    EXPECT_FALSE(moves({.in_receive = true}, {.in_receive = true, .processor_ns = kSecond_ns}));
    // Who waits for a file, or is stopped, uses none.
    EXPECT_FALSE(moves({}, {.processor_ns = kSecond_ns / 100}));
}

TEST(Progress, AThreadThatMayComputeIs) {
    EXPECT_TRUE(moves({}, {.processor_ns = std::nullopt}));
    EXPECT_TRUE(moves({.processor_ns = std::nullopt}, {}));
    EXPECT_FALSE(moves({.in_receive = true}, {.in_receive = true, .processor_ns = std::nullopt}));
    // Its process number belongs to another process here.
    EXPECT_TRUE(moves({.is_visible = false}, {.is_visible = false}));
}

TEST(Progress, AThreadThatHasEndedUsesNoProcessor) {
    const pid_t child = fork();
    if (child == 0) _exit(0);
    waitpid(child, nullptr, 0);
    EXPECT_EQ(processor_ns(child, child), 0u);
}

TEST(Progress, AThreadThatComesOrGoesIs) {
    const Progress one = OneThread{}.progress();
    EXPECT_TRUE(has_progress({}, one, kSecond_ns));
    EXPECT_TRUE(has_progress(one, {}, kSecond_ns));
}

}  // namespace
}  // namespace dwell
