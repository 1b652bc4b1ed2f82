// Kernel events counted without PAPI, compared with pages that the test touches itself.
#include "runtime/measure/kernel_counters.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/contract/kernel_events.h"
#include "runtime/measure/counter_files.h"
#include "runtime/measure/usage.h"
#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kPages = 500;
constexpr uint64_t kSlack = 20;  // pages of the stack and of the C library

void touch_pages() {
    constexpr size_t kPageBytes = 4096;
    void* memory = mmap(nullptr, kPages * kPageBytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    madvise(memory, kPages * kPageBytes, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * kPageBytes] = 1;
    munmap(memory, kPages * kPageBytes);
}

class KernelCounters : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        works_ = add_kernel_event("perf::PAGE-FAULTS") && add_kernel_event("perf::TASK-CLOCK");
    }
    void SetUp() override {
        if (!works_) GTEST_SKIP() << "perf_event_open is not allowed here";
        source_ = kernel_source();
        ASSERT_EQ(source_.count, 2);
    }
    static bool works_;
    CounterSource source_{};
};
bool KernelCounters::works_ = false;

TEST(KernelEvents, NamesArePapis) {
    ASSERT_NE(find_kernel_event("perf::PAGE-FAULTS"), nullptr);
    EXPECT_EQ(find_kernel_event("perf::PAGE-FAULTS")->config, uint64_t{PERF_COUNT_SW_PAGE_FAULTS});
    EXPECT_EQ(find_kernel_event("perf::CYCLES"), nullptr);
    EXPECT_EQ(find_kernel_event("PAGE-FAULTS"), nullptr);
    EXPECT_FALSE(add_kernel_event("perf::CYCLES"));
}

TEST(KernelEvents, WhereTheyHappen) {
    EXPECT_EQ(happens_in_kernel("perf::CONTEXT-SWITCHES"), InKernel::kOnly);
    EXPECT_EQ(happens_in_kernel("perf::CPU-MIGRATIONS"), InKernel::kOnly);
    EXPECT_EQ(happens_in_kernel("perf::MAJOR-FAULTS"), InKernel::kAlso);
    EXPECT_EQ(happens_in_kernel("perf::TASK-CLOCK"), InKernel::kNo);
    EXPECT_EQ(happens_in_kernel("perf::PAGE-FAULTS:u=1"), InKernel::kNo);
    EXPECT_EQ(happens_in_kernel("PAPI_TOT_CYC"), InKernel::kNo);
}

TEST_F(KernelCounters, CountWhatTheThreadDoes) {
    void* set = source_.open();
    ASSERT_NE(set, nullptr);
    uint64_t before[kMetricLimit] = {};
    uint64_t after[kMetricLimit] = {};
    std::atomic<int> step{0};
    std::thread other([&step] {
        while (step != 1) std::this_thread::yield();
        touch_pages();
        step = 2;
    });
    ASSERT_TRUE(source_.read(set, before));
    step = 1;
    while (step != 2) std::this_thread::yield();
    touch_pages();
    ASSERT_TRUE(source_.read(set, after));
    other.join();
    EXPECT_GE(after[0] - before[0], kPages);
    // Sanitizers touch further memory.
    if (!DWELL_TEST_SANITIZED) {
        EXPECT_LE(after[0] - before[0], kPages + kSlack);
    }
    EXPECT_GT(after[1], before[1]);
    source_.close(set);
}

// Compared with the thread's processor time.
TEST_F(KernelCounters, AllCountFromTheBeginning) {
    const auto processor_ns = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
               static_cast<uint64_t>(time.tv_nsec);
    };
    for (int attempt = 0; attempt < 20; ++attempt) {
        void* set = source_.open();
        ASSERT_NE(set, nullptr);
        const uint64_t begin = processor_ns();
        uint64_t end = begin;
        while (end < begin + 1'000'000) end = processor_ns();
        uint64_t values[kMetricLimit] = {};
        EXPECT_TRUE(source_.read(set, values));
        EXPECT_GE(values[1], (end - begin) * 9 / 10);
        source_.close(set);
    }
}

TEST_F(KernelCounters, FilesOfTheProgramInTheirPlaceAreLeftAlone) {
    const int number = dup(STDERR_FILENO);
    ASSERT_GE(number, 0);
    close(number);  // the next opened file gets the number
    void* set = source_.open();
    ASSERT_NE(set, nullptr);
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    ASSERT_EQ(write(ends[1], "0123456789abcdef0123456789abcdef", 32), 32);
    ASSERT_EQ(dup2(ends[0], number), number);
    uint64_t values[kMetricLimit] = {};
    EXPECT_FALSE(source_.read(set, values));
    source_.close(set);
    EXPECT_NE(fcntl(number, F_GETFD), -1) << "the program's file was closed";
    char text[32];
    EXPECT_EQ(read(number, text, sizeof(text)), 32) << "the program's bytes were read";
    for (const int end : {number, ends[0], ends[1]}) close(end);
}

// A thousand readings of dwell, one of them inside its own work, and ten reads of a file by the
// program.
TEST_F(KernelCounters, ReadingThemIsNotTheProgramsInput) {
    FileHeader header{};
    FileHeader* const before = std::exchange(g_process.header, &header);
    void* set = source_.open();
    ASSERT_NE(set, nullptr);
    const int zero = open("/dev/zero", O_RDONLY);
    ASSERT_GE(zero, 0);
    reset_usage();
    uint64_t values[kMetricLimit] = {};
    {
        const OwnWork work;
        ASSERT_TRUE(source_.read(set, values));
    }
    for (int i = 0; i < 999; ++i) ASSERT_TRUE(source_.read(set, values));
    char bytes[100];
    for (int i = 0; i < 10; ++i) ASSERT_EQ(read(zero, bytes, sizeof(bytes)), 100);
    note_usage();
    close(zero);
    source_.close(set);
    g_process.header = before;
    if ((header.flags & kFileNoBytes) != 0) GTEST_SKIP() << "/proc/self/io cannot be read";
    EXPECT_EQ(header.usage.reads, 10u);
    EXPECT_EQ(header.usage.read_bytes, 1000u);
}

// Of 40 descriptors 16 stay free, of 400 a hundred: a set that would need more is not opened.
TEST_F(KernelCounters, LeaveDescriptorsToTheProgram) {
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    const auto limit_to = [&before](rlim_t most) {
        const rlimit limit{most, before.rlim_max};
        ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    };
    limit_to(40);
    EXPECT_TRUE(leaves_room(23));
    EXPECT_FALSE(leaves_room(24));
    std::vector<void*> sets;
    int last = 0;
    while (void* set = source_.open()) {
        sets.push_back(set);
        last = dup(STDERR_FILENO);
        close(last);
        ASSERT_LE(last, 24);
    }
    EXPECT_EQ(errno, EMFILE);
    EXPECT_GE(last, 23);
    const int next = dup(STDERR_FILENO);
    EXPECT_EQ(next, last) << "the set that was not opened keeps descriptors";
    close(next);
    for (void* set : sets) source_.close(set);
    limit_to(400);
    EXPECT_TRUE(leaves_room(299));
    EXPECT_FALSE(leaves_room(300));
    limit_to(before.rlim_cur);
}

TEST_F(KernelCounters, AreFoundByTheirIds) {
    CounterFile found[8];
    const uint64_t before = newest_counter_id();
    ASSERT_NE(before, 0u);
    EXPECT_EQ(find_counters_after(before, found, 8), 0);
    void* set = source_.open();
    ASSERT_NE(set, nullptr);
    ASSERT_EQ(find_counters_after(before, found, 8), 2);
    EXPECT_EQ(find_counters_after(newest_counter_id(), found + 2, 6), 0);
    EXPECT_EQ(find_counters_after(before, found + 2, 1), 2) << "more than there is room for";
    for (const CounterFile& counter : {found[0], found[1]}) {
        EXPECT_GT(counter.id, before);
        EXPECT_TRUE(is_still_there(counter));
    }
    // Another counter under the same number is not mistaken for it.
    const CounterFile first = found[0];
    ASSERT_EQ(dup2(found[1].descriptor, first.descriptor), first.descriptor);
    EXPECT_FALSE(is_still_there(first));
    close_counter(first);
    EXPECT_NE(fcntl(first.descriptor, F_GETFD), -1);
    source_.close(set);
    close(first.descriptor);
}

}  // namespace
}  // namespace dwell
