// What happens in OpenMP, independent of who reports it (ompt.cpp): nodes for regions and what
// threads do in them, the time they wait for each other, and the virtual clock of all threads of a
// team (DESIGN 3, 4).
//
// Every construct is an entry on the stack of open nodes of the thread that executes it, as a block
// is. A region's node lies in the tree of the thread that forked it, under what that had open or
// under its call path; other threads have one of the same path in theirs, so that the merge makes
// one of them. What a thread does between two regions is the node `idle` under its root.
//
// All may be called by any thread at any time, also while nothing is recorded. Ends of what was not
// begun are ignored. Addresses are return addresses of the program's calls into the OpenMP runtime,
// 0 where they are not known.
#ifndef DWELL_RUNTIME_OPENMP_OMP_ADAPTER_H_
#define DWELL_RUNTIME_OPENMP_OMP_ADAPTER_H_

#include "runtime/calls/callpath.h"
#include "runtime/contract/omp_constructs.h"
#include "runtime/probes/outlined_code.h"
#include "runtime/process/state.h"

namespace dwell {

// What chunks of loops are told: then iterations are those of each thread.
extern bool g_omp_tells_chunks __attribute__((visibility("hidden")));

// Whether OpenMP in this process is to be reported; then start_omp() observes it from now on.
bool may_observe_omp();
bool start_omp();

// A region is forked at `address` by the caller, to whom the runtime's function of `frame` returns
// (null: not known). The team is for omp_join and for all that take part; null when the region is
// not recorded. `construct`: a parallel region, or the league of a teams construct.
OmpTeam* omp_fork(uint64_t address, const Frame* frame,
                  OmpConstruct construct = OmpConstruct::kParallel);
// The same where `address` lies in the code of the region, and that is called from `frame`; `call`
// is what the runtime may name the region by, 0 for nothing.
OmpTeam* omp_fork_code(uint64_t address, const Frame* frame, uint64_t call = 0);
// `team` may be null where the runtime does not tell which region ends: it is the innermost one.
void omp_join(OmpTeam* team, OmpConstruct construct = OmpConstruct::kParallel);
// The caller begins to execute the region, as number `index` of `size` threads; 0 has forked it.
void omp_implicit_begin(OmpTeam* team, uint32_t index, uint32_t size);
void omp_implicit_end();
// For a runtime that does not tell when such a thread goes on, or another one than 0: it has come
// to the last barrier. What is still to be told, the ends of the barrier and of the region, is made
// up for before it begins another region, and when it ends.
void omp_leave_region();
void omp_make_up();
// The thread ends, with nothing of OpenMP to do any more.
void omp_thread_end();

// Of the region that this thread executes, as omp_fork() was given it; 0: of none.
uint64_t omp_region_address();
bool omp_in_region();        // the innermost is a region that is recorded, and no league of teams
uint64_t omp_region_call();  // where the runtime says that it was forked
// Of the last worksharing construct that this thread came to in its region, if no barrier was
// since; else 0. It passes one, whose work others do.
uint64_t omp_worksharing_address();
void omp_pass(uint64_t address);

// A construct of which nothing beside its time is known.
void omp_begin(OmpConstruct construct, uint64_t address);
void omp_end(OmpConstruct construct);

// What telling of an event takes beside what is done here, as `more` where that is known, is taken
// out with it.
inline constexpr OmpCosts kNoOmpCosts{};

// `iterations` of the whole loop.
void omp_loop_begin(OmpConstruct construct, uint64_t address, uint64_t iterations);
void omp_chunk(uint64_t iterations, const OmpCosts& more = kNoOmpCosts);
// All of the thread's chunks, where those of a loop of `iterations` are dealt out in turn, and its
// first one would hold `chunk` if the loop were long enough. A schedule of one chunk for each
// thread is the same, as long as these are of equal length but for one iteration.
void omp_static_chunks(uint64_t iterations, uint64_t chunk);
// Ends the innermost construct if it is a loop, static or of an unknown schedule.
bool omp_loop_end();

// All threads of the team meet; `at_end`: it is the last barrier of the region. Other waiting: all
// time in it that no task takes.
void omp_barrier_begin(OmpConstruct construct, uint64_t address, bool at_end);
void omp_barrier_end();
// The barrier that the thread has just begun was none for it.
void omp_barrier_taken_back();
void omp_wait_end(OmpConstruct construct);

// A critical section or the like is waited for, from omp_begin() on, and got. `held`: the construct
// goes on until omp_end().
void omp_got(OmpConstruct construct, bool held);

// A lock is waited for or tried, and got, which the runtime tells before anything else of the
// thread's. One that is not got leaves nothing.
void omp_lock_wanted(OmpConstruct construct, uint64_t address);
void omp_lock_got(OmpConstruct construct);

// Bytes moved to or from a device by the innermost construct, if that is one for devices.
void omp_moved(uint64_t to_device, uint64_t from_device);
// Whether it is.
bool omp_in_target();

// Of the innermost construct, if it is a taskloop or a group of tasks; else 0.
uint64_t omp_taskloop_address();

// Explicit tasks. The runtime keeps a mark for each, 0 for implicit ones. `splitter`: that of the
// task that creates this one, if it does nothing but create tasks for the runtime; it is no task of
// the program's then. Null: it is not known to be one, as where a taskloop is open in it.
uint64_t omp_task_created(uint64_t address, uint64_t* splitter = nullptr);
// The thread leaves a task for another one.
void omp_task_switch(uint64_t* prior, bool finished, uint64_t* next,
                     const OmpCosts& more = kNoOmpCosts);

// The observation ends now: threads that have nothing to do will not come here again. Or this
// thread does.
void end_omp(uint64_t now);
void end_omp_of(Thread* thread, uint64_t now);
// The thread begins; its counts are reset.
void start_omp_of(Thread* thread);
void reset_omp_of(Thread* thread, uint64_t since);

}  // namespace dwell

#endif  // DWELL_RUNTIME_OPENMP_OMP_ADAPTER_H_
