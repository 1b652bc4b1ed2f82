#include "runtime/lifecycle/init_meeting.h"

#include "runtime/contract/virtual_clock.h"
#include "runtime/hosts/far_clocks.h"
#include "runtime/mpi/observed.h"

namespace dwell {

void settle_init(Call* call) {
    if (g_observed.count < 2 || !clocks_agree()) return;
    uint64_t times[2] = {};
    if (call != nullptr) {
        stamp_virtual(call);
        times[0] = g_clock.to_reference(call->start_ticks);
        times[1] = g_clock.to_reference(call->start_virtual);
    }
    if (!largest_over_observed(times, 2, private_deadline()) || call == nullptr) return;
    const Instant entered{call->start_ticks, call->start_virtual};
    const Instant last{g_clock.to_own(times[0]), g_clock.to_own(times[1])};
    const Ending ending = meeting_ending(entered, entered.real + call->ticks, last);
    call->ticks = ending.virt - entered.virt;
}

}  // namespace dwell
