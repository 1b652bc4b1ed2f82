// Standard input, output and error may be closed, and must stay so for the program: no file of
// dwell's may get one of their numbers.
//
// Signal safety: async-signal-safe. Thread safety: files opened by other threads meanwhile also get
// higher numbers.
#ifndef DWELL_RUNTIME_CONTRACT_STANDARD_FILES_H_
#define DWELL_RUNTIME_CONTRACT_STANDARD_FILES_H_

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"

namespace dwell {

// During its lifetime closed standard files refer to /dev/null, so that other files get other
// numbers. A program started meanwhile finds them closed. Preserves errno.
class StandardFilesHeld {
  public:
    StandardFilesHeld() {
        const int saved_errno = errno;
        for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
            if (fcntl(file, F_GETFD) >= 0) continue;
            const int opened =
                raw_open("/dev/null", O_RDWR | O_CLOEXEC);  // gets the lowest free number
            if (opened == file) {
                held_ |= 1u << file;
            } else if (opened >= 0) {
                raw_close(opened);
            }
        }
        errno = saved_errno;
    }
    ~StandardFilesHeld() {
        const int saved_errno = errno;
        for (int file = STDIN_FILENO; file <= STDERR_FILENO; ++file) {
            if ((held_ & 1u << file) != 0) raw_close(file);
        }
        errno = saved_errno;
    }
    StandardFilesHeld(const StandardFilesHeld&) = delete;
    StandardFilesHeld& operator=(const StandardFilesHeld&) = delete;

  private:
    unsigned held_ = 0;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_STANDARD_FILES_H_
