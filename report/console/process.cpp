// Runs a program as a child; see process.h. The child stays in the process group of `dwell run`,
// because terminals and launchers signal groups. A signal to the group reaches the child directly
// and must not be passed on; a signal to this process alone must be (witness.h distinguishes them).
#include "report/console/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "report/console/witness.h"

namespace dwell {
namespace {

struct sigaction size_action_before {};

// Signal settings that the child must inherit unchanged.
struct SavedSignals {
    sigset_t mask;
    struct sigaction child_action;
    struct sigaction size_action;
};

struct Pipe {
    int read_end = -1;
    int write_end = -1;
    bool open() {
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0) return false;
        read_end = ends[0];
        write_end = ends[1];
        return true;
    }
};

[[noreturn]] void become(const std::vector<std::string>& command, const SavedSignals& saved,
                         pid_t parent, const Pipe& start, const Pipe& failed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a launcher that kills only this process means the program
    if (getppid() != parent) _exit(1);
    close(start.write_end);
    char go = 0;
    while (read(start.read_end, &go, 1) < 0 && errno == EINTR) {
    }
    std::vector<char*> arguments;
    for (const std::string& argument : command) {
        arguments.push_back(const_cast<char*>(argument.c_str()));
    }
    arguments.push_back(nullptr);
    sigaction(SIGCHLD, &saved.child_action, nullptr);
    sigaction(SIGXFSZ, &saved.size_action, nullptr);
    sigprocmask(SIG_SETMASK, &saved.mask, nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    if (write(failed.write_end, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

// The kernel sends these to whole groups: of a terminal, or of a job without a controlling process.
bool is_of_terminal(const siginfo_t& signal) {
    constexpr int kOfTerminals[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGCONT,
                                    SIGTSTP, SIGTTIN, SIGTTOU, SIGWINCH};
    return signal.si_code == SI_KERNEL &&
           std::find(std::begin(kOfTerminals), std::end(kOfTerminals), signal.si_signo) !=
               std::end(kOfTerminals);
}

// Sent by a process, not by the kernel.
bool is_sent(const siginfo_t& signal) { return signal.si_code <= 0; }
bool is_from(const siginfo_t& signal, pid_t pid) { return is_sent(signal) && signal.si_pid == pid; }

// Concerns this process: its writes, and its processor time.
bool is_about_us(const siginfo_t& signal, const Witness& witness) {
    if (!is_sent(signal)) return signal.si_signo == SIGXCPU;
    return is_from(signal, getpid()) || is_from(signal, witness.pid());
}

// With its value and its sender, where the kernel allows it.
void send_on(const siginfo_t& signal, pid_t to) {
    siginfo_t same = signal;
    if (signal.si_code < 0 && syscall(SYS_rt_sigqueueinfo, to, signal.si_signo, &same) == 0) {
        return;
    }
    kill(to, signal.si_signo);
}

void pass_on(const siginfo_t& signal, Witness* witness, pid_t child) {
    if (signal.si_signo == SIGCHLD && !is_sent(signal)) return;
    // A signal with a value goes to one process; any other may have gone to the group, so the
    // program has it already. (A stopping witness takes SIGCONT from this process, so it may count
    // one too many.)
    const bool seen = signal.si_code != SI_QUEUE && witness->saw(signal.si_signo);
    const bool for_group = seen && (signal.si_signo != SIGCONT || !is_stopped(child));
    if (for_group || is_of_terminal(signal) || is_about_us(signal, *witness)) return;
    send_on(signal,
            is_from(signal, child) ? getppid() : child);  // without dwell, the parent of this
                                                          // process is the child's parent
}

int wait_for(pid_t child, const sigset_t& watched, Witness* witness, const ProcessHooks& hooks,
             rusage* used) {
    constexpr int kRarely_ms = 60'000;
    int tick_ms = hooks.tick();
    for (;;) {
        const int wait_ms = tick_ms > 0 ? tick_ms : kRarely_ms;
        const timespec tick{wait_ms / 1000, wait_ms % 1000 * 1'000'000};
        siginfo_t end{};
        waitid(P_PID, static_cast<id_t>(child), &end, WEXITED | WNOHANG | WNOWAIT);
        if (end.si_pid == child) hooks.ended(child);
        int status = 0;
        const pid_t changed = wait4(child, &status, WNOHANG | WUNTRACED, used);
        if (changed == child && !WIFSTOPPED(status)) {
            constexpr timespec kNow{};
            siginfo_t last{};  // signal from the child to its parent, shortly before its end
            while (sigtimedwait(&watched, &last, &kNow) > 0) {
                if (is_from(last, child)) send_on(last, getppid());
            }
            return status;
        }
        if (changed == child) witness->stop_beside(child);
        siginfo_t signal{};
        const int number = sigtimedwait(&watched, &signal, &tick);
        if (number > 0) pass_on(signal, witness, child);
        const bool signalled = number > 0 && number != SIGCHLD && !is_from(signal, child) &&
                               !is_about_us(signal, *witness);
        if (signalled) hooks.signalled(number);
        if (signalled || tick_ms > 0) tick_ms = hooks.tick();
    }
}

void give_standard_streams_away() {
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0) return;
    dup2(nothing, STDIN_FILENO);
    dup2(nothing, STDOUT_FILENO);
    if (nothing > STDERR_FILENO) close(nothing);
}

}  // namespace

char process_state(pid_t pid) {
    std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
    std::string text;
    std::getline(file, text, '\0');
    const size_t name_end = text.rfind(')');  // the name may contain any character
    const bool known = name_end != std::string::npos && name_end + 2 < text.size();
    return known ? text[name_end + 2] : '\0';
}

bool process_is_alive(pid_t pid) {
    const char state = process_state(pid);
    return state != '\0' && state != 'Z' && state != 'X';
}

void raise_file_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

void ignore_size_signal() {
    struct sigaction ignored {};
    ignored.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &ignored, &size_action_before);
}

ProcessEnd run_process(const std::vector<std::string>& command, const ProcessHooks& hooks) {
    const sigset_t watched = all_signals();
    SavedSignals saved{};
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &saved.child_action);  // with SIGCHLD ignored, waitpid would
                                                         // return no status
    saved.size_action = size_action_before;
    sigprocmask(SIG_BLOCK, &watched, &saved.mask);

    Pipe start;
    Pipe failed;
    if (!start.open() || !failed.open()) return {errno, 0, {}};
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) become(command, saved, parent, start, failed);
    if (child < 0) return {errno, 0, {}};
    Witness witness;
    witness.start();
    close(failed.write_end);
    close(start.read_end);
    give_standard_streams_away();
    if (hooks.before_exec) hooks.before_exec(child);
    close(start.write_end);  // end of file is the signal to start

    ProcessEnd end;
    while (read(failed.read_end, &end.start_error, sizeof end.start_error) < 0 && errno == EINTR) {
    }
    close(failed.read_end);
    end.wait_status = wait_for(child, watched, &witness, hooks, &end.used);
    witness.stop();
    return end;
}

void end_like(int wait_status) {
    if (WIFSIGNALED(wait_status)) {
        const int number = WTERMSIG(wait_status);
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        prctl(PR_SET_DUMPABLE, 0);
        signal(number, SIG_DFL);
        sigset_t only;
        sigemptyset(&only);
        sigaddset(&only, number);
        raise(number);
        sigprocmask(SIG_UNBLOCK, &only, nullptr);
        _exit(128 + number);
    }
    _exit(WEXITSTATUS(wait_status));
}

std::string describe_end(int wait_status) {
    if (WIFSIGNALED(wait_status)) {
        const int number = WTERMSIG(wait_status);
        return "was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
    }
    return "exited with code " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace dwell
