// OpenMP in programs built with gcc: libgomp has no tool interface, so the entry points that the
// compiler calls are interposed, and the events are reported to omp_adapter.h.
//
// Each call is passed on to the definition that it would have reached without dwell. If that is
// libomp, which serves these entry points too, libomp reports its own events (ompt.cpp), and only
// information that it lacks is stored here (GompRequest); such calls are passed on as tail calls,
// because libomp reports the caller's address.
#ifndef DWELL_RUNTIME_OPENMP_GOMP_H_
#define DWELL_RUNTIME_OPENMP_GOMP_H_

#include <stddef.h>

#include <atomic>

#include "runtime/openmp/omp_adapter.h"

namespace dwell {

// Loops: how they begin, and the same for unsigned 64-bit numbers.
// clang-format off
#define DWELL_GOMP_CHUNKED(see, prefix) \
    see(prefix##static) see(prefix##dynamic) see(prefix##guided) \
    see(prefix##nonmonotonic_dynamic) see(prefix##nonmonotonic_guided) \
    see(prefix##ordered_static) see(prefix##ordered_dynamic) see(prefix##ordered_guided)
#define DWELL_GOMP_RUNTIME(see, prefix) \
    see(prefix##runtime) see(prefix##nonmonotonic_runtime) \
    see(prefix##maybe_nonmonotonic_runtime) see(prefix##ordered_runtime)
#define DWELL_GOMP_LOOPS(see) \
    DWELL_GOMP_CHUNKED(see, loop_) DWELL_GOMP_CHUNKED(see, loop_ull_) \
    DWELL_GOMP_RUNTIME(see, loop_) DWELL_GOMP_RUNTIME(see, loop_ull_)
#define DWELL_GOMP_OTHERS(see) \
    see(parallel) see(parallel_reductions) see(parallel_sections) see(parallel_loop_static) \
    see(parallel_loop_dynamic) see(parallel_loop_guided) see(parallel_loop_runtime) \
    see(parallel_loop_nonmonotonic_dynamic) see(parallel_loop_nonmonotonic_guided) \
    see(parallel_loop_nonmonotonic_runtime) see(parallel_loop_maybe_nonmonotonic_runtime) \
    see(barrier) see(barrier_cancel) see(critical_start) see(critical_end) \
    see(critical_name_start) see(critical_name_end) see(atomic_start) see(atomic_end) \
    see(ordered_start) see(ordered_end) see(single_start) see(single_copy_start) \
    see(single_copy_end) see(sections_start) see(sections2_start) see(sections_end) \
    see(sections_end_cancel) see(sections_end_nowait) see(loop_start) see(loop_ordered_start) \
    see(loop_ull_start) see(loop_ull_ordered_start) see(loop_end) see(loop_end_cancel) \
    see(loop_end_nowait) see(task) see(taskloop) see(taskloop_ull) see(taskwait) \
    see(taskwait_depend) see(taskgroup_start) see(taskgroup_end)
// clang-format on

enum GompEntry : int {
#define DWELL_GOMP_NUMBER(name) kGomp_##name,
#define DWELL_GOMP_NUMBERS(name) kGomp_##name##_start, kGomp_##name##_next,
    DWELL_GOMP_LOOPS(DWELL_GOMP_NUMBERS) DWELL_GOMP_OTHERS(DWELL_GOMP_NUMBER) kGompEntries,
#undef DWELL_GOMP_NUMBERS
#undef DWELL_GOMP_NUMBER
};

// A library that defines the entry points.
struct GompRuntime {
    const void* base;  // load address
    void* scope;       // for dlsym(): RTLD_NEXT or a handle
    bool observed;     // its calls are reported
    int (*num_threads)();
    std::atomic<void*> next[kGompEntries];
};

// The region or task that a thread executes for a runtime.
struct GompCode {
    const GompRuntime* runtime;
    uint64_t frame;           // as g_omp_code_frame
    uint64_t address;         // address for a tail call at the end of the code
    uint64_t* task;           // the task's mark; null in a region
    int64_t increment;        // increment of the current loop
    uint64_t single_address;  // the last single construct with copyprivate
    OmpConstruct loop;
    bool in_loop;
    bool in_single;     // this thread executes a single, whose end is not reported
    bool after_single;  // no later event has ended that single
};
extern constinit thread_local GompCode t_gomp __attribute__((visibility("hidden")));

// The runtime that code at `return_address` reaches with that entry point.
extern std::atomic<GompRuntime*> g_gomp_runtime __attribute__((visibility("hidden")));
DWELL_COLD GompRuntime* find_gomp_runtime(uint64_t return_address, GompEntry entry);
DWELL_COLD void* find_gomp_next(GompRuntime* runtime, GompEntry entry);

// Section of the functions that call outlined code: a tail call at the end of that code seems to
// come from them.
#define DWELL_GOMP_CODE __attribute__((section("dwell_gomp_code"), noinline))
// NOLINTBEGIN(readability-identifier-naming): the linker's names
extern "C" __attribute__((visibility("hidden"))) const char __start_dwell_gomp_code[];
extern "C" __attribute__((visibility("hidden"))) const char __stop_dwell_gomp_code[];
// NOLINTEND(readability-identifier-naming)
inline bool is_end_of_code(uint64_t return_address) {
    const auto begin = reinterpret_cast<uint64_t>(__start_dwell_gomp_code);
    const auto end = reinterpret_cast<uint64_t>(__stop_dwell_gomp_code);
    return return_address - begin < end - begin;
}

// A call of an entry point.
struct GompCall {
    GompRuntime* runtime;
    uint64_t address;    // calling address in the program, for the adapter
    const Frame* frame;  // null: does not belong to a call at `address`
    bool observed;
};
DWELL_BODY GompCall gomp_call(const Frame* frame, GompEntry entry,
                              const std::atomic<GompRuntime*>& serves = g_gomp_runtime) {
    GompCall call{serves.load(std::memory_order_relaxed), frame->return_address, frame, false};
    if (is_end_of_code(call.address)) [[unlikely]] {
        call.address = t_gomp.address;
        call.frame = nullptr;
        if (call.runtime == nullptr) call.runtime = const_cast<GompRuntime*>(t_gomp.runtime);
    }
    if (call.runtime == nullptr) [[unlikely]]
        call.runtime = find_gomp_runtime(frame->return_address, entry);
    call.observed = call.runtime->observed && g_live->on != 0;
    return call;
}
template <typename Function>
DWELL_BODY Function gomp_next(const GompCall& call, GompEntry entry) {
    void* next = call.runtime->next[entry].load(std::memory_order_relaxed);
    if (next == nullptr) [[unlikely]]
        next = find_gomp_next(call.runtime, entry);
    return reinterpret_cast<Function>(next);
}

// Defines `call` and `next` of the exported function around it.
#define DWELL_GOMP_CALL(name)                                     \
    const GompCall call = gomp_call(DWELL_FRAME(), kGomp_##name); \
    const auto next = gomp_next<decltype(&GOMP_##name)>(call, kGomp_##name)

// gcc gives a call the line of the statement before, and outlined code the line of the construct:
// so the code's address stands for the construct.
DWELL_BODY uint64_t address_of_code(void (*code)(void*)) {
    return reinterpret_cast<uint64_t>(code) + 1;
}

// A thread's next request to libomp, which reports less about calls of gcc's entry points
// (ompt.cpp).
struct GompRequest {
    uint64_t region;    // address_of_code() of the region to fork, or 0
    uint64_t task;      // likewise for a task
    uint64_t taskloop;  // likewise for the last taskloop, whose tasks libomp calls itself
    uint64_t loop;      // address of a loop or sections, for which libomp may report another one
    uint64_t behind;    // worksharing construct before the next barrier, or 0
    bool single;        // a single construct, whose end is not reported
    bool barrier;       // an explicit barrier; libomp does not distinguish these
};
extern constinit thread_local GompRequest t_gomp_request __attribute__((visibility("hidden")));

// Ends a single construct at an event that it cannot contain: gcc only reports its beginning.
DWELL_BODY void end_gomp_single() {
    t_gomp.after_single = false;
    if (!t_gomp.in_single) return;
    t_gomp.in_single = false;
    omp_end(OmpConstruct::kSingle);
}

// At the end of a worksharing construct: true where libomp will report the barrier, which it calls
// from its own code, as it calls the last barrier of a region.
DWELL_BODY bool passes_end(const GompCall& call, uint64_t address) {
    if (!call.observed) t_gomp_request.behind = address;
    return !call.observed;
}
template <typename Next>
DWELL_BODY auto at_gomp_barrier(OmpConstruct construct, uint64_t address, Next next) {
    omp_barrier_begin(construct, address, false);
    if constexpr (__is_same(decltype(next()), void)) {
        next();
        omp_barrier_end();
    } else {
        const auto result = next();
        omp_barrier_end();
        return result;
    }
}

// Modules were unloaded: callers' addresses may belong to other modules.
void forget_gomp_callers();

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_GOMP_H_
