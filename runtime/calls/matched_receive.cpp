// Estimates the cost of a receive whose message is waiting (DESIGN 7). An MPI_Iprobe before every
// receive would cost 60 ns.
//
// The calibration sends no message, because MPI allocates memory for its first messages, which
// would change whether the C library returns memory that the program frees to the kernel.
#include "runtime/calls/matched_receive.h"

#include <string.h>
#include <sys/mman.h>

namespace dwell {

namespace {

constexpr uint64_t kCopiedBytes = 64 * 1024;
constexpr int kTag = 30'011;  // on MPI_COMM_SELF
// Between processes a matched receive takes longer than one from self (a second copy): up to this
// factor it still counts as matched.
constexpr uint64_t kTolerance = 3;
// After a long computation MPI's data has left the caches, and a matched receive takes tens of
// microseconds (up to 26 were seen). So a receive may take as much longer as the computation before
// it lasted, within these bounds; where the sender's stamp is known, that decides (waits.h,
// found_all).
constexpr uint64_t kLeastSlack_ns = 300;
constexpr uint64_t kMostSlack_ns = 30'000;

DWELL_CALL_DATA uint64_t g_base_ticks = 0;
DWELL_CALL_DATA uint64_t g_ticks_per_mib = 0;
DWELL_CALL_DATA uint64_t g_least_slack_ticks = 0;
DWELL_CALL_DATA uint64_t g_most_slack_ticks = 0;

template <typename Work>
uint64_t least_ticks(int rounds, Work work) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < rounds; ++i) {
        const uint64_t start = now_ticks();
        work();
        best = earlier(best, now_ticks() - start);
    }
    return best;
}

}  // namespace

void calibrate_matched_receive() {
    const uint64_t per_second = g_process.header->ticks_per_second;
    g_least_slack_ticks = kLeastSlack_ns * per_second / 1'000'000'000u;
    g_most_slack_ticks = kMostSlack_ns * per_second / 1'000'000'000u;
    // A small message from self takes 4/3 of an unsuccessful probe (Open MPI 4.1).
    const uint64_t probe = least_ticks(20, [] {
        int flag = 0;
        g_mpi.Iprobe(0, kTag, g_mpi.comm_self, &flag, MPI_STATUS_IGNORE);
    });
    g_base_ticks = probe + probe / 3;
    void* memory =
        mmap(nullptr, 2 * kCopiedBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    auto* const out = static_cast<char*>(memory);
    const uint64_t copy = least_ticks(4, [out] {
        memcpy(out + kCopiedBytes, out, kCopiedBytes);
        asm volatile("" ::: "memory");
    });
    g_ticks_per_mib = copy * (1024 * 1024 / kCopiedBytes);
    munmap(memory, 2 * kCopiedBytes);
}

uint64_t matched_receive_ticks(uint64_t bytes) {
    return g_base_ticks + static_cast<uint64_t>(static_cast<double>(bytes) *
                                                static_cast<double>(g_ticks_per_mib) * 0x1p-20);
}

uint64_t most_unblocked_ticks(const Call* call, uint64_t messages, uint64_t bytes) {
    const uint64_t computed = call->start_ticks - call->thread->last_ticks;
    uint64_t slack = computed < g_most_slack_ticks ? computed : g_most_slack_ticks;
    if (slack < g_least_slack_ticks) slack = g_least_slack_ticks;
    const uint64_t others = messages > 1 ? (messages - 1) * g_base_ticks : 0;
    return kTolerance * (matched_receive_ticks(bytes) + others) + slack;
}

}  // namespace dwell
