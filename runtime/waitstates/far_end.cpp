#include "runtime/waitstates/far_end.h"

#include "runtime/hosts/far_clocks.h"
#include "runtime/mpi/observed.h"

namespace dwell {

namespace {

uint64_t in_one(uint32_t high, uint32_t low) { return uint64_t{high} << 32 | low; }
uint32_t high_of(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint32_t low_of(uint64_t word) { return static_cast<uint32_t>(word); }

Moment moment_at_end(Call* call) {
    ToldUntil told{};
    Moment said = moment_of(call);
    add_delay(own_rank(), &told, &said);
    said.at.real = now_ticks();
    begin_work(call, said.at.real);
    return said;
}

}  // namespace

bool meet_at_end(Call* call, FarEnd* end) {
    *end = {};
    if (!g_clocks_related || g_observed.count < 2) return false;
    Moment said{};
    uint64_t times[3] = {};
    if (call != nullptr) {
        said = moment_at_end(call);
        times[0] = g_clock.to_reference(said.at.real);
        times[1] = g_clock.to_reference(said.at.virt);
    }
    const uint64_t virt = times[1];
    if (!largest_over_observed(times, 2, 0)) return true;
    const uint64_t met = now_ticks();
    // Who that was says the rest.
    uint64_t who[3] = {};
    if (call != nullptr && virt == times[1]) {
        who[0] = in_one(static_cast<uint32_t>(g_observed.place) + 1, said.path);
        who[1] = in_one(said.cause_peer, said.cause_path);
        who[2] = in_one(said.debt, said.work);
    }
    const bool told = largest_over_observed(who, 3, private_deadline());
    if (call != nullptr) call->own_ticks += now_ticks() - met;
    const uint32_t place = high_of(who[0]);
    if (!told || place == 0 || place > static_cast<uint32_t>(g_observed.count)) return true;
    end->known = true;
    end->peer = static_cast<uint32_t>(g_observed.ranks[place - 1]);
    end->last = {{g_clock.to_own(times[0]), g_clock.to_own(times[1])},
                 low_of(who[0]),
                 high_of(who[1]),
                 low_of(who[1]),
                 static_cast<uint16_t>(high_of(who[2])),
                 static_cast<uint16_t>(low_of(who[2]))};
    return true;
}

void settle_end(Call* call, const FarEnd& end) {
    if (!waits_are_open()) return;
    Waiting waiting(call);
    if (!end.known) {
        waiting.add_unknown();
    } else if (end.last.at.real <= waiting.left()) {
        waiting.add_meeting(WaitKind::kCollective, end.peer, end.last);
    }
    waiting.settle(call, false);
}

}  // namespace dwell
