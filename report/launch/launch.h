// What `dwell run` finds out before it starts a program: where the program and libdwell.so are,
// whether the library can be loaded into it, and the environment that does it.
#ifndef DWELL_REPORT_LAUNCH_LAUNCH_H_
#define DWELL_REPORT_LAUNCH_LAUNCH_H_

#include <optional>
#include <string>

namespace dwell {

// The file that execvp would take for `program`, nothing when there is none.
std::optional<std::string> find_program(const std::string& program);

// mpirun, srun and their kind: they start the processes that are to be observed.
bool is_launcher(const std::string& program);

struct Target {
    std::string path;  // empty: not found, execvp will say so
    bool launcher = false;
    bool mpi = false;          // linked with MPI, or a script, which may run what is
    std::string unobservable;  // why libdwell.so cannot be loaded into it; empty: it can
    bool sampled = true;       // the kernel lets others sample it
};
Target inspect_target(const std::string& program);

// libdwell.so of this installation or build tree, nothing when it is missing.
std::optional<std::string> find_library();

// The full path of this command.
std::string own_path();

// `preload` with `library` in front, once. Entries are separated by spaces or colons.
std::string preload_value(const std::string& library, const std::string& preload);

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_LAUNCH_H_
