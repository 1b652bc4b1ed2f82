// Resource limits that dwell's files could reach although the program's own files would not.
//
// RLIMIT_FSIZE: growing a file beyond it fails with EFBIG, and the thread receives SIGXFSZ, which
// ends the program by default. The limit also holds for files in memory (tmpfs, memfd_create), but
// not for anonymous mappings.
//
// Signal safety: async-signal-safe. Thread safety: affects the calling thread only.
#ifndef DWELL_RUNTIME_PROCESS_FILE_LIMIT_H_
#define DWELL_RUNTIME_PROCESS_FILE_LIMIT_H_

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace dwell {

// During its lifetime a file that cannot grow is an error without a signal. Preserves errno.
class NoSizeSignal {
  public:
    NoSizeSignal() {
        const int saved_errno = errno;
        uint64_t pending = 0;
        syscall(SYS_rt_sigpending, &pending, sizeof(pending));
        was_pending_ = (pending & kMask) != 0;
        syscall(SYS_rt_sigprocmask, SIG_BLOCK, &kMask, &before_, sizeof(before_));
        errno = saved_errno;
    }
    ~NoSizeSignal() {
        const int saved_errno = errno;
        const timespec at_once{};
        if (!was_pending_) {
            syscall(SYS_rt_sigtimedwait, &kMask, nullptr, &at_once, sizeof(kMask));
        }
        if ((before_ & kMask) == 0) {
            syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &kMask, nullptr, sizeof(kMask));
        }
        errno = saved_errno;
    }
    NoSizeSignal(const NoSizeSignal&) = delete;
    NoSizeSignal& operator=(const NoSizeSignal&) = delete;

  private:
    static constexpr uint64_t kMask = uint64_t{1} << (SIGXFSZ - 1);  // in the kernel's form
    uint64_t before_ = 0;
    bool was_pending_ = false;
};

// True when RLIMIT_NOFILE is so low that the program may need every descriptor: dwell then keeps
// no file open.
inline bool files_are_few() {
    constexpr rlim_t kEnough = 64;
    rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_FILE_LIMIT_H_
