// What every wrapper of an I/O function does: is the call to be recorded, find its node, stamp the
// time, book what it moved (DESIGN 3, 5).
//
// The time of an I/O statement lies inside the computation between two communication statements, or
// inside what a probe watches; it is taken from that computation when the next call is booked
// (Thread::booked_ticks). Everything here may run in a signal handler: what it would interrupt of
// dwell's own makes it pass the call on, unrecorded.
#ifndef DWELL_RUNTIME_IO_IO_RECORDS_H_
#define DWELL_RUNTIME_IO_IO_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/calls/callpath.h"
#include "runtime/contract/io_calls.h"
#include "runtime/process/state.h"

namespace dwell {

// An I/O statement under way, on the stack of its wrapper.
struct IoStatement {
    uintptr_t proof;  // tells a live one from a frame that was left by longjmp, a throw, cancelling
    Thread* thread;
    Node* node;
    IoPart* part;
    CellIndex file;  // TextRecord of the file's name; kFileUnnamed; 0: not known yet
    uint64_t start_ticks;
};

// Descriptors: 0 not looked at yet, kFileOff not recorded, kFileUnnamed recorded without a name,
// else the TextRecord of the name.
constexpr uint32_t kFileOff = 1;
constexpr uint32_t kFileUnnamed = 2;
constexpr int kDescriptorLimit = 65536;  // those above are not recorded
extern uint32_t g_descriptors[kDescriptorLimit] __attribute__((visibility("hidden")));

// The descriptor is, or may be, another file from now on.
inline void forget_descriptor(int file) {
    if (file < 0 || file >= kDescriptorLimit) return;
    if (__atomic_load_n(&g_descriptors[file], __ATOMIC_RELAXED) == 0) return;
    __atomic_store_n(&g_descriptors[file], 0u, __ATOMIC_RELAXED);
}

inline void forget_descriptors(unsigned first, unsigned last) {
    for (unsigned file = first; file <= last && file < unsigned{kDescriptorLimit}; ++file) {
        forget_descriptor(static_cast<int>(file));
    }
}

// Of statements that have no descriptor yet; the program may well give -1.
constexpr int kNoDescriptor = INT32_MIN;

// True when the call is to be recorded: its end follows. False: pass it on. Keeps errno.
bool begin_observed_io(IoStatement* statement, IoCall call, const Frame* frame, int file);
DWELL_BODY bool begin_io(IoStatement* statement, IoCall call, const Frame* frame, int file) {
    if (g_live->io == 0) [[likely]]
        return false;
    return begin_observed_io(statement, call, frame, file);
}

// Books the call. Both keep errno.
void end_io(IoStatement* statement, uint64_t read_bytes, uint64_t written_bytes, bool failed);
// The call made the descriptor `file`, or failed with -1. That of a socket or pipe is not booked.
// `path` is what the program named it by, from the current directory on, or null.
void end_opening(IoStatement* statement, int file, const char* path);

// Measures what recording costs, on `thread`, which has records of no one, with its path at
// `entry`.
void calibrate_io(Thread* thread, PathEntry* entry, const Frame* frame);

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_IO_RECORDS_H_
