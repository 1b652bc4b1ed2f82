// Limits of the process that files of dwell's may run into, and the program would not.
//
// RLIMIT_FSIZE: a file that would grow beyond it is refused with EFBIG, and the thread is sent
// SIGXFSZ, which ends a program. It holds for files in memory, too (tmpfs, memfd_create), not for
// what is mapped without a file.
//
// Signal safety: async-signal-safe. Thread safety: it is about the calling thread alone.
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

// While it lives a file that cannot grow is an error, and no signal. errno stays.
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

// RLIMIT_NOFILE leaves so few files that the program may need each: then dwell keeps none open.
inline bool files_are_few() {
    constexpr rlim_t kEnough = 64;
    rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < kEnough;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_FILE_LIMIT_H_
