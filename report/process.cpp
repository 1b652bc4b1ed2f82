// The child stays in our process group, so that terminals and launchers, which signal groups, treat
// it as without dwell. A signal to the group then reaches it directly and must not be passed on;
// one to our process alone must. The kernel does not tell the two apart, so a second child, the
// witness, waits in the group: what it receives too was meant for the group.
#include "report/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace dwell {
namespace {

constexpr int kPassedSignals[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                  SIGUSR2, SIGALRM, SIGCONT, SIGTSTP, SIGWINCH};
constexpr int64_t kSameSignalNs = 50'000'000;  // farther apart they are two signals

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

// When the witness last received each signal. Shared with it.
struct WitnessPage {
    int64_t received_ns[NSIG];
};

class Witness {
  public:
    void start() {
        void* bytes = mmap(nullptr, sizeof(WitnessPage), PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED) return;
        page_ = static_cast<WitnessPage*>(bytes);
        const pid_t parent = getpid();
        pid_ = fork();
        if (pid_ == 0) watch(parent);
    }
    void stop() {
        if (pid_ <= 0) return;
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
        pid_ = -1;
    }
    // True when the signal that we received at `when_ns` went to the whole group.
    bool saw(int signal, int64_t when_ns) const {
        if (pid_ <= 0) return false;
        while (true) {
            const int64_t received = __atomic_load_n(&page_->received_ns[signal], __ATOMIC_ACQUIRE);
            if (received != 0 && when_ns - received < kSameSignalNs) return true;
            if (now_ns() - when_ns > kSameSignalNs) return false;
            const timespec pause{0, 2'000'000};
            nanosleep(&pause, nullptr);
        }
    }

  private:
    [[noreturn]] void watch(pid_t parent) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(0);
        prctl(PR_SET_NAME, "dwell-witness");
        closefrom(0);
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_SETMASK, &all, nullptr);
        for (;;) {
            const int signal = sigwaitinfo(&all, nullptr);
            if (signal > 0 && signal < NSIG) {
                __atomic_store_n(&page_->received_ns[signal], now_ns(), __ATOMIC_RELEASE);
            }
        }
    }

    WitnessPage* page_ = nullptr;
    pid_t pid_ = -1;
};

// What the child must find as we found it.
struct SavedSignals {
    sigset_t mask;
    struct sigaction child_action;
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
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a launcher that kills only us means the program
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
    sigprocmask(SIG_SETMASK, &saved.mask, nullptr);
    execvp(arguments[0], arguments.data());
    const int error = errno;
    if (write(failed.write_end, &error, sizeof error) < 0) _exit(126);
    _exit(127);
}

void stop_like_the_child() {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    raise(SIGTSTP);
    sigprocmask(SIG_UNBLOCK, &stop, nullptr);  // stops here, unless our group is an orphan
    sigprocmask(SIG_BLOCK, &stop, nullptr);
}

void pass_on(const siginfo_t& signal, const Witness& witness, pid_t child) {
    const bool from_terminal = signal.si_code == SI_KERNEL;
    // Launchers send SIGCONT before SIGTERM and soon after SIGKILL: no time to lose, and twice does
    // no harm.
    if (!from_terminal && (signal.si_signo == SIGCONT || !witness.saw(signal.si_signo, now_ns()))) {
        kill(child, signal.si_signo);
    }
    if (signal.si_signo == SIGTSTP) stop_like_the_child();
}

int wait_for(pid_t child, const sigset_t& watched, const Witness& witness,
             const ProcessHooks& hooks) {
    const long tick_ms = hooks.tick_ms > 0 ? hooks.tick_ms : 60'000;
    const timespec tick{tick_ms / 1000, tick_ms % 1000 * 1'000'000};
    for (;;) {
        int status = 0;
        const pid_t ended = waitpid(child, &status, WNOHANG);
        if (ended == child) return status;
        siginfo_t signal{};
        const int number = sigtimedwait(&watched, &signal, &tick);
        if (number > 0 && number != SIGCHLD) pass_on(signal, witness, child);
        if (hooks.tick_ms > 0) hooks.tick();
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

ProcessEnd run_process(const std::vector<std::string>& command, const ProcessHooks& hooks) {
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : kPassedSignals) sigaddset(&watched, signal);
    sigaddset(&watched, SIGCHLD);
    SavedSignals saved{};
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &standard, &saved.child_action);  // ignored, waitpid would learn nothing
    sigprocmask(SIG_BLOCK, &watched, &saved.mask);

    Pipe start;
    Pipe failed;
    if (!start.open() || !failed.open()) return {errno, 0};
    Witness witness;
    witness.start();
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) become(command, saved, parent, start, failed);
    if (child < 0) {
        const int error = errno;
        witness.stop();
        return {error, 0};
    }
    signal(SIGPIPE, SIG_IGN);
    close(failed.write_end);
    close(start.read_end);
    give_standard_streams_away();
    if (hooks.before_exec) hooks.before_exec(child);
    close(start.write_end);  // end of file is the sign to start

    ProcessEnd end;
    while (read(failed.read_end, &end.start_error, sizeof end.start_error) < 0 && errno == EINTR) {
    }
    close(failed.read_end);
    end.wait_status = wait_for(child, watched, witness, hooks);
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
