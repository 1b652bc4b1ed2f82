// Which collectives ranks on other hosts are told of (DESIGN 4, "exchange"). Pure functions, for
// tests and for remote_collectives.cpp.
//
// What a rank was told is of use only when it knows all whom it depends on, so the members of a
// communicator must choose the same collectives, though each knows only what telling costs itself,
// and a reduction gives it no way to ask. So each chooses a part of 1 / 2^shift of them, by bits
// mixed from their numbers: what one chooses with a shift, all with a smaller one choose as well,
// and what comes every second or third time in a loop is chosen as often as anything else.
#ifndef DWELL_RUNTIME_HOSTS_REMOTE_CHOICE_H_
#define DWELL_RUNTIME_HOSTS_REMOTE_CHOICE_H_

#include <stdint.h>

#include "runtime/contract/path_hash.h"
#include "runtime/contract/virtual_clock.h"

namespace dwell {

constexpr uint32_t kMostShift = 24;
constexpr uint32_t kAlwaysTold = 4;   // the first so many, whatever they cost
constexpr uint32_t kGladlyTold = 32;  // unless all telling together takes too much

inline bool is_chosen(uint32_t number, uint32_t shift) {
    const uint64_t mixed = mix_path(mix_path(kRootPath, number), number);
    return (mixed >> 32 & ((uint64_t{1} << shift) - 1)) == 0;
}

struct RemoteChoice {
    uint32_t shift;
    uint32_t sent_stamp;  // so far
    uint32_t last_number;
    uint64_t last;  // when
    uint64_t each;  // ticks from one to the next, as of late: they may come in pairs
};

// The chosen collective `number` begins at `now`; there should be `spacing` ticks between two.
// `dear`: all telling together has taken too much of the run. How many are chosen from this one on
// follows from how fast they have come of late.
inline void count_chosen(RemoteChoice* choice, uint32_t number, uint64_t now, uint64_t spacing,
                         bool dear) {
    const uint64_t passed = beyond(now, choice->last);
    const uint32_t calls = number - choice->last_number;
    choice->last = now;
    choice->last_number = number;
    choice->sent_stamp += 1;
    if (calls != 0 && choice->sent_stamp != 1) {
        const uint64_t newest = passed / calls;
        choice->each = choice->each == 0 ? newest : choice->each - choice->each / 4 + newest / 4;
    }
    if (choice->sent_stamp <= (dear ? kAlwaysTold : kGladlyTold) || calls == 0) return;
    const uint64_t each = choice->each;
    if (dear) {
        if (choice->shift < kMostShift) choice->shift += 1;
    } else if (choice->shift != 0 && each << (choice->shift - 1) >= spacing + spacing / 4) {
        choice->shift -= 1;
    } else {
        while (choice->shift < kMostShift && each << choice->shift < spacing) choice->shift += 1;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_REMOTE_CHOICE_H_
