// Implements the witness process, which shares one page with its parent; see witness.h. A question
// is a signal, so it keeps its order among the observed signals; the answer is a number in the
// page.
#include "report/console/witness.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "report/console/process.h"

namespace dwell {

struct WitnessPage {
    uint32_t received[NSIG];  // number of each signal received
    int32_t answered;         // number of the last answered question
    int32_t child;            // process of the last stop
    uint32_t stop;            // odd: the parent is stopped beside the child, for the (stop / 2)-th
                              // time
};

namespace {

// The kernel delivers pending signals by number, lowest first, and equal numbers in order: when the
// witness receives a question, it has received all signals sent before.
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
    // The sender of a group signal holds a lock while it signals the group, and setpgid waits for
    // that lock: afterwards the witness has the signal, too. The call itself changes nothing.
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
    // Queued signals arrive one by one; several of the other signals may have merged into one.
    settled_[signal] = signal < SIGRTMIN ? received : settled_[signal] + 1;
    return true;
}

void Witness::stop_beside(pid_t child) {
    if (pid_ > 0) {
        page_->child = child;
        __atomic_fetch_add(&page_->stop, 1u, __ATOMIC_RELEASE);
        sigqueue(pid_, kQuestion, sigval{page_->answered});  // from here on the witness waits with
                                                             // a time limit
    }
    // Uses SIGSTOP instead of the signal that stopped the program: that one might be blocked here,
    // and once unblocked, the next such signal would stop this process alone.
    kill(getpid(), SIGSTOP);
    if (pid_ > 0) __atomic_fetch_add(&page_->stop, 1u, __ATOMIC_RELEASE);
    for (const int stop : {SIGTSTP, SIGTTIN, SIGTTOU})
        saw(stop);  // SIGCONT removed the pending
                    // stop signals of this process
}

}  // namespace dwell
