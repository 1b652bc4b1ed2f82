// Starts a pager and writes the text to it; see pager.h.
#include "report/console/pager.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <iterator>

#include "report/console/output.h"

namespace dwell {
namespace {

constexpr int kNotFound = 127;  // of the shell; and 126: not executable
constexpr int kNotStarted = 126;

std::string pager_command() {
    for (const char* variable : {"DWELL_PAGER", "PAGER"}) {
        const char* const named = getenv(variable);
        if (named != nullptr) return named;
    }
    return "less";
}

constexpr int kHeld[] = {SIGPIPE, SIGINT, SIGQUIT};

// A user who leaves or interrupts the pager must not end this process.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        for (size_t i = 0; i < std::size(kHeld); ++i) before_[i] = signal(kHeld[i], SIG_IGN);
    }
    ~SignalsBlocked() { restore(); }
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;
    void restore() const {
        for (size_t i = 0; i < std::size(kHeld); ++i) signal(kHeld[i], before_[i]);
    }

  private:
    sighandler_t before_[std::size(kHeld)];
};

[[noreturn]] void become_pager(const std::string& command, int input) {
    setenv("LESS", "FRX", 0);
    dup2(input, STDIN_FILENO);
    execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
    _exit(kNotFound);
}

}  // namespace

bool show_in_pager(const std::string& text) {
    const std::string command = pager_command();
    if (isatty(STDOUT_FILENO) == 0 || command.empty() || command == "cat") return false;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    const SignalsBlocked held;
    const pid_t pager = fork();
    if (pager == 0) {
        held.restore();
        become_pager(command, ends[0]);
    }
    close(ends[0]);
    if (pager > 0)
        static_cast<void>(write_all(ends[1], text, "pager"));  // an error means that the user left
                                                               // the pager
    close(ends[1]);
    int status = 0;
    while (pager > 0 && waitpid(pager, &status, 0) < 0 && errno == EINTR) {
    }
    if (pager < 0) return false;
    return !WIFEXITED(status) ||
           (WEXITSTATUS(status) != kNotFound && WEXITSTATUS(status) != kNotStarted);
}

}  // namespace dwell
