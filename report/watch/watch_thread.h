// A thread of `dwell run` that looks at the job until it is stopped.
#ifndef DWELL_REPORT_WATCH_WATCH_THREAD_H_
#define DWELL_REPORT_WATCH_WATCH_THREAD_H_

#include <sys/eventfd.h>
#include <unistd.h>

#include <functional>
#include <system_error>
#include <thread>

namespace dwell {

class WatchThread {
  public:
    WatchThread() = default;
    ~WatchThread() { stop(); }
    WatchThread(const WatchThread&) = delete;
    WatchThread& operator=(const WatchThread&) = delete;

    // `work` gets a file that becomes readable when it is to return. Call after the program was
    // forked. A child that is forked later inherits locks that the thread may hold: it may copy
    // files and become another program, no more.
    void start(const std::function<void(int stop)>& work) {
        stop_ = eventfd(0, EFD_CLOEXEC);
        if (stop_ < 0) return;
        try {
            // All signals are blocked here, and the new thread inherits that.
            thread_ = std::thread(work, stop_);
        } catch (const std::system_error&) {
            stop();
        }
    }
    void stop() {
        if (thread_.joinable() && eventfd_write(stop_, 1) == 0) thread_.join();
        if (stop_ >= 0) close(stop_);
        stop_ = -1;
    }

  private:
    int stop_ = -1;  // an eventfd
    std::thread thread_;
};

}  // namespace dwell

#endif  // DWELL_REPORT_WATCH_WATCH_THREAD_H_
