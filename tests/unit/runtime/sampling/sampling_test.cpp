// Samples in dwell's own slow work, however often, are no computation of the program; all others
// are.
#include "runtime/sampling/sampling.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "runtime/measure/metrics.h"
#include "runtime/sampling/sample_spill.h"
#include "tests/unit/support/observed_process.h"

namespace dwell {
namespace {

// Work inside the C library, which belongs to the program unless it is marked as dwell's. Long
// enough for samples also on a busy machine.
void burn() {
    static std::vector<char> bytes(1 << 16);
    const uint64_t from = samples_end(t_thread);
    const uint64_t start = now_ticks();
    const uint64_t most = 20 * g_process.header->ticks_per_second;
    constexpr uint64_t kSome = 50 * 24;  // samples of a header, an address and a time
    while (samples_end(t_thread) - from < kSome && now_ticks() - start < most) {
        memset(bytes.data(), 1, bytes.size());
        memset(bytes.data(), 2, bytes.size());
    }
}

class Sampling : public ObservedProcess {
  protected:
    void SetUp() override {
        ObservedProcess::SetUp();
        g_process.options.sample_hz = 5000;
        g_process.options.callpath_depth = 1;  // small samples, many of them in the ring
        start_sampling(t_thread);
        if (t_thread->ring == nullptr) GTEST_SKIP() << "the kernel permits no samples here";
        if (g_process.header->ticks_per_second == 0)
            g_process.header->ticks_per_second = 1'000'000'000;
        Site site{};
        site.kind = SiteKind::kInterval;
        interval_ = child_of(t_thread, t_thread->record->root, site);
        drain_samples(t_thread, 0);
        programs_ = t_thread->record->samples;
        own_ = t_thread->record->samples_in_calls;
    }
    void TearDown() override {
        stop_sampling(t_thread);
        g_process.options.sample_hz = 0;
        g_process.options.callpath_depth = 0;
    }
    uint64_t programs() const { return t_thread->record->samples - programs_; }
    uint64_t own() const { return t_thread->record->samples_in_calls - own_; }

    CellIndex interval_ = 0;

  private:
    uint64_t programs_ = 0;
    uint64_t own_ = 0;
};

TEST_F(Sampling, OwnWorkIsNoComputationHoweverOftenItComes) {
    for (int i = 0; i < 3; ++i) {
        const OwnSamples samples(t_thread);
        burn();
    }
    drain_samples(t_thread, interval_);
    EXPECT_GE(own(), 150u);
    // The sample between two works may lie in the C library.
    EXPECT_LE(programs(), 5u);
}

TEST_F(Sampling, WorkOfTheProgramBetweenIsComputation) {
    {
        const OwnSamples samples(t_thread);
        burn();
    }
    burn();
    {
        const OwnSamples samples(t_thread);
        burn();
    }
    drain_samples(t_thread, interval_);
    EXPECT_GE(own(), 100u);
    EXPECT_GE(programs(), 40u);
}

TEST_F(Sampling, OwnWorkIsKnownWhereMetricsAreRead) {
    watch_calls(t_thread);
    {
        const OwnSamples samples(t_thread);
        burn();
    }
    drain_samples(t_thread, interval_);
    EXPECT_GE(own(), 50u);
    EXPECT_LE(programs(), 5u);
}

// A thread that begins after the program has changed its environment still passes its ring to
// `dwell run`: the environment is not read again, because another thread may be changing it.
TEST_F(Sampling, TheEnvironmentIsReadOnce) {
    stop_sampling(t_thread);
    const int drain = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    const std::string text = "dwell-test-" + std::to_string(getpid());
    memcpy(name.sun_path + 1, text.data(), text.size());
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
    ASSERT_EQ(bind(drain, reinterpret_cast<const sockaddr*>(&name), length), 0);
    setenv(kDrainVariable, text.c_str(), 1);
    choose_sampling();
    unsetenv(kDrainVariable);
    start_sampling(t_thread);
    EXPECT_NE(t_thread->spill, nullptr);
    DrainRequest request{};
    EXPECT_EQ(recv(drain, &request, sizeof(request), MSG_DONTWAIT), ssize_t{sizeof(request)});
    EXPECT_EQ(request.ring_bytes, t_thread->ring_bytes);
    close(drain);
    choose_sampling();
}

// Where the first region of a program without MPI begins.
TEST_F(Sampling, BeginningInTheMidstIsNoComputation) {
    stop_sampling(t_thread);
    const uint64_t lost = t_thread->slow_overhead;
    const uint64_t start = now_ticks();
    start_serial_sampling(t_thread);
    const uint64_t took = now_ticks() - start;
    EXPECT_NE(t_thread->ring, nullptr);
    EXPECT_GE(t_thread->slow_overhead - lost, took / 2);
}

TEST_F(Sampling, SamplesInAStatementAreNoComputation) {
    burn();
    drain_samples(t_thread, 0);
    EXPECT_GE(own(), 50u);
    EXPECT_EQ(programs(), 0u);
}

}  // namespace
}  // namespace dwell
