// Explicit tasks of libgomp: the runtime gets a function of dwell's, and data that begin with a
// head for it, followed by the program's own data. Their layout follows from how the runtime
// handles data (gcc's libgomp, task.c):
//
// * A task that is executed at once gets the original data or, where there is a copy function, a
// copy on the stack. The head
//   stores its own address: where it was not copied, the program's code gets its own data,
//   untouched.
// * A task that is executed later gets a copy, made by that function or by memcpy(): in the latter
// case the program's data must
//   lie behind the head. The presence of a copy function also affects cancelled tasks, so none is
//   passed where the program has none.
// * A task that can be fulfilled from elsewhere (detach) gets its event in the first word of the
// data. Such tasks, and tasks with
//   more data than fit on a stack twice, are recorded at creation but not at execution.
// * Tasks of a taskloop get their bounds in the first two words of the data, and find their
// reductions by the third.
//   reductions by the third.
#include <alloca.h>
#include <string.h>

#include "runtime/openmp/gomp.h"
#include "runtime/openmp/omp_calibration.h"

namespace dwell {

namespace {

struct TaskHead {
    void* first[3];  // words of a taskloop's data that the runtime uses
    const TaskHead* self;
    void (*code)(void*);
    void (*copy)(void*, void*);
    void* data;     // the program's data
    size_t offset;  // offset of their copy from here
    const GompRuntime* runtime;
    uint64_t mark;     // omp_adapter.h; 0: a task of a taskloop, whose number is unknown
    uint64_t address;  // address of the taskloop
    size_t known;      // bytes of `first` that belong to the program
};

constexpr size_t kMostData = 32768;

TaskHead head_of(const GompCall& call, void (*code)(void*), void* data, void (*copy)(void*, void*),
                 long align) {
    TaskHead head{};
    head.code = code;
    head.copy = copy;
    head.data = data;
    const auto unit = static_cast<size_t>(align > 16 ? align : 16);
    head.offset = (sizeof(TaskHead) + unit - 1) & ~(unit - 1);
    head.runtime = call.runtime;
    head.address = address_of_code(code);
    return head;
}

void copy_task(void* to, void* from) {
    const auto* const head = static_cast<const TaskHead*>(from);
    memcpy(to, head, sizeof(TaskHead));
    head->copy(static_cast<char*>(to) + head->offset, head->data);
}

DWELL_GOMP_CODE void run_task(void* of) {
    auto* const head = static_cast<TaskHead*>(of);
    void* const data = head->self == head ? head->data : static_cast<char*>(of) + head->offset;
    if (head->known != 0) memcpy(data, head->first, head->known);
    uint64_t mark = head->mark != 0 ? head->mark : omp_task_created(head->address);
    const GompCode around = t_gomp;
    uint64_t none = 0;
    uint64_t* const prior = around.task != nullptr ? around.task : &none;
    omp_task_switch(prior, false, &mark);
    t_gomp = {.runtime = head->runtime,
              .frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0)),
              .address = address_of_code(head->code) + 1,  // differs from the task's own
              .task = &mark,
              .increment = 1,
              .single_address = 0,
              .loop = OmpConstruct::kNone,
              .in_loop = false,
              .in_single = false,
              .after_single = false};
    head->code(data);
    t_gomp = around;
    omp_task_switch(&mark, true, prior, g_process.gomp_more);
}

// Calls `make` with the head and, behind it, data for the runtime to copy. Not inlined, because a
// function with alloca() makes no tail calls.
template <typename Make>
__attribute__((noinline)) void with_data(TaskHead* head, bool copied, size_t bytes, size_t align,
                                         Make make) {
    if (!copied || head->copy != nullptr) {
        head->self = head;
        make(head);
        return;
    }
    const size_t unit = align > 16 ? align : 16;
    const auto room = reinterpret_cast<uint64_t>(alloca(head->offset + bytes + unit));
    auto* const place = reinterpret_cast<TaskHead*>((room + unit - 1) & ~(unit - 1));
    memcpy(place, head, sizeof(TaskHead));
    place->self = place;
    memcpy(reinterpret_cast<char*>(place) + head->offset, head->data, bytes);
    make(place);
}

using NewTask = void (*)(void (*)(void*), void*, void (*)(void*, void*), long, long, bool, unsigned,
                         void**, int, void*);

// For an observed call.
DWELL_BODY void make_task(const GompCall& call, NewTask next, void (*code)(void*), void* data,
                          void (*copy)(void*, void*), long bytes, long align, bool deferred,
                          unsigned flags, void** depend, int priority, void* detach) {
    constexpr unsigned kDetach = 1 << 13;
    const uint64_t mark = omp_task_created(address_of_code(code));
    const auto size = static_cast<size_t>(bytes);
    if ((flags & kDetach) != 0 || size > kMostData || static_cast<size_t>(align) > kMostData) {
        return next(code, data, copy, bytes, align, deferred, flags, depend, priority, detach);
    }
    TaskHead head = head_of(call, code, data, copy, align);
    head.mark = mark;
    const size_t offset = head.offset;
    with_data(&head, deferred, size, static_cast<size_t>(align), [=](TaskHead* all) {
        next(run_task, all, copy != nullptr ? copy_task : nullptr, static_cast<long>(offset + size),
             align > 16 ? align : 16, deferred, flags, depend, priority, detach);
    });
}

// A stand-in for a runtime that executes a task at once.
__attribute__((noinline)) void at_once(void (*code)(void*), void* data, void (*)(void*, void*),
                                       long, long, bool, unsigned, void**, int, void*) {
    code(data);
}
__attribute__((noinline)) void do_nothing(void*) { asm volatile("" ::: "memory"); }
__attribute__((noinline)) void at_once_reported(const std::atomic<GompRuntime*>& serves,
                                                void* data) {
    const GompCall call = gomp_call(DWELL_FRAME(), kGomp_task, serves);
    make_task(call, gomp_next<NewTask>(call, kGomp_task), do_nothing, data, nullptr, sizeof(void*),
              sizeof(void*), true, 0, nullptr, 0, nullptr);
}

}  // namespace

void calibrate_gomp_tasks(Thread* thread, Node* node) {
    constinit static GompRuntime runtime{};
    runtime.observed = true;
    runtime.next[kGomp_task].store(reinterpret_cast<void*>(at_once));
    const std::atomic<GompRuntime*> serves{&runtime};
    const GompCode around = t_gomp;
    t_gomp = GompCode{};
    void* data = nullptr;
    const uint64_t row = omp_row(OmpConstruct::kTask, address_of_code(do_nothing));
    know_calibrated(thread, row, node);
    const uint64_t bare =
        least_ticks(thread, node, [&] {
            at_once(do_nothing, &data, nullptr, 0, 0, true, 0, nullptr, 0, nullptr);
        }).all;
    const StepTicks reported = least_ticks(thread, node, [&] { at_once_reported(serves, &data); });
    t_gomp = around;
    const OmpCosts& known = g_process.omp;
    const uint64_t all = beyond(reported.all, bare + known.pair + known.created);
    g_process.gomp_more.task_inner = reported.inner;
    g_process.gomp_more.task = beyond(all, known.task + known.task_inner + reported.inner);
}

}  // namespace dwell

using namespace dwell;

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libgomp's names (libgomp_g.h)
// Arguments that older compilers do not pass are passed on undefined: the runtime uses them only
// where the flags say so.
DWELL_EXPORT void GOMP_task(void (*code)(void*), void* data, void (*copy)(void*, void*), long bytes,
                            long align, bool deferred, unsigned flags, void** depend, int priority,
                            void* detach) {
    DWELL_GOMP_CALL(task);
    if (!call.observed) {
        t_gomp_request.task = address_of_code(code);
        return next(code, data, copy, bytes, align, deferred, flags, depend, priority, detach);
    }
    make_task(call, next, code, data, copy, bytes, align, deferred, flags, depend, priority,
              detach);
}

#define TASKLOOP(name, Number)                                                                 \
    DWELL_EXPORT void GOMP_##name(void (*code)(void*), void* data, void (*copy)(void*, void*), \
                                  long bytes, long align, unsigned flags, unsigned long tasks, \
                                  int priority, Number first, Number last, Number step) {      \
        DWELL_GOMP_CALL(name);                                                                 \
        const auto size = static_cast<size_t>(bytes);                                          \
        constexpr size_t kBounds = 2 * sizeof(Number);                                         \
        if (!call.observed || size < kBounds || size > kMostData ||                            \
            static_cast<size_t>(align) > kMostData) {                                          \
            if (!call.observed) t_gomp_request.taskloop = address_of_code(code);               \
            return next(code, data, copy, bytes, align, flags, tasks, priority, first, last,   \
                        step);                                                                 \
        }                                                                                      \
        TaskHead head = head_of(call, code, data, copy, align);                                \
        head.known = kBounds;                                                                  \
        memcpy(head.first, data, size < sizeof(head.first) ? size : sizeof(head.first));       \
        omp_begin(OmpConstruct::kTaskloop, call.address);                                      \
        const size_t offset = head.offset;                                                     \
        with_data(&head, true, size, static_cast<size_t>(align), [=](TaskHead* all) {          \
            next(run_task, all, copy != nullptr ? copy_task : nullptr,                         \
                 static_cast<long>(offset + size), align > 16 ? align : 16, flags, tasks,      \
                 priority, first, last, step);                                                 \
        });                                                                                    \
        omp_end(OmpConstruct::kTaskloop);                                                      \
    }
TASKLOOP(taskloop, long)
TASKLOOP(taskloop_ull, unsigned long long)

#define TASKWAIT(name, parameters, argument)              \
    DWELL_EXPORT void GOMP_##name(parameters) {           \
        DWELL_GOMP_CALL(name);                            \
        if (!call.observed) return next(argument);        \
        omp_begin(OmpConstruct::kTaskwait, call.address); \
        next(argument);                                   \
        omp_wait_end(OmpConstruct::kTaskwait);            \
    }
TASKWAIT(taskwait, , )
TASKWAIT(taskwait_depend, void** depend, depend)
DWELL_EXPORT void GOMP_taskgroup_start() {
    DWELL_GOMP_CALL(taskgroup_start);
    if (!call.observed) return next();
    next();
    omp_begin(OmpConstruct::kTaskgroup, call.address);
}
DWELL_EXPORT void GOMP_taskgroup_end() {
    DWELL_GOMP_CALL(taskgroup_end);
    if (!call.observed) return next();
    omp_begin(OmpConstruct::kTaskgroupEnd, call.address);
    next();
    omp_wait_end(OmpConstruct::kTaskgroupEnd);
    omp_end(OmpConstruct::kTaskgroup);
}
// NOLINTEND(readability-identifier-naming)
}
