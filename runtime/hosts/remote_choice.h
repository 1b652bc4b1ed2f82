// Chooses the collective instances whose enter times are sent to other hosts (DESIGN 4,
// "exchange"). Pure functions, for remote_collectives.cpp and tests.
//
// A rank needs the enter times of all whom it depends on, so all members must choose the same
// instances without communication, although each knows only its own cost. Each member chooses a
// part of 1 / 2^shift by mixed bits of the instance's number. A larger shift chooses a subset of a
// smaller one, and instances that recur with a period are chosen like any others.
#ifndef DWELL_RUNTIME_HOSTS_REMOTE_CHOICE_H_
#define DWELL_RUNTIME_HOSTS_REMOTE_CHOICE_H_

#include <stdint.h>

#include "runtime/contract/path_hash.h"
#include "runtime/process/virtual_clock.h"

namespace dwell {

constexpr uint32_t kMostShift = 24;
constexpr uint32_t kAlwaysChosen = 4;    // the first instances, at any cost
constexpr uint32_t kUsuallyChosen = 32;  // the first instances, unless the whole cost is too high

inline bool is_chosen(uint32_t number, uint32_t shift) {
    const uint64_t mixed = mix_path(mix_path(kRootPath, number), number);
    return (mixed >> 32 & ((uint64_t{1} << shift) - 1)) == 0;
}

struct RemoteChoice {
    uint32_t shift;
    uint32_t chosen_count;  // instances chosen so far
    uint32_t last_number;
    uint64_t last;  // when it began
    uint64_t each;  // recent ticks from one instance to the next, averaged because they may come in
                    // pairs
};

// The chosen instance `number` begins at `now`; two of them should be `spacing` ticks apart.
// `over_budget`: sending has cost too much of the run. Sets the shift for later instances by their
// recent rate.
inline void count_chosen(RemoteChoice* choice, uint32_t number, uint64_t now, uint64_t spacing,
                         bool over_budget) {
    const uint64_t passed = beyond(now, choice->last);
    const uint32_t calls = number - choice->last_number;
    choice->last = now;
    choice->last_number = number;
    choice->chosen_count += 1;
    if (calls != 0 && choice->chosen_count != 1) {
        const uint64_t newest = passed / calls;
        choice->each = choice->each == 0 ? newest : choice->each - choice->each / 4 + newest / 4;
    }
    if (choice->chosen_count <= (over_budget ? kAlwaysChosen : kUsuallyChosen) || calls == 0)
        return;
    const uint64_t each = choice->each;
    if (over_budget) {
        if (choice->shift < kMostShift) choice->shift += 1;
    } else if (choice->shift != 0 && each << (choice->shift - 1) >= spacing + spacing / 4) {
        choice->shift -= 1;
    } else {
        while (choice->shift < kMostShift && each << choice->shift < spacing) choice->shift += 1;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_HOSTS_REMOTE_CHOICE_H_
