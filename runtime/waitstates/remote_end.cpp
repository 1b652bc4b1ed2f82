// MPI_Finalize between hosts: maxima over all profiled ranks give the last one and its stamp.
#include "runtime/waitstates/remote_end.h"

#include "runtime/hosts/remote_clocks.h"
#include "runtime/mpi/profiled_ranks.h"

namespace dwell {

namespace {

uint64_t in_one(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }
uint32_t high_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t low_of(uint64_t word) { return static_cast<uint32_t>(word); }

EnterStamp stamp_at_end(Call* call) {
    StampedUntil stamped_until{};
    EnterStamp stamp = make_enter_stamp(call);
    add_delay(own_rank(), &stamped_until, &stamp);
    stamp.at.real = now_ticks();
    begin_work(call, stamp.at.real);
    return stamp;
}

}  // namespace

bool synchronise_at_end(Call* call, RemoteEnd* end) {
    *end = {};
    if (!g_clocks_related || g_profiled.count < 2) return false;
    EnterStamp stamp{};
    uint64_t times[3] = {};
    if (call != nullptr) {
        stamp = stamp_at_end(call);
        times[0] = g_clock.to_reference(stamp.at.real);
        times[1] = g_clock.to_reference(stamp.at.virt);
    }
    const uint64_t virt = times[1];
    if (!largest_over_profiled(times, 2, 0)) return true;
    const uint64_t synchronised = now_ticks();
    // The last rank adds the rest of its stamp.
    uint64_t who[3] = {};
    if (call != nullptr && virt == times[1]) {
        who[0] = in_one(static_cast<uint32_t>(g_profiled.place) + 1, stamp.path);
        who[1] = in_one(stamp.root_cause_rank, stamp.root_cause_path);
        who[2] = in_one(stamp.delay_cost, stamp.work);
    }
    const bool received = largest_over_profiled(who, 3, private_deadline());
    if (call != nullptr) call->inner_overhead += now_ticks() - synchronised;
    const uint32_t place = high_of(who[0]);
    if (!received || place == 0 || place > static_cast<uint32_t>(g_profiled.count)) return true;
    end->known = true;
    end->peer = static_cast<uint32_t>(g_profiled.ranks[place - 1]);
    end->last = {{g_clock.to_own(times[0]), g_clock.to_own(times[1])},
                 low_of(who[0]),
                 high_of(who[1]),
                 low_of(who[1]),
                 static_cast<uint16_t>(high_of(who[2])),
                 static_cast<uint16_t>(low_of(who[2]))};
    return true;
}

void classify_end(Call* call, const RemoteEnd& end) {
    if (!waits_are_open()) return;
    Waiting waiting(call);
    if (!end.known) {
        waiting.add_unknown();
    } else if (end.last.at.real <= waiting.left()) {
        waiting.add_collective(WaitKind::kCollective, end.peer, end.last);
    }
    waiting.classify(call, false);
}

}  // namespace dwell
