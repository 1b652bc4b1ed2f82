// OpenMP of programs built with gcc: libgomp has no tool interface, so the entry points that the
// compiler calls are interposed, and what they stand for is told to omp_adapter.h.
//
// Each call goes on to the definition that it would have reached without dwell. Where libomp is
// that one, which serves these entry points as well, it tells of itself (ompt.cpp) and nothing is
// told here but what it does not know (GompRequest); the calls are passed on as tail calls, as it
// tells of where it was called from.
#ifndef DWELL_RUNTIME_OPENMP_GOMP_H_
#define DWELL_RUNTIME_OPENMP_GOMP_H_

#include <stddef.h>

#include <atomic>

#include "runtime/openmp/omp_adapter.h"

namespace dwell {

// Loops: how they are begun, and the same with 64-bit numbers without sign.
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

// A library that defines the entry points. They are never given back.
struct GompRuntime {
    const void* base;  // where it is loaded
    void* scope;       // for dlsym(): RTLD_NEXT or a handle
    bool observed;     // what it is called for is to be told
    uint16_t number;   // from 1
    int (*num_threads)();
    GompRuntime* following;
    std::atomic<void*> next[kGompEntries];
};

// A program without memory has at least the one runtime that nearly all have. Any thread.
class SpareRuntime {
  public:
    // As new; null: it is taken.
    GompRuntime* take() { return taken_.exchange(true) ? nullptr : &runtime_; }
    bool is(const GompRuntime* runtime) const { return runtime == &runtime_; }
    // Nobody else knows it.
    void give_back() {
        runtime_.base = nullptr;
        runtime_.scope = nullptr;
        runtime_.observed = false;
        runtime_.number = 0;
        runtime_.num_threads = nullptr;
        runtime_.following = nullptr;
        for (std::atomic<void*>& next : runtime_.next) {
            next.store(nullptr, std::memory_order_relaxed);
        }
        taken_.store(false);
    }

  private:
    GompRuntime runtime_{};
    std::atomic<bool> taken_{false};
};

// What a thread executes for a runtime: a region or a task.
struct GompCode {
    const GompRuntime* runtime;
    uint64_t frame;     // see g_omp_code_frame
    uint64_t address;   // stands for a call that ends the code, of which no return address is left
    uint64_t* task;     // its mark; null in a region
    int64_t increment;  // of the loop under way
    uint64_t single_address;  // of the last single construct with copyprivate
    OmpConstruct loop;
    bool in_loop;
    bool in_single;     // this thread executes the last one, whose end is not told
    bool after_single;  // and since then nothing came that ends it
};
extern constinit thread_local GompCode t_gomp __attribute__((visibility("hidden")));

// The runtime that the code at `return_address` reaches with that entry point.
extern std::atomic<GompRuntime*> g_gomp_runtime __attribute__((visibility("hidden")));
DWELL_COLD GompRuntime* find_gomp_runtime(uint64_t return_address, GompEntry entry);
DWELL_COLD void* find_gomp_next(GompRuntime* runtime, GompEntry entry);

// Code that the compiler outlined is called from functions that lie here: what it calls in place of
// a return seems to be called by them.
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

// A call into the runtime.
struct GompCall {
    GompRuntime* runtime;
    uint64_t address;    // of the program, for the adapter
    const Frame* frame;  // null: not that of a call at `address`
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

// `call` and `next` of the exported function that this stands in.
#define DWELL_GOMP_CALL(name)                                     \
    const GompCall call = gomp_call(DWELL_FRAME(), kGomp_##name); \
    const auto next = gomp_next<decltype(&GOMP_##name)>(call, kGomp_##name)

// gcc gives a call the line of what stands before, and the code that it outlined that of the
// construct: the address that stands for the construct.
DWELL_BODY uint64_t address_of_code(void (*code)(void*)) {
    return reinterpret_cast<uint64_t>(code) + 1;
}

// What a thread of such a program is about to ask libomp for, which tells of less (ompt.cpp).
struct GompRequest {
    uint64_t region;    // address_of_code() of the region that it forks, or 0
    uint64_t task;      // the same of a task
    uint64_t taskloop;  // of the last taskloop, whose tasks libomp calls from its own code
    uint64_t loop;      // place of a loop or of sections, for which libomp may name another one
    uint64_t behind;    // the worksharing construct that the next barrier lies behind, or 0
    bool single;        // a single construct, whose end is not told
    bool barrier;       // a barrier, of which libomp does not tell whether it was asked for
};
extern constinit thread_local GompRequest t_gomp_request __attribute__((visibility("hidden")));

// What may not stand in a single construct ends it: of gcc's only the beginning is told.
DWELL_BODY void end_gomp_single() {
    t_gomp.after_single = false;
    if (!t_gomp.in_single) return;
    t_gomp.in_single = false;
    omp_end(OmpConstruct::kSingle);
}

// At the end of a worksharing construct: true where libomp is to tell of the barrier, which it
// calls from its own code as it does the last one of a region.
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

// Modules are unloaded: addresses of callers may be others' from now on.
void forget_gomp_callers();

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_GOMP_H_
