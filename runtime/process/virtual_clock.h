// The rules of the virtual clock (DESIGN 4): when a call would have ended without dwell. Pure
// functions of times in ticks.
//
// A thread's intrusion i is the time it has lost to dwell so far; its virtual time is v = r - i.
// The intrusion grows by dwell's own cost. A thread that waits for another takes over the other's
// loss, and its own loss during that waiting does not count, so i may also shrink. It is never
// negative, because a call's virtual end is never later than its real one.
#ifndef DWELL_RUNTIME_PROCESS_VIRTUAL_CLOCK_H_
#define DWELL_RUNTIME_PROCESS_VIRTUAL_CLOCK_H_

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

// Nothing makes a call end later than it did (`left`, a real time), clocks that disagree neither.
// The virtual time at which a receive ends that finds its messages, where that takes `work`.
inline uint64_t end_of_work(const DualTime& entered, uint64_t left, uint64_t work) {
    return entered.virt + earlier(work, beyond(left, entered.real));
}
// The virtual time at which a message that was `sent` completes its receive. `transfer_time`: from
// the start of the send to the completion of the receive.
inline uint64_t arrival_of(const DualTime& sent, uint64_t left, uint64_t transfer_time) {
    return sent.virt + earlier(transfer_time, beyond(left, sent.real));
}
// A receive ends when its work is done and the last arrival is there.
inline Ending ending_after(const DualTime& entered, uint64_t left, uint64_t work_end,
                           uint64_t arrival, uint64_t sender_virt) {
    return ending_at(entered, earlier(later(work_end, arrival), left), sender_virt);
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

#endif  // DWELL_RUNTIME_PROCESS_VIRTUAL_CLOCK_H_
