// Explicit OpenMP tasks. A task's node lies below its region, wherever the task is executed: in a
// barrier, where another task waits, or at once. Meanwhile the time of entries above the region's
// entry stops, so that no time is counted twice.
//
// Data of a task until its execution fit into the mark that the OpenMP runtime stores for it: the
// number of its site and its time of creation, later the position of its entry.
#include <errno.h>

#include "runtime/openmp/omp_entries.h"

namespace dwell {

namespace {

// Sites that create tasks; a site's number is its index here plus one.
constexpr uint32_t kTaskSites = 1 << 12;
std::atomic<uint64_t> g_task_sites[kTaskSites];

constexpr uint64_t kBegun = uint64_t{1} << 63;   // the task's entry is open
constexpr uint64_t kSplits = uint64_t{1} << 62;  // the task creates tasks for the runtime
constexpr int kSiteShift = 48;
constexpr uint64_t kLowBits = (uint64_t{1} << kSiteShift) - 1;
constexpr uint64_t kUnknownSite = kTaskSites + 1;  // the table is full

uint64_t number_of_site(uint64_t address) {
    const auto first = static_cast<uint32_t>(address * 0x9e3779b97f4a7c15ull >> 52);
    for (uint32_t i = 0; i < 64; ++i) {
        const uint32_t at = (first + i) % kTaskSites;
        uint64_t known = g_task_sites[at].load(std::memory_order_relaxed);
        if (known == address) return at + 1;
        if (known != 0) continue;
        if (g_task_sites[at].compare_exchange_strong(known, address, std::memory_order_relaxed) ||
            known == address) {
            return at + 1;
        }
    }
    return kUnknownSite;
}

uint64_t row_of_task(uint64_t mark) {
    const uint64_t number = (mark & ~(kBegun | kSplits)) >> kSiteShift;
    const uint64_t address =
        number <= kTaskSites ? g_task_sites[number - 1].load(std::memory_order_relaxed) : 0;
    return omp_row(OmpConstruct::kTask, address);
}

// The innermost region's entry; the base when there is none.
ProbeEntry* region_entry(Thread* thread) {
    const OmpLevel* const level = omp_level(thread);
    ProbeEntry* const entry = thread->on.base + (level != nullptr ? level->entry : 0);
    return entry <= thread->on.top ? entry : thread->on.base;
}

void stop_above(Thread* thread, ProbeEntry* region, ProbeEntry* task) {
    for (ProbeEntry* entry = task - 1; entry > region; --entry) {
        if ((entry->flags & ~(kEntryHolds | kEntryEndsSlowly)) != 0) continue;
        entry->entry_virtual = task->entry_virtual - entry->entry_virtual;
        entry->flags |= kEntryUntimed | kEntryStopped;
        hold_axis(thread);  // its waiting so far is recorded at its end
    }
}

// Continues the time of entries stopped by this task: those out to the next task, and that one.
void run_on(Thread* thread, uint64_t now_virtual) {
    release_axis(thread);
    const ProbeEntry* const region = region_entry(thread);
    for (ProbeEntry* entry = thread->on.top; entry > region; --entry) {
        if ((entry->flags & kEntryStopped) == 0 || entry->flags >> kEntryHolderShift != 0) continue;
        entry->entry_virtual = now_virtual - entry->entry_virtual;
        entry->flags &= ~uint32_t{kEntryUntimed | kEntryStopped};
        if (is_row_of(entry->row, OmpConstruct::kTask)) return;
    }
}

void begin_task(OmpStep* step, uint64_t* mark) {
    Thread* const thread = step->thread;
    ProbeEntry* const region = region_entry(thread);
    const uint64_t row = row_of_task(*mark);
    const CellIndex node = step->records ? omp_node(step, region->node, row) : 0;
    ProbeEntry* const entry = push_omp(step, node, row);
    if (entry == nullptr) return;
    if (has_node(entry)) {
        omp_part(node)->start_ticks += (step->now - *mark) & kLowBits;
        stop_above(thread, region, entry);
    }
    *mark = kBegun | (*mark & ~kLowBits) | static_cast<uint64_t>(entry - thread->on.base);
}

// `finished`: false when the task continues later, perhaps on another thread.
void end_task(OmpStep* step, uint64_t* mark, bool finished, const OmpCosts& more) {
    Thread* const thread = step->thread;
    ProbeEntry* const own = thread->on.base + (*mark & kLowBits);
    *mark = (*mark & ~(kBegun | kLowBits)) | (step->now & kLowBits);
    if (own > thread->on.top || !is_row_of(own->row, OmpConstruct::kTask)) return;
    lose(*step, g_process.omp.task_inner + more.task_inner);
    const uint64_t end = now_virtual(*step);
    while (thread->on.top > own) close_omp(thread, end);
    const bool recorded = has_node(own);
    const CellIndex node = own->node;
    close_omp(thread, end);
    lose(*step, g_process.omp.task + more.task);
    if (!recorded) return;
    if (!finished) cell_at<Node>(node)->count -= 1;
    run_on(thread, end);
    // A region does not end before its tasks.
    const OmpLevel* const level = omp_level(thread);
    if (level == nullptr || !level->at_last) return;
    level->team->arrivals[kLastBarrier].arrive(resumes_at(*step, end));
}

// True for the first task created by a splitter: it replaces the splitter, which was counted when
// it began.
bool takes_place_of(const Thread* thread, uint64_t* splitter) {
    if (splitter == nullptr || (*splitter & kBegun) == 0 || (*splitter & kSplits) != 0)
        return false;
    const ProbeEntry* const own = thread->on.base + (*splitter & kLowBits);
    if (own != thread->on.top || !is_row_of(own->row, OmpConstruct::kTask)) return false;
    *splitter |= kSplits;
    if (has_node(own)) cell_at<Node>(own->node)->count -= 1;
    return true;
}

}  // namespace

uint64_t omp_task_created(uint64_t address, uint64_t* splitter) {
    OmpStep step;
    const uint64_t number = number_of_site(address);
    uint64_t now = read_tsc();
    if (begin_step(&step, DWELL_OMP_FRAME(), true)) {
        Thread* const thread = step.thread;
        const uint64_t row = omp_row(OmpConstruct::kTask, number != kUnknownSite ? address : 0);
        const CellIndex node = step.records ? omp_node(&step, region_entry(thread)->node, row) : 0;
        const bool counted = takes_place_of(thread, splitter);
        if (node != 0 && !counted) omp_part(node)->created += 1;
        const OmpLevel* const level = omp_level(thread);
        if (level != nullptr && level->team != nullptr &&
            !level->team->has_tasks.load(std::memory_order_relaxed)) {
            level->team->has_tasks.store(true, std::memory_order_relaxed);
        }
        now = step.now;
        lose(step, g_process.omp.created);
        end_step(&step);
    }
    return number << kSiteShift | (now & kLowBits);
}

void omp_task_switch(uint64_t* prior, bool finished, uint64_t* next, const OmpCosts& more) {
    OmpStep step;
    if (!begin_step(&step, DWELL_OMP_FRAME(), true)) return;
    Thread* const thread = step.thread;
    // An idle thread has found work: nobody else may change its entries from now on.
    if (!wake(thread)) {
        end_step(&step);
        return;
    }
    const bool begins = *next != 0 && (*next & kBegun) == 0;
    // A task left for a new one stays open around it, because the thread returns to it.
    if ((*prior & kBegun) != 0 && (finished || !begins)) end_task(&step, prior, finished, more);
    if (begins) begin_task(&step, next);
    const OmpLevel* const level = omp_level(thread);
    const bool rests = level != nullptr && level->at_last && level->index != 0 &&
                       top_is(thread, OmpConstruct::kImplicitBarrier);
    if (rests) rest(&step, now_virtual(step));
    end_step(&step);
    if (rests) park(thread);
}

}  // namespace dwell
