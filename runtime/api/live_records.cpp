// What is open now, and where sites are; see live_records.h.
#include "runtime/api/live_records.h"

#include "runtime/contract/virtual_clock.h"
#include "runtime/probes/blocks.h"

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

LiveThread::LiveThread(const ThreadRecord* record, uint64_t now) : record_(record) {
    const Thread* const writer = writer_of(record);
    uint64_t gone = read_word(&record->intrusion_ticks) + read_word(&record->paused_ticks);
    if (writer != nullptr) {
        gone += read_word(&writer->slow_overhead);
        // Pauses that the thread has not noticed yet.
        gone += beyond(read_word(&g_live->paused_ticks), read_word(&writer->paused_ticks));
    }
    now = recording_now(now);
    now_virtual_ = beyond(now, gone);
    // In the order that OpenCall asks for.
    const uint64_t entered = __atomic_load_n(&record->open.entry_ticks, __ATOMIC_ACQUIRE);
    const CellIndex node = read_word(&record->open.node);
    const bool is_in_call = __atomic_load_n(&record->open_depth, __ATOMIC_ACQUIRE) != 0;
    if (is_in_call && read_word(&record->last_ticks) < entered) {
        call_ = node;
        call_ticks_ = beyond(now, entered);
    }
}

uint64_t LiveThread::open_ticks(CellIndex cell, const Node& node) const {
    if (node.site.kind == SiteKind::kCommunication) return cell == call_ ? call_ticks_ : 0;
    if (node.site.open == 0) return 0;
    uint64_t ticks = 0;
    for_each_open([&](CellIndex open, uint64_t so_far) { ticks += open == cell ? so_far : 0; });
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
