// Finds the end of a process that did not close its records, and lets what was open last until
// then: calls, entries of probes, and the computation of its threads.
#include <string.h>

#include <algorithm>

#include "summarize/merge/node_figures.h"
#include "summarize/merge/record_reader.h"
#include "summarize/merge/saturating.h"

namespace dwell {
namespace {

uint64_t not_virtual(const ThreadRecord& thread) {
    return thread.intrusion_ticks + thread.late_ticks + thread.paused_ticks;
}

}  // namespace

uint64_t RecordReader::newest_ticks() const {
    uint64_t newest = std::max({header_.start_ticks, header_.init_ticks, header_.usage_ticks,
                                header_.end_ticks, header_.death_ticks, header_.paused_since});
    ThreadRecord thread;
    CellIndex cell = header_.first_thread;
    // A damaged list may be circular.
    for (uint32_t left = cells_; left != 0 && load(cell, &thread); --left, cell = thread.next) {
        newest = std::max({newest, thread.last_ticks, thread.open.entry_ticks});
        ProbeEntry entry;
        if (innermost_probe(cell, &entry) && entry.flags == 0) {
            newest = std::max(newest, entry.entry_virtual + not_virtual(thread));
        }
    }
    return newest;
}

void RecordReader::find_end(int64_t end_unix_ns) {
    constexpr uint32_t kNoEnd = kFileInInit | kFileReplaced;
    if (header_.state == FileState::kFinalized || (header_.flags & kNoEnd) != 0) return;
    if (header_.state != FileState::kRunning) {
        end_ticks_ = header_.end_ticks;
    } else if (header_.death_ticks != 0) {
        end_ticks_ = header_.death_ticks;
        end_flag_ = header_.watcher == kWentOn ? kFileEndGuessed : kFileEndSeen;
    } else if (end_unix_ns != 0) {
        const uint64_t lived_ns = ns_between(header_.start_unix_ns, end_unix_ns);
        end_ticks_ = header_.start_ticks + scale(lived_ns, header_.ticks_per_second, 1'000'000'000);
        end_flag_ = kFileEndGuessed;
    }
    if (end_ticks_ == 0) return;
    end_ticks_ = std::max(end_ticks_, newest_ticks());
    // A pause is no part of the times.
    if (header_.paused_since != 0) end_ticks_ = std::max(header_.paused_since, header_.start_ticks);
}

bool RecordReader::lasts_to_end(const ThreadRecord& thread) const {
    const bool lives =
        thread.state == ThreadState::kComputing || thread.state == ThreadState::kInCommunication;
    return end_ticks_ != 0 && lives && thread.end_virtual == 0;
}

uint64_t RecordReader::end_virtual(const ThreadRecord& thread) const {
    const uint64_t last = last_virtual(thread);
    const uint64_t gone = not_virtual(thread);
    if (!lasts_to_end(thread) || end_ticks_ < gone) return last;
    return std::max(last, end_ticks_ - gone);
}

// Adds the time of an entry that had not ended, which is not counted.
bool RecordReader::add_unfinished(uint32_t merged, uint32_t thread, Totals totals) {
    if (header_.state != FileState::kFinalized) totals.unfinished_ns = totals.time_ns;
    MergedNode* node = &out_->nodes[merged];
    add_totals(&node->totals, totals);
    node->rank_min_ns = node->rank_max_ns = node->totals.time_ns;
    return add_row(merged, thread, totals);
}

// The statement that a thread which lasts to the end had not left; its node is known.
bool RecordReader::open_call(CellIndex cell, const ThreadRecord& thread, OpenCall* call) const {
    uint64_t last_ticks = 0;
    return lasts_to_end(thread) && read_call(cell, call, &last_ticks) &&
           call->entry_ticks < end_ticks_ && node_at(call->node) != kNoNode;
}

bool RecordReader::add_open_call(CellIndex cell, const ThreadRecord& thread) {
    OpenCall call;
    Node node;
    if (!open_call(cell, thread, &call) || !load(call.node, &node)) return true;
    if (node.site.kind != SiteKind::kCommunication) return true;
    Totals totals = empty_totals();
    totals.time_ns = ns(end_ticks_ - call.entry_ticks);
    if (may_wait_for_others(node.site.call)) totals.blocked_ns = totals.time_ns;
    return add_unfinished(node_at(call.node), thread.number, totals);
}

bool RecordReader::tell_newest(NewestTime* newest) {
    if (!read_header()) return false;
    newest->unix_ns = unix_ns(newest_ticks());
    memcpy(newest->host, header_.host, sizeof newest->host);
    newest->host[sizeof newest->host - 1] = '\0';
    return true;
}

bool newest_time_in(const void* file, size_t bytes, NewestTime* newest) {
    Merged none;
    return RecordReader(file, bytes, &none).tell_newest(newest);
}

}  // namespace dwell
