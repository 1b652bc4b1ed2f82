// OpenMP 5's tool interface (OMPT): a runtime that offers it calls ompt_start_tool when it starts,
// and reports events by callbacks. They are passed to omp_adapter.h.
//
// Only callbacks that the adapter uses are registered, because each costs a call. LLVM's libomp
// reports neither chunks nor schedules of loops before version 15; later versions report only the
// first chunk of a static loop.
#include <dlfcn.h>
#include <link.h>
#include <omp-tools.h>
#include <string.h>

#include <atomic>
#include <iterator>
#include <utility>

#include "runtime/contract/ompt_setting.h"
#include "runtime/openmp/gomp.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/openmp/ompt.h"
#include "runtime/openmp/ompt_mutexes.h"
#include "runtime/openmp/ompt_places.h"
#include "runtime/process/find_symbol.h"

using dwell::address;
using dwell::address_in_code;
using dwell::is_in_runtime;
using dwell::OmpConstruct;

namespace {

// Values of OpenMP 5.1 and 5.2: older headers lack them, newer ones deprecate others.
constexpr int kBarrier = 1;
constexpr int kImplicitBarrier = 2;
constexpr int kExplicitBarrier = 3;
constexpr int kRuntimesBarrier = 4;
constexpr int kImplicitWorkshareBarrier = 8;
constexpr int kImplicitParallelBarrier = 9;
constexpr int kTeamsBarrier = 10;
constexpr int kLeague = 0x40000000;
constexpr int kDispatchLoopChunk = 3;
constexpr int kDispatchTaskloopChunk = 4;
constexpr int kDispatchDistributeChunk = 5;

ompt_set_callback_t g_set = nullptr;

// Marks regions that the runtime forks for itself, to have threads for `target nowait`: what these
// threads do between two of them is no waiting.
char g_own_region = 0;
bool is_own_region(const ompt_data_t* parallel) {
    return parallel != nullptr && parallel->ptr == &g_own_region;
}
// Marks another kind of region that is not the program's, but contains reported events: each team
// of a league is such a region, which its first thread executes alone.
char g_region_of_team = 0;
bool is_of_program(const ompt_data_t* parallel) {
    return !is_own_region(parallel) && (parallel == nullptr || parallel->ptr != &g_region_of_team);
}
// Marks a league that is not recorded, to distinguish its teams from a runtime thread's first
// activity.
char g_unrecorded_league = 0;

dwell::OmpTeam* team_of(const ompt_data_t* parallel) {
    if (parallel == nullptr || !is_of_program(parallel) || parallel->ptr == &g_unrecorded_league) {
        return nullptr;
    }
    return static_cast<dwell::OmpTeam*>(parallel->ptr);
}

OmpConstruct construct_of_region(int flags) {
    return (flags & kLeague) != 0 ? OmpConstruct::kTeams : OmpConstruct::kParallel;
}

// A region forked by a tail call seems to come from the runtime, but comes from the code of a
// region or task. Its address is that code's, less one: inside the call that the address follows,
// and different from the address of any region there.
dwell::OmpTeam* fork_at_end_of_code() {
    return dwell::omp_fork(dwell::omp_code_address() - 1, nullptr);
}

void parallel_begin(ompt_data_t*, const ompt_frame_t* frame, ompt_data_t* parallel, unsigned,
                    int flags, const void* codeptr) {
    const dwell::Frame* caller = dwell::caller_of(frame);
    uint64_t code = std::exchange(dwell::t_gomp_request.region, 0);
    const bool in_code = frame != nullptr && frame->exit_frame.ptr != nullptr;
    const OmpConstruct construct = construct_of_region(flags);
    if (construct == OmpConstruct::kTeams) {
        dwell::OmpTeam* const league = dwell::omp_fork(address(codeptr), caller, construct);
        parallel->ptr = league != nullptr ? static_cast<void*>(league) : &g_unrecorded_league;
        return;
    }
    const bool in_region = codeptr == nullptr && dwell::omp_in_region();
    const uint64_t at = in_region ? dwell::reported_place(codeptr) : address(codeptr);
    if (code == 0 && at == 0) {
        parallel->ptr = &g_region_of_team;
        return;
    }
    if (code == 0 && is_in_runtime(at)) {
        const bool at_end = in_code && dwell::omp_code_address() != 0;
        parallel->ptr = at_end ? static_cast<void*>(fork_at_end_of_code()) : &g_own_region;
        return;
    }
    if (code == 0) code = dwell::code_in_c_library(at, caller);
    if (code == 0) {
        parallel->ptr = dwell::omp_fork(at, caller);
        return;
    }
    if (caller != nullptr && caller->return_address != at) caller = nullptr;
    parallel->ptr = dwell::omp_fork_code(code, caller, at);
}

// The end of one of gcc's regions that one thread executes alone is reported as that of the
// surrounding team.
void parallel_end(ompt_data_t* parallel, ompt_data_t*, int flags, const void* codeptr) {
    if (is_own_region(parallel) || (!is_of_program(parallel) && codeptr == nullptr)) return;
    dwell::omp_join(team_of(parallel), construct_of_region(flags));
}

// A region may be forked inside a single construct of gcc, which continues after it. Two bits for
// each region around the thread; deeper nesting than 32 is forgotten.
constinit thread_local uint64_t t_singles_around = 0;
void keep_single() {
    dwell::GompCode& code = dwell::t_gomp;
    dwell::t_gomp_request.behind = 0;
    t_singles_around =
        t_singles_around << 2 | (code.in_single ? 2u : 0u) | (code.after_single ? 1u : 0u);
    code.in_single = code.after_single = false;
}
void resume_single() {
    dwell::t_gomp.in_single = (t_singles_around & 2) != 0;
    dwell::t_gomp.after_single = (t_singles_around & 1) != 0;
    t_singles_around >>= 2;
}

// An initial task is the activity of a thread of the program, or of the first thread of a team in a
// league: the latter has a region at its begin, and the former at its end.
bool is_of_league(ompt_scope_endpoint_t endpoint, const ompt_data_t* parallel) {
    if (endpoint != ompt_scope_begin) return parallel == nullptr;
    return parallel != nullptr && parallel->ptr != nullptr;
}

void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t*,
                   unsigned size, unsigned index, int flags) {
    if ((flags & ompt_task_initial) != 0 && !is_of_league(endpoint, parallel)) return;
    if (endpoint == ompt_scope_begin) {
        keep_single();
        dwell::omp_implicit_begin(team_of(parallel), index, size);
    } else if (endpoint == ompt_scope_end) {
        dwell::end_gomp_single();
        resume_single();
        dwell::omp_implicit_end();
    }
}

// None is reported for threads that do not execute a single.
OmpConstruct construct_of_work(unsigned kind) {
    using enum OmpConstruct;
    // By ompt_work_t of OpenMP 5.2; older headers lack the last.
    constexpr OmpConstruct kOfWork[] = {kNone,       kLoop,        kSections,   kSingle,   kNone,
                                        kWorkshare,  kDistribute,  kTaskloop,   kScope,    kNone,
                                        kStaticLoop, kDynamicLoop, kGuidedLoop, kOtherLoop};
    static_assert(ompt_work_loop == 1 && ompt_work_taskloop == 7);
    return kind < std::size(kOfWork) ? kOfWork[kind] : kNone;
}

// `codeptr`, but libomp reports an own address for a taskloop and its tasks: it is replaced by the
// one stored for gcc's program, or by that of clang's taskgroup around.
uint64_t address_of_taskloop(const void* codeptr) {
    const uint64_t at = dwell::reported_place(codeptr);
    if (!is_in_runtime(at)) return at;
    const uint64_t taskloop = dwell::t_gomp_request.taskloop;
    const uint64_t around = taskloop != 0 ? taskloop : dwell::omp_taskloop_address();
    return around != 0 ? around : address_in_code(at);
}

// The address from which libomp creates the tasks of taskloops, as reported with a taskloop; 0:
// none yet.
std::atomic<uint64_t> g_taskloop_call{0};

// A static loop that has just begun on this thread. Where the program computes its chunks itself,
// libomp reports the beginning and the first chunk from one of its functions, and no further chunk;
// where libomp hands out the chunks, it reports each, and from two functions.
struct StaticLoop {
    const void* frame;  // frame of the callback; null: another event came since
    uint64_t iterations;
};
constinit thread_local StaticLoop t_static_loop{};

void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
          uint64_t count, const void* codeptr) {
    const OmpConstruct construct = construct_of_work(kind);
    const bool single = kind == ompt_work_single_executor || kind == ompt_work_single_other;
    const bool of_gcc = std::exchange(dwell::t_gomp_request.single, false) && single;
    // A single construct may create tasks, but contains no other worksharing.
    if (endpoint != ompt_scope_end && construct != OmpConstruct::kTaskloop) {
        dwell::end_gomp_single();
    }
    if (of_gcc) dwell::t_gomp.after_single = true;
    if (kind == ompt_work_single_other) dwell::omp_pass(address_in_code(address(codeptr)));
    if (construct == OmpConstruct::kNone) return;
    if (of_gcc) dwell::t_gomp.in_single = true;
    if (endpoint == ompt_scope_end) {
        // libomp reports the end of a `distribute parallel for` as that of the loop around it.
        if (construct != OmpConstruct::kDistribute || !dwell::omp_loop_end()) {
            dwell::omp_end(construct);
        }
    } else if (endpoint == ompt_scope_begin) {
        if (dwell::is_omp_loop(static_cast<uint16_t>(construct))) {
            if (construct == OmpConstruct::kStaticLoop) {
                t_static_loop = {__builtin_frame_address(0), count};
            }
            const uint64_t asked = std::exchange(dwell::t_gomp_request.loop, 0);
            const uint64_t at = asked != 0 ? asked : dwell::reported_place(codeptr);
            dwell::omp_loop_begin(construct, address_in_code(at), count);
        } else {
            if (construct == OmpConstruct::kTaskloop && is_in_runtime(address(codeptr))) {
                g_taskloop_call.store(address(codeptr), std::memory_order_relaxed);
            }
            dwell::omp_begin(construct, address_of_taskloop(codeptr));
        }
    }
}

// The data behind `instance` of a chunk (OpenMP 5.2, 19.4.4.12).
struct Chunk {
    uint64_t start;
    uint64_t iterations;
};

void dispatch(ompt_data_t*, ompt_data_t*, ompt_dispatch_t kind, ompt_data_t instance) {
    const int number = kind;
    const bool chunk = number == kDispatchLoopChunk || number == kDispatchTaskloopChunk ||
                       number == kDispatchDistributeChunk;
    if (!chunk || instance.ptr == nullptr) return;
    const uint64_t iterations = static_cast<const Chunk*>(instance.ptr)->iterations;
    const StaticLoop loop = std::exchange(t_static_loop, StaticLoop{});
    if (number == kDispatchLoopChunk && loop.frame == __builtin_frame_address(0)) {
        dwell::omp_static_chunks(loop.iterations, iterations);
    } else {
        dwell::omp_chunk(iterations);
    }
}

// The end of a taskgroup may be a tail call: then it has the address of its beginning.
uint64_t address_of_group_end(const void* codeptr) {
    const uint64_t at = address(codeptr);
    const uint64_t group = is_in_runtime(at) ? dwell::omp_taskloop_address() : 0;
    return group != 0 ? group : at;
}

// Only waiting at the end of a taskgroup is of interest: elsewhere the whole region of the
// construct is waiting.
void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*,
                      ompt_data_t*, const void* codeptr) {
    if (kind != ompt_sync_region_taskgroup) return;
    if (endpoint == ompt_scope_begin) {
        dwell::omp_begin(OmpConstruct::kTaskgroupEnd, address_of_group_end(codeptr));
    } else {
        dwell::omp_wait_end(OmpConstruct::kTaskgroupEnd);
    }
}

// Registers that callback only when there are taskgroups, because each barrier would call it as
// well.
void ask_for_waits() {
    static std::atomic<bool> asked{false};
    if (asked.load(std::memory_order_relaxed) || asked.exchange(true)) return;
    g_set(ompt_callback_sync_region_wait, reinterpret_cast<ompt_callback_t>(sync_region_wait));
}

// A barrier of a program built with gcc: explicit, or the one after a single construct.
void gcc_barrier_begin(uint64_t at) {
    const bool single = std::exchange(dwell::t_gomp_request.single, false);
    const bool implicit = single || dwell::t_gomp.after_single;
    dwell::end_gomp_single();
    // A tail call seems to come from the runtime.
    if (is_in_runtime(at)) at = dwell::omp_region_address() + 1;
    dwell::omp_barrier_begin(implicit ? OmpConstruct::kImplicitBarrier : OmpConstruct::kBarrier, at,
                             false);
}

// Before OpenMP 5.1 (libomp 14) the last barrier of a region has no kind of its own. The first
// thread reaches it at the address of the fork, the others at none. But that address may lie in the
// runtime, as for each barrier reached by a tail call, or may have been cleared (reported_place):
// then it is the last barrier if the thread has left the code of its region.
bool is_last(uint64_t at) {
    return dwell::is_nowhere(at) ? dwell::code_frame() == 0 : at == dwell::omp_region_call();
}

// `of_region`: may be the last barrier, as known from `at_end` or to be found out.
void barrier_begin(bool implicit, bool of_region, bool at_end, uint64_t reported) {
    const uint64_t behind = std::exchange(dwell::t_gomp_request.behind, 0);
    uint64_t at = behind != 0 ? behind : reported;
    if (std::exchange(dwell::t_gomp_request.barrier, false)) return gcc_barrier_begin(at);
    // Called by GOMP_single_copy_start(), which needs the address after that call.
    if (dwell::is_in_tool(at)) at = dwell::t_gomp.single_address;
    dwell::end_gomp_single();
    const bool last = at_end || (implicit && of_region && behind == 0 && is_last(at));
    if (!last && dwell::is_nowhere(at)) {
        const uint64_t before =
            implicit ? dwell::omp_worksharing_address() : dwell::caller_around_runtime(at);
        at = before != 0 ? before : address_in_code(at);
    }
    dwell::omp_barrier_begin(implicit ? OmpConstruct::kImplicitBarrier : OmpConstruct::kBarrier, at,
                             last);
}

void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                 ompt_data_t*, const void* codeptr) {
    if (is_own_region(parallel)) return;
    const bool begins = endpoint == ompt_scope_begin;
    const int number = kind;
    switch (number) {
        case kBarrier:
        case kExplicitBarrier:
            if (begins) {
                barrier_begin(false, false, false, dwell::reported_place(codeptr));
            } else {
                dwell::omp_barrier_end();
            }
            return;
        case kImplicitBarrier:
        case kRuntimesBarrier:
        case kImplicitWorkshareBarrier:
        case kImplicitParallelBarrier:
        case kTeamsBarrier:
            if (begins) {
                const bool of_region =
                    number != kImplicitWorkshareBarrier && number != kRuntimesBarrier;
                barrier_begin(true, of_region, number == kImplicitParallelBarrier,
                              address(codeptr));
            } else {
                dwell::omp_barrier_end();
            }
            return;
        case ompt_sync_region_taskwait:
            if (begins) {
                dwell::omp_begin(OmpConstruct::kTaskwait,
                                 address_in_code(dwell::reported_place(codeptr)));
            } else {
                dwell::omp_wait_end(OmpConstruct::kTaskwait);
            }
            return;
        case ompt_sync_region_taskgroup:
            if (begins) {
                ask_for_waits();
                dwell::omp_begin(OmpConstruct::kTaskgroup,
                                 address_in_code(dwell::reported_place(codeptr)));
            } else {
                dwell::omp_end(OmpConstruct::kTaskgroup);
            }
            return;
        default:
            return;
    }
}

void reduction(ompt_sync_region_t, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
               const void* codeptr) {
    if (endpoint == ompt_scope_begin) {
        dwell::omp_begin(OmpConstruct::kReduction, address(codeptr));
    } else {
        dwell::omp_end(OmpConstruct::kReduction);
    }
}

void masked(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t*,
            const void* codeptr) {
    if (is_own_region(parallel)) return;
    if (endpoint == ompt_scope_begin) {
        dwell::omp_begin(OmpConstruct::kMasked, dwell::reported_place(codeptr));
    } else {
        dwell::omp_end(OmpConstruct::kMasked);
    }
}

// The mark of the current task, if that may only create a part of a taskloop's tasks: libomp
// divides the creation of many tasks that way.
uint64_t* splitter(uint64_t at) {
    const bool of_taskloop = at != 0 && at == g_taskloop_call.load(std::memory_order_relaxed);
    ompt_data_t* const task = of_taskloop ? dwell::current_task() : nullptr;
    return task != nullptr ? &task->value : nullptr;
}

void task_create(ompt_data_t*, const ompt_frame_t*, ompt_data_t* task, int flags, int,
                 const void* codeptr) {
    const uint64_t code = std::exchange(dwell::t_gomp_request.task, 0);
    if ((flags & ompt_task_explicit) == 0) return;
    const uint64_t at = code != 0 ? code : address_of_taskloop(codeptr);
    task->value = dwell::omp_task_created(at, splitter(address(codeptr)));
}

void task_schedule(ompt_data_t* prior, ompt_task_status_t status, ompt_data_t* next) {
    const bool finished = status == ompt_task_complete || status == ompt_task_cancel ||
                          status == ompt_task_detach || status == ompt_task_late_fulfill;
    if (next == nullptr && !finished) return;
    uint64_t none[2] = {0, 0};
    dwell::omp_task_switch(prior != nullptr ? &prior->value : &none[0], finished,
                           next != nullptr ? &next->value : &none[1]);
}

OmpConstruct construct_of_target(unsigned kind) {
    using enum OmpConstruct;
    constexpr unsigned kNowait = 8;
    constexpr OmpConstruct kOfTarget[] = {kNone, kTarget, kTargetEnterData, kTargetExitData,
                                          kTargetUpdate};
    static_assert(ompt_target == 1 && ompt_target_update == 4);
    kind &= ~kNowait;
    return kind < std::size(kOfTarget) ? kOfTarget[kind] : kNone;
}

void target(ompt_target_t kind, ompt_scope_endpoint_t endpoint, int, ompt_data_t*, ompt_data_t*,
            ompt_data_t*, const void* codeptr) {
    const OmpConstruct construct = construct_of_target(kind);
    if (construct == OmpConstruct::kNone) return;
    if (endpoint == ompt_scope_begin) {
        dwell::omp_begin(construct, address(codeptr));
    } else if (endpoint == ompt_scope_end) {
        dwell::omp_end(construct);
    }
}

// Bytes are reported at the beginning and at the end. Outside of a construct it was an explicit
// copy.
void target_data(ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*, ompt_id_t*,
                 ompt_target_data_op_t operation, void*, int, void*, int, size_t bytes,
                 const void* codeptr) {
    const bool to = operation == ompt_target_data_transfer_to_device ||
                    operation == ompt_target_data_transfer_to_device_async;
    const bool from = operation == ompt_target_data_transfer_from_device ||
                      operation == ompt_target_data_transfer_from_device_async;
    if (!to && !from) return;
    constinit static thread_local bool is_copy = false;
    if (endpoint != ompt_scope_end) {
        is_copy = !dwell::omp_in_target();
        if (is_copy) dwell::omp_begin(OmpConstruct::kTargetCopy, address(codeptr));
        dwell::omp_moved(to ? bytes : 0, from ? bytes : 0);
    }
    if (endpoint != ompt_scope_begin && std::exchange(is_copy, false)) {
        dwell::omp_end(OmpConstruct::kTargetCopy);
    }
}

void thread_end(ompt_data_t*) {
    dwell::end_mutexes_of_thread(g_set);
    dwell::omp_thread_end();
}

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t*) {
    g_set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
    if (g_set == nullptr || !dwell::start_omp()) return 0;  // OMPT stays off
    if (dwell::g_process.options.omp == dwell::OmpMode::kExchanged) {
        __atomic_fetch_or(&dwell::g_process.header->flags, uint32_t{dwell::kFileExchanged},
                          __ATOMIC_RELAXED);
    }
    dwell::find_places(lookup);
    const auto on = [](ompt_callbacks_t event, auto* callback) {
        return g_set(event, reinterpret_cast<ompt_callback_t>(callback));
    };
    on(ompt_callback_parallel_begin, parallel_begin);
    on(ompt_callback_parallel_end, parallel_end);
    on(ompt_callback_implicit_task, implicit_task);
    on(ompt_callback_work, work);
    dwell::g_omp_reports_chunks = on(ompt_callback_dispatch, dispatch) == ompt_set_always;
    on(ompt_callback_sync_region, sync_region);
    on(ompt_callback_reduction, reduction);
    on(ompt_callback_masked, masked);
    dwell::register_mutex_callbacks(g_set);
    on(ompt_callback_task_create, task_create);
    on(ompt_callback_task_schedule, task_schedule);
    on(ompt_callback_thread_end, thread_end);
    on(ompt_callback_target_emi, target);
    on(ompt_callback_target_data_op_emi, target_data);
    return 1;
}

void finalize(ompt_data_t*) {}

ompt_start_tool_result_t g_tool = {initialize, finalize, {0}};

// By the library names of LLVM and Intel.
int match_libomp(dl_phdr_info* object, size_t, void*) {
    const char* const slash = strrchr(object->dlpi_name, '/');
    const char* const name = slash != nullptr ? slash + 1 : object->dlpi_name;
    for (const char* known : {"libomp.so", "libiomp5.so"}) {
        if (strncmp(name, known, strlen(known)) == 0) return 1;
    }
    return 0;
}

}  // namespace

namespace dwell {

uint32_t ompt_obstacle() {
    if (g_set != nullptr || dl_iterate_phdr(match_libomp, nullptr) == 0) return 0;
    find_own_code();
    uint32_t obstacle = 0;
    if (ompt_switched_off() != nullptr) {
        obstacle = kFileOmptOff;
    } else if (!is_in_tool(address(dlsym(RTLD_DEFAULT, "ompt_start_tool")))) {
        obstacle = kFileOtherTool;
    }
    return obstacle != 0 && may_observe_omp() ? obstacle : 0;
}

}  // namespace dwell

// If dwell does not observe OpenMP, the next tool is asked, as without dwell.
extern "C" DWELL_EXPORT ompt_start_tool_result_t* ompt_start_tool(unsigned version,
                                                                  const char* runtime) {
    if (dwell::may_observe_omp()) return &g_tool;
    decltype(&ompt_start_tool) next = nullptr;
    dwell::find_symbol(RTLD_NEXT, "ompt_start_tool", &next);
    return next != nullptr ? next(version, runtime) : nullptr;
}
