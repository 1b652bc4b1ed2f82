// Suspends the call under way while user code runs that MPI has called back.
#include "runtime/calls/user_code.h"

#include <dlfcn.h>
#include <errno.h>
#include <algorithm>

#include <utility>

#include "runtime/calls/records.h"
#include "runtime/exchange/timeline.h"
#include "runtime/mpi/mpi_api.h"
#include "runtime/probes/probes.h"
#include "runtime/process/time_axis.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

namespace {

// Functions of the program that were passed to MPI, in order of registration.
constexpr size_t kUserFunctions = 256;
void* g_functions[kUserFunctions];
std::atomic<size_t> g_function_count{0};  // written with StateLock held

// Callbacks take and return up to eight words; superfluous arguments are passed on unchanged.
using Word = uintptr_t;
using UserFunction = Word (*)(Word, Word, Word, Word, Word, Word, Word, Word);

// The thread state saved for the innermost user code.
UserCode* innermost(Thread* thread) { return &thread->user_code[thread->user_depth - 1]; }

// Calls and probes in user code belong below the call's parent node, not below MPI's own
// procedures: an entry for the user code makes that node the open one.
void open_below(Thread* thread, const UserCode& code) {
    const CellIndex around = cell_at<Node>(code.open.node)->parent;
    if (thread->on.top == &thread->no_probes) {
        thread->no_probes.node = around;
    } else if (lies_on(thread->on, code.frame) && thread->on.top != thread->on.limit) {
        push_without_node(thread, kRowCode, code.frame);
        thread->on.top->node = around;
    }
}
void close_below(Thread* thread, const UserCode& code, uint64_t now) {
    thread->no_probes.node = code.around;
    if (!lies_on(thread->on, code.frame)) return;
    drop_gone(thread, code.frame + 1, now);
}

// Samples up to now belong to `interval`; 0: to the call under way.
void take_samples(Thread* thread, CellIndex interval) {
    if (has_samples(thread)) drain_samples(thread, interval);
}

// Records the time since the thread's last call, or since the user code began, as computation
// before `call` continues; null: that call is gone.
void record_computation(Thread* thread, CellIndex node, Call* call, uint64_t now) {
    const CellIndex interval = interval_before(thread, node);
    take_samples(thread, interval);
    const uint64_t lost = thread->slow_overhead;
    const uint64_t since = beyond(now, thread->last_ticks);
    const uint64_t rest = since - thread->separate_ticks;
    const uint64_t left = static_cast<int64_t>(rest) > 0 ? rest : 0;
    const uint64_t computed = beyond(left, lost);
    const uint64_t end = now - thread->record->intrusion_ticks - lost;
    thread->record->intrusion_ticks += left - computed;
    thread->record->own_ticks += left - computed;
    if (interval == 0) {
        thread->record->dropped += 1;
        return;
    }
    Node* const at = cell_at<Node>(interval);
    at->count += 1;
    add_time(at, computed);
    if (call != nullptr && computed >= g_least_part_ticks)
        note_work(thread, interval, computed, now, end);
}

// False where no recorded call is under way: nothing is suspended.
DWELL_COLD bool begin_user_code(Thread* thread, uint64_t frame) {
    Call* const call = thread->open;
    if (call == nullptr || thread->in_tool || g_live->on == 0) return false;
    if (call->proof != proof_of(call) || frame >= reinterpret_cast<uint64_t>(call)) return false;
    if (thread->user_depth == kUserDepth) return false;
    const uint64_t now = now_ticks();
    ThreadRecord* const record = thread->record;
    take_samples(thread, 0);
    if (thread->untimed_polls != 0) {
        const bool timed = call->poll == nullptr;
        if (timed) call->after_untimed = true;
        record_untimed(thread, timed ? call->start_ticks - lost_so_far(call) : now);
    }
    thread->user_depth += 1;
    *innermost(thread) = {frame,
                          call,
                          record->open,
                          thread->last,
                          thread->last_ticks,
                          thread->slow_overhead,
                          thread->separate_ticks,
                          thread->user_ticks,
                          now,
                          thread->no_probes.node};
    if (call->poll == nullptr) innermost(thread)->open.entry_ticks = call->start_ticks;
    open_below(thread, *innermost(thread));
    hold_axis(thread);
    // Pending overhead goes into the intrusion, so that the virtual clock continues.
    record->intrusion_ticks += thread->slow_overhead;
    thread->slow_overhead = thread->separate_ticks = thread->user_ticks = 0;
    thread->last = call->index;
    thread->last_ticks = now;
    thread->untimed_left = 0;
    thread->open = nullptr;
    thread->epoch = kNoEpoch;  // its calls check whether the user code was left
    record->open_depth = 0;
    record->state = ThreadState::kComputing;
    return true;
}

DWELL_COLD void end_user_code(Thread* thread, uint64_t frame) {
    // Inner user code may have been left without a return, or this one by way of another stack.
    while (thread->user_depth != 0 && innermost(thread)->frame < frame) thread->user_depth -= 1;
    if (thread->user_depth == 0 || innermost(thread)->frame != frame) return;
    const UserCode code = *innermost(thread);
    ThreadRecord* const record = thread->record;
    if (thread->open != nullptr) {
        record_abandoned(thread);
        leave_lost_call_windows(thread);
    }
    if (thread->untimed_polls != 0) record_untimed(thread, now_ticks());
    const uint64_t now = now_ticks();
    const bool goes_on = g_live->on != 0 && g_live->paused == 0;
    if (goes_on) record_computation(thread, code.open.node, code.call, now);
    close_below(thread, code, now);
    thread->user_depth -= 1;
    record->intrusion_ticks -= code.slow_overhead;
    thread->slow_overhead = code.slow_overhead;
    thread->separate_ticks = code.separate_ticks;
    thread->user_ticks = code.user_ticks;
    thread->last = code.last;
    thread->last_ticks = code.last_ticks;
    thread->untimed_left = 0;
    thread->open = code.call;
    thread->epoch = thread->user_depth == 0 ? seen_epoch() : kNoEpoch;
    if (thread->user_depth == 0) release_axis(thread);
    record->open = code.open;
    // Readers take it as open from here on: the thread's record is newer than its entry.
    record->open.entry_ticks = std::max(code.open.entry_ticks, record->last_ticks + 1);
    record->open_depth = 1;
    record->state = ThreadState::kInCommunication;
    const uint64_t elapsed = now - code.began;
    if (code.call->poll != nullptr) {
        thread->last_ticks += elapsed;  // an untimed poll has no time stamp of its own
    } else {
        code.call->inner_overhead += elapsed;
        thread->user_ticks += elapsed;
    }
}

Word run_user_code(size_t number, Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h) {
    const auto function = reinterpret_cast<UserFunction>(g_functions[number]);
    Thread* thread = t_thread;
    const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    const bool begun = thread != nullptr && begin_user_code(thread, frame);
    const Word result = function(a, b, c, d, e, f, g, h);
    if (begun && t_thread == thread) end_user_code(thread, frame);
    if (static_cast<int>(result) != MPI_SUCCESS && g_after_failed_code != nullptr) {
        g_after_failed_code(a);
    }
    return result;
}

template <size_t kNumber>
Word stand_in_for(Word a, Word b, Word c, Word d, Word e, Word f, Word g, Word h) {
    return run_user_code(kNumber, a, b, c, d, e, f, g, h);
}

template <size_t... kNumbers>
constexpr auto make_stand_ins(std::index_sequence<kNumbers...>) {
    struct {
        UserFunction at[sizeof...(kNumbers)];
    } made{{stand_in_for<kNumbers>...}};
    return made;
}
constexpr auto kStandIns = make_stand_ins(std::make_index_sequence<kUserFunctions>());

bool lies_in_mpi(const void* function) {
    Dl_info there;
    Dl_info mpi;
    return dladdr(function, &there) != 0 && g_mpi.Send != nullptr &&
           dladdr(reinterpret_cast<const void*>(g_mpi.Send), &mpi) != 0 &&
           there.dli_fbase == mpi.dli_fbase;
}

void* known_stand_in(const void* function) {
    const size_t count = g_function_count.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
        if (g_functions[i] == function) return reinterpret_cast<void*>(kStandIns.at[i]);
    }
    return nullptr;
}

void* make_stand_in(void* function) {
    const StateLock lock;
    void* known = known_stand_in(function);
    const size_t count = g_function_count.load(std::memory_order_relaxed);
    if (known != nullptr || count == kUserFunctions) return known;
    g_functions[count] = function;
    g_function_count.store(count + 1, std::memory_order_release);
    return reinterpret_cast<void*>(kStandIns.at[count]);
}

}  // namespace

void (*g_after_failed_code)(uintptr_t) = nullptr;

void* stand_in(void* function) {
    if (function == nullptr || g_live->on == 0) return function;
    void* known = known_stand_in(function);
    if (known != nullptr) return known;
    const int saved_errno = errno;
    const bool of_mpi = lies_in_mpi(function);
    errno = saved_errno;
    if (of_mpi) return function;
    known = make_stand_in(function);
    if (known != nullptr) return known;
    static std::atomic<bool> warned{false};
    if (!warned.exchange(true)) {
        warn_of_job(
            "MPI was given more than %zu functions to call back: the time of further ones is that "
            "of the calls around them, and what they call of MPI is not counted",
            kUserFunctions);
    }
    return function;
}

void drop_left_user_code(Thread* thread, uint64_t frame) {
    while (thread->user_depth != 0 && innermost(thread)->frame < frame) {
        const UserCode code = *innermost(thread);
        thread->user_depth -= 1;
        thread->no_probes.node = code.around;
        // The computation before the call is recorded.
        const CellIndex last = thread->last;
        const uint64_t last_ticks = thread->last_ticks;
        const uint64_t slow_overhead = thread->slow_overhead;
        const uint64_t separate_ticks = thread->separate_ticks;
        thread->record->intrusion_ticks -= code.slow_overhead;
        thread->last = code.last;
        thread->last_ticks = code.last_ticks;
        thread->slow_overhead = code.slow_overhead;
        thread->separate_ticks = code.separate_ticks;
        record_computation(thread, code.open.node, nullptr, code.open.entry_ticks);
        thread->last = last;
        thread->last_ticks = last_ticks;
        thread->slow_overhead = slow_overhead;
        thread->separate_ticks = separate_ticks;
        // The call counts as failed, without time.
        Node* const node = cell_at<Node>(code.open.node);
        node->count += 1;
        cell_at<CommPart>(node->part)->failed += 1;
    }
    thread->user_ticks = 0;
    if (thread->user_depth != 0) return;
    thread->epoch = seen_epoch();
    release_axis(thread);
}

}  // namespace dwell
