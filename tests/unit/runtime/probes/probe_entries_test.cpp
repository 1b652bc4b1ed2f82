// Probes in signal handlers, on other stacks, after vfork and fork, and in threads; errno is
// preserved.
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "runtime/calls/records.h"
#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kWork = 20000;  // ticks

TEST_F(Probes, ErrnoStays) {
    Frames frames;
    t_thread = nullptr;
    for (int i = 0; i < 3; ++i) {  // the first one attaches the thread
        errno = 77;
        frames.enter(kP, 1, 16);
        EXPECT_EQ(errno, 77);
        frames.leave(kP, 1);
        EXPECT_EQ(errno, 77);
    }
    while (take_cells(thread(), 1) != 0) {
    }
    errno = 77;
    frames.enter(kQ, 1, 16);
    EXPECT_EQ(errno, 77);
}

// A probe must not touch other memory: the words around the slot.
TEST_F(Probes, OnlyTheSlotIsRead) {
    const long page = sysconf(_SC_PAGESIZE);
    const auto bytes = static_cast<size_t>(page);
    char* memory = static_cast<char*>(
        mmap(nullptr, 3 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(memory, MAP_FAILED);
    auto* slot = reinterpret_cast<uint64_t*>(memory + bytes);  // first word of its page
    *slot = code(16);
    ASSERT_EQ(mprotect(memory, bytes, PROT_NONE), 0);
    ASSERT_EQ(mprotect(memory + bytes, bytes, PROT_READ), 0);
    ASSERT_EQ(mprotect(memory + 2 * bytes, bytes, PROT_NONE), 0);
    for (int i = 0; i < 2; ++i) {
        probe(dwell_enter, kP, slot);
        probe(dwell_leave, kP, slot);
    }
    EXPECT_EQ(find({from(16), at_site(kP)})->count, 2u);
    munmap(memory, 3 * bytes);
}

// Real frames, left by a real longjmp.
jmp_buf g_back;

__attribute__((noinline)) void jumper() {
    probe(dwell_enter, kQ, DWELL_OWN_SLOT());
    longjmp(g_back, 1);
}

__attribute__((noinline)) void around_jumper() {
    const uint64_t* slot = DWELL_OWN_SLOT();
    probe(dwell_enter, kP, slot);
    if (setjmp(g_back) == 0) {
        jumper();
    } else {
        probe(dwell_landed, kP, slot);
    }
    probe(dwell_leave, kP, slot);
}

TEST_F(Probes, ARealLongjmp) {
    volatile int rounds = 4;  // one statement, whatever the compiler thinks
    while (rounds > 0) {
        rounds = rounds - 1;
        around_jumper();
    }
    const std::vector<const Node*> calls = children(root());
    ASSERT_EQ(calls.size(), 1u);
    const Node* p = find_from(calls[0], {at_site(kP)});
    EXPECT_EQ(p->count, 4u);
    EXPECT_EQ(part(p).abandoned, 0u);
    const Node* q = find_from(children(p)[0], {at_site(kQ)});
    EXPECT_EQ(q->count, 4u);
    EXPECT_EQ(part(q).abandoned, 4u);
    expect_at_rest();
}

void probe_pair_in_handler(int site) {
    Frames<2> frames;
    frames.enter(site, 0, 64);
    frames.leave(site, 0);
}

volatile uint64_t g_handled = 0;

#if !DWELL_TEST_SANITIZED
// A signal after every single instruction of a probe, with an instrumented handler.
void after_instruction(int, siginfo_t*, void*) {
    g_handled = g_handled + 1;
    probe_pair_in_handler(kR);
}

void step(bool on) {
    if (on) {
        asm volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    } else {
        asm volatile("pushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
    }
}

class ProbeInterrupted : public Probes, public testing::WithParamInterface<bool> {};

TEST_P(ProbeInterrupted, AfterEachInstruction) {
    std::vector<char> memory(1 << 16);
    stack_t stack = {memory.data(), 0, memory.size()};
    stack_t old_stack;
    sigaltstack(&stack, &old_stack);
    struct sigaction action = {};
    struct sigaction old_action = {};
    action.sa_sigaction = after_instruction;
    action.sa_flags = SA_SIGINFO | (GetParam() ? SA_ONSTACK : 0);
    sigaction(SIGTRAP, &action, &old_action);
    g_handled = 0;

    Frames frames;
    constexpr uint64_t kRounds = 5;
    for (uint64_t round = 0; round < kRounds; ++round) {
        const uint64_t known = round == 0 ? 0 : 16;  // the first one is slow
        step(true);
        frames.enter(kP, 1, 16 + known);
        frames.loop_enter(kOuter, 1);
        frames.enter(kP, 2, 48);
        frames.enter(kQ, 3, 32);
        frames.landed(kP, 2);
        frames.leave(kP, 2);
        frames.loop_leave(kOuter, 1, 3);
        frames.leave(kP, 1);
        step(false);
    }
    sigaction(SIGTRAP, &old_action, nullptr);
    sigaltstack(&old_stack, nullptr);

    EXPECT_GT(g_handled, 1000u);
    uint64_t in_handlers = 0;
    for (const Node* node : all_below(root())) {
        if (node->site.kind == SiteKind::kProcedure && node->site.offset == at_site(kR).offset) {
            in_handlers += node->count;
            EXPECT_EQ(part(node).abandoned, 0u);
        }
    }
    EXPECT_GT(in_handlers, 0u);
    EXPECT_GT(record().probes_missed, 0u);
    EXPECT_EQ(in_handlers + record().probes_missed, g_handled);
    EXPECT_EQ(record().probes, in_handlers + 4 * kRounds);
    EXPECT_EQ(record().probes_dropped, 0u);
    uint64_t loops = 0;
    for (const uint64_t place : {16, 32}) {
        const Node* p = find({from(place), at_site(kP)});
        EXPECT_EQ(p->count, place == 16 ? 2u : 2 * (kRounds - 1));
        const Node* loop = find_from(p, {at_site(kOuter)});
        loops += part(loop).iterations;
        EXPECT_EQ(part(find_from(p, {from(32), at_site(kQ)})).abandoned, p->count / 2);
    }
    EXPECT_EQ(loops, 3 * kRounds);
    expect_at_rest();
}

sigjmp_buf g_away;
uint64_t g_left = 0;  // instructions until the handler jumps

void jump_after_instructions(int) {
    g_handled = g_handled + 1;
    // Not while the lock is held: every other signal waits for its release.
    if (g_handled >= g_left && t_in_guard == 0) siglongjmp(g_away, 1);
}

// A handler jumps out of a probe after each of its instructions, on the slow and on the fast path:
// later probes record as usual.
TEST_P(ProbeInterrupted, LeftByAJumpAfterEachInstruction) {
    std::vector<char> memory(1 << 16);
    stack_t stack = {memory.data(), 0, memory.size()};
    stack_t old_stack;
    sigaltstack(&stack, &old_stack);
    struct sigaction action = {};
    struct sigaction old_action = {};
    action.sa_handler = jump_after_instructions;
    action.sa_flags = GetParam() ? SA_ONSTACK : 0;
    sigaction(SIGTRAP, &action, &old_action);

    Frames frames;
    volatile uint64_t whole = 0;  // rounds in which the probes were completed
    volatile uint64_t round = 0;
    while (whole < 2 && round < 20000) {
        const bool fast = whole == 1;
        frames.enter(kR, 1, 16);
        if (fast) {
            frames.enter(kP, 2, 32);
            frames.leave(kP, 2);
        }
        g_handled = 0;
        g_left = fast ? g_left + 1 : 5 * round + 1;  // the slow path is long
        round = round + 1;
        if (sigsetjmp(g_away, 1) == 0) {
            step(true);
            frames.enter(kP, 2, 32);
            frames.leave(kP, 2);
            step(false);
            whole = whole + 1;
            g_left = 0;
        }
        frames.leave(kR, 1);
        frames.enter(kQ, 1, 48);
        frames.loop_enter(kQLoop, 1);
        frames.loop_leave(kQLoop, 1, 2);
        frames.leave(kQ, 1);
        ASSERT_FALSE(thread()->in_tool)
            << "round " << round << " of the " << (fast ? "fast" : "slow") << " path";
    }
    sigaction(SIGTRAP, &old_action, nullptr);
    sigaltstack(&old_stack, nullptr);

    ASSERT_EQ(whole, 2u);
    EXPECT_GT(round, 200u);
    const Node* q = find({from(48), at_site(kQ)});
    EXPECT_EQ(q->count, round);
    EXPECT_EQ(part(find_from(q, {at_site(kQLoop)})).iterations, 2 * round);
    EXPECT_EQ(find({from(16), at_site(kR)})->count, round);
    EXPECT_GT(record().probes_missed, 100u);
    EXPECT_LE(record().probes_missed, round);
    expect_at_rest();
}

INSTANTIATE_TEST_SUITE_P(Stack, ProbeInterrupted, testing::Bool());
#endif

// Handlers that run at any time, on their own stack.
void on_alarm(int) {
    g_handled = g_handled + 1;
    probe_pair_in_handler(kR);
}

TEST_F(Probes, HandlersOnTheirOwnStack) {
    std::vector<char> memory(1 << 16);
    stack_t stack = {memory.data(), 0, memory.size()};
    stack_t old_stack;
    sigaltstack(&stack, &old_stack);
    struct sigaction action = {};
    struct sigaction old_action = {};
    action.sa_handler = on_alarm;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, &old_action);
    g_handled = 0;
    Frames frames;
    constexpr uint64_t kRounds = 50;
    for (uint64_t i = 0; i < kRounds; ++i) {
        frames.enter(kP, 1, 16);
        raise(SIGUSR1);
        frames.enter(kQ, 2, 32);
        frames.leave(kQ, 2);
        frames.leave(kP, 1);
    }
    sigaction(SIGUSR1, &old_action, nullptr);
    sigaltstack(&old_stack, nullptr);
    EXPECT_EQ(g_handled, kRounds);
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, kRounds);
    EXPECT_EQ(find_from(p, {from(64), at_site(kR)})->count, kRounds);
    EXPECT_EQ(find_from(p, {from(32), at_site(kQ)})->count, kRounds);
    EXPECT_EQ(part(p).abandoned, 0u);
    expect_at_rest();
}

// A probe that interrupts work of its own thread must neither wait nor attach.
TEST_F(Probes, AHandlersProbeDoesNotWaitForWhatItInterrupts) {
    Frames frames;
    frames.enter(kP, 1, 16);
    {
        const StateLock lock;
        frames.enter(kQ, 2, 32);  // new: would need the lock
        frames.leave(kQ, 2);
        Thread* const own = t_thread;
        t_thread = nullptr;
        frames.enter(kQ, 2, 32);
        EXPECT_EQ(t_thread, nullptr);
        t_thread = own;
    }
    frames.leave(kP, 1);
    EXPECT_EQ(record().probes_missed, 1u);
    EXPECT_EQ(find({from(16), at_site(kP)})->first_child, 0u);
    expect_at_rest();
}

#if !defined(__SANITIZE_THREAD__)  // it does not follow swapcontext
// Coroutines: each with a stack of its own, resumed in turns.
constexpr int kCoroutines = 3;
ucontext_t g_main;
ucontext_t g_coroutine[kCoroutines];

void coroutine(int number) {
    Frames<4> frames;
    for (int i = 0; i < 3; ++i) {
        frames.enter(kQ, 0, 100 + static_cast<uint64_t>(number));
        spin(kWork);
        swapcontext(&g_coroutine[number], &g_main);  // with Q open
        frames.enter(kR, 1, 200);
        frames.leave(kR, 1);
        frames.leave(kQ, 0);
    }
    for (;;) swapcontext(&g_coroutine[number], &g_main);
}

__attribute__((noinline)) void make_coroutine(int number, char* memory, size_t bytes) {
    ucontext_t* made = &g_coroutine[number];
    getcontext(made);
    made->uc_stack.ss_sp = memory;
    made->uc_stack.ss_size = bytes;
    makecontext(made, reinterpret_cast<void (*)()>(&coroutine), 1, number);
}

TEST_F(Probes, CoroutinesHaveTheirOwnOpenEntries) {
    constexpr size_t kBytes = 256 * 1024;
    std::vector<std::unique_ptr<char[]>> stacks;
    for (int i = 0; i < kCoroutines; ++i) {
        stacks.push_back(std::make_unique<char[]>(kBytes));
        make_coroutine(i, stacks.back().get(), kBytes);
    }
    Frames frames;
    const uint64_t before = now_ticks();
    frames.enter(kP, 1, 16);
    for (int turn = 0; turn < 4; ++turn) {
        for (ucontext_t& one : g_coroutine) {
            frames.loop_enter(kOuter, 1);
            swapcontext(&g_main, &one);
            frames.loop_leave(kOuter, 1, 1);
        }
        frames.enter(kR, 2, 300);  // P's, not of any coroutine
        EXPECT_LE(record().probe_depth, 2u);
        frames.leave(kR, 2);
        spin(10 * kWork);
    }
    frames.leave(kP, 1);
    const uint64_t outside = now_ticks() - before;
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(find_from(p, {from(300), at_site(kR)})->count, 4u);
    const Node* loop = find_from(p, {at_site(kOuter)});
    EXPECT_EQ(part(loop).iterations, 12u);
    uint64_t in_coroutines = 0;
    for (uint64_t i = 0; i < kCoroutines; ++i) {
        const Node* q = find_from(loop, {from(100 + i), at_site(kQ)});
        ASSERT_NE(q, nullptr);
        EXPECT_EQ(q->count, 3u);
        EXPECT_EQ(part(q).abandoned, 0u);
        EXPECT_EQ(find_from(q, {from(200), at_site(kR)})->count, 3u);
        EXPECT_GE(q->ticks, 3 * kWork);
        in_coroutines += q->ticks;
    }
    // Suspended, they take no time.
    EXPECT_LE(in_coroutines, outside - 40 * kWork);
    EXPECT_LE(in_coroutines, loop->ticks);
    expect_at_rest();
}
#endif

// Slots on distant stacks of coroutines.
class Coroutines : public Probes {
  protected:
    uint64_t* on(size_t number) {
        auto* slot = reinterpret_cast<uint64_t*>(&memory_[(number << 17) + 65536]);
        *slot = code(100 + number);
        return slot;
    }

  private:
    std::vector<char> memory_ = std::vector<char>(3 << 17);
};

// One resumes the other without calling it: each has the time that it ran, without the other's.
TEST_F(Coroutines, ThatResumeEachOtherStandSideBySide) {
    for (const auto& [first, second] : {std::pair{0, 1}, std::pair{1, 0}}) {
        reset();
        Frames frames;
        frames.enter(kP, 1, 16);
        probe(dwell_enter, kQ, on(first));
        spin(kWork);
        const uint64_t begin = now_ticks();
        probe(dwell_enter, kR, on(second));
        spin(4 * kWork);
        probe(dwell_loop_enter, kQLoop, on(first));
        const uint64_t in_second = now_ticks() - begin;
        spin(kWork);
        probe(dwell_leave, kR, on(second));  // it ends
        probe(dwell_loop_leave, kQLoop, on(first), 1);
        probe(dwell_leave, kQ, on(first));
        const uint64_t all = now_ticks() - begin;
        frames.leave(kP, 1);
        const Node* p = find({from(16), at_site(kP)});
        const Node* q = find_from(p, {from(100 + static_cast<uint64_t>(first)), at_site(kQ)});
        const Node* r = find_from(p, {from(100 + static_cast<uint64_t>(second)), at_site(kR)});
        ASSERT_NE(r, nullptr);
        EXPECT_GE(r->ticks, 4 * kWork);
        EXPECT_LE(r->ticks, all - kWork);
        EXPECT_GE(q->ticks, 2 * kWork);
        EXPECT_LE(find_from(q, {at_site(kQLoop)})->ticks, all - in_second);
        EXPECT_GE(p->ticks, q->ticks + r->ticks);
        expect_at_rest();
    }
}

// A coroutine begun by a procedure that has ended has its time where it continues, and counts where
// it began.
TEST_F(Coroutines, ThatAnotherProcedureResumesGoOnThere) {
    Frames frames;
    frames.enter(kP, 1, 16);
    probe(dwell_enter, kQ, on(0));
    spin(kWork);
    frames.leave(kP, 1);
    frames.enter(kR, 1, 32);
    probe(dwell_loop_enter, kQLoop, on(0));
    spin(4 * kWork);
    probe(dwell_loop_leave, kQLoop, on(0), 1);
    probe(dwell_leave, kQ, on(0));
    frames.leave(kR, 1);
    const Node* before = find({from(16), at_site(kP), from(100), at_site(kQ)});
    EXPECT_EQ(before->count, 1u);
    EXPECT_GE(before->ticks, kWork);
    EXPECT_GE(before->min_ticks, 5 * kWork);
    const Node* q = find({from(32), at_site(kR), from(100), at_site(kQ)});
    ASSERT_NE(q, nullptr);
    EXPECT_EQ(q->count, 0u);
    EXPECT_GE(q->ticks, 4 * kWork);
    EXPECT_EQ(find_from(q, {at_site(kQLoop)})->count, 1u);
    expect_at_rest();
}

// Coroutines of one procedure share a node, and only one of them runs at a time.
TEST_F(Coroutines, OfOneProcedureTakeTurns) {
    Frames frames;
    frames.enter(kP, 1, 16);
    uint64_t* const slots[3] = {on(0), on(1), on(2)};
    for (uint64_t* slot : slots) *slot = code(100);
    for (const uint64_t* slot : slots) probe(dwell_enter, kQ, slot);
    for (int turn = 0; turn < 30; ++turn) {
        probe(dwell_loop_enter, kQLoop, slots[turn % 3]);
        spin(kWork);
        probe(dwell_loop_leave, kQLoop, slots[turn % 3], 1);
    }
    for (const uint64_t* slot : slots) probe(dwell_leave, kQ, slot);
    frames.leave(kP, 1);
    const Node* p = find({from(16), at_site(kP)});
    const Node* q = find_from(p, {from(100), at_site(kQ)});
    EXPECT_EQ(q->count, 3u);
    EXPECT_GE(q->ticks, 30 * kWork);
    EXPECT_LE(q->ticks, p->ticks);
    EXPECT_EQ(find_from(q, {at_site(kQLoop)})->count, 30u);
    expect_at_rest();
}

TEST_F(Probes, MoreOtherStacksThanThereIsRoomForAreDropped) {
    constexpr size_t kStacks = kProbeStacks + 12;
    std::vector<char> memory(kStacks << 16);
    auto slot_on = [&memory](size_t number) {
        auto* slot = reinterpret_cast<uint64_t*>(&memory[(number << 16) + 32768]);
        *slot = code(100 + number);
        return slot;
    };
    for (size_t i = 0; i < kStacks; ++i) probe(dwell_enter, kQ, slot_on(i));  // suspended for good
    EXPECT_EQ(record().probes, uint64_t{kProbeStacks - 1});
    EXPECT_EQ(record().probes_dropped, kStacks - (kProbeStacks - 1));
    EXPECT_EQ(record().probe_depth, 0u);
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.leave(kP, 1);
    EXPECT_EQ(record().probe_depth, 0u);
    for (size_t i = 0; i < kStacks; ++i) probe(dwell_leave, kQ, slot_on(i));
    EXPECT_EQ(find({from(16), at_site(kP)})->count, 1u);
    expect_at_rest();
}

TEST_F(Probes, AfterVforkTheChildOnlyCounts) {
    Frames frames;
    for (int i = 0; i < 2; ++i) {
        frames.enter(kP, 1, 16);
        probe(dwell_vforked, kP, frames.at(1), 0);  // in the child, with the parent's memory
        frames.enter(kQ, 2, 32);
        frames.loop_enter(kQLoop, 2);
        frames.loop_leave(kQLoop, 2, 2);
        frames.leave(kQ, 2);
        probe(dwell_vforked, kP, frames.at(1), 4711);  // back in the parent
        frames.enter(kR, 2, 48);
        frames.leave(kR, 2);
        frames.leave(kP, 1);
    }
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(p->count, 2u);
    EXPECT_EQ(find_from(p, {from(32)}), nullptr);
    EXPECT_EQ(find_from(p, {from(48), at_site(kR)})->count, 2u);
    EXPECT_EQ(record().probes_missed, 4u);
    expect_at_rest();
}

TEST_F(Probes, AForkedChildWritesNothing) {
    Frames frames;
    frames.enter(kP, 1, 16);
    const size_t bytes = size_t{g_process.header->cells_reserved} * kCellBytes;
    const std::vector<char> before(g_process.cells, g_process.cells + bytes);
    const pid_t child = fork();
    if (child == 0) {
        frames.enter(kQ, 2, 32);
        frames.loop_enter(kQLoop, 2);
        frames.loop_leave(kQLoop, 2, 9);
        frames.leave(kQ, 2);
        frames.enter(kP, 2, 48);
        frames.landed(kP, 1);
        frames.leave(kP, 1);
        _exit(g_attachments);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_EQ(memcmp(before.data(), g_process.cells, bytes), 0);
    frames.leave(kP, 1);
    expect_at_rest();
}

__attribute__((noinline)) void operation_of_a_reduction() {
    probe(dwell_enter, kQ, DWELL_OWN_SLOT());
    probe(dwell_leave, kQ, DWELL_OWN_SLOT());
}

TEST_F(Probes, ProbesInACommunicationStatementCountWithIt) {
    Frames frames;
    frames.enter(kP, 1, 16);
    const Frame caller{0, code(1000)};
    Call call;
    ASSERT_TRUE(enter(&call, MpiCall::kBarrier, &caller, kMpiForm));
    start(&call);
    operation_of_a_reduction();
    stop(&call);
    record_event(&call, kSendReady);
    leave(&call);
    frames.leave(kP, 1);
    EXPECT_EQ(record().probes_missed, 1u);
    for (const Node* node : all_below(root())) {
        EXPECT_NE(node->site.offset, at_site(kQ).offset);
    }
    expect_at_rest();
}

__attribute__((noinline)) bool statement_that_throws() {
    const Frame caller{0, code(1000)};
    Call call;
    if (!enter(&call, MpiCall::kBarrier, &caller, kMpiForm)) return false;
    start(&call);
    return true;
}

TEST_F(Probes, ACommunicationStatementLeftByAThrowEndsThere) {
    Frames frames;
    frames.enter(kP, 1, 16);
    ASSERT_TRUE(statement_that_throws());
    frames.landed(kP, 1);
    frames.enter(kQ, 2, 32);
    frames.leave(kQ, 2);
    frames.leave(kP, 1);
    EXPECT_EQ(thread()->open, nullptr);
    EXPECT_EQ(record().probes_missed, 0u);
    const Node* p = find({from(16), at_site(kP)});
    EXPECT_EQ(find_from(p, {from(32), at_site(kQ)})->count, 1u);
    EXPECT_EQ(part(p).abandoned, 0u);
    expect_at_rest();
}

TEST_F(Probes, ManyThreads) {
    constexpr int kThreads = 8;
    constexpr uint64_t kRounds = 2000;
    std::vector<std::thread> threads;
    for (int number = 0; number < kThreads; ++number) {
        threads.emplace_back([number] {
            Frames frames;
            for (uint64_t i = 0; i < kRounds; ++i) {
                frames.enter(kP, 1, 16);
                frames.loop_enter(kOuter, 1);
                frames.enter(kQ, 2, 32 + i % 8);
                frames.leave(kQ, 2);
                frames.loop_leave(kOuter, 1, 2);
                if (number != 0 || i + 1 < kRounds) frames.leave(kP, 1);  // pthread_exit
            }
        });
    }
    for (std::thread& one : threads) one.join();
    uint64_t counted = 0;
    uint64_t iterations = 0;
    uint64_t abandoned = 0;
    for (CellIndex at = g_process.header->first_thread; at != 0;) {
        const auto* other = cell_at<ThreadRecord>(at);
        at = other->next;
        EXPECT_EQ(other->probe_depth, 0u);
        const Node* p = find_from(cell_at<Node>(other->root), {from(16), at_site(kP)});
        if (p == nullptr) continue;
        EXPECT_EQ(p->count, other->probes / 3);
        counted += p->count;
        abandoned += part(p).abandoned;
        const Node* loop = find_from(p, {at_site(kOuter)});
        iterations += part(loop).iterations;
        EXPECT_EQ(children(loop).size(), 8u);
    }
    EXPECT_EQ(counted, kThreads * kRounds);
    EXPECT_EQ(iterations, 2 * kThreads * kRounds);
    EXPECT_EQ(abandoned, 1u);
}

TEST_F(Probes, ShortThreadsShareARecord) {
    constexpr uint64_t kThreads = 40;
    for (uint64_t i = 0; i < kThreads; ++i) {
        std::thread([] {
            Frames frames;
            frames.enter(kP, 1, 16);
            frames.enter(kQ, 2, 32);
            frames.leave(kQ, 2);
            if (record().threads_served % 2 == 0) frames.leave(kP, 1);
        }).join();
    }
    const auto* other = cell_at<ThreadRecord>(g_process.header->first_thread);
    EXPECT_EQ(g_process.thread_count.load(), 2u);
    EXPECT_EQ(other->threads_served, kThreads);
    const Node* p = find_from(cell_at<Node>(other->root), {from(16), at_site(kP)});
    EXPECT_EQ(p->count, kThreads);
    EXPECT_EQ(p->site.open, 0u);
    EXPECT_EQ(part(p).abandoned, kThreads / 2);
    EXPECT_EQ(part(p).untimed, 0u);
    EXPECT_EQ(find_from(p, {from(32), at_site(kQ)})->count, kThreads);
}

}  // namespace
}  // namespace dwell
