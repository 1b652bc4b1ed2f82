// Worksharing of libgomp: loops whose chunks the runtime deals out, and sections. Static loops are
// divided by the program's own code; only their barrier is seen.
#include "runtime/openmp/gomp.h"
#include "runtime/openmp/omp_calibration.h"

namespace dwell {

namespace {

// Bounds as given by the runtime, the end not included.
DWELL_BODY void report_chunk(uint64_t begin, uint64_t end) {
    if (!t_gomp.in_loop) return;
    const OmpCosts& more = g_process.gomp_more;
    const auto increment = static_cast<uint64_t>(t_gomp.increment);
    if (increment == 1) {
        omp_chunk(end - begin, more);
    } else if (t_gomp.increment > 0) {
        omp_chunk((end - begin + increment - 1) / increment, more);
    } else if (t_gomp.increment < 0) {
        omp_chunk((begin - end - increment - 1) / (0 - increment), more);
    }
}

// libomp keeps the address of a call until its next event, which may belong to another call.
DWELL_BODY bool passes_worksharing(const GompCall& call) {
    if (!call.observed) t_gomp_request.loop = call.address;
    return !call.observed;
}

template <typename Number, typename Next>
DWELL_BODY bool begin_loop(const GompCall& call, OmpConstruct construct, Number increment,
                           const Number* begin, const Number* end, Next next) {
    if (passes_worksharing(call)) return next();
    end_gomp_single();
    t_gomp.in_loop = true;
    t_gomp.loop = construct;
    t_gomp.increment = static_cast<int64_t>(increment);
    omp_loop_begin(construct, call.address, 0);
    const bool some = next();
    if (some && begin != nullptr)
        report_chunk(static_cast<uint64_t>(*begin), static_cast<uint64_t>(*end));
    return some;
}

template <typename Number>
DWELL_BODY bool next_chunk(const GompCall& call, bool (*next)(Number*, Number*), Number* begin,
                           Number* end) {
    if (!call.observed) return next(begin, end);
    const bool some = next(begin, end);
    if (some) report_chunk(uint64_t(*begin), uint64_t(*end));
    return some;
}

DWELL_BODY void end_loop() {
    if (!t_gomp.in_loop) return;
    t_gomp.in_loop = false;
    omp_end(t_gomp.loop);
}

// The schedule argument of GOMP_loop_start() (gomp-constants.h, enum gomp_schedule_type).
constexpr OmpConstruct construct_of_schedule(long schedule) {
    using enum OmpConstruct;
    constexpr long kKind = 7;
    constexpr OmpConstruct kOfKind[kKind + 1] = {kLoop, kStaticLoop, kDynamicLoop, kGuidedLoop,
                                                 kLoop, kLoop,       kLoop,        kLoop};
    return kOfKind[schedule & kKind];
}

using NextChunk = bool (*)(long*, long*);

__attribute__((noinline)) bool one_chunk(long* begin, long* end) {
    *begin = 0;
    *end = 1;
    asm volatile("" ::: "memory");
    return true;
}

// A loop function as called by the program, for a runtime that only `serves` the calibration.
__attribute__((noinline)) bool one_chunk_reported(const std::atomic<GompRuntime*>& serves,
                                                  long* begin, long* end) {
    const GompCall call = gomp_call(DWELL_FRAME(), kGomp_loop_dynamic_next, serves);
    return next_chunk(call, gomp_next<NextChunk>(call, kGomp_loop_dynamic_next), begin, end);
}

}  // namespace

void calibrate_gomp_loops(Thread* thread, Node* node) {
    constinit static GompRuntime runtime{};
    runtime.observed = true;
    runtime.next[kGomp_loop_dynamic_next].store(reinterpret_cast<void*>(one_chunk));
    const std::atomic<GompRuntime*> serves{&runtime};
    const GompCode around = t_gomp;
    t_gomp = GompCode{};
    t_gomp.in_loop = true;
    t_gomp.increment = 1;
    long begin = 0;
    long end = 0;
    omp_loop_begin(OmpConstruct::kDynamicLoop, kCalibrated, 0);
    const uint64_t bare = least_ticks(thread, node, [&] { one_chunk(&begin, &end); }).all;
    const uint64_t reported =
        least_ticks(thread, node, [&] { one_chunk_reported(serves, &begin, &end); }).all;
    omp_end(OmpConstruct::kDynamicLoop);
    t_gomp = around;
    g_process.gomp_more.chunk = beyond(reported, bare + g_process.omp.chunk);
}

}  // namespace dwell

using namespace dwell;

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libgomp's names (libgomp_g.h)
using Ull = unsigned long long;

#define BEGINS(name, construct, parameters, arguments)                                             \
    DWELL_EXPORT bool GOMP_##name parameters {                                                     \
        DWELL_GOMP_CALL(name);                                                                     \
        return begin_loop(call, construct, increment, begin, end, [=] { return next arguments; }); \
    }
#define NEXT_CHUNK(name, Number)                                       \
    DWELL_EXPORT bool GOMP_##name##_next(Number* begin, Number* end) { \
        DWELL_GOMP_CALL(name##_next);                                  \
        return next_chunk(call, next, begin, end);                     \
    }
#define LOOP(schedule, construct)                                                          \
    BEGINS(loop_##schedule##_start, OmpConstruct::construct,                               \
           (long first, long last, long increment, long chunk, long* begin, long* end),    \
           (first, last, increment, chunk, begin, end))                                    \
    NEXT_CHUNK(loop_##schedule, long)                                                      \
    BEGINS(loop_ull_##schedule##_start, OmpConstruct::construct,                           \
           (bool up, Ull first, Ull last, Ull increment, Ull chunk, Ull* begin, Ull* end), \
           (up, first, last, increment, chunk, begin, end))                                \
    NEXT_CHUNK(loop_ull_##schedule, Ull)
LOOP(static, kStaticLoop)
LOOP(dynamic, kDynamicLoop)
LOOP(guided, kGuidedLoop)
LOOP(nonmonotonic_dynamic, kDynamicLoop)
LOOP(nonmonotonic_guided, kGuidedLoop)
LOOP(ordered_static, kStaticLoop)
LOOP(ordered_dynamic, kDynamicLoop)
LOOP(ordered_guided, kGuidedLoop)
#define RUNTIME_LOOP(schedule)                                                  \
    BEGINS(loop_##schedule##_start, OmpConstruct::kLoop,                        \
           (long first, long last, long increment, long* begin, long* end),     \
           (first, last, increment, begin, end))                                \
    NEXT_CHUNK(loop_##schedule, long)                                           \
    BEGINS(loop_ull_##schedule##_start, OmpConstruct::kLoop,                    \
           (bool up, Ull first, Ull last, Ull increment, Ull* begin, Ull* end), \
           (up, first, last, increment, begin, end))                            \
    NEXT_CHUNK(loop_ull_##schedule, Ull)
RUNTIME_LOOP(runtime)
RUNTIME_LOOP(nonmonotonic_runtime)
RUNTIME_LOOP(maybe_nonmonotonic_runtime)
RUNTIME_LOOP(ordered_runtime)
// The schedule is an argument; the pointers for the first chunk may be null.
#define GENERAL_LOOP(name)                                                                     \
    BEGINS(loop_##name, construct_of_schedule(schedule),                                       \
           (long first, long last, long increment, long schedule, long chunk, long* begin,     \
            long* end, uintptr_t* reductions, void** memory),                                  \
           (first, last, increment, schedule, chunk, begin, end, reductions, memory))          \
    BEGINS(loop_ull_##name, construct_of_schedule(schedule),                                   \
           (bool up, Ull first, Ull last, Ull increment, long schedule, Ull chunk, Ull* begin, \
            Ull* end, uintptr_t* reductions, void** memory),                                   \
           (up, first, last, increment, schedule, chunk, begin, end, reductions, memory))
GENERAL_LOOP(start)
GENERAL_LOOP(ordered_start)

#define SECTIONS(name, parameters, arguments)                \
    DWELL_EXPORT unsigned GOMP_##name parameters {           \
        DWELL_GOMP_CALL(name);                               \
        if (passes_worksharing(call)) return next arguments; \
        end_gomp_single();                                   \
        omp_begin(OmpConstruct::kSections, call.address);    \
        return next arguments;                               \
    }
SECTIONS(sections_start, (unsigned count), (count))
SECTIONS(sections2_start, (unsigned count, uintptr_t* reductions, void** memory),
         (count, reductions, memory))

// The end of a loop or of sections, with and without a barrier.
#define ENDS_NOWAIT(name, end)        \
    DWELL_EXPORT void GOMP_##name() { \
        DWELL_GOMP_CALL(name);        \
        if (call.observed) end;       \
        next();                       \
    }
#define ENDS(Result, name, end)                                                     \
    DWELL_EXPORT Result GOMP_##name() {                                             \
        DWELL_GOMP_CALL(name);                                                      \
        if (passes_end(call, call.address)) return next();                          \
        end;                                                                        \
        return at_gomp_barrier(OmpConstruct::kImplicitBarrier, call.address, next); \
    }
ENDS_NOWAIT(loop_end_nowait, end_loop())
ENDS(void, loop_end, end_loop())
ENDS(bool, loop_end_cancel, end_loop())
ENDS_NOWAIT(sections_end_nowait, omp_end(OmpConstruct::kSections))
ENDS(void, sections_end, omp_end(OmpConstruct::kSections))
ENDS(bool, sections_end_cancel, omp_end(OmpConstruct::kSections))
// NOLINTEND(readability-identifier-naming)
}
