// Finds the end of a process that did not close its records, and lets what was open last until
// then: calls, entries of probes, and the computation of its threads.
#include <string.h>

#include <algorithm>

#include "runtime/contract/mpi_calls.h"
#include "summarize/merge/record_reader.h"
#include "summarize/merge/saturating.h"

namespace dwell {
namespace {

uint64_t not_virtual(const ThreadRecord& thread) {
    return thread.intrusion_ticks + thread.late_ticks + thread.paused_ticks;
}

// Whether a call that does not end most likely waits for another rank.
bool may_wait_for_others(uint16_t number) {
    if (number >= kMpiCallCount) return false;
    const MpiCallInfo& call = kMpiCalls[number];
    switch (call.call_class) {
        case CallClass::kSend:
        case CallClass::kReceive:
        case CallClass::kSendReceive:
        case CallClass::kProbe:
        case CallClass::kWait:
        case CallClass::kRma:
            return true;
        default:
            return call.waits;
    }
}

}  // namespace

uint64_t last_virtual(const ThreadRecord& thread) {
    const uint64_t gone = not_virtual(thread);
    const uint64_t left = thread.last_ticks > gone ? thread.last_ticks - gone : 0;
    return thread.end_virtual != kNotReadable ? std::max(left, thread.end_virtual) : left;
}

bool RecordReader::innermost_entry(const ThreadRecord& thread, ProbeEntry* entry) const {
    const uint64_t depth = std::min(thread.probe_depth, thread.probe_stack_entries);
    const uint64_t cells = (depth + 1) * sizeof(ProbeEntry) / kCellBytes + 1;
    if (depth == 0 || !in_file(thread.probe_stack, static_cast<uint32_t>(cells))) return false;
    const size_t place = static_cast<size_t>(thread.probe_stack) * kCellBytes;
    memcpy(entry, file_ + place + depth * sizeof *entry, sizeof *entry);
    return true;
}

uint64_t RecordReader::newest_ticks() const {
    uint64_t newest = std::max({header_.start_ticks, header_.init_ticks, header_.usage_ticks,
                                header_.end_ticks, header_.paused_since});
    ThreadRecord thread;
    CellIndex cell = header_.first_thread;
    // A damaged list may be circular.
    for (uint32_t left = cells_; left != 0 && load(cell, &thread); --left, cell = thread.next) {
        newest = std::max({newest, thread.last_ticks, thread.open.entry_ticks});
        ProbeEntry entry;
        if (innermost_entry(thread, &entry) && entry.flags == 0) {
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
        end_flag_ = kFileEndSeen;
    } else if (end_unix_ns != 0) {
        const int64_t lived_ns = std::max<int64_t>(end_unix_ns - header_.start_unix_ns, 0);
        end_ticks_ = header_.start_ticks + scale(static_cast<uint64_t>(lived_ns),
                                                 header_.ticks_per_second, 1'000'000'000);
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

bool RecordReader::is_in_call(const ThreadRecord& thread) const {
    // Else the statement has not begun, or has ended, since it was looked at.
    const OpenCall& call = thread.open;
    return thread.open_depth != 0 && call.entry_ticks > thread.last_ticks && call.node != 0 &&
           node_at(call.node) != kNoNode;
}

// Adds the time of an entry that had not ended, which is not counted.
bool RecordReader::add_unfinished(uint32_t merged, uint32_t thread, Totals totals) {
    if (header_.state != FileState::kFinalized) totals.unfinished_ns = totals.time_ns;
    MergedNode* node = &out_->nodes[merged];
    add_totals(&node->totals, totals);
    node->rank_min_ns = node->rank_max_ns = node->totals.time_ns;
    return add_row(merged, thread, totals);
}

bool RecordReader::add_open_call(const ThreadRecord& thread) {
    if (!lasts_to_end(thread) || !is_in_call(thread)) return true;
    if (thread.open.entry_ticks >= end_ticks_) return true;
    const uint32_t merged = node_at(thread.open.node);
    const MergedNode& node = out_->nodes[merged];
    if (node.kind != static_cast<uint8_t>(SiteKind::kCommunication)) return true;
    Totals totals = empty_totals();
    totals.time_ns = ns(end_ticks_ - thread.open.entry_ticks);
    if (may_wait_for_others(node.call)) totals.blocked_ns = totals.time_ns;
    return add_unfinished(merged, thread.number, totals);
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
