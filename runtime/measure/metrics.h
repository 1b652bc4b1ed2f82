// Hardware and software counts at nodes of the call tree (DESIGN 5.3: reading enters the kernel, so
// it is done at nodes that last long enough, and counts as overhead).
//
// A thread has one set of counters. At each reading the counts since the last one go to the node
// where the thread was, so a count is in one node only; the merge makes inclusive counts as sums
// over the tree. Read are entries of nodes that last metric_least_ticks in the mean, and the first
// kFirstReads of each node. Readings take at most a hundredth of the thread's time; skipped ones
// are counted. Counts of other nodes belong to the node around them.
//
// Where readings happen: probes of such nodes take the slow path (EnterKind::kChecked, kEntryRead);
// MPI calls check for samples anyway (Thread::ring_head).
#ifndef DWELL_RUNTIME_MEASURE_METRICS_H_
#define DWELL_RUNTIME_MEASURE_METRICS_H_

#include "runtime/calltree/nodes.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint64_t kFirstReads = 4;
constexpr uint64_t kReadShare = 100;   // least duration of a node in costs of a reading
constexpr uint64_t kFreeReads = 1000;  // readings of a thread beyond its share; some milliseconds

// The source of counts: PAPI, the kernel, or a test's.
struct CounterSource {
    int count;
    // Opens a set for the calling thread; null on failure with errno, EMFILE when the program would
    // be left too few descriptors.
    void* (*open)();
    bool (*read)(void* set, uint64_t* values);  // false: the set is lost
    void (*close)(void* set);                   // also a set that is not complete
};

// Opens a source for the requested metrics and starts counting for `thread`, the calling one.
// Writes one line about metrics that do not work. Called once, after the record file was made.
void open_metrics(Thread* thread);
// Likewise with another source; `names` has a line for each count.
void use_counters(Thread* thread, const CounterSource* source, const char* names);
void forget_counters();  // for tests: threads' metrics have ended

// Start and stop counting for the calling thread. Starting takes half a millisecond, so threads of
// a process that creates them by the thousand are not counted. Neither are threads attached by an
// I/O statement: PAPI allocates memory, and a signal handler may have interrupted an allocation.
void start_metrics(Thread* thread, bool may_allocate);
void end_metrics(Thread* thread);
// A new OpenMP thread takes over the virtual time `virt` of the thread that forked its region.
void put_back_metrics(Thread* thread, uint64_t virt);
// MPI_Pcontrol: counts before a pause are kept, counts in a pause are discarded; a reset clears
// all.
void pause_metrics(Thread* thread);
void resume_metrics(Thread* thread);
void reset_metrics(Thread* thread);

// True when metrics should be read at the node's next entry, if the thread's budget allows.
inline bool is_due(const Node* node) {
    return node->count < kFirstReads || node->ticks >= node->count * g_process.metric_least_ticks;
}

// How a child found by `enter_kind` is cached.
inline EnterKind cached_enter_kind(EnterKind enter_kind) {
    return enter_kind == EnterKind::kChild && metrics_on() ? EnterKind::kChecked : enter_kind;
}

// Read at the enter of a probe's node; true when metrics were read, and must be read at its exit.
// There the entry took `ticks`; an entry that is only moved elsewhere is no whole entry. The caller
// counts the overhead. `virt`: the virtual time of the enter or exit.
bool read_at_entry(Thread* thread, CellIndex node, uint64_t virt);
void read_at_exit(Thread* thread, const ProbeEntry* entry, uint64_t ticks, bool is_whole,
                  uint64_t virt);

// An OpenMP thread starts to wait for work at the virtual time `virt`. Reads at most once in the
// least duration of a node that is read; true when it did. The caller counts the overhead.
bool read_at_rest(Thread* thread, uint64_t virt);

// Before and after the communication statement of node `call`, which took `ticks` and ended at
// `virt`; their time counts as slow. `interval` is the computation before the call.
void read_before_call(Thread* thread, CellIndex call, CellIndex interval);
void read_after_call(Thread* thread, CellIndex call, uint64_t ticks, uint64_t virt);

// Makes calls of the thread look for pending work (Thread::ring_head).
void watch_calls(Thread* thread);

// Scope whose counts belong to dwell. For long work only.
class OwnCounts {
  public:
    explicit OwnCounts(Thread* thread);
    ~OwnCounts();
    OwnCounts(const OwnCounts&) = delete;
    OwnCounts& operator=(const OwnCounts&) = delete;

  private:
    Thread* thread_;
    uint64_t before_[kMetricLimit];
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_MEASURE_METRICS_H_
