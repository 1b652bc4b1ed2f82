// Readings of counters, and the nodes that their counts belong to.
#include "runtime/measure/metrics.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/calltree/texts.h"
#include "runtime/contract/mpi_call_numbers.h"
#include "runtime/contract/standard_files.h"
#include "runtime/events/events.h"

namespace dwell {

struct MetricSlot {
    CellIndex node;  // 0 = free
    CellIndex part;
};

struct ThreadMetrics {
    void* set;                    // null: not or no longer counted
    void* lost;                   // rest of a set in which the program closed counters
    uint64_t last[kMetricLimit];  // values of the last reading
    uint64_t paused_ticks;        // LivePage::paused_ticks as last seen
    CellIndex at;                 // innermost open node of a probe after the last reading
    CellIndex call;               // the communication statement under way, or 0
    bool after_call;              // a communication statement has ended since the last reading
    uint64_t begin_ticks;         // virtual ticks
    uint64_t rest_ticks;          // virtual ticks of the last read_at_rest()
    uint64_t reads;               // readings at enters and exits
    uint64_t reads_from;          // real ticks since when `reads` counts
    MetricSlot* slots;            // hash table, size a power of two, at most three quarters full
    uint32_t slot_count;
    uint32_t used;
};

namespace {

const CounterSource* g_source = nullptr;
uint64_t g_read_counts[kMetricLimit];  // counts of a reading itself
// Cost of a probe's slow path beside the reading.
constexpr uint64_t kSlowPath_ns = 1000;
constexpr uint32_t kFirstSlots = 4096;
// Replaces the ring head: no ring gets so far, so it always differs from ring_seen.
const uint64_t kWatched = UINT64_MAX;
constexpr uint64_t kSignBit = uint64_t{1} << 63;
// Threads that are always counted; more if starting them took less than 1 % of the time.
constexpr uint32_t kFreeThreads = 64;
std::atomic<uint32_t> g_threads{0};
std::atomic<uint64_t> g_start_ticks{0};

// The set is closed at the end of the thread, because this may run in a signal handler.
void lose_set(ThreadMetrics* metrics) {
    metrics->lost = metrics->set;
    metrics->set = nullptr;
    FileHeader* header = g_process.header;
    uint64_t never = 0;
    __atomic_compare_exchange_n(&header->metrics_lost_ticks, &never, now_ticks(), false,
                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    __atomic_fetch_add(&header->metrics_lost, 1, __ATOMIC_RELAXED);
}

// True for the calling thread while its counters work.
bool is_usable(const Thread* thread) {
    return thread->metrics != nullptr && thread->metrics->set != nullptr && thread == t_thread;
}

bool may_read(const Thread* thread) { return is_usable(thread) && g_live->paused == 0; }

bool read(ThreadMetrics* metrics, uint64_t* values) {
    const ReentryGuard busy;
    const int saved_errno = errno;
    const bool good = g_source->read(metrics->set, values);
    errno = saved_errno;
    if (!good) lose_set(metrics);
    return good;
}

// Stores the counts since the last reading. False when they are discarded because of a pause.
bool take(ThreadMetrics* metrics, uint64_t* counted) {
    uint64_t now[kMetricLimit] = {};
    if (!read(metrics, now)) return false;
    const bool paused = g_live->paused != 0 || metrics->paused_ticks != g_live->paused_ticks;
    metrics->paused_ticks = g_live->paused_ticks;
    for (int i = 0; i < g_source->count; ++i) {
        // An estimate of multiplexed counters may also fall.
        const auto more = static_cast<int64_t>(now[i] - metrics->last[i]);
        const auto own = static_cast<int64_t>(g_read_counts[i]);
        counted[i] = more > own ? static_cast<uint64_t>(more - own) : 0;
        metrics->last[i] = now[i];
    }
    return !paused;
}

// The slot of the node, or the free slot for it.
MetricSlot* slot_of(const ThreadMetrics* metrics, CellIndex node) {
    const uint32_t last = metrics->slot_count - 1;
    uint32_t slot = (node * 0x9e3779b1u) & last;
    while (metrics->slots[slot].node != 0 && metrics->slots[slot].node != node) {
        slot = (slot + 1) & last;
    }
    return &metrics->slots[slot];
}

// Maps memory with all pages present, because page faults would be counted as the program's.
void* map_filled(size_t bytes) {
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return memory != MAP_FAILED ? memory : nullptr;
}

// Makes room for one more entry; false when there is no memory.
bool make_room(ThreadMetrics* metrics) {
    if (metrics->used < metrics->slot_count / 4 * 3) return true;
    const int saved_errno = errno;
    const uint32_t slot_count = metrics->slot_count != 0 ? metrics->slot_count * 4 : kFirstSlots;
    void* memory = map_filled(slot_count * sizeof(MetricSlot));
    errno = saved_errno;
    if (memory == nullptr) return false;
    const ThreadMetrics before = *metrics;
    metrics->slots = static_cast<MetricSlot*>(memory);
    metrics->slot_count = slot_count;
    for (uint32_t i = 0; i < before.slot_count; ++i) {
        const MetricSlot& slot = before.slots[i];
        if (slot.node != 0) *slot_of(metrics, slot.node) = slot;
    }
    if (before.slots != nullptr) munmap(before.slots, before.slot_count * sizeof(MetricSlot));
    return true;
}

// The counts of `node`, or null when there is no room.
MetricPart* part_of(Thread* thread, CellIndex node) {
    ThreadMetrics* metrics = thread->metrics;
    MetricSlot* slot = slot_of(metrics, node);
    if (slot->node != 0) return cell_at<MetricPart>(slot->part);
    const CellIndex cell = make_room(metrics) ? take_cells(thread, kMetricCells) : CellIndex{0};
    if (cell == 0) return nullptr;
    auto* part = cell_at<MetricPart>(cell);
    part->node = node;
    part->next = thread->record->first_metric;
    __atomic_store_n(&thread->record->first_metric, cell, __ATOMIC_RELEASE);
    *slot_of(metrics, node) = {node, cell};
    metrics->used += 1;
    return part;
}

// Enters the metrics of an ended thread, whose records this thread took over, into the table.
bool adopt_parts(Thread* thread) {
    for (CellIndex at = thread->record->first_metric; at != 0;) {
        const auto* part = cell_at<MetricPart>(at);
        if (!make_room(thread->metrics)) return false;
        *slot_of(thread->metrics, part->node) = {part->node, at};
        thread->metrics->used += 1;
        at = part->next;
    }
    return true;
}

void charge(Thread* thread, CellIndex node, const uint64_t* counted, uint64_t virt) {
    note_counts(thread, node, virt, counted, static_cast<uint32_t>(g_source->count));
    MetricPart* part = part_of(thread, node);
    if (part == nullptr) return;
    for (int i = 0; i < g_source->count; ++i) part->values[i] += counted[i];
}

// The innermost probed node among `node` and its ancestors; the root when there is none.
CellIndex measured_node(CellIndex node) {
    for (;; node = cell_at<Node>(node)->parent) {
        const SiteKind kind = cell_at<Node>(node)->site.kind;
        const bool measured = kind == SiteKind::kProcedure || kind == SiteKind::kLoop ||
                              kind == SiteKind::kBlock || kind == SiteKind::kOpenMp;
        if (measured || cell_at<Node>(node)->parent == 0) return node;
    }
}

// The node where the thread was since the last reading, when it is at `here` now: nodes entered and
// left without a reading count for the node around them.
CellIndex where(const ThreadMetrics* metrics, CellIndex here) {
    if (metrics->call != 0) return metrics->call;  // left by a throw
    return measured_node(common_ancestor(metrics->at, here));
}

// Reads at the virtual time `virt`, and adds the counts to the node where the thread was.
void read_counts(Thread* thread, CellIndex here, uint64_t virt) {
    ThreadMetrics* metrics = thread->metrics;
    uint64_t counted[kMetricLimit];
    if (take(metrics, counted)) charge(thread, where(metrics, here), counted, virt);
    metrics->at = here;
    metrics->call = 0;
    metrics->after_call = false;
}

uint64_t virtual_at(const Thread* thread, uint64_t ticks) {
    const ThreadRecord* record = thread->record;
    return ticks - record->intrusion_ticks - record->paused_ticks - thread->slow_overhead;
}
uint64_t virtual_now(const Thread* thread) { return virtual_at(thread, now_ticks()); }

void count_reads(ThreadMetrics* metrics) {
    metrics->reads = 0;
    metrics->reads_from = now_ticks();
}

// True while the thread's budget for readings is not used up, as it would be by the first readings
// in programs of many nodes, and by nested nodes that all last just long enough. Counts skipped
// readings.
bool may_spend(Thread* thread) {
    ThreadMetrics* metrics = thread->metrics;
    if (metrics->reads >= kFreeReads) {
        const uint64_t paid = metrics->reads - kFreeReads + 1;
        const uint64_t lasted = now_ticks() - metrics->reads_from;
        if (lasted / paid < g_process.metric_least_ticks) {
            MetricPart* of_thread = part_of(thread, thread->record->root);
            if (of_thread != nullptr) of_thread->left_out += 1;
            return false;
        }
    }
    metrics->reads += 1;
    return true;
}

// Measures time and counts of a reading: the minimum of several, because interruptions only add.
void calibrate_reading(ThreadMetrics* metrics) {
    constexpr int kRounds = 64;
    uint64_t ticks = UINT64_MAX;
    uint64_t before[kMetricLimit] = {};
    uint64_t after[kMetricLimit] = {};
    memset(g_read_counts, 0xff, sizeof(g_read_counts));
    if (!read(metrics, before)) return;
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t begin = now_ticks();
        if (!read(metrics, after)) return;
        const uint64_t took = now_ticks() - begin;
        if (took < ticks) ticks = took;
        for (int i = 0; i < g_source->count; ++i) {
            const uint64_t own = after[i] - before[i];
            if (own < g_read_counts[i]) g_read_counts[i] = own;
            before[i] = after[i];
        }
    }
    FileHeader* header = g_process.header;
    const uint64_t ways = static_cast<uint64_t>(static_cast<double>(header->ticks_per_second) *
                                                1e-9 * static_cast<double>(kSlowPath_ns));
    header->metric_ticks = ticks;
    header->metric_least_ticks = kReadShare * (2 * ticks + ways);
    g_process.metric_least_ticks = header->metric_least_ticks;
}

void drop_metrics(Thread* thread) {
    ThreadMetrics* metrics = thread->metrics;
    thread->metrics = nullptr;
    if (metrics->slots != nullptr) munmap(metrics->slots, metrics->slot_count * sizeof(MetricSlot));
    munmap(metrics, sizeof(ThreadMetrics));
}

bool make_metrics(Thread* thread) {
    thread->metrics = static_cast<ThreadMetrics*>(map_filled(sizeof(ThreadMetrics)));
    if (thread->metrics == nullptr) return false;
    if (make_room(thread->metrics) && adopt_parts(thread)) return true;
    drop_metrics(thread);
    return false;
}

bool begin(Thread* thread) {
    const ReentryGuard busy;
    const int saved_errno = errno;
    const bool is_new = thread->metrics == nullptr;
    if (is_new && !make_metrics(thread)) return false;
    ThreadMetrics* metrics = thread->metrics;
    const StandardFilesHeld held;
    errno = 0;
    metrics->set = g_source->open();
    const bool no_room = metrics->set == nullptr && errno == EMFILE;
    errno = saved_errno;
    if (metrics->set == nullptr) {
        FileHeader* header = g_process.header;
        __atomic_fetch_add(no_room ? &header->metrics_no_room : &header->metrics_unwatched, 1,
                           __ATOMIC_RELAXED);
        if (is_new) drop_metrics(thread);
        return false;
    }
    metrics->at = thread->record->root;
    metrics->call = 0;
    metrics->after_call = false;
    return true;
}

// The time of the thread's root counts from the virtual time `virt` on.
void begin_time(Thread* thread, uint64_t virt) {
    thread->metrics->begin_ticks = virt;
    MetricPart* part = part_of(thread, thread->record->root);
    if (part != nullptr) part->entries += 1;
    count_reads(thread->metrics);
}

void count_time(Thread* thread) {
    ThreadMetrics* metrics = thread->metrics;
    const uint64_t now = virtual_now(thread);
    MetricPart* part = part_of(thread, thread->record->root);
    // May be negative after the end of a wait has set the virtual clock back.
    const uint64_t more = now - metrics->begin_ticks;
    if (part != nullptr && part->ticks + more < kSignBit) part->ticks += more;
    metrics->begin_ticks = now;
}

void begin_to_count(Thread* thread) {
    ThreadMetrics* metrics = thread->metrics;
    metrics->paused_ticks = g_live->paused_ticks;
    read(metrics, metrics->last);
    // The work of attaching is recorded when it ends: the thread's time begins where it began.
    begin_time(thread, virtual_at(thread, thread->attached_ticks));
    watch_calls(thread);
}

}  // namespace

void use_counters(Thread* thread, const CounterSource* source, const char* names) {
    g_source = source;
    if (!begin(thread)) {
        g_source = nullptr;
        return;
    }
    g_process.header->metric_names = write_text(thread, names, strlen(names));
    g_threads = 1;
    calibrate_reading(thread->metrics);
    begin_to_count(thread);
}

void forget_counters() {
    g_source = nullptr;
    g_process.metric_least_ticks = UINT64_MAX;
}

void watch_calls(Thread* thread) { thread->ring_head = &kWatched; }

void start_metrics(Thread* thread, bool may_allocate) {
    if (g_source == nullptr || !metrics_on()) return;
    const uint64_t start = now_ticks();
    const uint64_t spent = g_start_ticks.load(std::memory_order_relaxed);
    const bool free = g_threads.fetch_add(1, std::memory_order_relaxed) < kFreeThreads;
    const bool cheap = free || spent * kReadShare <= start - g_process.start_ticks;
    if (!cheap || !may_allocate) {
        if (thread->metrics != nullptr) thread->metrics->set = nullptr;
        __atomic_fetch_add(&g_process.header->metrics_unwatched, 1, __ATOMIC_RELAXED);
        return;
    }
    if (!begin(thread)) return;
    begin_to_count(thread);
    g_start_ticks.fetch_add(now_ticks() - start, std::memory_order_relaxed);
}

void put_back_metrics(Thread* thread, uint64_t virt) {
    ThreadMetrics* metrics = thread->metrics;
    if (metrics != nullptr && metrics->begin_ticks > virt) metrics->begin_ticks = virt;
}

void end_metrics(Thread* thread) {
    const uint64_t start = now_ticks();
    ThreadMetrics* metrics = thread->metrics;
    if (is_usable(thread)) {
        read_counts(thread, thread->on.top->node, virtual_now(thread));
        count_time(thread);
    }
    if (metrics == nullptr || thread != t_thread) return;
    const ReentryGuard busy;
    const int saved_errno = errno;
    for (void** set : {&metrics->set, &metrics->lost}) {
        if (*set != nullptr) g_source->close(*set);
        *set = nullptr;
    }
    errno = saved_errno;
    g_start_ticks.fetch_add(now_ticks() - start, std::memory_order_relaxed);
}

void pause_metrics(Thread* thread) {
    if (thread == nullptr || !is_usable(thread)) return;
    read_counts(thread, thread->on.top->node, virtual_now(thread));
}

void resume_metrics(Thread* thread) {
    if (thread == nullptr || !is_usable(thread)) return;
    thread->metrics->paused_ticks = g_live->paused_ticks;
    read(thread->metrics, thread->metrics->last);
}

void reset_metrics(Thread* thread) {
    for (CellIndex at = thread->record->first_metric; at != 0;) {
        auto* part = cell_at<MetricPart>(at);
        at = part->next;
        part->entries = part->ticks = part->left_out = 0;
        memset(part->values, 0, sizeof(part->values));
    }
    if (!is_usable(thread)) return;
    resume_metrics(thread);
    begin_time(thread, virtual_now(thread));
}

bool read_at_entry(Thread* thread, CellIndex node, uint64_t virt) {
    if (!may_read(thread) || !is_due(cell_at<Node>(node)) || !may_spend(thread)) return false;
    read_counts(thread, thread->on.top->node, virt);
    thread->metrics->at = node;
    return true;
}

void read_at_exit(Thread* thread, const ProbeEntry* entry, uint64_t ticks, bool is_whole,
                  uint64_t virt) {
    if (thread->metrics == nullptr || thread->metrics->set == nullptr) return;
    // Another thread may end entries of a waiting thread, which was read when it began to wait.
    if (thread == t_thread) {
        read_counts(thread, entry->node, virt);
        thread->metrics->at = (entry - 1)->node;
    }
    MetricPart* part = part_of(thread, entry->node);
    if (part == nullptr) return;
    part->entries += is_whole ? 1 : 0;
    part->ticks += ticks;
}

bool read_at_rest(Thread* thread, uint64_t virt) {
    if (!may_read(thread)) return false;
    ThreadMetrics* metrics = thread->metrics;
    if (virt - metrics->rest_ticks < g_process.metric_least_ticks) return false;
    metrics->rest_ticks = virt;
    metrics->reads += 1;
    read_counts(thread, thread->on.top->node, virt);
    count_time(thread);
    return true;
}

void read_before_call(Thread* thread, CellIndex call, CellIndex interval) {
    if (!may_read(thread)) return;
    ThreadMetrics* metrics = thread->metrics;
    const Node* node = cell_at<Node>(call);
    uint64_t lasts = node->count != 0 ? node->ticks / node->count : 0;
    if (interval != 0) {
        const Node* before = cell_at<Node>(interval);
        if (before->count != 0) lasts += before->ticks / before->count;
    }
    const bool stops = node->site.call == static_cast<uint16_t>(MpiCall::kPcontrol);
    const bool is_long = lasts >= g_process.metric_least_ticks;
    // A call left by a throw must be ended, and counts before a pause are kept.
    const bool must = stops || metrics->call != 0;
    const bool is_due = is_long || node->count < kFirstReads;
    if (!must && (!is_due || !may_spend(thread))) return;
    const uint64_t start = now_ticks();
    const CellIndex top = thread->on.top->node;
    // Without probes, the interval is the best place for the counts.
    const bool by_interval = metrics->call == 0 && interval != 0 &&
                             (metrics->after_call || measured_node(top) == thread->record->root);
    uint64_t counted[kMetricLimit];
    if (take(metrics, counted)) {
        charge(thread, by_interval ? interval : where(metrics, top), counted,
               virtual_at(thread, start));
    }
    metrics->at = top;
    metrics->call = call;
    metrics->after_call = false;
    thread->slow_overhead += now_ticks() - start;
}

void read_after_call(Thread* thread, CellIndex call, uint64_t ticks, uint64_t virt) {
    if (!may_read(thread) || thread->metrics->call != call) return;
    const uint64_t start = now_ticks();
    read_counts(thread, thread->on.top->node, virt);
    thread->metrics->after_call = true;
    MetricPart* part = part_of(thread, call);
    if (part != nullptr) {
        part->entries += 1;
        part->ticks += ticks;
    }
    thread->slow_overhead += now_ticks() - start;
}

OwnCounts::OwnCounts(Thread* thread)
    : thread_(thread != nullptr && is_usable(thread) ? thread : nullptr) {
    if (thread_ != nullptr && !read(thread_->metrics, before_)) thread_ = nullptr;
}

OwnCounts::~OwnCounts() {
    uint64_t after[kMetricLimit] = {};
    if (thread_ == nullptr || !is_usable(thread_) || !read(thread_->metrics, after)) return;
    for (int i = 0; i < g_source->count; ++i) thread_->metrics->last[i] += after[i] - before_[i];
}

}  // namespace dwell
