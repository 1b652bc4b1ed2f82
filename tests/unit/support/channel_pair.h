// Two ends of a channel in one process, on rings of their own, without exchange or MPI.
#ifndef DWELL_TESTS_UNIT_CHANNEL_PAIR_H_
#define DWELL_TESTS_UNIT_CHANNEL_PAIR_H_

#include <gtest/gtest.h>
#include <string.h>
#include <sys/mman.h>

#include <new>

#include "runtime/exchange/channels.h"
#include "runtime/mpi/mpi_api.h"

namespace dwell {

constexpr uint32_t kWorld = 1;  // identifiers of communicators
constexpr uint32_t kOther = 7;

class ChannelPair : public testing::Test {
  protected:
    void SetUp() override {
        live_ = LivePage{};
        g_live = &live_;
        memory_ =
            mmap(nullptr, kExchangePage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(memory_, MAP_FAILED);
        rings_ = static_cast<Ring*>(memory_);
        start_anew();
    }
    void TearDown() override { munmap(memory_, kExchangePage); }

    void start_anew() {
        memset(memory_, 0, kExchangePage);
        connect(new (&a_) Channel{}, 0);
        connect(new (&b_) Channel{}, 1);
    }
    void connect(Channel* channel, int side) {
        channel->out = &rings_[side];
        channel->in = &rings_[1 - side];
        channel->in_step = true;
        channel->lost_sync_count = g_lost_sync_count;
        channel->detached_anywhere = g_detached_anywhere;
    }

    // a sends message `id` at tick `at`.
    Announced send(uint32_t id, int tag, uint32_t comm = kWorld, bool wants_answer = false,
                   uint64_t at = 0) {
        if (at == 0) at = 1000 + id;
        return announce(&a_, {{at, at}, id, kNoPeer, 0, 0}, comm, tag, wants_answer);
    }
    // b has received a message; returns its id, 0 when unknown.
    uint32_t receive(int tag, uint32_t comm = kWorld, uint32_t post_order = 0) {
        EnterStamp stamp{};
        guessed_ = false;
        return take(&b_, comm, tag, post_order, &stamp, &guessed_) ? stamp.path : 0;
    }

    LivePage live_;
    void* memory_ = nullptr;
    Ring* rings_ = nullptr;
    Channel a_{};
    Channel b_{};
    bool guessed_ = false;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_CHANNEL_PAIR_H_
