// The tool interface of OpenMP 5 (OMPT): an OpenMP runtime that offers it asks for ompt_start_tool
// when it starts, and calls back from then on. All is handed to omp_adapter.h.
//
// Registered is what the adapter can use: each callback costs the program a call, whatever is done
// with it. LLVM's libomp tells no chunks of loops before version 15, and the kind of a loop's
// schedule neither; from then on it tells the first chunk of a static loop alone.
#include <dlfcn.h>
#include <link.h>
#include <omp-tools.h>
#include <string.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "runtime/find_symbol.h"
#include "runtime/gomp.h"
#include "runtime/omp_adapter.h"
#include "runtime/ompt.h"
#include "runtime/ompt_setting.h"

using dwell::OmpConstruct;

namespace {

// Of OpenMP 5.1 and 5.2: older headers do not have these, newer ones deprecate others.
constexpr int kBarrier = 1;
constexpr int kImplicitBarrier = 2;
constexpr int kExplicitBarrier = 3;
constexpr int kRuntimesBarrier = 4;
constexpr int kImplicitWorkshareBarrier = 8;
constexpr int kImplicitParallelBarrier = 9;
constexpr int kTeamsBarrier = 10;
constexpr int kWorkScope = 8;
constexpr int kWorkLoopStatic = 10;
constexpr int kWorkLoopDynamic = 11;
constexpr int kWorkLoopGuided = 12;
constexpr int kWorkLoopOther = 13;
constexpr int kDispatchLoopChunk = 3;
constexpr int kDispatchTaskloopChunk = 4;
constexpr int kDispatchDistributeChunk = 5;

ompt_get_task_info_t g_task_info = nullptr;
ompt_set_callback_t g_set = nullptr;

// Where the code of a library lies.
struct CodeOf {
    uint64_t address_in_it;
    uint64_t begin;
    uint64_t end;
};
CodeOf g_runtime{};
CodeOf g_dwell{};

int match_code(dl_phdr_info* object, size_t, void* library) {
    auto* const code = static_cast<CodeOf*>(library);
    const uint64_t wanted = code->address_in_it;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        const uint64_t begin = object->dlpi_addr + segment.p_vaddr;
        if (segment.p_type != PT_LOAD || wanted - begin >= segment.p_memsz) continue;
        code->begin = begin;
        code->end = begin + segment.p_memsz;
        return 1;
    }
    return 0;
}

void find_code(CodeOf* code, const void* address_in_it) {
    code->address_in_it = reinterpret_cast<uint64_t>(address_in_it);
    dl_iterate_phdr(match_code, code);
}

bool is_in(const CodeOf& code, uint64_t at) { return at - code.begin < code.end - code.begin; }
bool is_in_runtime(uint64_t at) { return is_in(g_runtime, at); }

uint64_t address(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

// Marks regions that the runtime forks for itself, to have threads for `target nowait`: what these
// threads do between two of them is nobody's waiting.
char g_own_region = 0;
bool is_own_region(const ompt_data_t* parallel) {
    return parallel != nullptr && parallel->ptr == &g_own_region;
}

dwell::OmpTeam* team_of(const ompt_data_t* parallel) {
    if (parallel == nullptr || is_own_region(parallel)) return nullptr;
    return static_cast<dwell::OmpTeam*>(parallel->ptr);
}

uint64_t code_frame() {
    ompt_data_t* data = nullptr;
    ompt_data_t* parallel = nullptr;
    ompt_frame_t* frame = nullptr;
    int flags = 0;
    int number = 0;
    if (g_task_info(0, &flags, &data, &frame, &parallel, &number) != 2 || frame == nullptr) {
        return 0;
    }
    return address(frame->exit_frame.ptr);
}

// The frame of the runtime's function that the program called, on the stack of the caller of this.
// Runtimes that have no frame pointer there, or give another address, are found out by what it
// holds (omp_fork).
const dwell::Frame* caller_of(const ompt_frame_t* frame) {
    if (frame == nullptr) return nullptr;
    const uint64_t at = address(frame->enter_frame.ptr);
    const uint64_t here = address(__builtin_frame_address(0));
    constexpr uint64_t kFarthest = 1 << 16;
    if (at <= here || at - here > kFarthest || at % sizeof(uint64_t) != 0) return nullptr;
    return static_cast<const dwell::Frame*>(frame->enter_frame.ptr);
}

void parallel_begin(ompt_data_t*, const ompt_frame_t* frame, ompt_data_t* parallel, unsigned, int,
                    const void* codeptr) {
    const dwell::Frame* caller = caller_of(frame);
    const uint64_t code = std::exchange(dwell::t_gomp_request.region, 0);
    if (code == 0 && is_in_runtime(address(codeptr))) {
        parallel->ptr = &g_own_region;
        return;
    }
    if (code == 0) {
        parallel->ptr = dwell::omp_fork(address(codeptr), caller);
        return;
    }
    if (caller != nullptr && caller->return_address != address(codeptr)) caller = nullptr;
    parallel->ptr = dwell::omp_fork_code(code, caller, address(codeptr));
}

void parallel_end(ompt_data_t* parallel, ompt_data_t*, int, const void*) {
    dwell::omp_join(team_of(parallel));
}

// A region may be forked in a single construct of gcc's, which goes on behind it. Two bits for each
// region that the thread is in; what is deeper than 32 of them is forgotten.
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

void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel, ompt_data_t*,
                   unsigned size, unsigned index, int flags) {
    if ((flags & ompt_task_initial) != 0) return;
    if (endpoint == ompt_scope_begin) {
        keep_single();
        dwell::omp_implicit_begin(team_of(parallel), index, size);
    } else if (endpoint == ompt_scope_end) {
        dwell::end_gomp_single();
        resume_single();
        dwell::omp_implicit_end();
    }
}

OmpConstruct construct_of_work(int kind) {
    switch (kind) {
        case ompt_work_loop:
            return OmpConstruct::kLoop;
        case kWorkLoopStatic:
            return OmpConstruct::kStaticLoop;
        case kWorkLoopDynamic:
            return OmpConstruct::kDynamicLoop;
        case kWorkLoopGuided:
            return OmpConstruct::kGuidedLoop;
        case kWorkLoopOther:
            return OmpConstruct::kOtherLoop;
        case ompt_work_sections:
            return OmpConstruct::kSections;
        case ompt_work_single_executor:
            return OmpConstruct::kSingle;
        case ompt_work_workshare:
            return OmpConstruct::kWorkshare;
        case ompt_work_distribute:
            return OmpConstruct::kDistribute;
        case ompt_work_taskloop:
            return OmpConstruct::kTaskloop;
        case kWorkScope:
            return OmpConstruct::kScope;
        default:  // threads that do not execute a single region pass it
            return OmpConstruct::kNone;
    }
}

// `codeptr`, but libomp names a place of its own for a taskloop and its tasks: they stand where
// gcc's program says so, or clang's began the group of these tasks.
uint64_t address_of_taskloop(const void* codeptr) {
    const uint64_t at = address(codeptr);
    if (!is_in_runtime(at)) return at;
    const uint64_t taskloop = dwell::t_gomp_request.taskloop;
    const uint64_t around = taskloop != 0 ? taskloop : dwell::omp_taskloop_address();
    return around != 0 ? around : at;
}

// A static loop that has just begun on this thread. libomp tells its beginning and the first chunk
// from one of its functions where the program computes its chunks itself, and no other chunk; but
// from two of them, and each chunk, where it hands them out.
struct StaticLoop {
    const void* frame;  // of the callback; null: other things came since
    uint64_t iterations;
};
constinit thread_local StaticLoop t_static_loop{};

void work(ompt_work_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*, ompt_data_t*,
          uint64_t count, const void* codeptr) {
    const OmpConstruct construct = construct_of_work(kind);
    const bool single = kind == ompt_work_single_executor || kind == ompt_work_single_other;
    const bool of_gcc = std::exchange(dwell::t_gomp_request.single, false) && single;
    // Tasks may be made in a single construct, other work may not stand there.
    if (endpoint != ompt_scope_end && construct != OmpConstruct::kTaskloop) {
        dwell::end_gomp_single();
    }
    if (of_gcc) dwell::t_gomp.after_single = true;
    if (construct == OmpConstruct::kNone) return;
    if (of_gcc) dwell::t_gomp.in_single = true;
    if (endpoint == ompt_scope_end) {
        // libomp ends the loop of a `distribute parallel for` as if it were the one around it.
        if (construct != OmpConstruct::kDistribute || !dwell::omp_loop_end()) {
            dwell::omp_end(construct);
        }
    } else if (endpoint == ompt_scope_begin) {
        if (dwell::is_omp_loop(static_cast<uint16_t>(construct))) {
            if (construct == OmpConstruct::kStaticLoop) {
                t_static_loop = {__builtin_frame_address(0), count};
            }
            dwell::omp_loop_begin(construct, address(codeptr), count);
        } else {
            dwell::omp_begin(construct, address_of_taskloop(codeptr));
        }
    }
}

// What `instance` of a chunk points to (OpenMP 5.2, 19.4.4.12).
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

// Of interest is only where a group of tasks waits: elsewhere all of the region is waiting.
void sync_region_wait(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t*,
                      ompt_data_t*, const void* codeptr) {
    if (kind != ompt_sync_region_taskgroup) return;
    if (endpoint == ompt_scope_begin) {
        dwell::omp_begin(OmpConstruct::kTaskgroupEnd, address(codeptr));
    } else {
        dwell::omp_wait_end(OmpConstruct::kTaskgroupEnd);
    }
}

// Each barrier would be told of these as well: they are asked for once there are groups.
void ask_for_waits() {
    static std::atomic<bool> asked{false};
    if (asked.load(std::memory_order_relaxed) || asked.exchange(true)) return;
    g_set(ompt_callback_sync_region_wait, reinterpret_cast<ompt_callback_t>(sync_region_wait));
}

// Of a program of gcc: the barrier that it asked for, or the one behind a single construct.
void gcc_barrier_begin(uint64_t at) {
    const bool single = std::exchange(dwell::t_gomp_request.single, false);
    const bool implicit = single || dwell::t_gomp.after_single;
    dwell::end_gomp_single();
    // A call in place of a return comes from the runtime.
    if (is_in_runtime(at)) at = dwell::omp_region_address() + 1;
    dwell::omp_barrier_begin(implicit ? OmpConstruct::kImplicitBarrier : OmpConstruct::kBarrier, at,
                             false);
}

// `of_region`: it may be the last one, which those of gcc's programs come to in the runtime's code.
void barrier_begin(bool implicit, bool of_region, bool at_end, const void* codeptr) {
    const uint64_t behind = std::exchange(dwell::t_gomp_request.behind, 0);
    uint64_t at = behind != 0 ? behind : address(codeptr);
    if (std::exchange(dwell::t_gomp_request.barrier, false)) return gcc_barrier_begin(at);
    // Called by GOMP_single_copy_start(), which has to see what that returns.
    if (is_in(g_dwell, at)) at = dwell::t_gomp.single_address;
    dwell::end_gomp_single();
    if (implicit && is_in_runtime(at)) {
        at = of_region && behind == 0 ? 0 : dwell::omp_region_address() + 1;
    }
    dwell::omp_barrier_begin(implicit ? OmpConstruct::kImplicitBarrier : OmpConstruct::kBarrier, at,
                             at_end);
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
                barrier_begin(false, false, false, codeptr);
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
                barrier_begin(true, of_region, number == kImplicitParallelBarrier, codeptr);
            } else {
                dwell::omp_barrier_end();
            }
            return;
        case ompt_sync_region_taskwait:
            if (begins) {
                dwell::omp_begin(OmpConstruct::kTaskwait, address(codeptr));
            } else {
                dwell::omp_wait_end(OmpConstruct::kTaskwait);
            }
            return;
        case ompt_sync_region_taskgroup:
            if (begins) {
                ask_for_waits();
                dwell::omp_begin(OmpConstruct::kTaskgroup, address(codeptr));
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
        dwell::omp_begin(OmpConstruct::kMasked, address(codeptr));
    } else {
        dwell::omp_end(OmpConstruct::kMasked);
    }
}

// Tries for a lock take no time: they are no construct where they are told as such.
OmpConstruct construct_of_mutex(ompt_mutex_t kind) {
    switch (kind) {
        case ompt_mutex_lock:
            return OmpConstruct::kLock;
        case ompt_mutex_nest_lock:
            return OmpConstruct::kNestLock;
        case ompt_mutex_critical:
            return OmpConstruct::kCritical;
        case ompt_mutex_atomic:
            return OmpConstruct::kAtomic;
        case ompt_mutex_ordered:
            return OmpConstruct::kOrdered;
        default:
            return OmpConstruct::kNone;
    }
}
bool is_lock(OmpConstruct construct) {
    return construct == OmpConstruct::kLock || construct == OmpConstruct::kNestLock;
}

void mutex_acquire(ompt_mutex_t kind, unsigned, unsigned, ompt_wait_id_t, const void* codeptr) {
    const OmpConstruct construct = construct_of_mutex(kind);
    if (is_lock(construct)) {
        dwell::omp_lock_wanted(construct, address(codeptr));
    } else if (construct != OmpConstruct::kNone) {
        dwell::omp_begin(construct, address(codeptr));
    }
}

// libomp (14 to 19, kmp_csupport.cpp, __kmpc_end_critical) tells that a critical section was left
// with what it keeps for its first thread, number 0, and crashes where that thread has ended. This
// is the one that started it. So it is asked for these ends only where that is the process's first
// thread, which does not end before the process, and no longer when that one leaves by
// pthread_exit().
std::atomic<bool> g_releases_are_told{false};
bool is_first_thread() { return gettid() == getpid(); }

bool is_held() {
    if (g_releases_are_told.load(std::memory_order_relaxed)) return true;
    uint32_t* const flags = &dwell::g_process.header->flags;
    if ((__atomic_load_n(flags, __ATOMIC_RELAXED) & dwell::kFileNoHolds) == 0) {
        __atomic_fetch_or(flags, uint32_t{dwell::kFileNoHolds}, __ATOMIC_RELAXED);
    }
    return false;
}

void mutex_acquired(ompt_mutex_t kind, ompt_wait_id_t, const void*) {
    const OmpConstruct construct = construct_of_mutex(kind);
    if (is_lock(construct)) {
        dwell::omp_lock_got(construct);
    } else if (construct != OmpConstruct::kNone) {
        dwell::omp_got(construct, is_held());
    }
}
void mutex_released(ompt_mutex_t kind, ompt_wait_id_t, const void*) {
    const OmpConstruct construct = construct_of_mutex(kind);
    if (construct != OmpConstruct::kNone && !is_lock(construct)) dwell::omp_end(construct);
}
// A lock that the thread holds already is got again.
void nest_lock(ompt_scope_endpoint_t endpoint, ompt_wait_id_t, const void*) {
    if (endpoint == ompt_scope_begin) dwell::omp_lock_got(OmpConstruct::kNestLock);
}

void task_create(ompt_data_t*, const ompt_frame_t*, ompt_data_t* task, int flags, int,
                 const void* codeptr) {
    const uint64_t code = std::exchange(dwell::t_gomp_request.task, 0);
    if ((flags & ompt_task_explicit) == 0) return;
    task->value = dwell::omp_task_created(code != 0 ? code : address_of_taskloop(codeptr));
}

void task_schedule(ompt_data_t* prior, ompt_task_status_t status, ompt_data_t* next) {
    const bool finished = status == ompt_task_complete || status == ompt_task_cancel ||
                          status == ompt_task_detach || status == ompt_task_late_fulfill;
    if (next == nullptr && !finished) return;
    uint64_t none[2] = {0, 0};
    dwell::omp_task_switch(prior != nullptr ? &prior->value : &none[0], finished,
                           next != nullptr ? &next->value : &none[1]);
}

OmpConstruct construct_of_target(int kind) {
    constexpr int kNowait = 8;
    switch (kind & ~kNowait) {
        case ompt_target:
            return OmpConstruct::kTarget;
        case ompt_target_enter_data:
            return OmpConstruct::kTargetEnterData;
        case ompt_target_exit_data:
            return OmpConstruct::kTargetExitData;
        case ompt_target_update:
            return OmpConstruct::kTargetUpdate;
        default:
            return OmpConstruct::kNone;
    }
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

// Bytes are told at the beginning and at the end. What stands in no construct was called for.
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
    if (is_first_thread() && g_releases_are_told.exchange(false)) {
        g_set(ompt_callback_mutex_released, nullptr);
    }
    dwell::omp_thread_end();
}

int initialize(ompt_function_lookup_t lookup, int, ompt_data_t*) {
    g_set = reinterpret_cast<ompt_set_callback_t>(lookup("ompt_set_callback"));
    g_task_info = reinterpret_cast<ompt_get_task_info_t>(lookup("ompt_get_task_info"));
    if (g_set == nullptr || !dwell::start_omp()) return 0;  // OMPT stays off
    if (dwell::g_process.options.omp == dwell::OmpMode::kExchanged) {
        __atomic_fetch_or(&dwell::g_process.header->flags, uint32_t{dwell::kFileExchanged},
                          __ATOMIC_RELAXED);
    }
    find_code(&g_runtime, reinterpret_cast<const void*>(lookup));
    find_code(&g_dwell, reinterpret_cast<const void*>(initialize));
    if (g_task_info != nullptr) dwell::g_omp_code_frame = code_frame;
    const auto on = [](ompt_callbacks_t event, auto* callback) {
        return g_set(event, reinterpret_cast<ompt_callback_t>(callback));
    };
    on(ompt_callback_parallel_begin, parallel_begin);
    on(ompt_callback_parallel_end, parallel_end);
    on(ompt_callback_implicit_task, implicit_task);
    on(ompt_callback_work, work);
    dwell::g_omp_tells_chunks = on(ompt_callback_dispatch, dispatch) == ompt_set_always;
    on(ompt_callback_sync_region, sync_region);
    on(ompt_callback_reduction, reduction);
    on(ompt_callback_masked, masked);
    on(ompt_callback_mutex_acquire, mutex_acquire);
    on(ompt_callback_mutex_acquired, mutex_acquired);
    if (is_first_thread()) {
        g_releases_are_told.store(true);
        on(ompt_callback_mutex_released, mutex_released);
    }
    on(ompt_callback_nest_lock, nest_lock);
    on(ompt_callback_task_create, task_create);
    on(ompt_callback_task_schedule, task_schedule);
    on(ompt_callback_thread_end, thread_end);
    on(ompt_callback_target_emi, target);
    on(ompt_callback_target_data_op_emi, target_data);
    return 1;
}

void finalize(ompt_data_t*) {}

ompt_start_tool_result_t g_tool = {initialize, finalize, {0}};

// By the names that LLVM and Intel give it.
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
    find_code(&g_dwell, reinterpret_cast<const void*>(initialize));
    uint32_t obstacle = 0;
    if (ompt_switched_off() != nullptr) {
        obstacle = kFileOmptOff;
    } else if (!is_in(g_dwell, address(dlsym(RTLD_DEFAULT, "ompt_start_tool")))) {
        obstacle = kFileOtherTool;
    }
    return obstacle != 0 && may_observe_omp() ? obstacle : 0;
}

}  // namespace dwell

// Where dwell does not want to know, the next tool is asked, as if dwell were not there.
extern "C" DWELL_EXPORT ompt_start_tool_result_t* ompt_start_tool(unsigned version,
                                                                  const char* runtime) {
    if (dwell::may_observe_omp()) return &g_tool;
    decltype(&ompt_start_tool) next = nullptr;
    dwell::find_symbol(RTLD_NEXT, "ompt_start_tool", &next);
    return next != nullptr ? next(version, runtime) : nullptr;
}
