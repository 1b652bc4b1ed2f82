// Memory shared by the profiled ranks of one host while the program runs: a file of the record
// directory, unlinked as soon as all ranks have opened it, so that a crash leaves nothing behind.
//
// A directory at its front maps 64-bit keys to pages: one page for each pair of ranks (channels.h),
// pages for each communicator (collective_table.h), for progress logs and for timelines. Each page
// is reserved before its first use, because a store into an unreserved page of a full /dev/shm ends
// the program.
#ifndef DWELL_RUNTIME_EXCHANGE_EXCHANGE_H_
#define DWELL_RUNTIME_EXCHANGE_EXCHANGE_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/process/virtual_clock.h"

namespace dwell {

constexpr size_t kExchangePage = 4096;

// What a rank publishes for the ranks that may have to wait for it. Ranks of its host find causes
// in its timeline instead; for other hosts `path` and the root cause are those since the last
// stamp.
struct EnterStamp {
    DualTime at;               // when it entered its call, in ticks of the host's clock
    uint32_t path;             // its last computation (hash_interval); 0: none that took time
    uint32_t root_cause_rank;  // largest cause of its waits, for other hosts; kNoPeer: none
    uint32_t root_cause_path;  // computation of that rank
    uint16_t delay_cost;       // short_ticks of its waiting because of that cause
    uint16_t work = 0;         // duration of `path`, the longest computation since; 0: not recorded
};

// Until when a rank's delays have been reported to ranks of other hosts.
struct StampedUntil {
    uint64_t round;   // virtual ticks of the last round of stamps (not of each stamp in it)
    uint64_t before;  // of the round before
};

// Ticks in 16 bits: a mantissa of 11 bits and a shift, in units of 1 << kShortTicksShift. Truncated
// by less than a thousandth.
constexpr int kShortTicksShift = 8;
constexpr int kShortBits = 11;
inline uint16_t short_ticks(uint64_t ticks) {
    const uint64_t units = ticks >> kShortTicksShift;
    const int length = 64 - __builtin_clzll(units | 1);
    const int shift = length > kShortBits ? length - kShortBits : 0;
    return shift < 32
               ? static_cast<uint16_t>(static_cast<uint64_t>(shift) << kShortBits | units >> shift)
               : UINT16_MAX;
}
inline uint64_t ticks_of(uint16_t shortened) {
    const uint64_t units = shortened & ((1u << kShortBits) - 1);
    return units << (shortened >> kShortBits) << kShortTicksShift;
}

// In MPI_Init, after PMPI_Init. False, without effect, when there is no room or no other rank on
// this host; then there is no wait analysis on this host.
bool open_exchange(uint32_t local_ranks);
// Once all profiled ranks of the host have opened it.
void unlink_exchange();
bool exchange_is_open();

// `pages` adjacent pages for `key`, zeroed when new; null when none are left. The first caller
// makes them. Slow: system calls. Not signal-safe.
void* find_or_make_pages(uint64_t key, uint32_t pages);

// One page for a pair of ranks. At most kPagesForRank are made for each rank of the host, so that
// all-to-all traffic does not fill its memory; later pairs have none.
void* find_or_make_pair(uint64_t key);
constexpr uint32_t kPagesForRank = 32;

// Pages without a key, zeroed and never given back: the number of the first, 0 when none are left.
// Slow: system calls.
uint32_t take_pages(uint32_t pages);
void* page_at(uint32_t page);

// The number of profiled ranks of this host, this one included, once PMPI_Init has returned. Slow.
uint32_t count_local_ranks();
// The same at the time when the exchange was unlinked.
uint32_t local_ranks();
// Whether that rank of this process's MPI_COMM_WORLD is profiled on this host. Slow.
bool is_same_host(uint32_t world_rank);

}  // namespace dwell

#endif  // DWELL_RUNTIME_EXCHANGE_EXCHANGE_H_
