#include "runtime/lifecycle/services.h"

#include "runtime/calls/callpath.h"
#include "runtime/calls/polls.h"
#include "runtime/calltree/python_frames.h"
#include "runtime/exchange/timeline.h"
#include "runtime/measure/metrics.h"
#include "runtime/openmp/omp_adapter.h"
#include "runtime/probes/probes.h"
#include "runtime/process/hooks.h"
#include "runtime/sampling/sampling.h"

namespace dwell {

namespace {

// Python is looked for on what start_probes() has set. When a thread ends, its polls and regions
// end first, then what is open, then its life; metrics count to the end of it.
constexpr ThreadService kServices[] = {
    {.end = end_polls, .reset = reset_polls, .forget_modules = forget_paths},
    {.start = start_omp_of,
     .ending = [](Thread*) { omp_make_up(); },
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
};

}  // namespace

void list_services() { g_thread_services = kServices; }

}  // namespace dwell
