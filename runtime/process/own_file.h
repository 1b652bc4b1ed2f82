// A file of dwell's that stays open in the observed program, to be grown later. The program may
// close descriptors that it did not open (closefrom, a loop over all, dup2 onto one), and open a
// file of its own under the same number: that must be neither grown nor closed by us. So each use
// checks that the number still stands for the file. Between the check and the use another thread
// could still take the number: then what it opened within that microsecond grows.
//
// Signal safety: all are async-signal-safe. Thread safety: those who call is_ours(),
// reserve() and close() keep apart; both users hold StateLock or run while one thread does.
#ifndef DWELL_RUNTIME_PROCESS_OWN_FILE_H_
#define DWELL_RUNTIME_PROCESS_OWN_FILE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"
#include "runtime/contract/standard_files.h"
#include "runtime/process/file_limit.h"

namespace dwell {

class OwnFile {
  public:
    // Takes over an open file.
    void adopt(int descriptor) {
        struct stat status {};
        fstat(descriptor, &status);  // what it fails with (EBADF, ENOMEM) is no file's number
        descriptor_ = descriptor;
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }
    // The file of that name again, if it is the same: after the program closed it. False otherwise.
    bool open_again(const char* path) {
        const StandardFilesHeld held;
        const int descriptor = raw_open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
        if (descriptor < 0) return false;
        if (is_same(descriptor)) {
            descriptor_ = descriptor;
            return true;
        }
        raw_close(descriptor);
        return false;
    }
    // Leaves no descriptor in the program until open_again().
    void put_away() {
        if (is_ours()) raw_close(descriptor_);
        descriptor_ = kPutAway;
    }
    // From adopt() to close(), whatever the program did to the number.
    bool is_open() const { return descriptor_ != kClosed; }
    bool is_ours() const { return descriptor_ >= 0 && is_same(descriptor_); }
    int descriptor() const { return descriptor_; }
    // Room on the device for `bytes` at `from`; false when there is none, or the file is gone.
    bool reserve(size_t from, size_t bytes) const {
        const NoSizeSignal held;
        return is_ours() && posix_fallocate(descriptor_, static_cast<off_t>(from),
                                            static_cast<off_t>(bytes)) == 0;
    }
    void close() {
        if (is_ours()) raw_close(descriptor_);
        descriptor_ = kClosed;
    }

  private:
    static constexpr int kClosed = -1;
    static constexpr int kPutAway = -2;

    bool is_same(int descriptor) const {
        struct stat status;
        return fstat(descriptor, &status) == 0 && status.st_dev == device_ &&
               status.st_ino == inode_;
    }

    int descriptor_ = kClosed;
    dev_t device_ = 0;
    ino_t inode_ = 0;
};

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_OWN_FILE_H_
