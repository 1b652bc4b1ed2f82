// Tells a signal that was meant for our whole process group from one meant for us alone, which the
// kernel does not say: a second child, the witness, waits in the group with all signals blocked.
// What it receives too was meant for the group.
#ifndef DWELL_REPORT_CONSOLE_WITNESS_H_
#define DWELL_REPORT_CONSOLE_WITNESS_H_

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

namespace dwell {

// Every signal that a process may keep from its default action.
sigset_t all_signals();

bool is_stopped(pid_t pid);

struct WitnessPage;  // shared with it

class Witness {
  public:
    void start();
    void stop();
    pid_t pid() const { return pid_; }

    // Whether the signal that we took just now went to the group, too. Waits until the witness has
    // taken all that was sent before; false where it does not answer.
    bool saw(int signal);

    // Stops this process, as `child` is stopped. Whoever lets `child` alone go on, or ends it, lets
    // us go on as well: the witness looks after that.
    void stop_beside(pid_t child);

  private:
    [[noreturn]] void watch(pid_t parent);

    WitnessPage* page_ = nullptr;
    pid_t pid_ = -1;
    uint32_t settled_[NSIG] = {};
};

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_WITNESS_H_
