// Memory that the observed ranks of one node share while the program runs, in a file of the record
// directory that is unlinked as soon as all of them have it: nothing is left behind by a crash.
//
// A directory names its pages: every two processes that exchange messages get one page
// (channels.h), every communicator its board (collective_table.h), every 32 ranks lines for their
// last arrivals (progress_log.h), when they are first needed. Keys are 64-bit hashes that all who
// share a page derive alike. Each page is reserved before its first use (a store into an unreserved
// page of a full /dev/shm ends the program).
#ifndef DWELL_RUNTIME_EXCHANGE_EXCHANGE_H_
#define DWELL_RUNTIME_EXCHANGE_EXCHANGE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/contract/virtual_clock.h"

namespace dwell {

constexpr size_t kExchangePage = 4096;

// What a rank tells those who may have to wait for it.
struct EnterStamp {
    DualTime at;    // when it entered its call, in ticks of the node's clock
    uint32_t path;  // its computation just before: hash_interval, 0 nothing that took time
    uint32_t
        root_cause_rank;  // To other hosts, which do not see its timeline: of the causes of its
    uint32_t root_cause_path;  // waits since it told them last the largest, kNoPeer none,
    uint16_t debt;             // how long it waited because of that: short_ticks;
    uint16_t work = 0;  // and how long `path`, its longest computation since, took; 0: not told
};

// Since when those on other hosts have not been told of a rank.
struct StampedUntil {
    uint64_t round;   // when they were told last, but for what followed at once: virtual ticks
    uint64_t before;  // and the time before that
};

// Ticks in 16 bits: a number of 11 bits and how far it is shifted, in units of 1 << kDebtShift;
// cut off by less than a thousandth.
constexpr int kDebtShift = 8;
constexpr int kShortBits = 11;
inline uint16_t short_ticks(uint64_t ticks) {
    const uint64_t units = ticks >> kDebtShift;
    const int length = 64 - __builtin_clzll(units | 1);
    const int shift = length > kShortBits ? length - kShortBits : 0;
    return shift < 32
               ? static_cast<uint16_t>(static_cast<uint64_t>(shift) << kShortBits | units >> shift)
               : UINT16_MAX;
}
inline uint64_t ticks_of(uint16_t shortened) {
    const uint64_t units = shortened & ((1u << kShortBits) - 1);
    return units << (shortened >> kShortBits) << kDebtShift;
}

// In MPI_Init, after PMPI_Init. False, with no effect, when there is no room or nobody else on this
// node; then there is no wait analysis on this node.
bool open_exchange(uint32_t local_ranks);
// Once all observed ranks of the node have opened it.
void unlink_exchange();
bool exchange_is_open();

// The memory for `key`, `pages` pages side by side, zeroed when new; null when there is none left.
// Whoever asks first makes it. Slow: system calls. Signal-unsafe.
void* find_or_make_pages(uint64_t key, uint32_t pages);

// The same of one page, for a pair of ranks; at most kPagesForRank are made for each rank of the
// node, so that ranks which all talk to each other do not fill its memory. Those that come later
// have none, for good.
void* find_or_make_pair(uint64_t key);
constexpr uint32_t kPagesForRank = 32;

// As many pages without a name, never given back: the number of the first, 0 when there are none
// left. Zeroed. Slow, likewise.
uint32_t take_pages(uint32_t pages);
void* page_at(uint32_t page);

// Observed ranks of this node, this one included, once PMPI_Init has returned. Slow.
uint32_t count_local_ranks();
// The same as it was when the exchange was unlinked.
uint32_t local_ranks();
// Is that rank of this process's MPI_COMM_WORLD observed, and on this node? Slow.
bool is_same_host(uint32_t world_rank);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_EXCHANGE_H_
