// Attaches and ends threads: a thread is attached at its first call or probe; at its end its state
// and record pass to the next new thread (DESIGN 3). Callbacks of other rooms: hooks.h.
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <type_traits>

#include "runtime/contract/raw_io.h"
#include "runtime/process/hooks.h"
#include "runtime/process/reset.h"
#include "runtime/process/thread_names.h"
#include "runtime/process/time_axis.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

DWELL_CALL_DATA Process g_process;
constinit std::span<const ThreadService> g_thread_services;
namespace {
LivePage g_not_live{};
pthread_key_t g_thread_key;
bool g_have_key = false;
}  // namespace
DWELL_CALL_DATA LivePage* g_live = &g_not_live;
constinit thread_local Thread* t_thread = nullptr;
constinit thread_local uint32_t t_in_guard = 0;
// The thread has ended; calls from destructors are recorded only for probes and MPI.
static constinit thread_local bool t_ending __attribute__((tls_model("initial-exec"))) = false;

static_assert(std::is_trivially_destructible_v<Thread>);

// A signal's bit in the kernel's mask.
static constexpr uint64_t bit_of(int signal) { return uint64_t{1} << (signal - 1); }

// Uses the system call, because the C library's masks leave out signals that end a thread.
SignalsBlocked::SignalsBlocked() {
    constexpr uint64_t kErrors = bit_of(SIGSEGV) | bit_of(SIGBUS) | bit_of(SIGFPE) |
                                 bit_of(SIGILL) | bit_of(SIGTRAP) | bit_of(SIGABRT) |
                                 bit_of(SIGSYS);
    const uint64_t all = ~kErrors;
    before_ = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before_, sizeof(before_));
}
SignalsBlocked::~SignalsBlocked() {
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof(before_));
}

void StateLock::wait() { sched_yield(); }

namespace {

// Stores the name at the thread's end, because a thread starts with its creator's name.
void note_name(ThreadRecord* record, const char* name) {
    static_assert(sizeof(record->name) == kThreadNameBytes);
    if (record->threads_served > 1) {
        join_thread_name(record->name, name);
    } else {
        memcpy(record->name, name, sizeof(record->name));
    }
}

void note_own_name(ThreadRecord* record) {
    char name[kThreadNameBytes] = {};
    if (prctl(PR_GET_NAME, name) == 0) note_name(record, name);
}

// Stores the name of another thread, which may have ended.
void note_name_of(ThreadRecord* record) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/comm", record->tid);
    const int file = raw_open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    char name[kThreadNameBytes] = {};
    const ssize_t bytes = raw_read(file, name, sizeof(name));
    raw_close(file);
    if (bytes <= 0 || name[bytes - 1] != '\n') return;
    name[bytes - 1] = '\0';
    note_name(record, name);
}

bool is_main(const ThreadRecord* record) { return record->tid == g_process.header->pid; }

// Virtual time at which the calling thread began: at most as long ago as the observation, and after
// a pause not before now. For threads other than the first it is estimated by the processor time.
uint64_t own_span_begin(const Thread* thread, uint64_t now) {
    const FileHeader* const header = g_process.header;
    const uint64_t first = earlier(later(header->start_ticks, header->reset_ticks), now);
    if (g_live->paused != 0 || g_live->paused_ticks != 0) return virtual_ticks(thread, now);
    if (is_main(thread->record)) return virtual_ticks(thread, first);
    const double seconds = 1e-9 * static_cast<double>(thread_processor_ns());
    const auto ticks =
        static_cast<uint64_t>(seconds * static_cast<double>(header->ticks_per_second));
    return virtual_ticks(thread, later(beyond(now, ticks), first));
}

// Destructor of the pthread key: frees the state for the next new thread.
void thread_ended(void* state) {
    auto* thread = static_cast<Thread*>(state);
    t_ending = true;
    if (g_live->on == 0) return;  // also in a forked child
    call_services(&ThreadService::ending, thread);
    const ReentryGuard busy;
    call_services(&ThreadService::end, thread, now_ticks());
    thread->record->state = ThreadState::kEnded;
    note_own_name(thread->record);
    thread->open = nullptr;
    t_thread = nullptr;
    // Not used again: the process's time is real time less the overhead in this record.
    if (thread->record->number == g_process.header->process_thread) return;
    const StateLock lock;
    thread->next_free = g_process.free_threads;
    g_process.free_threads = thread;
}

Thread* take_free_thread() {
    const StateLock lock;
    Thread* thread = g_process.free_threads;
    if (thread != nullptr) g_process.free_threads = thread->next_free;
    return thread;
}

// Private memory, touched only where it is used.
Thread* make_thread() {
    void* memory = mmap(nullptr, sizeof(Thread), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    auto* thread = static_cast<Thread*>(memory);
    const CellIndex record = take_cells(thread, kThreadCells);
    const CellIndex root = record != 0 ? take_cells(thread, 1) : 0;
    if (root == 0) {
        munmap(memory, sizeof(Thread));
        return nullptr;
    }
    auto* program = cell_at<Node>(root);
    program->site.kind = SiteKind::kProgram;
    program->min_ticks = UINT64_MAX;
    thread->record = cell_at<ThreadRecord>(record);
    thread->record->number = g_process.thread_count.fetch_add(1);
    thread->record->root = root;
    return thread;
}

void link_thread(Thread* thread) {
    const StateLock lock;
    thread->record->next = g_process.header->first_thread;
    __atomic_store_n(&g_process.header->first_thread, index_of(thread->record), __ATOMIC_RELEASE);
    thread->next = g_process.threads.load();
    g_process.threads.store(thread);
}

Thread* attach(bool may_allocate) {
    if (t_in_guard != 0) return nullptr;  // called from a signal handler inside dwell
    const uint64_t now = now_ticks();
    const ReentryGuard busy;
    if (!g_have_key) {
        const StateLock lock;
        if (!g_have_key) g_have_key = pthread_key_create(&g_thread_key, thread_ended) == 0;
    }
    Thread* thread = take_free_thread();
    const bool fresh = thread == nullptr;
    if (fresh) thread = make_thread();
    if (thread == nullptr) return nullptr;
    ThreadRecord* record = thread->record;
    record->tid = static_cast<int32_t>(syscall(SYS_gettid));
    record->state = ThreadState::kComputing;
    record->threads_served += 1;
    if (fresh) {
        note_own_name(record);
        record->start_ticks = now;
        link_thread(thread);
    }
    // The time between two owners of a record is no computation.
    thread->open = nullptr;
    thread->user_depth = 0;
    thread->user_ticks = 0;
    thread->io = nullptr;
    thread->processor = ProcessorTime{};
    thread->in_tool.end();
    thread->last = 0;
    thread->slow_overhead = thread->separate_ticks = 0;
    thread->epoch = seen_epoch();
    thread->resets = g_live->resets;
    if (!fresh && thread->unloads != g_live->unloads) {
        call_services(&ThreadService::forget_modules, thread);
    }
    thread->unloads = g_live->unloads;
    thread->paused_ticks = g_live->paused_ticks;
    record->last_ticks = now;
    call_services(&ThreadService::start, thread);
    t_thread = thread;
    if (record->number == 0) g_process.usual_thread = thread;
    if (g_have_key) pthread_setspecific(g_thread_key, thread);
    thread->attached_ticks = now;
    record->life_start = 0;
    thread->span_begin = own_span_begin(thread, now);
    begin_axis(thread, axis_ticks_of(thread, thread->span_begin));
    if (!g_process.with_mpi && is_main(record)) g_process.header->process_thread = record->number;
    call_services(&ThreadService::started, thread, may_allocate);
    // Attaching was slow work; while recording is off, its time belongs to nobody.
    thread->last_ticks = now;
    thread->slow_overhead = now_ticks() - now;
    if (live_ticket() == 0) {
        thread->last_ticks += thread->slow_overhead;
        thread->slow_overhead = 0;
    }
    return thread;
}

}  // namespace

void start_span(Thread* thread) {
    thread->record->life_start = thread->span_begin;
    thread->span_begin = 0;
}

void end_span(Thread* thread, uint64_t now) {
    ThreadRecord* const record = thread->record;
    if (record->life_start == 0) return;
    // Without MPI the first thread's span is that of the process.
    if (!g_process.with_mpi && is_main(record)) {
        record->life_start = 0;
        compute_until(thread, axis_ticks(thread, now));
        return;
    }
    if (thread->epoch != g_live->epoch) apply_changes(thread);  // applies ended pauses
    const uint64_t end = g_live->paused != 0 ? earlier(now, g_live->pause_start) : now;
    record->span_ticks += beyond(virtual_ticks(thread, end), record->life_start);
    compute_until(thread, axis_ticks(thread, end));
    record->life_start = 0;
}

Thread* attach_thread() { return attach(true); }

Thread* attach_for_io() {
    // From this key on, pthread_setspecific() allocates memory.
    constexpr pthread_key_t kFirstAllocated = 32;
    const bool may_attach = g_have_key && g_thread_key < kFirstAllocated && !t_ending;
    const int saved_errno = errno;
    Thread* thread = may_attach ? attach(false) : nullptr;
    errno = saved_errno;
    return thread;
}

namespace {

constexpr int kPatience = 1000;  // attempts to wait for a thread inside a probe

// Marks the end of another thread that may still run, and only writes what that thread does not.
// Its probes have found recording off for many microseconds, so its open entries no longer change
// once it is outside of dwell.
void record_end_of_running(Thread* thread, uint64_t now) {
    if (thread->open != nullptr || thread->resets != g_live->resets) return;
    const auto is_at_work = [thread] {
        asm volatile("" ::: "memory");
        return static_cast<bool>(thread->in_tool);
    };
    for (int i = 0; i < kPatience && is_at_work(); ++i) sched_yield();
    ThreadRecord* const record = thread->record;
    if (is_at_work()) {
        record->end_virtual = kNotReadable;
        return;
    }
    record->late_ticks = thread->slow_overhead;
    record->end_virtual = virtual_ticks(thread, now) - paused_since(thread, thread->last_ticks);
}

}  // namespace

void* scratch_of(Thread* thread, size_t bytes) {
    if (bytes <= thread->scratch_bytes) return thread->scratch;
    size_t wanted = 32768;
    while (wanted < bytes) wanted *= 2;
    void* memory =
        mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (thread->scratch != nullptr) munmap(thread->scratch, thread->scratch_bytes);
    thread->scratch = memory;
    thread->scratch_bytes = wanted;
    return memory;
}

void detach_threads(uint64_t now, bool record_open) {
    for (Thread* thread = g_process.threads.load(); thread != nullptr; thread = thread->next) {
        if (thread == t_thread) {
            note_own_name(thread->record);
            if (record_open) end_span(thread, now);
        } else if (thread->record->state != ThreadState::kEnded) {
            note_name_of(thread->record);
            if (record_open) record_end_of_running(thread, now);
        }
    }
}

}  // namespace dwell
