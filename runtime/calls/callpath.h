// Finds the call-tree node of the statement that called a wrapper, from the wrapper's frame.
//
// The first of two look-ups takes a few loads: a cached path matches when the return address, the
// stack pointer, the return addresses in the cached stack slots and, for frames whose CFA is
// computed from the frame pointer, the saved frame pointers are equal. The second compares the
// return addresses of libunwind's fast trace (about 100 ns for a few frames, 600 for fifty). Only a
// new path costs more, because it creates nodes.
#ifndef DWELL_RUNTIME_CALLS_CALLPATH_H_
#define DWELL_RUNTIME_CALLS_CALLPATH_H_

#include <stddef.h>

#include "runtime/calltree/nodes.h"
#include "runtime/calltree/stack_walks.h"
#include "runtime/contract/io_calls.h"
#include "runtime/mpi/mpi_api.h"
#include "runtime/process/state.h"

namespace dwell {

// In a thread with probes, a path begins at the innermost node that they opened, the probe frame;
// frames outside of it are recorded by the probes.

// Index of the first entry of the path's set. Paths that differ only in outer frames share a set.
inline uint32_t path_set(uint64_t return_address, uint64_t stack_pointer, CellIndex probe_frame) {
    const uint64_t mixed = (return_address ^ (stack_pointer << 20) ^ (stack_pointer >> 3) ^
                            (uint64_t{probe_frame} << 40)) *
                           0x9e3779b97f4a7c15ull;
    static_assert(kPathSets == 1 << 8);
    return static_cast<uint32_t>(mixed >> 56) * kPathWays;
}

inline bool path_matches(const PathEntry& entry, const Frame* frame, MpiCall call,
                         CellIndex probe_frame) {
    const uint64_t sp = frame->stack_pointer();
    if (entry.return_address != frame->return_address) return false;
    if (entry.call != static_cast<uint16_t>(call) || entry.probe_frame != probe_frame) return false;
    if (entry.stack_pointer == 0) return true;
    if (entry.stack_pointer != sp) return false;
    if (entry.check_frame_pointer && entry.frame_pointer != frame->caller_frame_pointer) {
        return false;
    }
    for (int i = 0; i < entry.slots; ++i) {
        if (stack_word(sp + entry.slot[i].offset) != entry.slot[i].value) return false;
    }
    return true;
}

// Searches the other entries of the set.
const PathEntry* path_further_on(const Thread* thread, const Frame* frame, MpiCall call,
                                 CellIndex probe_frame);

// The cached path of this call, or null. Prefetches the stack slots and the node's cells while the
// path is compared, because a computation evicts them from the caches.
inline const PathEntry* find_cached_path(const Thread* thread, const Frame* frame, MpiCall call,
                                         CellIndex probe_frame) {
    const bool one_frame = g_process.options.callpath_depth == 1;
    const uint64_t sp = frame->stack_pointer();
    const PathEntry* set =
        &thread->paths[path_set(frame->return_address, one_frame ? 0 : sp, probe_frame)];
    __builtin_prefetch(reinterpret_cast<const char*>(set) + kCellBytes);
    __builtin_prefetch(set->slot);
    // Integer arithmetic, because the pointer may be null.
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(set->slot) + kCellBytes));
    const char* node = g_process.cells + static_cast<size_t>(set->node) * kCellBytes;
    __builtin_prefetch(node);
    __builtin_prefetch(node + kPartCells * kCellBytes);
    __builtin_prefetch(node + kHistogramOffsetCells * kCellBytes +
                       offsetof(SizeHistogram, event_count));
    if (path_matches(*set, frame, call, probe_frame)) [[likely]]
        return set;
    return path_further_on(thread, frame, call, probe_frame);
}

// OpenMP constructs and I/O functions are reached along call paths, too. Their numbers stand in
// place of an MpiCall; kOmpPath looks for the calling statement, the parent of a construct.
constexpr uint16_t kOmpCall = 1 << 14;
constexpr uint16_t kOmpPath = kOmpCall;

// I/O functions are numbered after those of MPI.
constexpr uint16_t kIoNumbers = 0x2000;
inline MpiCall path_number(IoCall call) {
    return static_cast<MpiCall>(kIoNumbers + static_cast<uint16_t>(call));
}
inline bool is_io_number(MpiCall call) { return (static_cast<uint16_t>(call) & kIoNumbers) != 0; }

// The slow path. `node` is 0 when nothing could be recorded; `foreign` is set when the call is
// meant for another MPI library. Adds its duration to thread->slow_overhead. Not signal-safe.
struct FoundPath {
    CellIndex node;
    bool foreign;
};
DWELL_COLD FoundPath find_path(Thread* thread, const Frame* frame, MpiCall call,
                               CellIndex probe_frame, EntryForm form);

// Clears all cached paths: another module may be loaded at an unloaded module's addresses.
void forget_paths(Thread* thread);

}  // namespace dwell

#endif  // DWELL_RUNTIME_CALLS_CALLPATH_H_
