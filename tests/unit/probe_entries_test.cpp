// Where probes arrive: registers and errno are the program's; signal handlers, other stacks, vfork,
// fork and threads.
#include <cpuid.h>
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

#include "runtime/records.h"
#include "tests/unit/probe_harness.h"

namespace dwell {
namespace {

constexpr uint64_t kWork = 20000;  // ticks

// Every register that a probe must keep, as it is set before and found after.
struct alignas(64) Registers {
    uint64_t general[15];  // rax rbx rcx rdx rsi rdi rbp r8 r9 r10 r11 r12 r13 r14 r15
    uint32_t mxcsr;
    uint32_t unused;
    uint64_t vectors[32][8];
    uint64_t masks[8];
};
enum Width : uint64_t { kXmm, kYmm, kZmm };

}  // namespace

extern "C" {
struct DwellTestCall {
    const Registers* before;
    Registers* after;
    Entry entry;
    uint64_t width;
    uint64_t shift;  // bytes by which the stack pointer is not aligned
    uint64_t stack_pointer;
    uint64_t rdi;
} dwell_test_call;
void dwell_test_registers();
}

// Sets all registers from `before`, calls the entry, and stores them to `after`.
asm(R"(
    .macro dwell_test_move_16 instruction register width
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    .ifc \width, load
    \instruction 128 + 64 * \n(%rdi), %\register\n
    .else
    \instruction %\register\n, 128 + 64 * \n(%rdi)
    .endif
    .endr
    .endm
    .macro dwell_test_move_zmm width
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    .ifc \width, load
    vmovdqu64 128 + 64 * \n(%rdi), %zmm\n
    .else
    vmovdqu64 %zmm\n, 128 + 64 * \n(%rdi)
    .endif
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    .ifc \width, load
    kmovq 128 + 2048 + 8 * \n(%rdi), %k\n
    .else
    kmovq %k\n, 128 + 2048 + 8 * \n(%rdi)
    .endif
    .endr
    .endm
    .macro dwell_test_move_vectors width
    cmpq $1, 24 + dwell_test_call(%rip)
    jb 1f
    je 2f
    dwell_test_move_16 vmovdqu64 zmm \width
    dwell_test_move_zmm \width
    jmp 3f
1:  dwell_test_move_16 movdqu xmm \width
    jmp 3f
2:  dwell_test_move_16 vmovdqu ymm \width
3:
    .endm

    .text
    .globl dwell_test_registers
    .type dwell_test_registers, @function
dwell_test_registers:
    pushq %rbx
    pushq %rbp
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    subq $16, %rsp
    stmxcsr 8(%rsp)
    movq %rsp, 40 + dwell_test_call(%rip)
    movq 0 + dwell_test_call(%rip), %rdi
    dwell_test_move_vectors load
    ldmxcsr 120(%rdi)
    subq 32 + dwell_test_call(%rip), %rsp
    movq 0(%rdi), %rax
    movq 8(%rdi), %rbx
    movq 16(%rdi), %rcx
    movq 24(%rdi), %rdx
    movq 32(%rdi), %rsi
    movq 48(%rdi), %rbp
    movq 56(%rdi), %r8
    movq 64(%rdi), %r9
    movq 72(%rdi), %r10
    movq 80(%rdi), %r11
    movq 88(%rdi), %r12
    movq 96(%rdi), %r13
    movq 104(%rdi), %r14
    movq 112(%rdi), %r15
    movq 40(%rdi), %rdi
    call *16 + dwell_test_call(%rip)
    movq %rdi, 48 + dwell_test_call(%rip)
    movq 8 + dwell_test_call(%rip), %rdi
    movq %rax, 0(%rdi)
    movq %rbx, 8(%rdi)
    movq %rcx, 16(%rdi)
    movq %rdx, 24(%rdi)
    movq %rsi, 32(%rdi)
    movq %rbp, 48(%rdi)
    movq %r8, 56(%rdi)
    movq %r9, 64(%rdi)
    movq %r12, 88(%rdi)
    movq %r13, 96(%rdi)
    movq %r14, 104(%rdi)
    movq %r15, 112(%rdi)
    movq 48 + dwell_test_call(%rip), %rax
    movq %rax, 40(%rdi)
    stmxcsr 120(%rdi)
    dwell_test_move_vectors store
    movq 40 + dwell_test_call(%rip), %rsp
    ldmxcsr 8(%rsp)
    addq $16, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbp
    popq %rbx
    ret
    .size dwell_test_registers, . - dwell_test_registers
)");

namespace {

Width widest() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & (1u << 27)) == 0) return kXmm;
    unsigned enabled = 0;
    asm("xgetbv" : "=a"(enabled), "=d"(d) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return kXmm;
    constexpr unsigned kFoundationAndWords = 1u << 16 | 1u << 30;  // AVX-512 F, BW
    if ((enabled & 0xe6) == 0xe6 && (b & kFoundationAndWords) == kFoundationAndWords) return kZmm;
    return (enabled & 6) == 6 ? kYmm : kXmm;
}

class ProbeRegisters : public Probes {
  protected:
    // The probe, with all registers at values of their own. r9, where a probe has an argument, r10
    // and r11 are lost to the caller.
    void expect_kept(Entry entry, int site, const uint64_t* slot, uint64_t iterations,
                     uint64_t shift, uint32_t mxcsr = 0x1f80) {
        // On the heap: the stack under the probes is theirs.
        auto before = std::make_unique<Registers>();
        auto after = std::make_unique<Registers>();
        uint64_t value = 0x0123456789abcdefull;
        auto next = [&value] {
            return value = value * 6364136223846793005ull + 1442695040888963407ull;
        };
        for (uint64_t& general : before->general) general = next();
        for (auto& vector : before->vectors) {
            for (uint64_t& word : vector) word = next();
        }
        for (uint64_t& mask : before->masks) mask = next();
        before->mxcsr = mxcsr;
        before->general[8] = iterations;
        before->general[9] = reinterpret_cast<uint64_t>(slot);
        before->general[10] = reinterpret_cast<uint64_t>(&g_table.rows[site]);
        const Width width = widest();
        dwell_test_call = {before.get(), after.get(), entry, width, shift, 0, 0};
        dwell_test_registers();
        for (int i = 0; i < 15; ++i) {
            if (i < 8 || i > 10) {
                EXPECT_EQ(after->general[i], before->general[i]) << "register " << i;
            }
        }
        EXPECT_EQ(after->mxcsr, before->mxcsr);
        const size_t bytes = width == kZmm ? 64 : width == kYmm ? 32 : 16;
        for (int i = 0; i < (width == kZmm ? 32 : 16); ++i) {
            EXPECT_EQ(memcmp(after->vectors[i], before->vectors[i], bytes), 0) << "vector " << i;
        }
        if (width == kZmm) {
            EXPECT_EQ(memcmp(after->masks, before->masks, sizeof(after->masks)), 0);
        }
    }
};

TEST_F(ProbeRegisters, AreKeptOnTheFastWayAndOnTheSlowOne) {
    if (widest() != kZmm) std::printf("no AVX-512 here: narrower registers are looked at\n");
    Frames frames;
    for (const uint64_t shift : {0, 8}) {
        for (int round = 0; round < 3; ++round) {  // the first one is slow
            *frames.at(1) = code(16 + shift);
            expect_kept(dwell_enter, kP, frames.at(1), 0, shift);
            expect_kept(dwell_loop_enter, kOuter, frames.at(1), 0, shift);
            expect_kept(dwell_loop_leave, kOuter, frames.at(1), 7, shift);
            expect_kept(dwell_landed, kP, frames.at(1), 0, shift);
            expect_kept(dwell_leave, kP, frames.at(1), 0, shift);
            frames.enter(kP, 1, 16 + shift);
            frames.enter(kQ, 2, 32);
            frames.loop_enter(kQLoop, 2);
            expect_kept(dwell_landed, kP, frames.at(1), 0, shift);  // drops, slowly
            frames.enter(kQ, 2, 32);
            expect_kept(dwell_leave, kP, frames.at(1), 0, shift);  // with Q gone
            expect_kept(dwell_vforked, kP, frames.at(1), 1234, shift);
        }
    }
    EXPECT_EQ(part(find({from(16), at_site(kP), at_site(kOuter)})).iterations, 21u);
    EXPECT_EQ(part(find({from(24), at_site(kP), at_site(kOuter)})).iterations, 21u);
    expect_at_rest();
}

// Rounding to zero and flushing to zero, and all floating point exceptions trapping: neither
// disturbs the other.
TEST_F(ProbeRegisters, TheProgramsFloatingPointModeIsItsOwn) {
    g_process.probe_cost_ticks = 40;
    g_process.options.probe_limit = 10;
    Frames frames;
    for (const uint32_t mxcsr : {0x1f80u, 0xff80u, 0x0000u}) {
        for (int round = 0; round < 3; ++round) {
            thread()->probe_countdown = 1;  // control computes with fractions
            *frames.at(1) = code(16);
            expect_kept(dwell_enter, kP, frames.at(1), 0, 0, mxcsr);
            expect_kept(dwell_leave, kP, frames.at(1), 0, 0, mxcsr);
        }
    }
    EXPECT_NE(thread()->probe_window, 0u);
}

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

// What a probe does not get it must not touch: the words around the slot.
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

__attribute__((noinline)) const uint64_t* own_slot() {
    // Of the caller: this function's frame begins under it.
    return static_cast<const uint64_t*>(__builtin_frame_address(0)) + 1;
}

__attribute__((noinline)) void jumper() {
    probe(dwell_enter, kQ, own_slot());
    longjmp(g_back, 1);
}

__attribute__((noinline)) void around_jumper() {
    const auto* slot = static_cast<const uint64_t*>(__builtin_frame_address(0)) + 1;
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
// A signal after every single instruction of a probe, with a handler that is instrumented itself.
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

INSTANTIATE_TEST_SUITE_P(Stack, ProbeInterrupted, testing::Bool());
#endif

// Handlers that come at any time, on a stack of their own.
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
    EXPECT_GE(record().stack_switches, 2 * kRounds);
    expect_at_rest();
}

// A probe that finds its thread busy with what cannot be done twice must neither wait nor attach.
TEST_F(Probes, AHandlersProbeDoesNotWaitForWhatItInterrupts) {
    Frames frames;
    frames.enter(kP, 1, 16);
    {
        const SlowLock lock;
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

TEST_F(Probes, MoreOtherStacksThanThereIsRoomForAreDropped) {
    std::vector<char> memory(20 << 16);
    auto slot_on = [&memory](size_t number) {
        auto* slot = reinterpret_cast<uint64_t*>(&memory[(number << 16) + 32768]);
        *slot = code(100 + number);
        return slot;
    };
    for (size_t i = 0; i < 20; ++i) probe(dwell_enter, kQ, slot_on(i));  // suspended for good
    EXPECT_EQ(record().probes, uint64_t{kProbeStacks - 1});
    EXPECT_EQ(record().probes_dropped, 20u - (kProbeStacks - 1));
    EXPECT_EQ(record().probe_depth, 0u);
    Frames frames;
    frames.enter(kP, 1, 16);
    frames.leave(kP, 1);
    EXPECT_EQ(record().probe_depth, 0u);
    for (size_t i = 0; i < 20; ++i) probe(dwell_leave, kQ, slot_on(i));
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

TEST_F(Probes, ProbesInACommunicationStatementCountWithIt) {
    Frames frames;
    frames.enter(kP, 1, 16);
    const Frame caller{0, code(1000)};
    Call call;
    ASSERT_TRUE(enter(&call, MpiCall::kBarrier, &caller, kMpiForm));
    start(&call);
    Frames<4> inner;  // a reduction's operation, deeper than the wrapper
    uint64_t* deeper = inner.at(0);
    if (deeper < reinterpret_cast<uint64_t*>(&call)) {
        probe(dwell_enter, kQ, deeper);
        probe(dwell_leave, kQ, deeper);
        EXPECT_EQ(record().probes_missed, 1u);
    }
    stop(&call);
    book_event(&call, kSendReady);
    leave(&call);
    frames.leave(kP, 1);
    EXPECT_EQ(find({from(16), at_site(kP), from(32)}), nullptr);
    expect_at_rest();
}

TEST_F(Probes, ACommunicationStatementLeftByAThrowEndsThere) {
    Frames frames;
    frames.enter(kP, 1, 16);
    // A wrapper's frame deeper than all others here.
    alignas(Call) static thread_local char unused;
    static_cast<void>(unused);
    struct Deep {
        __attribute__((noinline)) static void call_and_throw() {
            const Frame caller{0, code(1000)};
            Call call;
            ASSERT_TRUE(enter(&call, MpiCall::kBarrier, &caller, kMpiForm));
            start(&call);
        }
    };
    Deep::call_and_throw();
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
