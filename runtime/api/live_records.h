// Reads this process's own records while all its threads go on writing them: without a lock, and
// each 8-byte value whole. A node is filled before it is linked, and never unlinked.
#ifndef DWELL_RUNTIME_API_LIVE_RECORDS_H_
#define DWELL_RUNTIME_API_LIVE_RECORDS_H_

#include <string.h>

#include "runtime/process/state.h"

namespace dwell {

template <typename T>
T read_value(const T* record) {
    static_assert(sizeof(T) % sizeof(uint64_t) == 0 && alignof(T) >= alignof(uint64_t));
    using Word __attribute__((may_alias)) = uint64_t;
    constexpr size_t kWords = sizeof(T) / sizeof(Word);
    const auto* const from = reinterpret_cast<const Word*>(record);
    uint64_t words[kWords];
    for (size_t i = 0; i < kWords; ++i) words[i] = __atomic_load_n(from + i, __ATOMIC_RELAXED);
    T copy;
    memcpy(&copy, words, sizeof(copy));
    return copy;
}
template <typename T>
T read_cell(CellIndex cell) {
    return read_value(cell_at<const T>(cell));
}
template <typename T>
T read_word(const T* word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
inline CellIndex read_link(const CellIndex* link) {
    return __atomic_load_n(link, __ATOMIC_ACQUIRE);
}

// Visits `top` and all nodes below it, parents first, siblings in any order. enter(cell, node) says
// whether to go on below the node; leave(cell) comes after all of that.
template <typename Enter, typename Leave>
void walk_nodes(CellIndex top, Enter enter, Leave leave) {
    CellIndex at = top;
    for (;;) {
        const CellIndex below = enter(at, read_cell<Node>(at))
                                    ? read_link(&cell_at<Node>(at)->first_child)
                                    : CellIndex{0};
        if (below != 0) {
            at = below;
            continue;
        }
        CellIndex beside = 0;
        while (leave(at), at != top && (beside = cell_at<Node>(at)->next_sibling) == 0) {
            at = cell_at<Node>(at)->parent;
        }
        if (at == top) return;
        at = beside;
    }
}

// A thread's record, and what is open in it at the time of the reading.
class LiveThread {
  public:
    // `now` in real ticks.
    LiveThread(const ThreadRecord* record, uint64_t now);

    CellIndex root() const { return read_link(&record_->root); }
    // The ticks so far of what is open at a node of a procedure, loop, block or statement: entries
    // that are being timed, or the call of MPI that is under way.
    uint64_t open_ticks(CellIndex cell, const Node& node) const;

  private:
    uint64_t call_ticks(CellIndex cell) const;

    const ThreadRecord* record_;
    uint64_t now_;
    uint64_t now_virtual_;
};

// Calls work(const LiveThread&) for each thread of the process, ended ones too.
template <typename Work>
void for_each_thread(uint64_t now, Work work) {
    CellIndex at = read_link(&g_process.header->first_thread);
    for (; at != 0; at = read_link(&cell_at<ThreadRecord>(at)->next)) {
        const LiveThread thread(cell_at<ThreadRecord>(at), now);
        if (thread.root() != 0) work(thread);
    }
}

// The addresses of sites in this process.
class SiteAddresses {
  public:
    // 0: in a module that is no longer loaded.
    uint64_t address_of(const Site& site);

  private:
    uint64_t base_ = 0;
    bool loaded_ = false;
    uint16_t number_ = 0;  // of the last module that was asked for, 0: none
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_API_LIVE_RECORDS_H_
