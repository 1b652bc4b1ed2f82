// What is open now, and where sites are; see live_records.h.
#include "runtime/api/live_records.h"

#include "runtime/probes/blocks.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

namespace {

const Thread* writer_of(const ThreadRecord* record) {
    const Thread* thread = g_process.threads.load(std::memory_order_acquire);
    while (thread != nullptr && thread->record != record) thread = thread->next;
    return thread;
}

bool overlap(const ModuleRecord* a, const ModuleRecord* b) {
    return a->base < b->base + b->size && b->base < a->base + a->size;
}

}  // namespace

LiveThread::LiveThread(const ThreadRecord* record, uint64_t now)
    : record_(record), now_(recording_now(now)) {
    const Thread* const writer = writer_of(record);
    uint64_t gone = read_word(&record->intrusion_ticks) + read_word(&record->paused_ticks);
    if (writer != nullptr) {
        gone += read_word(&writer->slow_overhead);
        // Pauses that the thread has not noticed yet.
        gone += beyond(read_word(&g_live->paused_ticks), read_word(&writer->paused_ticks));
    }
    now_virtual_ = beyond(now_, gone);
}

// In the order that OpenCall asks for.
uint64_t LiveThread::call_ticks(CellIndex cell) const {
    const uint64_t entered = __atomic_load_n(&record_->open.entry_ticks, __ATOMIC_ACQUIRE);
    const bool here = __atomic_load_n(&record_->open.node, __ATOMIC_ACQUIRE) == cell &&
                      __atomic_load_n(&record_->open_depth, __ATOMIC_ACQUIRE) != 0;
    return here && read_word(&record_->last_ticks) < entered ? beyond(now_, entered) : 0;
}

uint64_t LiveThread::open_ticks(CellIndex cell, const Node& node) const {
    if (node.site.kind == SiteKind::kCommunication) return call_ticks(cell);
    if (node.site.open == 0) return 0;
    const uint32_t depth = read_word(&record_->probe_depth);
    const CellIndex stack = read_link(&record_->probe_stack);
    const uint32_t entries = stack != 0 ? read_word(&record_->probe_stack_entries) : 0;
    uint64_t ticks = 0;
    for (uint32_t i = 1; i <= depth && i < entries; ++i) {
        const ProbeEntry entry = read_value(cell_at<const ProbeEntry>(stack) + i);
        const bool stopped = (entry.flags & (kEntryStopped | kEntryAway)) != 0;
        if (entry.node != cell || ((entry.flags & kEntryUntimed) != 0 && !stopped)) continue;
        // The field of a stopped entry holds the duration up to the stop.
        ticks += stopped ? entry.entry_virtual : beyond(now_virtual_, entry.entry_virtual);
    }
    return ticks;
}

uint64_t SiteAddresses::address_of(const Site& site) {
    if (site.module == 0) return site.offset;
    if (site.module != number_) {
        number_ = site.module;
        loaded_ = false;
        const CellIndex first = read_link(&g_process.header->first_module);
        const ModuleRecord* wanted = nullptr;
        for (CellIndex at = first; at != 0; at = cell_at<ModuleRecord>(at)->next) {
            if (cell_at<ModuleRecord>(at)->number == number_) wanted = cell_at<ModuleRecord>(at);
        }
        if (wanted == nullptr) return 0;
        base_ = wanted->base;
        loaded_ = true;
        // The newest come first: one at the same addresses was loaded after this one had gone.
        for (CellIndex at = first; cell_at<ModuleRecord>(at) != wanted;) {
            loaded_ = loaded_ && !overlap(cell_at<ModuleRecord>(at), wanted);
            at = cell_at<ModuleRecord>(at)->next;
        }
    }
    return loaded_ ? base_ + site.offset : 0;
}

}  // namespace dwell
