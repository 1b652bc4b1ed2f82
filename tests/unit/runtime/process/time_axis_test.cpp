// The time axis of a thread, with times given by hand: one tick is a nanosecond, bins begin at the
// multiples of 65536.
#include "runtime/process/time_axis.h"

#include <numeric>

#include "runtime/process/virtual_clock.h"
#include "tests/unit/support/recording.h"

namespace dwell {
namespace {

constexpr uint64_t kBin = uint64_t{1} << kFirstBinShift;

class TheTimeAxis : public Records {
  protected:
    void SetUp() override {
        Records::SetUp();
        g_process.header->ticks_per_second = 1'000'000'000;
        g_process.header->start_ticks = 0;
        g_process.header->start_unix_ns = 0;
        begin(0);
    }
    void begin(uint64_t at) {
        axis() = TimeAxis{};
        begin_axis(t_thread, at);
    }
    TimeAxis& axis() { return t_thread->record->axis; }
    const AxisBin& bin(uint32_t number) { return cell_at<AxisBin>(axis().bins)[number]; }
    void call(uint64_t end, uint64_t ticks, uint64_t waited = 0, uint64_t sent = 0) {
        add_call_to_axis(t_thread, end, ticks, waited, sent);
    }
    AxisBin all() {
        AxisBin sum{};
        for (uint32_t i = 0; i <= axis().last_bin; ++i) {
            sum.computation_ticks += bin(i).computation_ticks;
            sum.call_ticks += bin(i).call_ticks;
            sum.waiting_ticks += bin(i).waiting_ticks;
            sum.omp_wait_ticks += bin(i).omp_wait_ticks;
            sum.omp_idle_ticks += bin(i).omp_idle_ticks;
            sum.io_ticks += bin(i).io_ticks;
            sum.bytes_sent += bin(i).bytes_sent;
        }
        return sum;
    }
};

TEST_F(TheTimeAxis, DividesACallAtTheBorder) {
    call(100'000, 60'000, 30'000, 8);
    EXPECT_EQ(bin(0).computation_ticks, 40'000u);
    EXPECT_EQ(bin(0).call_ticks, kBin - 40'000);
    EXPECT_EQ(bin(0).waiting_ticks, kBin - 40'000);  // waiting comes first
    EXPECT_EQ(bin(0).bytes_sent, 8u);                // where the call began
    EXPECT_EQ(bin(1).computation_ticks, 0u);
    EXPECT_EQ(bin(1).call_ticks, 100'000 - kBin);
    EXPECT_EQ(bin(1).waiting_ticks, 70'000 - kBin);
    EXPECT_EQ(axis().from, 100'000u);
}

TEST_F(TheTimeAxis, DividesComputationAtTheBorder) {
    call(10'000, 1000);
    call(3 * kBin + 500, 100, 0, 7);
    EXPECT_EQ(bin(0).computation_ticks, kBin - 1000);
    EXPECT_EQ(bin(0).call_ticks, 1000u);
    EXPECT_EQ(bin(0).bytes_sent, 0u);
    EXPECT_EQ(bin(1).computation_ticks, kBin);
    EXPECT_EQ(bin(2).computation_ticks, kBin);
    EXPECT_EQ(bin(3).computation_ticks, 400u);
    EXPECT_EQ(bin(3).call_ticks, 100u);
    EXPECT_EQ(bin(3).bytes_sent, 7u);
}

TEST_F(TheTimeAxis, AFullBinHoldsItsWidth) {
    uint64_t calls = 0;
    for (uint64_t end = 1000; end < 20 * kBin; end += 1000) {
        call(end, 300, 100, 1);
        ++calls;
    }
    const uint32_t last = axis().last_bin;
    EXPECT_EQ(last, 19u);
    for (uint32_t i = 0; i < last; ++i) {
        EXPECT_EQ(bin(i).computation_ticks + bin(i).call_ticks, kBin) << i;
    }
    EXPECT_EQ(axis().sums.call_ticks, 300 * calls);
    EXPECT_LE(axis().stored.call_ticks, axis().sums.call_ticks);
    EXPECT_EQ(all().call_ticks, axis().stored.call_ticks);
    EXPECT_EQ(all().waiting_ticks, axis().stored.waiting_ticks);
    EXPECT_EQ(all().bytes_sent, axis().stored.bytes_sent);
}

TEST_F(TheTimeAxis, DoublesItsWidthWhenFull) {
    uint64_t calls = 0;
    for (uint64_t end = kBin / 2; end <= 1000 * kBin; end += kBin / 2) {
        call(end, 1000, 0, 3);
        ++calls;
    }
    EXPECT_EQ(axis().bin_shift, kFirstBinShift + 2);
    EXPECT_EQ(axis().first_bin, 0u);
    EXPECT_LT(axis().last_bin, kAxisBins);
    EXPECT_EQ(all().call_ticks + axis().sums.call_ticks - axis().stored.call_ticks, 1000 * calls);
    for (uint32_t i = 0; i < axis().last_bin; ++i) {
        EXPECT_EQ(bin(i).computation_ticks + bin(i).call_ticks, 4 * kBin) << i;
    }
    EXPECT_EQ(bin(kAxisBins - 1).call_ticks, 0u);
}

// From the third bin on: the wider first bin has it alone.
TEST_F(TheTimeAxis, KeepsTheBordersOfAllThreadsAndRanks) {
    begin(3 * kBin);
    call(3 * kBin + 256 * kBin + 10, 10);
    EXPECT_EQ(axis().bin_shift, kFirstBinShift + 1);
    EXPECT_EQ(axis().first_bin, 1u);
    EXPECT_EQ(bin(0).computation_ticks, kBin);
    EXPECT_EQ(bin(1).computation_ticks, 2 * kBin);
    EXPECT_EQ(all().computation_ticks, 256 * kBin);
    EXPECT_EQ(axis().bin_end, 260 * kBin);
}

TEST_F(TheTimeAxis, OneComputationMayNeedManyWidths) {
    const uint64_t hour = 3'600'000'000'000;
    call(hour, 1);
    EXPECT_LT(axis().last_bin, kAxisBins);
    EXPECT_GE(axis().last_bin, kAxisBins / 2);
    EXPECT_EQ(all().computation_ticks, hour - 1);
    EXPECT_EQ(all().call_ticks, 1u);
}

TEST_F(TheTimeAxis, LeavesPausesOut) {
    call(1000, 500);
    leave_out(t_thread, 2000, 5 * kBin);  // computed from 1000 to 2000
    call(5 * kBin + 3000, 100);           // 900 more
    compute_until(t_thread, 7 * kBin);
    EXPECT_EQ(bin(0).computation_ticks, 1500u);
    EXPECT_EQ(bin(0).call_ticks, 500u);
    EXPECT_EQ(bin(3).computation_ticks, 0u);
    EXPECT_EQ(bin(5).call_ticks, 100u);
    EXPECT_EQ(bin(5).computation_ticks, kBin - 2000 - 100);
    EXPECT_EQ(bin(6).computation_ticks, kBin);
}

// A record's next thread may have lost more to dwell than the one before, so that virtual time goes
// back, twice while it is attached.
TEST_F(TheTimeAxis, ANewThreadOfARecordBeginsWithoutComputation) {
    call(8000, 1000);
    compute_until(t_thread, 9000);
    begin_axis(t_thread, 500);
    begin_axis(t_thread, 700);
    call(kBin + 700, 700);
    EXPECT_EQ(all().computation_ticks, 7000u + 1000 + (kBin - 700));
    EXPECT_EQ(all().call_ticks, 1000u + 700);
}

TEST_F(TheTimeAxis, ShortPausesWithinABinToo) {
    leave_out(t_thread, 2000, 1000);
    call(kBin, 100);
    EXPECT_EQ(bin(0).computation_ticks, kBin - 1000 - 100);
}

TEST_F(TheTimeAxis, KnowsWhatElseAThreadDoes) {
    add_to_axis(t_thread, 1000, 200, &AxisSums::io_ticks);
    add_to_axis(t_thread, 2000, 300, &AxisSums::omp_wait_ticks);
    add_to_axis(t_thread, kBin + 100, 500, &AxisSums::omp_idle_ticks);
    EXPECT_EQ(axis().until, kBin + 100);
    EXPECT_EQ(bin(0).io_ticks, 200u);
    EXPECT_EQ(bin(0).omp_wait_ticks, 300u);
    EXPECT_EQ(bin(0).omp_idle_ticks, 400u);
    EXPECT_EQ(bin(0).computation_ticks, kBin - 900);
    EXPECT_EQ(bin(1).omp_idle_ticks, 100u);
}

// Statements that took longer than passed between them: the next computation gives it back.
TEST_F(TheTimeAxis, NothingIsLostWhereClocksDisagree) {
    call(1000, 800);
    call(1100, 800);
    call(2 * kBin, 1000);
    EXPECT_EQ(all().call_ticks, 2600u);
    EXPECT_EQ(all().computation_ticks, 2 * kBin - 2600);
}

// A call is suspended from 1000 on, and another one ends inside of it, 2 bins later. When the outer
// call ends, it took 3 bins, without the inner one.
TEST_F(TheTimeAxis, NothingIsCountedTwiceInsideOfACall) {
    call(1000, 100);
    hold_axis(t_thread);
    call(2 * kBin, 50);
    release_axis(t_thread);
    call(4 * kBin, 3 * kBin);
    EXPECT_EQ(all().call_ticks, 150 + 3 * kBin);
    EXPECT_EQ(all().computation_ticks, kBin - 150);
    EXPECT_LE(axis().from, axis().bin_end);
}

TEST_F(TheTimeAxis, AResetDiscardsWhatWasBefore) {
    call(300 * kBin, 1000, 500, 9);
    reset_axis(t_thread, 300 * kBin + 10);
    EXPECT_EQ(axis().bin_shift, kFirstBinShift);
    EXPECT_EQ(axis().sums.call_ticks, 0u);
    call(301 * kBin + 20, 30);
    EXPECT_EQ(axis().first_bin, 300u);
    EXPECT_EQ(all().call_ticks, 30u);
    EXPECT_EQ(all().computation_ticks, kBin + 10 - 30);
    EXPECT_EQ(all().bytes_sent, 0u);
}

// Another thread resets while a call is suspended: 50 ticks of another call inside of it count in
// the first bin, and the call takes 3 bins of the 4 since then.
TEST_F(TheTimeAxis, AResetLeavesACallSuspended) {
    hold_axis(t_thread);
    reset_axis(t_thread, 0);
    call(2 * kBin, 50);
    release_axis(t_thread);
    call(4 * kBin, 3 * kBin);
    EXPECT_EQ(all().call_ticks, 50 + 3 * kBin);
    EXPECT_EQ(all().computation_ticks, kBin - 50);
    EXPECT_EQ(axis().from, 4 * kBin);
}

TEST_F(TheTimeAxis, MarksThePhaseThatTookMostOfABin) {
    note_phase(t_thread, 77, 0);
    call(3 * kBin, 10);
    note_phase(t_thread, 88, 3 * kBin + 1024);
    compute_until(t_thread, 5 * kBin);
    note_phase(t_thread, 0, 5 * kBin);
    compute_until(t_thread, 6 * kBin);
    EXPECT_EQ(bin(0).phase, 77u);
    EXPECT_EQ(bin(2).phase, 77u);
    EXPECT_EQ(bin(3).phase, 88u);
    EXPECT_EQ(bin(4).phase, 88u);
    EXPECT_EQ(bin(5).phase, 0u);
}

TEST_F(TheTimeAxis, WithoutRoomItIsMissing) {
    while (take_cells(t_thread, 64) != 0) continue;
    begin(0);
    call(2 * kBin, 10);
    call(4 * kBin, 10);
    EXPECT_EQ(axis().no_room, 1u);
    EXPECT_EQ(axis().bins, 0u);
    EXPECT_EQ(axis().sums.call_ticks, 20u);
}

// The axis through enter() and leave(): the same sums as in the nodes.
TEST_F(TheTimeAxis, HasWhatTheNodesHave) {
    for (int pass = 0; pass < 2; ++pass) {
        if (pass == 1) forget();
        Call state;
        ASSERT_TRUE(Records::begin(&state, MpiCall::kSend, 16));
        state.part->bytes_sent = 0;
        record_bytes(&state, 100, 0);
        end(&state, 71'010, 81'010);
        ASSERT_TRUE(Records::begin(&state, MpiCall::kRecv, 32));
        record_blocked(&state, 400);
        end(&state, 281'020, 281'520);
    }
    compute_until(t_thread, axis_ticks(t_thread, 500'000));
    EXPECT_EQ(all().call_ticks, 10'500u);
    EXPECT_EQ(all().waiting_ticks, 400u);
    EXPECT_EQ(all().bytes_sent, 100u);
}

}  // namespace
}  // namespace dwell
