// Inspects the descendants of a program now and then while none of them is observed, to explain
// afterwards which of them the library did not reach, and why.
#ifndef DWELL_REPORT_LAUNCH_BELOW_H_
#define DWELL_REPORT_LAUNCH_BELOW_H_

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

namespace dwell {

class Below {
  public:
    // Inspects `child` and its descendants; costs some system calls for each.
    void look(pid_t child);
    // Call when the child has ended and is not reaped yet: the kernel still has its name.
    void look_at_end(pid_t child);

    // "PROGRAM ran unobserved: LD_PRELOAD was replaced by ...", or empty. The program of `command`
    // may have become another one by exec; `loaded` is the last of these programs that had the
    // library, and that did not end normally with it.
    std::string explain(const std::vector<std::string>& command, const std::string& loaded) const;

  private:
    struct Process {
        std::string path;     // of its program
        std::string preload;  // LD_PRELOAD at its start
        bool has_library = false;
        bool has_mpi = false;
    };
    void look_at(pid_t pid);

    std::map<pid_t, Process> seen_;
    std::string last_name_;  // of the child: at most 15 bytes
};

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_BELOW_H_
