// File operations by system calls, for dwell's own files: in the observed program the C library's
// names refer to dwell's wrappers (io_wrappers.cpp), on a higher floor.
//
// Signal safety: async-signal-safe, and no cancellation points. errno as of the system call.
#ifndef DWELL_RUNTIME_CONTRACT_RAW_IO_H_
#define DWELL_RUNTIME_CONTRACT_RAW_IO_H_

#include <fcntl.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace dwell {

inline int raw_open(const char* path, int flags, mode_t mode = 0) {
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
inline void raw_close(int file) { syscall(SYS_close, file); }
inline ssize_t raw_read(int file, void* to, size_t bytes) {
    return syscall(SYS_read, file, to, bytes);
}
inline ssize_t raw_write(int file, const void* from, size_t bytes) {
    return syscall(SYS_write, file, from, bytes);
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_RAW_IO_H_
