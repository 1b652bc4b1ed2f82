#include "report/console/witness.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/console/process.h"

namespace dwell {

struct WitnessPage {
    uint32_t received[NSIG];  // of each signal, how often
    int32_t answered;         // the last question
    int32_t child;            // of the last stop
    uint32_t stop;            // odd: we stop beside the child, for the (stop / 2)-th time
};

namespace {

// The kernel hands out pending signals by number, lowest first, and those of one number in order:
// whoever takes a question has taken all that was sent before it.
constexpr int kQuestion = NSIG - 1;
constexpr int64_t kPatience_ns = 50'000'000;
constexpr timespec kBetweenLooks{0, 20'000'000};

int64_t now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

}  // namespace

bool is_stopped(pid_t pid) {
    const char state = process_state(pid);
    return state == 'T' || state == 't';
}

sigset_t all_signals() {
    sigset_t all;
    sigfillset(&all);
    return all;
}

void Witness::start() {
    void* bytes = mmap(nullptr, sizeof(WitnessPage), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (bytes == MAP_FAILED) return;
    page_ = static_cast<WitnessPage*>(bytes);
    const pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) watch(parent);
}

void Witness::stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void Witness::watch(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    prctl(PR_SET_NAME, "dwell-witness");
    closefrom(0);
    const sigset_t all = all_signals();
    sigprocmask(SIG_SETMASK, &all, nullptr);
    for (;;) {
        const uint32_t stop = __atomic_load_n(&page_->stop, __ATOMIC_ACQUIRE);
        const bool stops = stop % 2 != 0;
        siginfo_t signal{};
        const int number = sigtimedwait(&all, &signal, stops ? &kBetweenLooks : nullptr);
        if (number == kQuestion && signal.si_code == SI_QUEUE && signal.si_pid == parent) {
            __atomic_store_n(&page_->answered, signal.si_value.sival_int, __ATOMIC_RELEASE);
        } else if (number > 0 && number < NSIG) {
            __atomic_fetch_add(&page_->received[number], 1u, __ATOMIC_RELEASE);
        }
        if (stops && is_stopped(parent) && !is_stopped(page_->child) &&
            __atomic_load_n(&page_->stop, __ATOMIC_ACQUIRE) == stop) {
            kill(parent, SIGCONT);
        }
    }
}

bool Witness::saw(int signal) {
    if (pid_ <= 0) return false;
    // Who signals a group holds a lock for as long as it takes, and this call waits for that lock:
    // then the witness has the signal, too. It changes nothing.
    setpgid(0, getpgrp());
    const int32_t question = page_->answered + 1;
    if (sigqueue(pid_, kQuestion, sigval{question}) != 0) return false;
    const int64_t until_ns = now_ns() + kPatience_ns;
    while (__atomic_load_n(&page_->answered, __ATOMIC_ACQUIRE) != question) {
        if (now_ns() > until_ns) return false;
        const timespec pause{0, 50'000};
        nanosleep(&pause, nullptr);
    }
    const uint32_t received = __atomic_load_n(&page_->received[signal], __ATOMIC_ACQUIRE);
    if (received == settled_[signal]) return false;
    // Those that are queued come one by one; of the others several may have become one.
    settled_[signal] = signal < SIGRTMIN ? received : settled_[signal] + 1;
    return true;
}

void Witness::stop_beside(pid_t child) {
    if (pid_ > 0) {
        page_->child = child;
        __atomic_fetch_add(&page_->stop, 1u, __ATOMIC_RELEASE);
        sigqueue(pid_, kQuestion, sigval{page_->answered});  // it waits with a time limit from here
    }
    // Not with the signal that stopped the program: what can be blocked had to be unblocked, and
    // the next one would stop us alone.
    kill(getpid(), SIGSTOP);
    if (pid_ > 0) __atomic_fetch_add(&page_->stop, 1u, __ATOMIC_RELEASE);
    for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU}) saw(stop);  // SIGCONT took ours away
}

}  // namespace dwell
