// A probe preserves all registers of the program: general ones, vectors of the machine's full
// width, and the floating point mode.
#include <cpuid.h>
#include <string.h>

#include <memory>

#include "tests/unit/runtime/probes/probe_harness.h"

namespace dwell {
namespace {

// Every register that a probe must preserve, before and after it.
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
    // Calls the probe with a distinct value in every register. r9, where it is an argument, r10 and
    // r11 may change. Returns r9.
    uint64_t expect_kept(Entry entry, int site, const uint64_t* slot, uint64_t iterations,
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
        return after->general[8];
    }
};

TEST_F(ProbeRegisters, ArePreservedOnTheFastAndTheSlowPath) {
    if (widest() != kZmm) std::printf("no AVX-512 here: narrower registers are looked at\n");
    Frames frames;
    for (const uint64_t shift : {0, 8}) {
        for (int round = 0; round < 3; ++round) {  // the first one is slow
            *frames.at(1) = code(16 + shift);
            expect_kept(dwell_enter, kP, frames.at(1), 0, shift);
            expect_kept(dwell_loop_enter, kOuter, frames.at(1), 0, shift);
            expect_kept(dwell_loop_leave, kOuter, frames.at(1), 7, shift);
            const uint64_t count =
                expect_kept(dwell_loop_enter_counting, kSecond, frames.at(1), 0, shift);
            *reinterpret_cast<uint64_t*>(count) += 5;
            expect_kept(dwell_loop_leave, kSecond, frames.at(1), 0, shift);
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
    EXPECT_EQ(part(find({from(24), at_site(kP), at_site(kSecond)})).iterations, 15u);
    expect_at_rest();
}

// Rounding to zero, flushing to zero and trapping of all floating point exceptions affect neither
// the program nor the probe.
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

}  // namespace
}  // namespace dwell
