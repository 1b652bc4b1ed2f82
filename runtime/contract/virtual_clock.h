// The rules of the virtual clock (DESIGN 4): when a call would have ended without dwell. Pure
// functions of times in ticks.
//
// A thread's intrusion i is the time it has lost to dwell so far; its virtual time is v = r - i.
// The intrusion grows by dwell's own cost. A thread that waits for another takes over the other's
// loss, and its own loss during that waiting does not count, so i may also shrink. It is never
// negative, because a call's virtual end is never later than its real one.
#ifndef DWELL_RUNTIME_CONTRACT_VIRTUAL_CLOCK_H_
#define DWELL_RUNTIME_CONTRACT_VIRTUAL_CLOCK_H_

#include <stdint.h>

namespace dwell {

// One point in time on both clocks.
struct DualTime {
    uint64_t real;
    uint64_t virt;
};

// The virtual end of a call, and its waiting time.
struct Ending {
    uint64_t virt;
    uint64_t sync;
};

inline uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }
inline uint64_t earlier(uint64_t a, uint64_t b) { return a < b ? a : b; }
inline uint64_t beyond(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

inline Ending ending_at(const DualTime& entered, uint64_t virt, uint64_t partner_virt) {
    return {virt, earlier(virt - entered.virt, beyond(partner_virt, entered.virt))};
}

// A message whose sender does not wait for the receiver. `entered`: start of the receive or of the
// wait that completes it; `left`: its real end; `sent`: start of the send; `transfer_time`: from
// start of the send to completion of the receive; `found`: cost of a receive whose message is
// waiting. The virtual end is never later than the real one, even if clocks disagree.
inline Ending message_ending(const DualTime& entered, uint64_t left, const DualTime& sent,
                             uint64_t transfer_time, uint64_t found) {
    const uint64_t own = entered.virt + earlier(found, beyond(left, entered.real));
    const uint64_t arrival = sent.virt + earlier(transfer_time, beyond(left, sent.real));
    return ending_at(entered, earlier(later(own, arrival), left), sent.virt);
}

// The minimum transfer time of messages of a size after one more message; 0: unknown. The minimum
// rises slowly, so that a wrong low value (clock error, late stamp) is forgotten.
inline uint32_t least_transfer(uint32_t least, uint64_t transfer_time) {
    constexpr uint64_t kMemory = 64;
    if (least == 0) return transfer_time < UINT32_MAX ? static_cast<uint32_t>(transfer_time) : 0;
    if (transfer_time < least) return static_cast<uint32_t>(transfer_time);
    return least +
           static_cast<uint32_t>((earlier(transfer_time, 2 * uint64_t{least}) - least) / kMemory);
}

// Synchronising calls: a rendezvous or synchronous message, seen from either side, or a collective.
// `partner` holds the latest real and the latest virtual enter time among the ranks that this one
// depends on (not necessarily of the same rank). The time after the last enter stays unchanged.
inline Ending collective_ending(const DualTime& entered, uint64_t left, const DualTime& partner) {
    const uint64_t met = later(entered.real, partner.real);
    const uint64_t virt = later(entered.virt, partner.virt) + beyond(left, met);
    return ending_at(entered, later(earlier(virt, left), entered.virt), partner.virt);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_VIRTUAL_CLOCK_H_
