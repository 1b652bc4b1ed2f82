// What the kernel says about a thread of another process: its state, and the system call in which
// it waits.
#ifndef DWELL_REPORT_LIVE_KERNEL_VIEW_H_
#define DWELL_REPORT_LIVE_KERNEL_VIEW_H_

#include <string.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/contract/record_layout.h"

namespace dwell {

// Field 3 of /proc/PID/task/TID/stat, 0 if there is no such thread any more.
char thread_state(int32_t pid, int32_t tid);

// Whether the process ids of a process mean anything here: it runs on this host, in this
// namespace of process ids. Empty, 0: not known, so taken as the same.
bool is_visible(std::string_view host, uint64_t pid_namespace);
inline bool is_visible(const FileHeader& header) {
    return is_visible({header.host, strnlen(header.host, sizeof header.host)},
                      header.pid_namespace);
}

// "read of /data/input", "flock of run.lock"; empty if the thread is in no call that may wait for
// long, or it is not known.
std::string waiting_call(int32_t pid, int32_t tid);

}  // namespace dwell

#endif  // DWELL_REPORT_LIVE_KERNEL_VIEW_H_
