// Looks now and then at the processes below a program while none of them is observed, to tell
// afterwards why: which of them dwell's library did not reach, and what stood in its way.
#ifndef DWELL_REPORT_LAUNCH_BELOW_H_
#define DWELL_REPORT_LAUNCH_BELOW_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace dwell {

class Below {
  public:
    // `child` and what descends from it; costs some system calls for each.
    void look(pid_t child);
    // The child has ended and is not reaped yet: the kernel still knows its name.
    void look_at_end(pid_t child);

    // "PROGRAM ran unobserved: LD_PRELOAD was replaced by ...", or empty. The program of `command`
    // may have gone on as another one (exec); `loaded` is the name of that of them which last had
    // the library, and did not end as one that has it.
    std::string explain(const std::vector<std::string>& command, const std::string& loaded) const;

  private:
    struct Process {
        std::string path;     // of its program
        std::string preload;  // LD_PRELOAD as it was started
        bool has_library = false;
        bool has_mpi = false;
    };
    void look_at(pid_t pid);

    std::map<pid_t, Process> seen_;
    std::string last_name_;  // of the child: 15 bytes at most
};

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_BELOW_H_
