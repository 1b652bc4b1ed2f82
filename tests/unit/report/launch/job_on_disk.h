// A job with its record files and a status page, as `dwell run` finds them.
#ifndef DWELL_TESTS_UNIT_REPORT_LAUNCH_JOB_ON_DISK_H_
#define DWELL_TESTS_UNIT_REPORT_LAUNCH_JOB_ON_DISK_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "report/results/record_files.h"
#include "runtime/contract/status_page.h"
#include "tests/unit/support/synthetic_records.h"

namespace dwell {

class JobOnDisk : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "dwell-job-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder_ = name;
        setenv("DWELL_RECORD_DIR", folder_.c_str(), 1);
        directory_ = folder_ + "/dwell-" + std::to_string(getuid()) + "-job";
        std::filesystem::create_directory(directory_);
        page_->jobs = 1;
        page_->job[0].done = 1;
        strcpy(page_->job[0].name, "job");
    }
    void TearDown() override {
        unsetenv("DWELL_RECORD_DIR");
        std::filesystem::remove_all(folder_);
    }
    std::string path(int rank) const { return directory_ + "/rank." + std::to_string(rank); }
    // The record of a running rank, changed by `change`, written in place.
    void write(
        int rank, const std::function<void(FileHeader*)>& change = [](FileHeader*) {}) {
        RecordFile file(rank, 4);
        file.header().state = FileState::kRunning;
        file.header().pid = getpid();
        file.add_module(1, "/nowhere/app", "abcdefghij0123456789");
        file.add_thread(0, {});
        file.last_thread().tid = getpid();
        change(&file.header());
        const int made = open(path(rank).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        ASSERT_EQ(pwrite(made, file.data(), file.bytes(), 0), ssize_t(file.bytes()));
        close(made);
    }
    static bool comes_true(const std::function<bool()>& condition) {
        for (int tries = 0; tries < 3000; ++tries) {
            if (condition()) return true;
            const timespec pause{0, 10'000'000};
            nanosleep(&pause, nullptr);
        }
        return false;
    }

    std::string folder_;
    std::string directory_;
    std::unique_ptr<StatusPage> page_ = std::make_unique<StatusPage>();
};

// A process that sleeps until it is killed.
class Sleeper {
  public:
    explicit Sleeper(const std::function<void()>& prepare = [] {}) : pid_(fork()) {
        if (pid_ != 0) return;
        prepare();
        for (;;) pause();
    }
    ~Sleeper() { end(); }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;
    pid_t pid() const { return pid_; }
    void stop() const {
        kill(pid_, SIGSTOP);
        waitpid(pid_, nullptr, WUNTRACED);
    }
    void end() {
        if (ended_) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        ended_ = true;
    }

  private:
    pid_t pid_;
    bool ended_ = false;
};

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_REPORT_LAUNCH_JOB_ON_DISK_H_
