// What `dwell run` notes when observed processes end.
#include "report/watch/death_watch.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "tests/unit/report/launch/job_on_disk.h"

namespace dwell {
namespace {

class DeathWatchTest : public JobOnDisk {
  protected:
    bool all(int ranks, const std::function<bool(const FileHeader&)>& condition) const {
        for (int rank = 0; rank < ranks; ++rank) {
            if (const auto header = read_header(path(rank)); !header || !condition(*header)) {
                return false;
            }
        }
        return true;
    }
};

// Each process takes a descriptor. Here one process stands for all ranks of a host.
TEST_F(DeathWatchTest, MoreProcessesThanTheSoftLimitOfDescriptors) {
    constexpr int kRanks = 60;
    for (int rank = 0; rank < kRanks; ++rank) write(rank);
    Sleeper process([&] {
        for (int rank = 0; rank < kRanks; ++rank) {
            const int file = open(path(rank).c_str(), O_RDONLY | O_CLOEXEC);
            mmap(nullptr, sizeof(FileHeader), PROT_READ, MAP_SHARED, file, 0);
            close(file);
        }
    });
    for (int rank = 0; rank < kRanks; ++rank) {
        write(rank, [&](FileHeader* header) { header->pid = process.pid(); });
    }
    rlimit before{};
    getrlimit(RLIMIT_NOFILE, &before);
    const rlimit few{40, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
    DeathWatch watch(page_.get(), -1);
    watch.start();
    EXPECT_TRUE(comes_true([&] {
        return all(kRanks, [](const FileHeader& header) { return header.watcher == getpid(); });
    }));
    process.end();
    EXPECT_TRUE(comes_true([&] {
        return all(kRanks, [](const FileHeader& header) { return header.death_ticks != 0; });
    }));
    watch.stop();
    setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace dwell
