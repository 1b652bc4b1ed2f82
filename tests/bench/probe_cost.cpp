// What entering and leaving a procedure or a loop costs: calls of an empty procedure, and entries
// of an empty loop, in chunks of which the best one percent stands for all. Built several times:
// plain, with -pg, with -finstrument-functions and the C library's empty hooks, and
// (DWELL_BENCH_PROBES) with the probes that the compiler plugins put in.
//
// usage: probe_cost [CHUNKS]
//
// Prints nanoseconds for a call, for a loop, and for a pair of time stamp reads.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <x86intrin.h>

#include <algorithm>
#include <vector>

#include "runtime/contract/site_table.h"

#define NOINLINE __attribute__((noinline))
#define NO_HOOKS __attribute__((no_instrument_function))

namespace {

constexpr int kCalls = 100;

#if defined(DWELL_BENCH_PROBES)

asm(".weak dwell_enter\n.weak dwell_leave\n.weak dwell_loop_enter\n.weak dwell_loop_leave");
extern "C" void register_sites(const dwell::SiteModule*) __asm__("dwell_register_sites")
    __attribute__((weak));

enum Site { kChunk, kLeaf, kLoop, kSites };
struct Table {
    dwell::SiteRow rows[kSites];
    uint8_t levels[kSites];
    dwell::SiteModule module;
} g_table;

__attribute__((constructor)) void register_table() {
    for (int i = 0; i < kSites; ++i) {
        dwell::SiteRow& row = g_table.rows[i];
        row.kind = i == kLoop ? dwell::SiteKind::kLoop : dwell::SiteKind::kProcedure;
        row.level = static_cast<int32_t>(reinterpret_cast<char*>(&g_table.levels[i]) -
                                         reinterpret_cast<char*>(&row.level));
    }
    g_table.rows[kLoop].enclosing = kChunk - kLoop;
    g_table.module = {g_table.rows, g_table.rows + kSites, g_table.levels, g_table.levels + kSites};
    if (register_sites != nullptr) register_sites(&g_table.module);
}

// Laid out as the plugins do: what is done when the site is on stands apart.
#define PROBE(entry, site, iterations)                                                           \
    asm volatile(                                                                                \
        "cmpb $0, %[level]\n\t"                                                                  \
        "jne 2f\n"                                                                               \
        "1:\n\t"                                                                                 \
        ".subsection 1\n"                                                                        \
        "2:\n\t"                                                                                 \
        "lea %[row], %%r11\n\t"                                                                  \
        "lea %[slot], %%r10\n\t"                                                                 \
        "mov %[count], %%r9\n\t"                                                                 \
        "call *" entry                                                                           \
        "@GOTPCREL(%%rip)\n\t"                                                                   \
        "jmp 1b\n\t"                                                                             \
        ".previous"                                                                              \
        :                                                                                        \
        : [level] "m"(g_table.levels[site]), [row] "m"(g_table.rows[site]),                      \
          [slot] "m"(*(static_cast<void**>(__builtin_dwarf_cfa()) - 1)), [count] "i"(iterations) \
        : "r9", "r10", "r11", "cc")
#else
#define PROBE(entry, site, iterations)
#endif

NOINLINE void leaf() {
    PROBE("dwell_enter", kLeaf, 0);
    asm volatile("");
    PROBE("dwell_leave", kLeaf, 0);
}

NOINLINE uint64_t call_chunk() {
    PROBE("dwell_enter", kChunk, 0);
    const uint64_t begin = __rdtsc();
    for (int i = 0; i < kCalls; ++i) leaf();
    const uint64_t ticks = __rdtsc() - begin;
    PROBE("dwell_leave", kChunk, 0);
    return ticks;
}

NOINLINE uint64_t loop_chunk() {
    PROBE("dwell_enter", kChunk, 0);
    const uint64_t begin = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        PROBE("dwell_loop_enter", kLoop, 0);
        asm volatile("");
        PROBE("dwell_loop_leave", kLoop, 1);
    }
    const uint64_t ticks = __rdtsc() - begin;
    PROBE("dwell_leave", kChunk, 0);
    return ticks;
}

NOINLINE NO_HOOKS uint64_t stamp_chunk() {
    uint64_t sum = 0;
    const uint64_t begin = __rdtsc();
    for (int i = 0; i < kCalls; ++i) {
        sum += __rdtsc();
        sum += __rdtsc();
    }
    const uint64_t ticks = __rdtsc() - begin;
    asm volatile("" ::"r"(sum));
    return ticks;
}

NO_HOOKS double ns_per_tick() {
    timespec a;
    timespec b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t begin = __rdtsc();
    long ns = 0;
    while (ns < 20'000'000) {
        clock_gettime(CLOCK_MONOTONIC, &b);
        ns = (b.tv_sec - a.tv_sec) * 1'000'000'000L + (b.tv_nsec - a.tv_nsec);
    }
    return static_cast<double>(ns) / static_cast<double>(__rdtsc() - begin);
}

NO_HOOKS void measure(const char* name, uint64_t (*chunk)(), size_t chunks, double ns) {
    std::vector<uint64_t> ticks(chunks);
    for (uint64_t& one : ticks) one = chunk();
    const size_t kept = chunks / 100 > 0 ? chunks / 100 : 1;
    std::nth_element(ticks.begin(), ticks.begin() + static_cast<long>(kept) - 1, ticks.end());
    double sum = 0;
    for (size_t i = 0; i < kept; ++i) sum += static_cast<double>(ticks[i]);
    printf("%s %.3f\n", name, sum / static_cast<double>(kept) * ns / kCalls);
}

}  // namespace

NO_HOOKS int main(int argc, char** argv) {
    const int chunks = argc > 1 ? atoi(argv[1]) : 3000;
    const double ns = ns_per_tick();
    measure("call", call_chunk, static_cast<size_t>(std::max(chunks, 1)), ns);
    measure("loop", loop_chunk, static_cast<size_t>(std::max(chunks, 1)), ns);
    measure("stamps", stamp_chunk, static_cast<size_t>(std::max(chunks, 1)), ns);
    return 0;
}
