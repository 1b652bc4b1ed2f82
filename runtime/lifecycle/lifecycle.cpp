// MPI_Init, MPI_Finalize, MPI_Abort, MPI_Pcontrol, and the end of a process without them: begins,
// pauses and ends the observation (attaching: attach.cpp).
#include "runtime/lifecycle/lifecycle.h"

#include <stdarg.h>
#include <string.h>

#include "runtime/calls/matched_receive.h"
#include "runtime/calls/polls.h"
#include "runtime/calls/user_code.h"
#include "runtime/events/event_flush.h"
#include "runtime/events/events.h"
#include "runtime/exchange/timeline.h"
#include "runtime/hosts/piggyback.h"
#include "runtime/hosts/remote_clocks.h"
#include "runtime/lifecycle/attach.h"
#include "runtime/lifecycle/end_attribute.h"
#include "runtime/lifecycle/given_name.h"
#include "runtime/lifecycle/init_collective.h"
#include "runtime/measure/metrics.h"
#include "runtime/measure/usage.h"
#include "runtime/mpi/eager_limits.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/mpi/profiled_ranks.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/openmp/ompt.h"
#include "runtime/order/order.h"
#include "runtime/probes/blocks.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"
#include "runtime/process/injection.h"
#include "runtime/sampling/sampling.h"
#include "runtime/waitstates/remote_end.h"
#include "runtime/waitstates/waits.h"
#include "runtime/wrappers/mpi_semantics.h"

namespace dwell {

namespace {

bool g_finalized = false;
bool g_mpi_entered = false;    // MPI_Init was called
bool g_ends_inside = false;    // end_observation() is called inside MPI_Finalize
uint64_t g_finalize_left = 0;  // ticks at the end of the observed part of MPI_Finalize

void end_observation();

void after_init() {
    FileHeader* header = g_process.header;
    const ReturnedErrors errors;
    g_ends_inside = call_inside_finalize(end_observation);
    const int rank = rank_in(g_mpi.comm_world);
    const int size = size_of(g_mpi.comm_world);
    header->rank = rank;
    header->world_size = size;
    set_tick_rate(kRateBase_ns);
    header->init_ticks = now_ticks();
    header->flags &= ~uint32_t{kFileInInit};
    if (set_injection(rank)) {
        g_live->epoch += 1;
        refresh_ticket();
    }
    const int injected = highest_injected(g_process.options.inject);
    if (rank == 0 && injected >= size) {
        warn("DWELL_INJECT_NS names rank %d: there are %d, and what is no rank delays nobody",
             injected, size);
    }
    number_parent_world();
    set_poll_spacing();
    read_eager_limits();
    calibrate_matched_receive();
    calibrate_messages();
    open_waits(size);
    const int observed = make_tool_comm();
    relate_clocks();
    finish_opening_waits();
    open_order();
    status_mpi_started(status_page(), header->job, size, observed);
}

void pause() {
    const StateLock lock;
    if (g_live->paused != 0) return;
    pause_metrics(t_thread);
    g_live->pause_start = now_ticks();
    g_process.header->paused_since = g_live->pause_start;
    g_live->paused = 1;
    refresh_ticket();
}

void resume() {
    const StateLock lock;
    if (g_live->paused == 0) return;
    g_live->resumed_ticks = now_ticks();
    g_live->paused_ticks += g_live->resumed_ticks - g_live->pause_start;
    g_live->epoch += 1;
    g_live->paused = 0;
    g_process.header->paused_since = 0;
    refresh_ticket();
    resume_metrics(t_thread);
}

uint32_t unseen_omp() { return ompt_obstacle != nullptr ? ompt_obstacle() : 0; }

// Ends the observation at `end`, in ticks; 0: now.
void detach_process(FileState state, uint64_t end = 0) {
    if (g_live->on == 0) return;
    close_order();
    resume();
    // MPI_Abort() may be called in a signal handler, where the loader must not be asked.
    if (state != FileState::kAborted) g_process.header->flags |= unseen_omp();
    if (t_thread != nullptr && t_thread->epoch != g_live->epoch) apply_changes(t_thread);
    const uint64_t now = now_ticks();
    end_omp(now);
    if (t_thread != nullptr) {
        end_probes(t_thread, now, false);
        end_metrics(t_thread);
    }
    switch_sites(false);
    g_live->on = 0;
    refresh_ticket();
    g_process.header->end_ticks = end != 0 ? end : now;
    note_last_usage(g_process.header->end_ticks);
    // Untimed polls of other threads, which may still run, stay without time.
    if (t_thread != nullptr && t_thread->untimed_polls != 0) record_untimed(t_thread, now);
    set_tick_rate(kRateBase_ns);
    g_process.header->state = state;
    stop_all_sampling();
    detach_threads(now, state == FileState::kFinalized);
    if (t_thread != nullptr) end_events(t_thread, now);
    // MPI_Abort() may be called in a signal handler.
    if (state != FileState::kAborted) await_event_reader();
}

// After MPI_Init: below MPI_THREAD_MULTIPLE the program's threads do not call MPI at the same time
// (MPI-3.1 12.4.3).
void note_thread_level() {
    int level = MPI_THREAD_MULTIPLE;
    g_mpi.Query_thread(&level);
    g_process.concurrent = level == MPI_THREAD_MULTIPLE;
    g_process.threaded_mpi = level != MPI_THREAD_SINGLE;
}

// dwell's own work after MPI has started, inside the recorded call if there is one.
void finish_init(Call* call) {
    {
        const OwnWork own;
        after_init();
        classify_init(call);
    }
    note_usage();
}

// MPI_Init and MPI_Init_thread; `forward` makes the call.
template <typename Forward>
int initialize(MpiCall number, EntryForm form, const Frame* frame, Forward forward) {
    static bool entered = false;
    if (entered || g_mpi_entered) return forward();
    entered = true;
    g_mpi_entered = true;
    const uint64_t before = now_ticks();
    const bool observed = observe_mpi();
    notify_profiled();
    Thread* thread = observed ? t_thread : nullptr;
    if (observed) status_mpi_entered(status_page(), g_process.header->job);
    if (thread != nullptr) thread->slow_overhead += now_ticks() - before;
    Call state;
    const bool recorded = observed && enter(&state, number, frame, form);
    if (recorded) start(&state);
    const int result = forward();
    if (recorded) {
        stop(&state);
        if (result == MPI_SUCCESS) {
            note_thread_level();
        } else {
            record_failed(&state);
        }
    }
    uint64_t work = 0;
    if (observed && result == MPI_SUCCESS) {
        const uint64_t done = now_ticks();
        if (thread != nullptr) {
            const OwnSamples samples(thread);
            const OwnCounts counts(thread);
            thread->in_tool.begin();
            finish_init(recorded ? &state : nullptr);
            thread->in_tool.end();
        } else {
            finish_init(nullptr);
        }
        work = now_ticks() - done;
    }
    if (recorded) {
        if (result == MPI_SUCCESS)
            record_event(&state, kSendReady);  // with the duration set by classify_init()
        leave(&state);
    }
    if (thread != nullptr) {
        thread->slow_overhead += work;
        // All ranks are synchronised: work before the start of MPI cannot cause waiting any more.
        note_together(thread, thread->last_ticks - thread->record->intrusion_ticks, kWorldTogether);
    }
    entered = false;
    return result;
}

// Waits for all observed ranks, as MPI_Finalize does anyway.
void gather_profiled(Call* call) {
    const bool recorded = call != nullptr;
    EnteredCollective collective{};
    if (recorded) {
        collective = announce_collective(call, MpiCall::kFinalize,
                                         reinterpret_cast<uintptr_t>(g_mpi.comm_world),
                                         Dependence::kProfiled, 0);
    }
    RemoteEnd end{};
    const bool on_hosts = synchronise_at_end(call, &end);
    if (!on_hosts) await_observed();
    if (!recorded) return;
    stop(call);
    if (on_hosts) {
        classify_end(call, end);
    } else {
        classify_collective(call, collective, {Dependence::kProfiled, 0, nullptr});
    }
    record_event(call, kSendReady);
    leave(call);
    g_finalize_left = call->end_ticks;
}

// The end of the program's use of MPI: inside MPI_Finalize, after the program's own delete
// functions.
void end_observation() {
    if (g_live->on == 0) return;
    if (!g_finalized) {  // MPI_Finalize was not seen by dwell
        close_order();
        gather_profiled(nullptr);
    }
    const CancellationDisabled cancellation;
    limit_end();
    // Not the present time: the processor may have been lost in between.
    const bool nothing_since = t_thread != nullptr && t_thread->last_ticks == g_finalize_left;
    detach_process(FileState::kFinalized, nothing_since ? g_finalize_left : 0);
    drain_piggybacks();
    review_clocks();
    merge_observed();
}

int finalize(EntryForm form, const Frame* frame) {
    const auto next = next_of<decltype(&PMPI_Finalize)>(form, MpiCall::kFinalize);
    if (g_live->on == 0 || g_finalized) return next();
    g_finalized = true;
    resume();
    Call state;
    const bool recorded = enter(&state, MpiCall::kFinalize, frame, form);
    if (recorded) {
        expect_rank(&state, reinterpret_cast<uintptr_t>(g_mpi.comm_world), kAnyRank);
        start(&state);
    }
    close_order();
    gather_profiled(recorded ? &state : nullptr);
    if (g_ends_inside) {
        g_after_failed_code = note_failed_deletion;
    } else {
        end_observation();
    }
    const int result = next();
    close_record_file();
    return result;
}

int abort_job(EntryForm form, MPI_Comm comm, int code) {
    const auto next = next_of<decltype(&PMPI_Abort)>(form, MpiCall::kAbort);
    if (g_live->on != 0) {
        g_process.header->exit_code = code;
        detach_process(FileState::kAborted);
    }
    return next(comm, code);
}

// MPI_Pcontrol: 0 pauses recording, 1 resumes it, 2 resets all records, 3 and 4 switch events on
// and off; with a name 1 begins and -1 ends the block of that name. Other levels are passed on
// only.
int control(EntryForm form, const Frame* frame, int level, uint64_t second) {
    const auto next = next_of<int (*)(int, ...)>(form, MpiCall::kPcontrol);
    if (g_live->on != 0 && (level == 1 || level == -1)) {
        const char* const name = given_name(second, frame->return_address);
        const GivenName given = {name, name != nullptr ? strlen(name) : 0};
        if (name != nullptr) {
            if (level == -1) end_block(given);
            const int result = next(level, name);
            if (level == 1) {
                begin_block(block_name(SiteKind::kBlock, kNodeNamed, given, nullptr, 0));
            }
            return result;
        }
    }
    if (g_live->on == 0 || level < 0 || level > 4) return next(level);
    if (level == 1) resume();
    if (level > 2) order_events(level == 3);
    Call state;
    const bool recorded = level != 2 && enter(&state, MpiCall::kPcontrol, frame, form);
    if (recorded) start(&state);
    const int result = next(level);
    if (recorded) {
        stop(&state);
        record_event(&state, kSendReady);
        leave(&state);
    }
    if (level == 0) pause();
    if (level == 2) {
        reset_usage();
        if (g_live->paused != 0) {  // only the rest of the pause follows the reset
            resume();
            pause();
        }
        g_process.header->reset_ticks = now_ticks();
        {
            const StateLock lock;  // another thread may change the page, too
            g_live->resets += 1;
            g_live->epoch += 1;
            refresh_ticket();
        }
        Thread* thread = t_thread;
        // Applied at once on this thread; other threads apply it at their next call or probe.
        if (thread != nullptr && !thread->in_tool && thread->open == nullptr) {
            apply_changes(thread);
            // The pause begins with the thread's time, however long the reset took.
            if (g_live->paused != 0) {
                g_process.header->paused_since = g_live->pause_start = thread->last_ticks;
            }
        }
    }
    return result;
}

// The end of a program without MPI that was observed by probes: its own records are the result.
void finish_serial() {
    limit_end();
    g_process.header->flags |= kFileSerial;
    set_tick_rate(kRateBase_ns);
    detach_process(FileState::kFinalized);
    merge_observed();
    close_record_file();
}

// Reports use of MPI or OpenMP by a process that was not observed.
void note_unseen() {
    if (status_page() == nullptr || was_attached()) return;
    status_omp_unseen(status_page(), unseen_omp());
    char library[sizeof(StatusPage::mpi_library)];
    bool started = false;
    if (!g_mpi_entered && find_unseen_mpi(library, sizeof(library), &started)) {
        status_mpi_unseen(status_page(), library, started);
    }
}

// The end of a process that never reached MPI_Finalize. Other threads may still run.
__attribute__((destructor)) void note_exit() {
    const CancellationDisabled cancellation;
    status_ended(status_page());
    if (g_live->on == 0) return note_unseen();
    if (!g_mpi_entered && is_alone()) {
        finish_serial();
        return;
    }
    detach_process(FileState::kExited);
    if ((g_process.header->flags & kFileInInit) != 0) {
        unlink(g_process.record_path);
        if (*g_spill_path != '\0') unlink(g_spill_path);
        rmdir(g_process.record_dir);
        if (status_page() == nullptr) warn_of_job("MPI_Init failed: the program was not observed");
        return;
    }
    if (status_page() == nullptr) keep_record_file();
}

}  // namespace

void pause_recording() {
    if (g_live->on != 0 || attach_for_probe() != nullptr) pause();
}

void resume_recording() {
    if (g_live->on != 0) resume();
}

}  // namespace dwell

using namespace dwell;

extern "C" {

// The functions of one form of names.
#define LIFECYCLE(prefix, form)                                                                   \
    DWELL_EXPORT int prefix##_Init(int* argc, char*** argv) {                                     \
        return initialize(MpiCall::kInit, form, DWELL_FRAME(), [=] {                              \
            return next_of<decltype(&PMPI_Init)>(form, MpiCall::kInit)(argc, argv);               \
        });                                                                                       \
    }                                                                                             \
    DWELL_EXPORT int prefix##_Init_thread(int* argc, char*** argv, int required, int* provided) { \
        return initialize(MpiCall::kInit_thread, form, DWELL_FRAME(), [=] {                       \
            return next_of<decltype(&PMPI_Init_thread)>(form, MpiCall::kInit_thread)(             \
                argc, argv, required, provided);                                                  \
        });                                                                                       \
    }                                                                                             \
    DWELL_EXPORT int prefix##_Finalize() { return finalize(form, DWELL_FRAME()); }                \
    DWELL_EXPORT int prefix##_Abort(MPI_Comm comm, int code) {                                    \
        return abort_job(form, comm, code);                                                       \
    }                                                                                             \
    DWELL_EXPORT int prefix##_Pcontrol(const int level, ...) {                                    \
        va_list more;                                                                             \
        va_start(more, level);                                                                    \
        const auto second = va_arg(more, uint64_t); /* undefined if not given */                  \
        va_end(more);                                                                             \
        return control(form, DWELL_FRAME(), level, second);                                       \
    }
LIFECYCLE(MPI, kMpiForm)
LIFECYCLE(PMPI, kPmpiForm)
}
