// Divides the time of a thread among the bins of its axis.
#include "runtime/process/time_axis.h"

#include <string.h>

#include <utility>

#include "runtime/process/virtual_clock.h"

namespace dwell {

namespace {

AxisClock axis_clock() {
    const FileHeader& header = *g_process.header;
    return {header.start_ticks, header.start_unix_ns, header.ticks_per_second};
}

uint64_t begin_of(uint64_t bin, uint32_t shift) { return axis_bin_begin(axis_clock(), bin, shift); }

AxisBin* bin_of(const TimeAxis* axis, uint32_t bin) { return cell_at<AxisBin>(axis->bins) + bin; }

void add_phase(AxisBin* bin, CellIndex phase, uint64_t units) {
    uint64_t weight = bin->phase_weight;
    weigh(&bin->phase, &weight, phase, units);
    bin->phase_weight = static_cast<uint32_t>(earlier(weight, UINT32_MAX));
}

void add_bin(AxisBin* into, const AxisBin& from) {
    into->computation_ticks += from.computation_ticks;
    into->call_ticks += from.call_ticks;
    into->waiting_ticks += from.waiting_ticks;
    into->omp_wait_ticks += from.omp_wait_ticks;
    into->omp_idle_ticks += from.omp_idle_ticks;
    into->io_ticks += from.io_ticks;
    into->bytes_sent += from.bytes_sent;
    add_phase(into, from.phase, from.phase_weight);
}

// All bins are used: each two that share a wider bin become one.
void double_width(TimeAxis* axis) {
    const uint64_t first = axis->first_bin >> 1;
    uint32_t last = 0;
    for (uint32_t bin = 0; bin <= axis->last_bin; ++bin) {
        const auto wider = static_cast<uint32_t>(((axis->first_bin + bin) >> 1) - first);
        last = wider;
        if (wider == bin) continue;
        const AxisBin moved = *bin_of(axis, bin);
        *bin_of(axis, bin) = AxisBin{};
        add_bin(bin_of(axis, wider), moved);
    }
    axis->first_bin = first;
    axis->last_bin = last;
    axis->bin_shift += 1;
}

// Changes the bins of one thread. That is overhead of `charged`, or of nobody where it is null.
class AxisWriter {
  public:
    AxisWriter(Thread* thread, Thread* charged) : axis_(&thread->record->axis), work_(charged) {
        axis_->version += 1;
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }
    ~AxisWriter() {
        axis_->from = at_;
        axis_->stored = axis_->sums;
        __atomic_thread_fence(__ATOMIC_RELEASE);
        axis_->version += 1;
    }
    AxisWriter(const AxisWriter&) = delete;
    AxisWriter& operator=(const AxisWriter&) = delete;

    // Statements before `own` ended in the last bin.
    void store_before(const AxisStatement& own) {
        AxisSums rest = axis_->sums;
        rest.*own.kind -= own.ticks;
        rest.waiting_ticks -= own.waited;
        rest.bytes_sent -= own.sent;
        const AxisSums& stored = axis_->stored;
        AxisBin* bin = last();
        bin->call_ticks += rest.call_ticks - stored.call_ticks;
        bin->waiting_ticks += rest.waiting_ticks - stored.waiting_ticks;
        bin->omp_wait_ticks += rest.omp_wait_ticks - stored.omp_wait_ticks;
        bin->omp_idle_ticks += rest.omp_idle_ticks - stored.omp_idle_ticks;
        bin->io_ticks += rest.io_ticks - stored.io_ticks;
        bin->bytes_sent += rest.bytes_sent - stored.bytes_sent;
        const auto time_of = [](const AxisSums& sums) {
            return sums.call_ticks + sums.omp_wait_ticks + sums.omp_idle_ticks + sums.io_ticks;
        };
        at_ = axis_->from + (time_of(rest) - time_of(stored));
    }
    void compute_until(uint64_t end) {
        if (end <= at_) return;
        axis_->computed_ticks += end - at_;
        divide(end - at_, &AxisBin::computation_ticks, nullptr);
    }
    // The first `ticks` that are not stored yet belong to `kind`, and to `also` too.
    void divide(uint64_t ticks, uint64_t AxisBin::*kind, uint64_t AxisBin::*also) {
        while (ticks != 0) {
            const uint64_t here = earlier(ticks, beyond(axis_->bin_end, at_));
            last()->*kind += here;
            if (also != nullptr) last()->*also += here;
            at_ += here;
            ticks -= here;
            if (ticks != 0) next_bin(at_ + ticks);
        }
    }
    void move_to(uint64_t at) {
        while (at >= axis_->bin_end) next_bin(at);
        at_ = at;
    }
    void leave_out(uint64_t ticks) { move_to(at_ + ticks); }
    AxisBin* last() { return bin_of(axis_, axis_->last_bin); }

  private:
    // `end`: time up to here will follow.
    void next_bin(uint64_t end) {
        pass_phase();
        if (room_end_ == 0) room_end_ = begin_of(axis_->first_bin + kAxisBins, axis_->bin_shift);
        while (axis_->last_bin + 1 == kAxisBins || end >= room_end_) {
            double_width(axis_);
            room_end_ = begin_of(axis_->first_bin + kAxisBins, axis_->bin_shift);
            axis_->bin_end = begin_of(axis_->first_bin + axis_->last_bin + 1, axis_->bin_shift);
            if (at_ < axis_->bin_end) return;
        }
        axis_->last_bin += 1;
        axis_->bin_end = begin_of(axis_->first_bin + axis_->last_bin + 1, axis_->bin_shift);
    }
    void pass_phase() {
        const uint64_t ticks = beyond(axis_->bin_end, axis_->phase_since);
        add_phase(last(), axis_->phase, ticks >> kPhaseUnitShift);
        axis_->phase_since = later(axis_->bin_end, axis_->phase_since);
    }

    TimeAxis* axis_;
    uint64_t at_ = 0;        // time before this is stored
    uint64_t room_end_ = 0;  // of all bins, once it is needed
    const CancellationDisabled cancellation_;
    const ToolWork work_;
};

constexpr AxisStatement kNoStatement{0, 0, 0, 0, &AxisSums::call_ticks};

void clear_bins(TimeAxis* axis) {
    if (axis->bins != 0) memset(cell_at<void>(axis->bins), 0, kAxisBins * sizeof(AxisBin));
}

void begin_at(TimeAxis* axis, uint64_t at) {
    axis->from = axis->phase_since = at;
    axis->bin_shift = kFirstBinShift;
    axis->last_bin = 0;
    axis->first_bin = axis_bin_at(axis_clock(), at, kFirstBinShift);
    axis->bin_end = begin_of(axis->first_bin + 1, kFirstBinShift);
}

}  // namespace

void pass_bins(Thread* thread, const AxisStatement& statement) {
    if (thread->record->axis.bins == 0) return;  // a scratch thread
    AxisWriter writer(thread, thread);
    writer.store_before(statement);
    writer.compute_until(beyond(statement.end, statement.ticks));
    writer.last()->bytes_sent += statement.sent;
    static constexpr std::pair<uint64_t AxisSums::*, uint64_t AxisBin::*> kKinds[] = {
        {&AxisSums::call_ticks, &AxisBin::call_ticks},
        {&AxisSums::omp_wait_ticks, &AxisBin::omp_wait_ticks},
        {&AxisSums::omp_idle_ticks, &AxisBin::omp_idle_ticks},
        {&AxisSums::io_ticks, &AxisBin::io_ticks},
    };
    for (const auto& [sum, bin] : kKinds) {
        if (sum != statement.kind) continue;
        // A call waits first, until its partner comes.
        const uint64_t waited = earlier(statement.waited, statement.ticks);
        writer.last()->waiting_ticks += statement.waited - waited;
        writer.divide(waited, bin, &AxisBin::waiting_ticks);
        writer.divide(statement.ticks - waited, bin, nullptr);
    }
}

void pass_computation(Thread* thread, uint64_t end) {
    AxisStatement computation = kNoStatement;
    computation.end = end;
    pass_bins(thread, computation);
}

// Bins are taken here and not when the first is full, as that may be inside of an entry.
void begin_axis(Thread* thread, uint64_t at) {
    TimeAxis* axis = &thread->record->axis;
    if (axis->no_room != 0) return;
    if (axis->bins == 0) {
        const bool has_clock = g_process.header->ticks_per_second != 0;
        axis->bins = has_clock ? take_cells(thread, kAxisBins) : 0;
        if (axis->bins != 0) return begin_at(axis, at);
        axis->no_room = 1;
        axis->bin_end = UINT64_MAX;
        return;
    }
    const AxisSums& sums = axis->sums;
    const bool is_new = axis->version == 0 && sums.call_ticks == 0 && sums.omp_idle_ticks == 0 &&
                        sums.omp_wait_ticks == 0 && sums.io_ticks == 0;
    if (is_new) return begin_at(axis, at);
    release_axis(thread);
    AxisWriter writer(thread, thread);
    writer.store_before(kNoStatement);
    writer.compute_until(axis->until);
    writer.move_to(at);
    axis->until = at;  // virtual time may go back where a record gets another thread
}

void leave_out(Thread* thread, uint64_t end, uint64_t ticks) {
    TimeAxis* axis = &thread->record->axis;
    if (axis->bins == 0) return;
    AxisWriter writer(thread, nullptr);  // a caller may have read the clock before
    writer.store_before(kNoStatement);
    writer.compute_until(end);
    writer.leave_out(ticks);
}

void reset_axis(Thread* thread, uint64_t since) {
    TimeAxis* axis = &thread->record->axis;
    if (axis->bins == 0) return;
    const uint64_t held = axis->bin_end & kAxisHeld;
    axis->version += 1;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    clear_bins(axis);
    axis->sums = axis->stored = AxisSums{};
    axis->until = axis->computed_ticks = 0;
    begin_at(axis, since);
    axis->bin_end |= held;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    axis->version += 1;
}

void note_phase(Thread* thread, CellIndex phase, uint64_t now) {
    TimeAxis* axis = &thread->record->axis;
    if (axis->bins == 0) return;
    const uint64_t at = axis_ticks(thread, now);
    if (at >= axis->bin_end) pass_computation(thread, at);
    if (axis->bins != 0) {
        add_phase(bin_of(axis, axis->last_bin), axis->phase,
                  beyond(at, axis->phase_since) >> kPhaseUnitShift);
    }
    axis->phase = phase;
    axis->phase_since = at;
}

}  // namespace dwell
