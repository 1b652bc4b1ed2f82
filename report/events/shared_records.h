// A record file that its process changes, and of whose rings this process is the reader.
#ifndef DWELL_REPORT_EVENTS_SHARED_RECORDS_H_
#define DWELL_REPORT_EVENTS_SHARED_RECORDS_H_

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <string_view>
#include <utility>

#include "runtime/contract/record_layout.h"

namespace dwell {

// Of a field that a process writes meanwhile.
template <typename T>
T load_shared(const T* field) {
    T value;
    __atomic_load(field, &value, __ATOMIC_ACQUIRE);
    return value;
}

class SharedRecords {
  public:
    explicit SharedRecords(const std::string& path)
        : file_(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW)) {
        grow();
    }
    SharedRecords(SharedRecords&& other) noexcept
        : file_(std::exchange(other.file_, -1)),
          data_(std::exchange(other.data_, nullptr)),
          bytes_(std::exchange(other.bytes_, 0)) {}
    SharedRecords& operator=(SharedRecords&& other) noexcept {
        std::swap(file_, other.file_);
        std::swap(data_, other.data_);
        std::swap(bytes_, other.bytes_);
        return *this;
    }
    ~SharedRecords() {
        if (data_ != nullptr) munmap(data_, bytes_);
        if (file_ >= 0) close(file_);
    }
    SharedRecords(const SharedRecords&) = delete;
    SharedRecords& operator=(const SharedRecords&) = delete;

    // For a short time two `dwell run` of a host may both read the rings, so each reads alone.
    bool try_lock() { return flock(file_, LOCK_EX | LOCK_NB) == 0; }
    void unlock() { flock(file_, LOCK_UN); }

    bool are_there() const { return data_ != nullptr; }
    FileHeader* own_header() { return reinterpret_cast<FileHeader*>(data_); }
    // All of the file as it is now.
    std::string_view image() {
        grow();
        return {data_, bytes_};
    }
    const FileHeader& header() const { return *reinterpret_cast<const FileHeader*>(data_); }
    // `count` of them, one behind the other; null where the file does not have them.
    template <typename T>
    T* at(CellIndex cell, size_t count = 1) {
        const size_t begin = size_t{cell} * kCellBytes;
        const size_t end = begin + count * sizeof(T);
        if (cell < kHeaderCells || (end > bytes_ && (!grow() || end > bytes_))) return nullptr;
        return reinterpret_cast<T*>(data_ + begin);
    }

  private:
    // The process has made its file larger; the file may be removed already.
    bool grow() {
        struct stat about;
        if (file_ < 0 || fstat(file_, &about) != 0) return false;
        const auto bytes = static_cast<size_t>(about.st_size);
        if (bytes <= bytes_ || bytes < sizeof(FileHeader)) return false;
        void* const data = data_ == nullptr
                               ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0)
                               : mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
        if (data == MAP_FAILED) return false;
        data_ = static_cast<char*>(data);
        bytes_ = bytes;
        return true;
    }

    int file_;
    char* data_ = nullptr;
    size_t bytes_ = 0;
};

}  // namespace dwell

#endif  // DWELL_REPORT_EVENTS_SHARED_RECORDS_H_
