// Records OpenMP events of any source (ompt.cpp, gomp.cpp): nodes for regions and constructs,
// waiting of threads for each other, and the virtual clocks of a team's threads (DESIGN 3, 4).
//
// Every construct is an entry on the stack of open nodes of the executing thread, like a block. A
// region's node is in the tree of the forking thread, below its open node or along its call path;
// other threads have a node of the same path, so that the merge unites them. Time of a thread
// between two regions belongs to the node `idle` under its root.
//
// Any thread may call these functions at any time, also while nothing is recorded. Ends without a
// beginning are ignored. Addresses are return addresses of the program's calls into the OpenMP
// runtime, 0 where unknown.
#ifndef DWELL_RUNTIME_OPENMP_OMP_ADAPTER_H_
#define DWELL_RUNTIME_OPENMP_OMP_ADAPTER_H_

#include "runtime/calls/callpath.h"
#include "runtime/contract/omp_constructs.h"
#include "runtime/probes/outlined_code.h"
#include "runtime/process/state.h"

namespace dwell {

// True when chunks of loops are reported: iterations are then those of each thread.
extern bool g_omp_reports_chunks __attribute__((visibility("hidden")));

// Whether OpenMP may be observed in this process; start_omp() then begins to.
bool may_observe_omp();
bool start_omp();

// The calling thread forks a region at `address`; the runtime's function of `frame` (null: unknown)
// returns to it. The team is for omp_join and for all threads of the region; null when the region
// is not recorded. `construct`: a parallel region, or the league of a teams construct.
OmpTeam* omp_fork(uint64_t address, const Frame* frame,
                  OmpConstruct construct = OmpConstruct::kParallel);
// Likewise where `address` lies in the region's code, which is called from `frame`; `call` is the
// address by which the runtime may refer to the region, 0: none.
OmpTeam* omp_fork_code(uint64_t address, const Frame* frame, uint64_t call = 0);
// `team` may be null where the runtime does not tell which region ends: the innermost.
void omp_join(OmpTeam* team, OmpConstruct construct = OmpConstruct::kParallel);
// The calling thread begins to execute the region as thread `index` of `size`; thread 0 has forked
// it.
void omp_implicit_begin(OmpTeam* team, uint32_t index, uint32_t size);
void omp_implicit_end();
// For a runtime that does not report when threads other than 0 leave a region: the thread has
// reached the last barrier. The ends of barrier and region are recorded later, before its next
// region or at its end, by omp_record_pending_ends().
void omp_leave_region();
void omp_record_pending_ends();
// The thread ends and takes no further part in OpenMP.
void omp_thread_end();

// Address of the region that this thread executes, as passed to omp_fork(); 0: none.
uint64_t omp_region_address();
bool omp_in_region();        // the innermost region is recorded, and no league of teams
uint64_t omp_region_call();  // where the region was forked according to the runtime
// Address of the last worksharing construct that this thread reached in its region, if there was no
// barrier since; else 0. omp_pass(): the thread passes one that others execute.
uint64_t omp_worksharing_address();
void omp_pass(uint64_t address);

// A construct with a duration only.
void omp_begin(OmpConstruct construct, uint64_t address);
void omp_end(OmpConstruct construct);

// `more`, where known, is the additional cost of reporting an event, which is subtracted as well.
inline constexpr OmpCosts kNoOmpCosts{};

// `iterations` is the number of the whole loop.
void omp_loop_begin(OmpConstruct construct, uint64_t address, uint64_t iterations);
void omp_chunk(uint64_t iterations, const OmpCosts& more = kNoOmpCosts);
// The thread's chunks of a static loop of `iterations` whose chunks are dealt out in turn; its
// first chunk has `chunk` iterations if the loop is long enough. One chunk for each thread is the
// same, if their lengths differ by at most one iteration.
void omp_static_chunks(uint64_t iterations, uint64_t chunk);
// Ends the innermost construct if it is a loop, either static or of unknown schedule.
bool omp_loop_end();

// A barrier of the team; `at_end`: the last one of the region. Other waiting constructs: all time
// in them that no task takes.
void omp_barrier_begin(OmpConstruct construct, uint64_t address, bool at_end);
void omp_barrier_end();
// The barrier that the thread has just begun does not apply to it.
void omp_barrier_withdrawn();
void omp_wait_end(OmpConstruct construct);

// A critical section or the like was acquired, after waiting since omp_begin(). `held`: the
// construct lasts until omp_end().
void omp_acquired(OmpConstruct construct, bool held);

// A lock is requested or tried, and acquired; the latter is reported before any other event of the
// thread. A failed try leaves no record.
void omp_lock_requested(OmpConstruct construct, uint64_t address);
void omp_lock_acquired(OmpConstruct construct);

// Bytes moved to or from a device by the innermost construct, if that is a target construct.
void omp_moved(uint64_t to_device, uint64_t from_device);
// Whether the innermost construct is a target construct.
bool omp_in_target();

// Address of the innermost construct if it is a taskloop or a taskgroup; else 0.
uint64_t omp_taskloop_address();

// Explicit tasks. The runtime stores a mark for each, 0 for implicit tasks. `splitter`: mark of the
// creating task, if that only creates tasks for the runtime and so is no task of the program; null:
// not known to be one, for example where a taskloop is open in it.
uint64_t omp_task_created(uint64_t address, uint64_t* splitter = nullptr);
// The thread switches from one task to another.
void omp_task_switch(uint64_t* prior, bool finished, uint64_t* next,
                     const OmpCosts& more = kNoOmpCosts);

// The observation ends now: for all threads, because idle ones report no further event; or for this
// thread.
void end_omp(uint64_t now);
void end_omp_of(Thread* thread, uint64_t now);
// Hooks for the beginning and the reset of a thread.
void start_omp_of(Thread* thread);
void reset_omp_of(Thread* thread, uint64_t since);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_ADAPTER_H_
