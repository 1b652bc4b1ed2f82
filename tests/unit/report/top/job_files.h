// Record files of a job on disk, which a test changes as running ranks would.
#ifndef DWELL_TESTS_UNIT_REPORT_TOP_JOB_FILES_H_
#define DWELL_TESTS_UNIT_REPORT_TOP_JOB_FILES_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <string>

#include "tests/unit/support/synthetic_records.h"

namespace dwell {

// main calls step (call at 0x10), which sends (0x20) and meets (0x30); between these it computes.
// One tick is a nanosecond.
struct Stepping {
    RecordFile file;
    CellIndex root, call, send, meet, before_send, before_meet;

    explicit Stepping(int rank, int ranks = 2) : file(rank, ranks) {
        file.header().state = FileState::kRunning;
        file.header().pid = getpid();
        file.run_here();
        file.header().start_ticks = 1000;
        file.header().start_unix_ns = 1'000'000'000;
        file.header().flags = kFileWaits;
        file.add_module(1, "/nowhere/app", "abcdefghij0123456789");
        root = file.add_thread(0, {1, 0, 0, 0});
        file.last_thread().tid = getpid();
        file.last_thread().last_ticks = 5000;
        call = file.add_call(root, 1, 0x10, {0, 0, 0, 0});
        send = file.add_communication(call, 1, 0x20, "MPI_Send", {4, 100, 10, 40});
        meet = file.add_communication(call, 1, 0x30, "MPI_Allreduce", {3, 900, 10, 600});
        before_send = file.add_interval(send, 0, call, {4, 500, 50, 150});
        before_meet = file.add_interval(meet, send, call, {3, 300, 50, 150});
        file.part(send).bytes_sent = 4096;
        file.part(meet).sync_ticks = 700;
    }
};

class JobFiles {
  public:
    JobFiles() {
        char name[] = "/dev/shm/dwell-top-test-XXXXXX";
        directory_ = mkdtemp(name);
    }
    ~JobFiles() {
        for (const auto& [rank, mapped] : mapped_) munmap(mapped.data, kRoom);
        std::filesystem::remove_all(directory_);
    }
    const std::string& directory() const { return directory_; }
    std::string path(int rank) const { return directory_ + "/rank." + std::to_string(rank); }

    void write(int rank, const RecordFile& file) {
        const int made = open(path(rank).c_str(), O_RDWR | O_CREAT, 0600);
        ASSERT_GE(made, 0);
        ASSERT_EQ(pwrite(made, file.data(), file.bytes(), 0), static_cast<ssize_t>(file.bytes()));
        if (mapped_.count(rank) == 0) {
            void* const data = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
            mapped_[rank] = {static_cast<char*>(data)};
        }
        close(made);
    }
    template <typename T>
    T& at(int rank, CellIndex cell) {
        return *reinterpret_cast<T*>(mapped_[rank].data + size_t{cell} * kCellBytes);
    }
    FileHeader& header(int rank) { return at<FileHeader>(rank, 0); }

  private:
    static constexpr size_t kRoom = 1 << 20;
    struct Mapped {
        char* data;
    };
    std::string directory_;
    std::map<int, Mapped> mapped_;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_REPORT_TOP_JOB_FILES_H_
