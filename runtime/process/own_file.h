// A file of dwell's that stays open in the observed program, to be grown later. The program may
// close descriptors that it did not open (closefrom, dup2) and reuse the number for a file of its
// own, which dwell must neither grow nor close. So each use checks that the descriptor still refers
// to the same file. Another thread could reuse the number between check and use: its file would
// then grow.
//
// Signal safety: all functions are async-signal-safe. Thread safety: callers of is_ours(),
// reserve() and close() must exclude each other; both users hold StateLock or run single-threaded.
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
        fstat(descriptor, &status);  // a failure leaves zeros, which match no file
        descriptor_ = descriptor;
        device_ = status.st_dev;
        inode_ = status.st_ino;
    }
    // Opens the path again after the program closed the descriptor. False when it is another file.
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
    // Closes the descriptor until open_again().
    void put_away() {
        if (is_ours()) raw_close(descriptor_);
        descriptor_ = kPutAway;
    }
    // True from adopt() to close(), even if the program closed the descriptor.
    bool is_open() const { return descriptor_ != kClosed; }
    bool is_ours() const { return descriptor_ >= 0 && is_same(descriptor_); }
    int descriptor() const { return descriptor_; }
    // Reserves `bytes` at offset `from` on the device. False when the device is full or the
    // descriptor is no longer ours.
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
