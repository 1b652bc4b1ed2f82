// Hardware and software counts through PAPI, at the places of the tree (DESIGN 5.3: reads enter the
// kernel, so they are made at nodes that last long enough, and are intrusion).
//
// A thread has one set of counters. At each reading what was counted since the one before goes to
// the node where the thread was meanwhile, so that a count is never in two nodes: inclusive counts
// are sums over the tree, made when the records are merged. Read are the entries of nodes that last
// metric_least_ticks in the mean, and the first kFirstReads of each node, of which that is not
// known yet, as far as all that is not more than a hundredth of the thread's time: what is left out
// then is counted. What other nodes count is part of what is around them.
//
// Where readings hang: probes of such nodes do not come the fast way (EnterKind::kChecked,
// kEntryRead); MPI calls look for samples in any case (Thread::ring_head).
#ifndef DWELL_RUNTIME_MEASURE_METRICS_H_
#define DWELL_RUNTIME_MEASURE_METRICS_H_

#include "runtime/calltree/nodes.h"
#include "runtime/process/state.h"

namespace dwell {

constexpr uint64_t kFirstReads = 4;
constexpr uint64_t kReadShare = 100;   // a node lasts as many times what reading at it costs
constexpr uint64_t kFreeReads = 1000;  // of a thread, which take some milliseconds

// What counts: PAPI, or what a test puts in its place.
struct CounterSource {
    int count;
    // Counting begins for the calling thread; null when that cannot be, with errno, EMFILE when it
    // would leave the program too few descriptors.
    void* (*open)();
    bool (*read)(void* set, uint64_t* values);  // false: the set is lost
    void (*close)(void* set);                   // what there is of it
};

// Opens PAPI for what the options ask for, and begins to count for `thread`, the calling one. What
// cannot be counted is said in one line. Once, when the record file is there.
void open_metrics(Thread* thread);
// The same with another source; `names` has a line for each count.
void use_counters(Thread* thread, const CounterSource* source, const char* names);
void forget_counters();  // for tests: threads' metrics have ended

// The calling thread begins and ends to be counted. New threads of a process that makes them by the
// thousand are not: beginning takes half a millisecond. Nor is one that its first I/O statement
// attaches: PAPI allocates memory, and a signal handler may have interrupted just that.
void start_metrics(Thread* thread, bool may_allocate);
void end_metrics(Thread* thread);
// A new thread of OpenMP takes over the virtual time `virt` of that which forked its region.
void put_back_metrics(Thread* thread, uint64_t virt);
// MPI_Pcontrol: what comes before a pause counts, what comes in it does not; all is forgotten.
void pause_metrics(Thread* thread);
void resume_metrics(Thread* thread);
void reset_metrics(Thread* thread);

// The node is to be read when it is entered next, if the thread's readings leave time for it.
inline bool is_due(const Node* node) {
    return node->count < kFirstReads || node->ticks >= node->count * g_process.metric_least_ticks;
}

// How a child that is found by `way` is remembered.
inline EnterKind remembered_way(EnterKind way) {
    return way == EnterKind::kChild && metrics_on() ? EnterKind::kChecked : way;
}

// A node of a probe is about to be opened: true when it was read, and is to be when it is closed.
// Then its entry took `ticks`, or, when it is only taken away to be opened elsewhere, is no entry
// of its own. The cost is the caller's to book.
bool read_at_entry(Thread* thread, CellIndex node);
void read_at_exit(Thread* thread, const ProbeEntry* entry, uint64_t ticks, bool is_whole);

// A thread of OpenMP begins, at the virtual time `virt`, to wait for work that may never come: true
// when it was read, as it is once in the time that a node lasts which is read. The cost is the
// caller's to book.
bool read_at_rest(Thread* thread, uint64_t virt);

// Before and after the communication statement of the node `call`, which took `ticks`; the time is
// booked as slow. `interval` comes before.
void read_before_call(Thread* thread, CellIndex call, CellIndex interval);
void read_after_call(Thread* thread, CellIndex call, uint64_t ticks);

// From now on statements find something to do (Thread::ring_head).
void watch_calls(Thread* thread);

// What is counted while it lives is dwell's own. For long work only.
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
