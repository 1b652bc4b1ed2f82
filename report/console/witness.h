// Distinguishes a signal to the whole process group from a signal to this process alone, which the
// kernel does not report. A second child, the witness, waits in the group with all signals blocked:
// a signal that the witness receives too was for the group.
#ifndef DWELL_REPORT_CONSOLE_WITNESS_H_
#define DWELL_REPORT_CONSOLE_WITNESS_H_

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

namespace dwell {

// Every signal whose default action a process can prevent.
sigset_t all_signals();

bool is_stopped(pid_t pid);

struct WitnessPage;  // shared with the witness

class Witness {
  public:
    void start();
    void stop();
    pid_t pid() const { return pid_; }

    // Whether the signal that this process just received also went to the group. Waits until the
    // witness has received all signals sent before; false if it does not answer.
    bool saw(int signal);

    // Stops this process, as `child` is stopped. The witness continues this process when somebody
    // continues or ends `child` alone.
    void stop_beside(pid_t child);

  private:
    [[noreturn]] void watch(pid_t parent);

    WitnessPage* page_ = nullptr;
    pid_t pid_ = -1;
    uint32_t settled_[NSIG] = {};
};

}  // namespace dwell

#endif  // DWELL_REPORT_CONSOLE_WITNESS_H_
