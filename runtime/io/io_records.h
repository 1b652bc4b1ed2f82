// What every I/O wrapper does: decide whether to record, find the node, take time stamps, record
// the bytes (DESIGN 3, 5).
//
// The time of an I/O statement lies inside a computation between two communication statements, or
// inside a probed node; it is subtracted from that computation at the next call
// (Thread::separate_ticks). Everything here may run in a signal handler: if the handler interrupted
// dwell, the call is passed on unrecorded.
#ifndef DWELL_RUNTIME_IO_IO_RECORDS_H_
#define DWELL_RUNTIME_IO_IO_RECORDS_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/calls/callpath.h"
#include "runtime/contract/io_calls.h"
#include "runtime/process/state.h"

namespace dwell {

// An I/O statement under way, on its wrapper's stack.
struct IoStatement {
    uintptr_t proof;  // valid only while live, not after longjmp, a throw or cancellation
    Thread* thread;
    Node* node;
    IoPart* part;
    CellIndex file;  // TextRecord of the file's name; kFileUnnamed; 0: not looked up yet
    uint64_t start_ticks;
};

// State of each descriptor: 0 not looked up yet, kFileOff not recorded, kFileUnnamed recorded
// without a name, else the TextRecord of the name.
constexpr uint32_t kFileOff = 1;
constexpr uint32_t kFileUnnamed = 2;
constexpr int kDescriptorLimit = 65536;  // higher ones are not recorded
extern uint32_t g_descriptors[kDescriptorLimit] __attribute__((visibility("hidden")));

// The descriptor may refer to another file from now on.
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

// For statements without a descriptor; the program may pass -1.
constexpr int kNoDescriptor = INT32_MIN;

// True when the call is to be recorded: end_io() or end_opening() follows. False: pass it on.
// Preserves errno.
bool begin_observed_io(IoStatement* statement, IoCall call, const Frame* frame, int file);
DWELL_BODY bool begin_io(IoStatement* statement, IoCall call, const Frame* frame, int file) {
    if (g_live->io == 0) [[likely]]
        return false;
    return begin_observed_io(statement, call, frame, file);
}

// Record the call and end it. Both preserve errno.
void end_io(IoStatement* statement, uint64_t read_bytes, uint64_t written_bytes, bool failed);
// The call opened the descriptor `file`, or failed with -1. Sockets and pipes are not recorded.
// `path` is the program's path, relative to the current directory, or null.
void end_opening(IoStatement* statement, int file, const char* path);

// Measures the cost of recording on a scratch thread whose path is cached in `entry`.
void calibrate_io(Thread* thread, PathEntry* entry, const Frame* frame);

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_IO_RECORDS_H_
