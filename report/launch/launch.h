// Preparations of `dwell run`: finds the program and libdwell.so, checks whether the library can be
// loaded into the program, and builds the environment that loads it.
#ifndef DWELL_REPORT_LAUNCH_LAUNCH_H_
#define DWELL_REPORT_LAUNCH_LAUNCH_H_

#include <optional>
#include <string>

namespace dwell {

// The file that execvp would run for `program`, or nothing.
std::optional<std::string> find_program(const std::string& program);

// mpirun, srun and the like: they start the processes to be observed.
bool is_launcher(const std::string& program);

struct Target {
    std::string path;  // empty: not found, execvp will report it
    bool launcher = false;
    bool mpi = false;          // linked with MPI, or a script, which may run an MPI program
    std::string unobservable;  // why libdwell.so cannot be loaded into it; empty: it can
    bool sampled = true;       // the kernel allows other processes to sample it
};
Target inspect_target(const std::string& program);

// libdwell.so of this installation or build tree, nothing when it is missing.
std::optional<std::string> find_library();

// The full path of this command.
std::string own_path();

// `preload` with `library` in front, and without others of its name. Entries are separated by
// spaces or colons.
std::string preload_value(const std::string& library, const std::string& preload);

}  // namespace dwell

#endif  // DWELL_REPORT_LAUNCH_LAUNCH_H_
