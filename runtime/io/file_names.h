// Names of the files that I/O statements use, each stored as one TextRecord in a process.
#ifndef DWELL_RUNTIME_IO_FILE_NAMES_H_
#define DWELL_RUNTIME_IO_FILE_NAMES_H_

#include <stddef.h>
#include <stdint.h>

#include "runtime/process/state.h"

namespace dwell {

constexpr uint64_t kHashStart = 0xcbf29ce484222325ull;  // FNV-1a
inline uint64_t hash_bytes(const void* bytes, size_t size, uint64_t hash) {
    for (size_t i = 0; i < size; ++i) {
        hash = (hash ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3ull;
    }
    return hash;
}

// The record of that name, created if new; 0 when there is no room, which is counted
// (FileHeader::files_unnamed). Takes no lock for a known name. Async-signal-safe.
CellIndex record_of_name(Thread* thread, const char* name, size_t bytes);

}  // namespace dwell

#endif  // DWELL_RUNTIME_IO_FILE_NAMES_H_
