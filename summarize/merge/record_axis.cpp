// Reads the time axes of the threads of a record file and adds them to that of the rank, with what
// is still open in a process that runs or was killed. Figures stay in ticks until all are added.
#include <algorithm>

#include "summarize/merge/merged_axis.h"
#include "summarize/merge/node_figures.h"
#include "summarize/merge/record_reader.h"

namespace dwell {
namespace {

constexpr int kAttempts = 100;  // to read bins that a running process does not change meanwhile

uint64_t beyond(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

AxisFigures figures_of(const AxisBin& bin) {
    return {bin.computation_ticks,
            beyond(bin.call_ticks, bin.waiting_ticks),
            std::min(bin.waiting_ticks, bin.call_ticks),
            bin.omp_wait_ticks,
            bin.omp_idle_ticks,
            bin.io_ticks,
            bin.bytes_sent};
}

uint64_t time_of(const AxisBin& bin) {
    return bin.call_ticks + bin.omp_wait_ticks + bin.omp_idle_ticks + bin.io_ticks;
}

AxisBin pending_of(const TimeAxis& axis) {
    const AxisSums& now = axis.sums;
    const AxisSums& stored = axis.stored;
    AxisBin bin{};
    bin.call_ticks = beyond(now.call_ticks, stored.call_ticks);
    bin.waiting_ticks = beyond(now.waiting_ticks, stored.waiting_ticks);
    bin.omp_wait_ticks = beyond(now.omp_wait_ticks, stored.omp_wait_ticks);
    bin.omp_idle_ticks = beyond(now.omp_idle_ticks, stored.omp_idle_ticks);
    bin.io_ticks = beyond(now.io_ticks, stored.io_ticks);
    bin.bytes_sent = beyond(now.bytes_sent, stored.bytes_sent);
    return bin;
}

bool was_in_call(const ThreadRecord& thread) { return thread.open.node != 0; }

// Whether the bins hold what the thread has stored in them, which they do not where a page is lost.
bool holds_all(const TimeAxis& axis, const AxisBin* bins) {
    AxisSums held{};
    uint64_t computed_ticks = 0;
    for (uint32_t i = 0; i <= axis.last_bin; i++) {
        computed_ticks += bins[i].computation_ticks;
        held.call_ticks += bins[i].call_ticks;
        held.omp_wait_ticks += bins[i].omp_wait_ticks;
        held.omp_idle_ticks += bins[i].omp_idle_ticks;
        held.io_ticks += bins[i].io_ticks;
        held.bytes_sent += bins[i].bytes_sent;
    }
    const AxisSums& stored = axis.stored;
    return computed_ticks >= axis.computed_ticks && held.call_ticks >= stored.call_ticks &&
           held.omp_wait_ticks >= stored.omp_wait_ticks &&
           held.omp_idle_ticks >= stored.omp_idle_ticks && held.io_ticks >= stored.io_ticks &&
           held.bytes_sent >= stored.bytes_sent;
}

}  // namespace

// In the bins of the rank, which may be wider.
bool RecordReader::add_to_bin(uint64_t bin, uint32_t shift, const AxisBin& figures) {
    if (out_->axis_rows.empty()) out_->axis_shift = shift;
    if (shift > out_->axis_shift) {
        widen(&out_->axis_rows, shift - out_->axis_shift);
        out_->axis_shift = shift;
    }
    const uint32_t by = out_->axis_shift - shift;
    MergedAxisRow* row = axis_row_at(&out_->axis_rows, bin >> by, rank_);
    if (row == nullptr) return false;
    const uint32_t phase = figures.phase != 0 ? node_at(figures.phase) : kNoNode;
    add_axis_row({row->bin, rank_, phase, figures.phase_weight, figures_of(figures)}, row);
    while (out_->axis_rows.size() > kAxisBins && out_->axis_shift + 1 < kAxisShiftLimit) {
        widen(&out_->axis_rows, 1);
        out_->axis_shift += 1;
    }
    return true;
}

// Time from one point of the axis to another; `waits`: it is waiting as well.
bool RecordReader::spread(uint64_t from, uint64_t until, uint64_t AxisBin::*figure, bool waits) {
    const AxisClock clock{header_.start_ticks, header_.start_unix_ns, header_.ticks_per_second};
    // Bounded, as the clock of a damaged file may be nonsense.
    for (uint32_t parts = 0; from < until && parts < 4 * kAxisBins; ++parts) {
        const uint32_t shift = out_->axis_rows.empty() ? kFirstBinShift : out_->axis_shift;
        // Not one bin after the other where so many are needed that they will be widened.
        uint32_t wider = shift;
        while (wider + 1 < kAxisShiftLimit &&
               axis_bin_at(clock, until, wider) - axis_bin_at(clock, from, wider) > kAxisBins) {
            ++wider;
        }
        const uint64_t bin = axis_bin_at(clock, from, wider);
        const uint64_t end =
            std::min(until, std::max(from + 1, axis_bin_begin(clock, bin + 1, wider)));
        AxisBin part{};
        part.*figure = end - from;
        if (waits) part.waiting_ticks = end - from;
        part.phase = open_phase_;
        part.phase_weight =
            static_cast<uint32_t>(std::min<uint64_t>((end - from) >> kPhaseUnitShift, UINT32_MAX));
        if (!add_to_bin(bin, wider, part)) return false;
        from = end;
    }
    return true;
}

// The time up to which the thread's computation is known; 0: up to its last statement.
uint64_t RecordReader::end_of_axis(const ThreadRecord& thread, bool in_call) const {
    uint64_t end = thread.axis.until;
    if (was_in_call(thread)) {
        end = std::max(end, beyond(thread.last_ticks, thread.intrusion_ticks));
    }
    // Open regions last as long as the thread's observation, too.
    if (thread.life_start != 0 || thread.probe_depth != 0) {
        const uint64_t until = in_call ? last_virtual(thread) : end_virtual(thread);
        end = std::max(end, until + thread.paused_ticks);
    }
    if (thread.number == header_.process_thread && process_ns() != 0 && !in_call) {
        const uint64_t gone = thread.intrusion_ticks + thread.late_ticks;
        end = std::max(end, beyond(end_ticks_ != 0 ? end_ticks_ : header_.end_ticks, gone));
    }
    return end;
}

// What its last bin has not got yet: finished statements, computation, and a call or barrier that
// is open. The time in the latter is waiting.
bool RecordReader::add_end_of_axis(CellIndex cell, const ThreadRecord& thread) {
    const TimeAxis& axis = thread.axis;
    const AxisBin pending = pending_of(axis);
    open_phase_ = axis.phase;
    uint64_t at = axis.from + time_of(pending);
    const bool goes_on = header_.state == FileState::kRunning || lasts_to_end(thread);
    const bool is_open =
        goes_on && thread.open_depth != 0 && thread.open.entry_ticks > thread.last_ticks;
    const uint64_t until = end_of_axis(thread, is_open);
    uint64_t computed = until;
    const uint64_t entered = beyond(thread.open.entry_ticks, thread.intrusion_ticks);
    if (is_open) computed = std::max(computed, entered);
    ProbeEntry innermost{};
    Node node{};
    const bool in_barrier = !is_open && lasts_to_end(thread) && innermost_probe(cell, &innermost) &&
                            innermost.flags == 0 && load(innermost.node, &node) &&
                            only_waits(node.site);
    if (in_barrier) computed = innermost.entry_virtual + thread.paused_ticks;
    if (time_of(pending) + pending.bytes_sent != 0 &&
        !add_to_bin(axis.first_bin + axis.last_bin, axis.bin_shift, pending)) {
        return false;
    }
    if (!spread(at, computed, &AxisBin::computation_ticks, false)) return false;
    at = std::max(at, computed);
    if (in_barrier) return spread(at, until, &AxisBin::omp_wait_ticks, false);
    const uint64_t newest = beyond(newest_ticks_, thread.intrusion_ticks);
    const bool waits = load(thread.open.node, &node) && may_wait_for_others(node.site.call);
    return !is_open || spread(at, newest, &AxisBin::call_ticks, waits);
}

bool RecordReader::add_bins(const TimeAxis& axis, const AxisBin* bins) {
    for (uint32_t i = 0; i <= axis.last_bin; i++) {
        if (!add_to_bin(axis.first_bin + i, axis.bin_shift, bins[i])) return false;
    }
    return true;
}

bool RecordReader::read_axis(CellIndex cell) {
    ThreadRecord thread;
    AxisBin bins[kAxisBins];
    bool of_one_moment = false;
    const uint32_t* const version = &in_place<ThreadRecord>(cell)->axis.version;
    for (int attempt = 0; attempt < kAttempts && !of_one_moment; attempt++) {
        const uint32_t before = load_whole(version);
        if (!load(cell, &thread)) return true;
        const TimeAxis& axis = thread.axis;
        if (axis.bins == 0) break;
        if (!in_file(axis.bins, kAxisBins)) {
            doubt(axis.bins < cells_);
            return true;
        }
        memcpy(bins, in_place<AxisBin>(axis.bins), sizeof bins);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        of_one_moment = before % 2 == 0 && load_whole(version) == before;
    }
    const TimeAxis& axis = thread.axis;
    if (axis.no_room != 0) out_->axis_missing += 1;
    const bool is_sound = axis.bin_shift < kAxisShiftLimit && axis.last_bin < kAxisBins;
    doubt(!is_sound);
    if (axis.no_room != 0 || axis.bin_end == 0 || !is_sound) return true;
    doubt(of_one_moment && !holds_all(axis, bins));
    if (axis.bins != 0 && !add_bins(axis, bins)) return false;
    // Bins that were being changed may hold some of the end already.
    return (axis.bins != 0 && !of_one_moment) || add_end_of_axis(cell, thread);
}

bool RecordReader::read_axes() {
    if ((header_.flags & kFileInInit) != 0) return true;  // nothing is known of it
    newest_ticks_ = last_ticks_;
    for (const CellIndex cell : thread_cells_) {
        ThreadRecord thread;
        if (load(cell, &thread)) newest_ticks_ = std::max(newest_ticks_, thread.open.entry_ticks);
    }
    if (end_ticks_ != 0) newest_ticks_ = end_ticks_;
    for (const CellIndex cell : thread_cells_) {
        if (!read_axis(cell)) return false;
    }
    for (MergedAxisRow& row : out_->axis_rows) {
        for (uint64_t AxisFigures::*figure : kAxisFigures) {
            const bool is_time = figure != &AxisFigures::bytes_sent;
            if (is_time) row.figures.*figure = ns(row.figures.*figure);
        }
    }
    return set_axis_of_rank(out_);
}

}  // namespace dwell
