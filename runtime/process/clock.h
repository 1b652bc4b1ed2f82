// Real ticks: the invariant time stamp counter where the machine has one, else CLOCK_MONOTONIC in
// nanoseconds (DESIGN 4). Two reads cost about 20 ns.
#ifndef DWELL_RUNTIME_PROCESS_CLOCK_H_
#define DWELL_RUNTIME_PROCESS_CLOCK_H_

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dwell {

inline uint64_t ns_of_clock(clockid_t clock) {
    timespec now;
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t monotonic_ns() { return ns_of_clock(CLOCK_MONOTONIC); }
inline int64_t unix_ns() { return static_cast<int64_t>(ns_of_clock(CLOCK_REALTIME)); }
// Processor time of the calling thread.
inline uint64_t thread_processor_ns() { return ns_of_clock(CLOCK_THREAD_CPUTIME_ID); }

#if defined(__x86_64__)
// CPUID 8000_0007H, EDX bit 8: the counter runs at a constant rate in all power states.
inline bool has_invariant_tsc() {
    unsigned a, b, c, d;
    return __get_cpuid(0x80000007u, &a, &b, &c, &d) != 0 && (d & (1u << 8)) != 0;
}
inline uint64_t read_tsc() { return __builtin_ia32_rdtsc(); }
// Waits until earlier loads are complete: a load from another core's cache takes longer than
// reading the time stamp.
inline void finish_loads() { asm volatile("lfence" ::: "memory"); }
#else
inline bool has_invariant_tsc() { return false; }
inline uint64_t read_tsc() { return monotonic_ns(); }
inline void finish_loads() {}
#endif

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_CLOCK_H_
