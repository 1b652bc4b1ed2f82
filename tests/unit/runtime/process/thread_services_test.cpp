// Callbacks of rooms for threads (process/hooks.h): their order, their time and their thread.
#include <string>
#include <thread>

#include "runtime/process/hooks.h"
#include "runtime/process/reset.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

std::string g_calls;
void tell(const char* what, const Thread* thread) {
    // At its start a thread is not the calling thread yet.
    g_calls += std::string(what) + (thread == t_thread ? " own; " : "; ");
}

constexpr ThreadService kListed[] = {
    {.start = [](Thread* thread) { tell("start", thread); },
     .started = [](Thread* thread, bool may_allocate) { tell(may_allocate ? "on" : "io", thread); },
     .end = [](Thread* thread, uint64_t) { tell("end", thread); },
     .reset = [](Thread* thread, uint64_t) { tell("reset", thread); }},
    {.start = [](Thread* thread) { tell("and start", thread); },
     .ending = [](Thread* thread) { tell("ending", thread); },
     .end = [](Thread* thread, uint64_t) { tell("and end", thread); },
     .forget_modules = [](Thread* thread) { tell("forget", thread); }},
};

class ThreadServices : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        before_ = g_thread_services;
        g_thread_services = kListed;
        g_calls.clear();
    }
    void TearDown() override {
        g_thread_services = before_;
        g_process.free_threads = nullptr;
        Records::TearDown();
    }
    void change(uint64_t LivePage::*what) {
        live_.*what += 1;
        live_.epoch += 1;
    }

    std::span<const ThreadService> before_;
};

TEST_F(ThreadServices, AreCalledAtBeginningAndEnd) {
    std::thread([] { attach_thread(); }).join();
    EXPECT_EQ(g_calls, "start; and start; on own; ending own; end own; and end own; ");
}

TEST_F(ThreadServices, AreCalledWhenTheThreadNoticesChanges) {
    std::thread([this] {
        attach_thread();
        g_calls.clear();
        change(&LivePage::resets);
        EXPECT_EQ(g_calls, "");
        apply_changes(t_thread);
        EXPECT_EQ(g_calls, "reset own; ");
        apply_changes(t_thread);
        EXPECT_EQ(g_calls, "reset own; ");
        change(&LivePage::unloads);
        change(&LivePage::resets);
        apply_changes(t_thread);
        EXPECT_EQ(g_calls, "reset own; forget own; reset own; ");
    }).join();
}

// Its state passes to the next thread, which must not find paths into an unloaded module.
TEST_F(ThreadServices, AreCalledForModulesUnloadedBetweenTwoThreads) {
    std::thread([] { attach_thread(); }).join();
    change(&LivePage::unloads);
    g_calls.clear();
    std::thread([] { attach_thread(); }).join();
    EXPECT_EQ(g_calls, "forget; start; and start; on own; ending own; end own; and end own; ");
}

}  // namespace
}  // namespace dwell
