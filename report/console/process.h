// Runs one program as a shell would, with `dwell run` as its parent: each signal reaches the
// program once, the terminal works, and the parent can end as the program did.
#ifndef DWELL_REPORT_CONSOLE_PROCESS_H_
#define DWELL_REPORT_CONSOLE_PROCESS_H_

#include <sys/resource.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace dwell {

struct ProcessHooks {
    std::function<void(pid_t)> before_exec;  // in the parent, while the child waits to start
    // Called in the parent while the child runs; returns the milliseconds until the next call, 0
    // for never.
    std::function<int()> tick;
    std::function<void(pid_t)> ended;  // before the child is reaped
    // This process got a signal that the program gets, too; tick() follows.
    std::function<void(int)> signalled;
};

struct ProcessEnd {
    int start_error = 0;  // errno of fork or exec; 0: the program ran
    int wait_status = 0;  // of waitpid
    rusage used{};        // by the program, and by the processes it waited for
};

// Field 3 of /proc/PID/stat (proc(5)): 'R', 'T', 'Z' and so on; 0 without such a process.
char process_state(pid_t pid);
// A zombie is not: it does nothing more.
bool process_is_alive(pid_t pid);

// Lets this process open as many files as it may at most. Processes that it starts then may, too.
void raise_file_limit();

// Makes reaching RLIMIT_FSIZE an error of write(2) in this process, instead of a signal; programs
// of run_process() start with SIGXFSZ unchanged.
void ignore_size_signal();

// Changes this process permanently: stdin and stdout go to /dev/null once the child has them, and
// the forwarded signals stay blocked. Call once, from the only thread.
ProcessEnd run_process(const std::vector<std::string>& command, const ProcessHooks& hooks);

// Ends this process as `wait_status` describes: same code, or same signal without a second core
// file.
[[noreturn]] void end_like(int wait_status);

// "exited with code 3", "was ended by signal 9 (Killed)".
std::string describe_end(int wait_status);

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_PROCESS_H_
