// An observed process without MPI: tests enter and leave calls, with durations set by hand.
#ifndef DWELL_TESTS_UNIT_RECORDING_H_
#define DWELL_TESTS_UNIT_RECORDING_H_

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "runtime/calls/records.h"

namespace dwell {

class Records : public testing::Test {
  protected:
    void SetUp() override { start_observation(1); }
    void TearDown() override { end_observation(); }

    void start_observation(uint32_t memory_mib) {
        char name[] = "/dev/shm/dwell-unit-XXXXXX";
        directory_ = mkdtemp(name);
        path_ = directory_ + "/rank.0";
        g_process.options = Options{};
        g_process.options.callpath_depth = 1;
        g_process.options.sample_hz = 0;
        g_process.options.memory_mib = memory_mib;
        g_process.use_tsc = has_invariant_tsc();
        g_process.call_cost_ticks = 10;
        g_process.inner_cost_ticks = 0;
        ASSERT_TRUE(create_record_file(path_.c_str(), memory_mib));
        live_ = LivePage{};
        live_.on = 1;
        g_live = &live_;
        t_thread = nullptr;
        ASSERT_NE(attach_thread(), nullptr);
        t_thread->last_ticks = 1000;
    }
    void end_observation() {
        live_.on = 0;
        t_thread = nullptr;
        g_process.threads.store(nullptr);
        g_process.thread_count.store(0);
        close_record_file();  // stays mapped, as in a process: the request table has entries in it
        unlink(path_.c_str());
        rmdir(directory_.c_str());
    }

    // A call from `place`, under way from tick `from` to tick `to`.
    bool begin(Call* call, MpiCall number, uint64_t place) {
        frame_ = Frame{0, reinterpret_cast<uint64_t>(&kCode[0]) + place};
        return enter(call, number, &frame_, kMpiForm);
    }
    void end(Call* call, uint64_t from, uint64_t to) {
        call->start_ticks = from;
        call->end_ticks = to;
        call->ticks = to - from;
        call->slow_overhead = t_thread->slow_overhead;
        record_event(call, kSendReady);
        leave(call);
    }
    // The first path to a statement costs measured time. So each test runs its calls twice: once
    // unchecked, then, with all counts reset, from tick 1000 on.
    void forget() {
        live_.resets += 1;
        live_.epoch += 1;
        Call call;
        begin(&call, MpiCall::kBarrier, 4000);
        t_thread->open = nullptr;
        t_thread->last = 0;
        t_thread->last_ticks = 1000;
        t_thread->slow_overhead = 0;
    }
    const Node* node_at(uint64_t place) {
        for (CellIndex at = cell_at<Node>(t_thread->record->root)->first_child; at != 0;
             at = cell_at<Node>(at)->next_sibling) {
            const Node* node = cell_at<Node>(at);
            if (node->site.offset % 4096 ==
                (reinterpret_cast<uint64_t>(&kCode[0]) + place) % 4096) {
                return node;
            }
        }
        return nullptr;
    }

    alignas(4096) static constexpr char kCode[4096] = {};  // stands for the program's text
    std::string directory_;
    std::string path_;
    LivePage live_;
    Frame frame_{};
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_RECORDING_H_
