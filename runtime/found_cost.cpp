// Was the message waiting? A receive is told apart by its duration from one that blocked, against
// what a receive costs here that finds its message (DESIGN 7): measured once on messages to self,
// where the message is always there. An MPI_Iprobe before every receive would tell as much and cost
// 60 ns.
#include <string.h>
#include <sys/mman.h>

#include "runtime/lifecycle.h"
#include "runtime/mpi_semantics.h"

namespace dwell {

namespace {

constexpr uint64_t kSmallBytes = 8;
constexpr uint64_t kLargeBytes = 256 * 1024;
constexpr int kTag = 30'011;  // on MPI_COMM_SELF before the program can use it
// Between processes a found message takes longer than one from self (a second copy): up to this
// much more still counts as found.
constexpr uint64_t kTolerance = 3;
// After a long computation the caches have forgotten MPI: then a found message takes tens of
// microseconds (up to 26 were seen). After a short one they have not. So a receive may take as much
// longer as the computation before it lasted, within these bounds; where the sender told its time,
// that decides (waits.h, found_all).
constexpr uint64_t kLeastSlack_ns = 300;
constexpr uint64_t kMostSlack_ns = 30'000;

DWELL_CALL_DATA uint64_t g_base_ticks = 0;
DWELL_CALL_DATA uint64_t g_ticks_per_mib = 0;
DWELL_CALL_DATA uint64_t g_least_slack_ticks = 0;
DWELL_CALL_DATA uint64_t g_most_slack_ticks = 0;

// Least ticks of a receive of `bytes` from self, over `rounds`; UINT64_MAX when MPI refused.
uint64_t receive_from_self(char* out, char* in, uint64_t bytes, int rounds) {
    uint64_t best = UINT64_MAX;
    for (int i = 0; i < rounds; ++i) {
        MPI_Request send = nullptr;
        MPI_Request receive = nullptr;
        const int count = static_cast<int>(bytes);
        if (g_mpi.Isend(out, count, g_mpi.byte, 0, kTag, g_mpi.comm_self, &send) != MPI_SUCCESS) {
            return UINT64_MAX;
        }
        const uint64_t start = now_ticks();
        g_mpi.Irecv(in, count, g_mpi.byte, 0, kTag, g_mpi.comm_self, &receive);
        g_mpi.Wait(&receive, MPI_STATUS_IGNORE);
        const uint64_t ticks = now_ticks() - start;
        g_mpi.Wait(&send, MPI_STATUS_IGNORE);
        if (ticks < best) best = ticks;
    }
    return best;
}

}  // namespace

void calibrate_found_cost() {
    const uint64_t per_second = g_process.header->ticks_per_second;
    g_least_slack_ticks = kLeastSlack_ns * per_second / 1'000'000'000u;
    g_most_slack_ticks = kMostSlack_ns * per_second / 1'000'000'000u;
    g_base_ticks = 200 * per_second / 1'000'000'000u;
    void* memory =
        mmap(nullptr, 2 * kLargeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return;
    char* out = static_cast<char*>(memory);
    char* in = out + kLargeBytes;
    const uint64_t small = receive_from_self(out, in, kSmallBytes, 20);
    const uint64_t large = receive_from_self(out, in, kLargeBytes, 3);
    if (small != UINT64_MAX) g_base_ticks = small;
    if (large != UINT64_MAX && large > small) {
        g_ticks_per_mib = (large - small) * (1024 * 1024 / kLargeBytes);
    }
    munmap(memory, 2 * kLargeBytes);
}

uint64_t found_cost_ticks(uint64_t bytes) {
    return g_base_ticks + static_cast<uint64_t>(static_cast<double>(bytes) *
                                                static_cast<double>(g_ticks_per_mib) * 0x1p-20);
}

uint64_t most_found_ticks(const Call* call, uint64_t messages, uint64_t bytes) {
    const uint64_t computed = call->start_ticks - call->thread->last_ticks;
    uint64_t slack = computed < g_most_slack_ticks ? computed : g_most_slack_ticks;
    if (slack < g_least_slack_ticks) slack = g_least_slack_ticks;
    const uint64_t others = messages > 1 ? (messages - 1) * g_base_ticks : 0;
    return kTolerance * (found_cost_ticks(bytes) + others) + slack;
}

}  // namespace dwell
