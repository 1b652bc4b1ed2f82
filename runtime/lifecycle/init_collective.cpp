// Computes when MPI_Init ends on the virtual clock, as a collective of all observed ranks.
#include "runtime/lifecycle/init_collective.h"

#include "runtime/hosts/remote_clocks.h"
#include "runtime/mpi/profiled_ranks.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

void classify_init(Call* call) {
    if (g_profiled.count < 2 || !clocks_agree()) return;
    uint64_t times[2] = {};
    if (call != nullptr) {
        stamp_virtual(call);
        times[0] = g_clock.to_reference(call->start_ticks);
        times[1] = g_clock.to_reference(call->start_virtual);
    }
    if (!largest_over_profiled(times, 2, private_deadline()) || call == nullptr) return;
    const DualTime entered{call->start_ticks, call->start_virtual};
    const DualTime last{g_clock.to_own(times[0]), g_clock.to_own(times[1])};
    const Ending ending = collective_ending(entered, entered.real + call->ticks, last);
    call->ticks = ending.virt - entered.virt;
}

}  // namespace dwell
