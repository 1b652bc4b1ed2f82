// The list of rooms that keep state for threads, and the order of their callbacks.
#include "runtime/lifecycle/services.h"

#include "runtime/calls/callpath.h"
#include "runtime/calls/polls.h"
#include "runtime/calltree/python_frames.h"
#include "runtime/events/events.h"
#include "runtime/exchange/timeline.h"
#include "runtime/measure/metrics.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/probes/probes.h"
#include "runtime/process/hooks.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

namespace {

// look_for_python needs the result of start_probes(). At the end of a thread its polls and regions
// end first, then open entries, then its span; metrics count up to the end of the span.
constexpr ThreadService kServices[] = {
    {.started = start_events, .reset = reset_events, .changed = follow_event_order},
    {.end = end_polls, .reset = reset_polls, .forget_modules = forget_paths},
    {.start = start_omp_of,
     .ending = [](Thread*) { omp_record_pending_ends(); },
     .end = end_omp_of,
     .reset = reset_omp_of},
    {.started = [](Thread* thread, bool) { begin_sampling(thread); }, .ending = end_sampling},
    {.start = start_probes,
     .end = [](Thread* thread, uint64_t now) { end_probes(thread, now, true); },
     .reset = reset_probes},
    {.start = look_for_python},
    {.end = end_span},
    {.started = start_metrics,
     .end = [](Thread* thread, uint64_t) { end_metrics(thread); },
     .reset = [](Thread* thread, uint64_t) { reset_metrics(thread); }},
    {.end = [](Thread* thread, uint64_t) { leave_timeline(thread); }},
    {.end = end_events},
};

}  // namespace

void list_services() { g_thread_services = kServices; }

}  // namespace dwell
