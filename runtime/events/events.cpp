// Rings of events: begin, end, and what the writer does where a record does not fit. The records
// themselves are written in events.h.
#include "runtime/events/events.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "runtime/contract/job_name.h"
#include "runtime/events/event_flush.h"
#include "runtime/events/event_places.h"
#include "runtime/process/calibration.h"
#include "runtime/process/event_settings.h"
#include "runtime/process/hooks.h"
#include "runtime/process/reset.h"

namespace dwell {

namespace {

// Takes a ring of `words` words, or a smaller one where there is no room.
bool take_ring(Thread* thread, EventRing* ring, uint32_t words) {
    for (; words >= kLeastRingWords; words /= 2) {
        const uint32_t cells = words / (kCellBytes / sizeof(uint64_t));
        // Of many threads, half of the memory for records, too.
        const uint32_t mib = g_process.options.event_mib + g_process.options.memory_mib / 2;
        const uint64_t room = uint64_t{mib} * (1024u * 1024 / kCellBytes);
        if (g_process.ring_cells.fetch_add(cells) + cells <= room)
            ring->ring = take_cells(thread, cells);
        if (ring->ring == 0) {
            g_process.ring_cells.fetch_sub(cells);
            continue;
        }
        ring->words = words;
        ring->first = ring->rests_at = reinterpret_cast<uint64_t>(cell_at<uint64_t>(ring->ring));
        ring->limit = ring->first;
        return true;
    }
    return false;
}

uint64_t now_of(const Thread* thread) { return virtual_ticks(thread, now_ticks()); }

// Since when the thread has been in the last barrier of an OpenMP region, whose end it tells late.
uint64_t rests_since(const Thread* thread) {
    const OmpThread& omp = thread->omp;
    if (!omp.has_parked || omp.depth == 0 || omp.depth > kOmpLevels) return UINT64_MAX;
    return omp.levels[omp.depth - 1].came_virtual;
}

}  // namespace

void name_spill_file() {
    const char* const name = strrchr(g_process.record_path, '/');
    snprintf(g_spill_path, sizeof g_spill_path, "%s/%s%s", g_process.record_dir, kSpillPrefix,
             name != nullptr ? name + 1 : "");
}

static void begin_events(Thread* thread, uint64_t virt) {
    begin_unseen(thread);
    const char* const ranks = g_process.options.event_ranks;
    if (*ranks != '\0' && !is_rank_in(ranks, launcher_rank() > 0 ? launcher_rank() : 0)) return;
    EventRing* const ring = &thread->record->events;
    if (ring->ring == 0 && !take_ring(thread, ring, g_process.options.event_words)) {
        __atomic_fetch_add(&g_process.header->threads_without_events, 1, __ATOMIC_RELAXED);
        return;
    }
    ring->policy = static_cast<uint32_t>(g_process.options.event_policy);
    ring->paused_told = thread->record->paused_ticks;
    ring->limit = ring->rests_at;  // the first record brings a time
    ring->next = ring->rests_at;
    thread->events |= kWritesEvents;
    write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kThread), virt,
                static_cast<uint64_t>(thread->record->tid));
}

void start_events(Thread* thread, bool) {
    if (wants_events()) {
        begin_events(thread, now_of(thread));
    } else {
        begin_unseen(thread);
    }
}

void follow_events(Thread* thread, uint64_t virt) {
    const bool on = wants_events();
    EventRing* const ring = &thread->record->events;
    ring->base = 0;  // after a pause times go on from another one
    const uint64_t paused = thread->record->paused_ticks - ring->paused_told;
    ring->paused_told += paused;
    if (paused != 0 && writes_events(thread))
        write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kPaused), virt,
                    paused);
    if (on == writes_events(thread)) return;
    if (on) {
        begin_events(thread, virt);
        return;
    }
    write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kOff),
                earlier(virt, rests_since(thread)));
    begin_unseen(thread);
    stop_writing(thread);
}

void reset_events(Thread* thread, uint64_t) {
    EventRing* const ring = &thread->record->events;
    ring->base = ring->paused_told = 0;
    if (writes_events(thread))
        write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kReset),
                    now_of(thread));
}

void follow_event_order(Thread* thread) { follow_events(thread, now_of(thread)); }
void write_counts(Thread* thread, CellIndex node, uint64_t virt, const uint64_t* counts,
                  uint32_t number) {
    const ToolSection was_in_tool = thread->in_tool;
    thread->in_tool.begin();  // no signal handler's record comes between
    EventRing* const ring = &thread->record->events;
    const uint64_t words = 1 + uint64_t{number};
    const bool fits = ring->next + words * sizeof(uint64_t) <= ring->limit &&
                      (virt - ring->base) >> kEventTimeBits == 0;
    const CellIndex what = node >> kEventWhatBits == 0 ? node : kEventNobody;
    if (fits || make_event_room(thread, virt, event_form(words, EventKind::kMetric), what)) {
        auto* at = reinterpret_cast<uint64_t*>(ring->next);
        *at++ = ((virt - ring->base) << kEventTimeShift) + event_what(EventKind::kMetric, what);
        for (uint32_t i = 0; i < number; ++i) *at++ = event_more(counts[i]);
        __atomic_store_n(&ring->next, reinterpret_cast<uint64_t>(at), __ATOMIC_RELEASE);
    }
    thread->in_tool = was_in_tool;
}

void note_sample(Thread* thread, CellIndex node, uint64_t virt, uint32_t weight) {
    if (!writes_events(thread)) return;
    if (node == 0) {  // no room for it
        thread->record->events.lost[static_cast<uint32_t>(EventLoss::kOther)] += 1;
    } else if (has_events(node)) {
        write_event(thread, EventKind::kSample, node, virt, uint64_t{weight});
    }
}

void write_lock(Thread* thread, EventControl what, uint64_t address) {
    if (thread->in_tool) return;
    thread->in_tool.begin();  // no signal handler's record comes between
    write_event(thread, EventKind::kControl, static_cast<uint32_t>(what), now_of(thread), address);
    thread->in_tool.end();
}

void write_comm(Thread* thread, const CommRecord& comm) {
    if (!writes_events(thread) || comm.rank < 0 || comm.size < 0) return;
    write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kComm),
                now_of(thread), comm.id >> 32, comm.id & UINT32_MAX,
                static_cast<uint64_t>(comm.rank),
                static_cast<uint64_t>(comm.size) << 1 | (comm.inter != 0 ? 1 : 0));
}

static void change_epoch() {
    g_live->epoch += 1;
    if (g_live->ticket != 0) __atomic_fetch_add(&g_live->ticket, 1, __ATOMIC_RELEASE);
}

void notice_event_order() {
    const StateLock lock;
    g_live->event_order = g_process.header->event_order;
    change_epoch();
}

void tell_threads() {
    const StateLock lock;
    change_epoch();
}

void order_events(bool on) {
    if (g_live->on == 0 && attach_for_probe() == nullptr) return;
    if (!g_process.options.events) return;
    g_process.header->event_order = on ? EventOrder::kOn : EventOrder::kOff;
    notice_event_order();
    Thread* const thread = t_thread;
    if (thread == nullptr || thread->in_tool || thread->open != nullptr) return;
    const SlowWork work(thread);
    apply_changes(thread);
}

void end_events(Thread* thread, uint64_t now) {
    if (!writes_events(thread)) return;
    write_event(thread, EventKind::kControl, static_cast<uint32_t>(EventControl::kEnd),
                virtual_ticks(thread, now));
    stop_writing(thread);
}

void calibrate_events(Thread* thread, Node* node) {
    constexpr size_t kWords = 8192;  // of all steps of least_ticks()
    constexpr size_t kBytes = (kWords + 1) * sizeof(uint64_t);
    auto* words = static_cast<uint64_t*>(scratch_of(thread, kBytes));
    if (words == nullptr) return;
    EventRing* const ring = &thread->record->events;
    *ring = EventRing{};
    ring->next = ring->first = reinterpret_cast<uint64_t>(words);
    ring->limit = ring->next + kBytes;
    g_process.event_cost_ticks =
        least_ticks(thread, node, [thread] { write_event(thread, EventKind::kEnter, 1, 0); }).all;
    *ring = EventRing{};
}

void await_event_reader() {
    if (!g_process.options.events || g_status_page == nullptr) return;
    constexpr uint64_t kPatience_ns = 2'000'000'000;
    const int saved_errno = errno;
    uint64_t since_ns = monotonic_ns();
    uint64_t before = 0;
    for (;;) {
        // Who reads the rings of a short run has not seen them yet.
        uint64_t left =
            __atomic_load_n(&g_process.header->event_reader, __ATOMIC_ACQUIRE) == 0 ? 1 : 0;
        for (const Thread* thread = g_process.threads.load(); thread != nullptr;
             thread = thread->next) {
            const EventRing& ring = thread->record->events;
            if (ring.ring == 0 || ring.policy == static_cast<uint32_t>(EventPolicy::kOverwrite))
                continue;
            const uint64_t next = ring.next != 0 ? ring.next : ring.rests_at;
            left += words_written(ring, next) - __atomic_load_n(&ring.read, __ATOMIC_ACQUIRE);
        }
        const uint64_t now_ns = monotonic_ns();
        if (left != before) since_ns = now_ns;
        if (left == 0 || now_ns - since_ns > kPatience_ns) break;
        before = left;
        const timespec wait = {0, 1'000'000};
        nanosleep(&wait, nullptr);
    }
    errno = saved_errno;
}

}  // namespace dwell
