// What the kernel says about a thread of another process: its state, and the system call in which
// it waits.
#ifndef DWELL_REPORT_LIVE_KERNEL_VIEW_H_
#define DWELL_REPORT_LIVE_KERNEL_VIEW_H_

#include <cstdint>
#include <string>

namespace dwell {

// Field 3 of /proc/PID/task/TID/stat, 0 if there is no such thread.
char thread_state(int32_t pid, int32_t tid);

// Whether `inode` is the namespace of process ids of this process; also if it is not known.
bool is_own_pid_namespace(uint64_t inode);

// "read of /data/input", "flock of run.lock"; empty if the thread is in no call that may wait for
// long, or it is not known.
std::string waiting_call(int32_t pid, int32_t tid);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_KERNEL_VIEW_H_
