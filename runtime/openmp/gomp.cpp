// Finds the runtime that serves a call; regions, barriers, critical sections and singles.
//
// Threads report the end of a region when they leave its outlined code. The forking thread returns
// from the runtime after all threads have reached the last barrier. The others stay in the runtime;
// their leaving is recorded at their next region or at their end (omp_leave_region).
#include "runtime/openmp/gomp.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"
#include "runtime/openmp/lock_holders.h"
#include "runtime/process/file_limit.h"
#include "runtime/process/find_symbol.h"

namespace dwell {

constinit thread_local GompCode t_gomp{};
constinit thread_local GompRequest t_gomp_request{};
// The runtime that serves all modules; null until one is found.
DWELL_CALL_DATA std::atomic<GompRuntime*> g_gomp_runtime{nullptr};

namespace {

constexpr const char* kEntryNames[kGompEntries] = {
#define DWELL_GOMP_NAME(name) "GOMP_" #name,
#define DWELL_GOMP_NAMES(name) "GOMP_" #name "_start", "GOMP_" #name "_next",
    DWELL_GOMP_LOOPS(DWELL_GOMP_NAMES) DWELL_GOMP_OTHERS(DWELL_GOMP_NAME)
#undef DWELL_GOMP_NAMES
#undef DWELL_GOMP_NAME
};

// Static, so that they need no memory. Programs have one, or one for each library of Python.
constexpr int kMostRuntimes = 64;
GompRuntime g_runtimes[kMostRuntimes];
std::atomic<int> g_runtime_count{0};  // written with StateLock held

// Cache for processes with several runtimes that modules keep to themselves: return address, and
// above it the runtime's number, from 1.
constexpr uint32_t kCallers = 1024;
constexpr int kNumberShift = 48;
constexpr uint64_t kAddressBits = (uint64_t{1} << kNumberShift) - 1;
std::atomic<uint64_t> g_callers[kCallers];

std::atomic<uint64_t>& caller_place(uint64_t address) {
    return g_callers[address * 0x9e3779b97f4a7c15ull >> 54];
}

const void* base_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

// The library that contains `address`, protected from being unloaded.
void* library_of(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0) return nullptr;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void* next_in(void* scope, const char* name) {
    void* const next = dlsym(scope, name);
    return base_of(next) != base_of(kEntryNames) ? next : nullptr;
}

// Reports a missing function as the loader does, where the program would have failed without dwell.
[[noreturn]] void no_definition(const char* name) {
    char line[160];
    const int length = snprintf(line, sizeof(line), "dwell: no OpenMP runtime defines %s\n", name);
    if (!is_standard_error()) _exit(127);
    const NoSizeSignal held;
    const ssize_t written = raw_write(STDERR_FILENO, line, static_cast<size_t>(length));
    _exit(written != 0 ? 127 : 126);
}

// False for libomp, whose functions serve these entry points, too.
bool is_libgomp(const void* base, void* library) {
    void* const fork_call = library != nullptr ? dlsym(library, "__kmpc_fork_call") : nullptr;
    return library != nullptr && (fork_call == nullptr || base_of(fork_call) != base);
}

uint64_t code_frame() { return t_gomp.frame; }

GompRuntime* known_runtime(const void* base) {
    const int count = g_runtime_count.load(std::memory_order_acquire);
    for (int i = 0; i < count; ++i) {
        if (g_runtimes[i].base == base) return &g_runtimes[i];
    }
    return nullptr;
}

GompRuntime* runtime_of(void* definition, void* scope) {
    const void* const base = base_of(definition);
    if (GompRuntime* const known = known_runtime(base)) return known;
    void* const library = library_of(definition);
    int (*num_threads)() = nullptr;
    if (library != nullptr) find_symbol(library, "omp_get_num_threads", &num_threads);
    const bool observed = is_libgomp(base, library) && may_observe_omp();
    // Another thread may be starting too; its region is not observed then.
    const bool starts = observed && start_omp();
    const StateLock lock;
    if (GompRuntime* const known = known_runtime(base)) return known;
    const int count = g_runtime_count.load(std::memory_order_relaxed);
    if (count == kMostRuntimes) no_definition("anything: there are too many of them");
    GompRuntime* const made = &g_runtimes[count];
    made->base = base;
    made->scope = scope;
    made->num_threads = num_threads;
    made->observed = observed && num_threads != nullptr;
    if (made->observed) g_gomp_code_frame = code_frame;
    if (made->observed && starts) {
        __atomic_fetch_or(&g_process.header->flags, uint32_t{kFileGomp}, __ATOMIC_RELAXED);
    }
    g_runtime_count.store(count + 1, std::memory_order_release);
    return made;
}

// Looks in the module's own scope: the libraries that it was linked with.
GompRuntime* runtime_of_module(uint64_t address, const char* name) {
    void* const module = library_of(reinterpret_cast<const void*>(address));
    void* definition = module != nullptr ? next_in(module, name) : nullptr;
    void* const library = definition != nullptr ? library_of(definition) : nullptr;
    if (module != nullptr) close_handle(module);
    for (const char* usual : {"libgomp.so.1", "libomp.so.5"}) {
        if (definition != nullptr) break;
        void* const loaded = dlopen(usual, RTLD_LAZY | RTLD_NOLOAD);
        if (loaded == nullptr) continue;
        definition = next_in(loaded, name);
        if (definition != nullptr) return runtime_of(definition, loaded);
        close_handle(loaded);
    }
    if (definition == nullptr) no_definition(name);
    return runtime_of(definition, library);
}

}  // namespace

GompRuntime* find_gomp_runtime(uint64_t return_address, GompEntry entry) {
    std::atomic<uint64_t>& place = caller_place(return_address);
    const uint64_t known = place.load(std::memory_order_relaxed);
    if (known != 0 && (known & kAddressBits) == return_address) {
        return &g_runtimes[(known >> kNumberShift) - 1];
    }
    const int saved_errno = errno;
    const char* const name = kEntryNames[entry];
    GompRuntime* runtime = nullptr;
    if (void* const next = next_in(RTLD_NEXT, name)) {
        runtime = runtime_of(next, RTLD_NEXT);
        g_gomp_runtime.store(runtime, std::memory_order_release);
    } else {
        runtime = runtime_of_module(return_address, name);
        const auto number = static_cast<uint64_t>(runtime - g_runtimes) + 1;
        place.store(number << kNumberShift | (return_address & kAddressBits),
                    std::memory_order_relaxed);
    }
    errno = saved_errno;
    return runtime;
}

void* find_gomp_next(GompRuntime* runtime, GompEntry entry) {
    const int saved_errno = errno;
    void* const next = next_in(runtime->scope, kEntryNames[entry]);
    if (next == nullptr) no_definition(kEntryNames[entry]);
    runtime->next[entry].store(next, std::memory_order_relaxed);
    errno = saved_errno;
    return next;
}

void forget_gomp_callers() {
    if (g_runtime_count.load(std::memory_order_relaxed) == 0) return;
    for (std::atomic<uint64_t>& place : g_callers) place.store(0, std::memory_order_relaxed);
}

namespace {

// Lives on the forking thread's stack until all threads have left the code. One cache line for the
// other threads.
struct alignas(64) Region {
    void* reductions;  // the runtime expects it in the first word of the data
    void (*code)(void*);
    void* data;
    const GompRuntime* runtime;
    OmpTeam* team;
    const void* forking;     // the forking thread
    OmpConstruct construct;  // construct that the region consists of
    int64_t increment;       // increment of the loop
};

static_assert(sizeof(Region) == 64);

DWELL_GOMP_CODE void run_region(void* of) {
    const auto* const region = static_cast<const Region*>(of);
    const bool first = region->forking == __builtin_thread_pointer();
    if (first) {
        const int threads = region->runtime->num_threads();
        omp_implicit_begin(region->team, 0, static_cast<uint32_t>(threads));
    } else {
        omp_record_pending_ends();
        omp_implicit_begin(region->team, 1, 0);  // the other threads are not distinguished
    }
    const GompCode around = t_gomp;
    t_gomp = {.runtime = region->runtime,
              .frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0)),
              .address = address_of_code(region->code) + 1,  // differs from the region's own
              .task = nullptr,
              .increment = region->increment,
              .single_address = 0,
              .loop = region->construct,
              .in_loop = is_omp_loop(static_cast<uint16_t>(region->construct)),
              .in_single = false,
              .after_single = false};
    if (t_gomp.in_loop) {
        omp_loop_begin(region->construct, address_of_code(region->code), 0);
    } else if (region->construct == OmpConstruct::kSections) {
        omp_begin(region->construct, address_of_code(region->code));
    }
    region->code(region->data);
    end_gomp_single();
    t_gomp = around;
    if (first) {
        omp_barrier_begin(OmpConstruct::kImplicitBarrier, 0, true);
    } else {
        omp_leave_region();
    }
}

DWELL_BODY Region begin_region(const GompCall& call, void (*code)(void*), void* data,
                               OmpConstruct construct, int64_t increment) {
    OmpTeam* const team = omp_fork_code(address_of_code(code), call.frame);
    return {nullptr,   code,     data, call.runtime, team, __builtin_thread_pointer(),
            construct, increment};
}
DWELL_BODY void end_region(const Region& region) {
    omp_barrier_end();
    omp_implicit_end();
    omp_join(region.team);
}

// A region around next(code, data), which may consist of one `construct`.
template <typename Next>
DWELL_BODY auto make_region(const GompCall& call, void (*code)(void*), void* data,
                            OmpConstruct construct, int64_t increment, Next next) {
    if (!call.observed) {  // perhaps reported by libomp
        // The forking thread begins one loop or sections outside of the region's code, the others
        // from libomp.
        if (construct != OmpConstruct::kNone) t_gomp_request.loop = address_of_code(code);
        t_gomp_request.region = address_of_code(code);
        return next(code, data);
    }
    Region region = begin_region(call, code, data, construct, increment);
    if constexpr (__is_same(decltype(next(code, data)), void)) {
        next(run_region, &region);
        end_region(region);
    } else {
        region.reductions = *static_cast<void**>(data);
        const auto threads = next(run_region, &region);
        end_region(region);
        return threads;
    }
}
DWELL_BODY bool passes_barrier(const GompCall& call) {
    if (!call.observed) t_gomp_request.barrier = true;
    return !call.observed;
}

}  // namespace

}  // namespace dwell

using namespace dwell;

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libgomp's names (libgomp_g.h)
#define REGION(Result, name, construct, increment, parameters, ...)                    \
    DWELL_EXPORT Result GOMP_##name parameters {                                       \
        DWELL_GOMP_CALL(name);                                                         \
        return make_region(                                                            \
            call, code, data, OmpConstruct::construct, increment,                      \
            [=](void (*run)(void*), void* of) { return next(run, of, __VA_ARGS__); }); \
    }
REGION(void, parallel, kNone, 1,
       (void (*code)(void*), void* data, unsigned threads, unsigned flags), threads, flags)
REGION(unsigned, parallel_reductions, kNone, 1,
       (void (*code)(void*), void* data, unsigned threads, unsigned flags), threads, flags)
REGION(void, parallel_sections, kSections, 1,
       (void (*code)(void*), void* data, unsigned threads, unsigned sections, unsigned flags),
       threads, sections, flags)
#define PARALLEL_LOOP(name, construct)                                               \
    REGION(void, parallel_loop_##name, construct, increment,                         \
           (void (*code)(void*), void* data, unsigned threads, long begin, long end, \
            long increment, long chunk, unsigned flags),                             \
           threads, begin, end, increment, chunk, flags)
PARALLEL_LOOP(static, kStaticLoop)
PARALLEL_LOOP(dynamic, kDynamicLoop)
PARALLEL_LOOP(guided, kGuidedLoop)
PARALLEL_LOOP(nonmonotonic_dynamic, kDynamicLoop)
PARALLEL_LOOP(nonmonotonic_guided, kGuidedLoop)
#define PARALLEL_RUNTIME_LOOP(name)                                                  \
    REGION(void, parallel_loop_##name, kLoop, increment,                             \
           (void (*code)(void*), void* data, unsigned threads, long begin, long end, \
            long increment, unsigned flags),                                         \
           threads, begin, end, increment, flags)
PARALLEL_RUNTIME_LOOP(runtime)
PARALLEL_RUNTIME_LOOP(nonmonotonic_runtime)
PARALLEL_RUNTIME_LOOP(maybe_nonmonotonic_runtime)

// Also called at the end of a single construct.
#define BARRIER(Result, name)                                                                      \
    DWELL_EXPORT Result GOMP_##name() {                                                            \
        DWELL_GOMP_CALL(name);                                                                     \
        if (passes_barrier(call)) return next();                                                   \
        const bool implicit = t_gomp.after_single;                                                 \
        end_gomp_single();                                                                         \
        return at_gomp_barrier(implicit ? OmpConstruct::kImplicitBarrier : OmpConstruct::kBarrier, \
                               call.address, next);                                                \
    }
BARRIER(void, barrier)
BARRIER(bool, barrier_cancel)

// `what` distinguishes it for readers of the records; an ordered section is nobody's.
#define MUTEX(name, construct, what, declared, given)                       \
    DWELL_EXPORT void GOMP_##name##_start(declared) {                       \
        DWELL_GOMP_CALL(name##_start);                                      \
        if (!call.observed) return next(given);                             \
        want_lock(OmpConstruct::construct, what, call.address);             \
        omp_begin(OmpConstruct::construct, call.address);                   \
        next(given);                                                        \
        omp_acquired(OmpConstruct::construct, true);                        \
        take_lock(what, OmpConstruct::construct != OmpConstruct::kOrdered); \
    }                                                                       \
    DWELL_EXPORT void GOMP_##name##_end(declared) {                         \
        DWELL_GOMP_CALL(name##_end);                                        \
        if (!call.observed) return next(given);                             \
        give_back_lock(what);                                               \
        next(given);                                                        \
        omp_end(OmpConstruct::construct);                                   \
    }
MUTEX(critical, kCritical, 1, , )
MUTEX(critical_name, kCritical, reinterpret_cast<uint64_t>(lock), void** lock, lock)
MUTEX(atomic, kAtomic, 2, , )
MUTEX(ordered, kOrdered, 3, , )

DWELL_EXPORT bool GOMP_single_start() {
    DWELL_GOMP_CALL(single_start);
    if (!call.observed) {
        t_gomp_request.single = true;
        return next();
    }
    const bool own = next();
    end_gomp_single();
    t_gomp.after_single = true;
    t_gomp.in_single = own;
    if (own) omp_begin(OmpConstruct::kSingle, call.address);
    return own;
}
void begin_copying_single(uint64_t address) {
    end_gomp_single();
    t_gomp.in_single = true;
    t_gomp.single_address = address;
    omp_begin(OmpConstruct::kSingle, address);
}
// The other threads wait here for the data that the executing one copies to them.
DWELL_EXPORT void* GOMP_single_copy_start() {
    DWELL_GOMP_CALL(single_copy_start);
    if (!call.observed) {
        t_gomp.single_address = call.address;
        void* const copied = next();
        // libomp only reports its barriers; the next one ends the construct.
        if (copied == nullptr && g_omp_code_frame != nullptr) begin_copying_single(call.address);
        return copied;
    }
    end_gomp_single();
    omp_barrier_begin(OmpConstruct::kImplicitBarrier, call.address, false);
    void* const copied = next();
    if (copied != nullptr) {
        omp_barrier_end();
        return copied;
    }
    omp_barrier_withdrawn();
    begin_copying_single(call.address);
    return copied;
}
DWELL_EXPORT void GOMP_single_copy_end(void* copied) {
    DWELL_GOMP_CALL(single_copy_end);
    if (passes_end(call, t_gomp.single_address)) return next(copied);
    end_gomp_single();
    at_gomp_barrier(OmpConstruct::kImplicitBarrier, t_gomp.single_address, [=] { next(copied); });
}
// NOLINTEND(readability-identifier-naming)
}
