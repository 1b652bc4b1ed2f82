// Reads /proc to explain why processes of a program were not observed; see below.h.
#include "report/launch/below.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "report/console/output.h"
#include "report/launch/launch.h"
#include "report/results/crash_recovery.h"

namespace dwell {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostProcesses = 64;  // for one look

std::string proc(pid_t pid, const char* what) {
    return "/proc/" + std::to_string(pid) + "/" + what;
}

std::vector<pid_t> children_of(pid_t pid) {
    std::ifstream file(proc(pid, "task/") + std::to_string(pid) + "/children");
    std::vector<pid_t> found;
    for (pid_t child = 0; file >> child;) found.push_back(child);
    return found;
}

}  // namespace

void Below::look(pid_t child) {
    std::vector<pid_t> list = {child};
    for (size_t i = 0; i < list.size() && list.size() < kMostProcesses; ++i) {
        const std::vector<pid_t> more = children_of(list[i]);
        list.insert(list.end(), more.begin(), more.end());
    }
    list.resize(std::min(list.size(), kMostProcesses));
    for (const pid_t pid : list) look_at(pid);
}

void Below::look_at(pid_t pid) {
    Process process;
    std::error_code error;
    process.path = fs::read_symlink(proc(pid, "exe"), error).string();
    if (error || process.path == own_path()) return;  // ended, of another user, or before its exec
    const auto variables = read_whole_file(proc(pid, "environ"));
    const auto maps = read_whole_file(proc(pid, "maps"));
    if (!variables || !maps) return;
    std::istringstream stream(*variables);
    for (std::string entry; std::getline(stream, entry, '\0');) {
        if (entry.starts_with("LD_PRELOAD=")) process.preload = entry.substr(11);
    }
    process.has_library = maps->find("/libdwell.so") != std::string::npos;
    process.has_mpi = maps->find("/libmpi.so") != std::string::npos;
    // A library that is not mapped yet may come: the process was seen before the loader had
    // finished.
    if (maps->find("/libc.so") == std::string::npos && maps->find("[heap]") == std::string::npos) {
        return;
    }
    seen_[pid] = process;
}

void Below::look_at_end(pid_t child) {
    std::ifstream file(proc(child, "comm"));
    std::getline(file, last_name_);
}

std::string Below::explain(const std::vector<std::string>& command,
                           const std::string& loaded) const {
    const Process* worst = nullptr;
    for (const auto& [pid, process] : seen_) {
        if (process.has_library) continue;
        if (worst == nullptr || process.has_mpi > worst->has_mpi) worst = &process;
    }
    Process last;
    if (worst == nullptr && !loaded.empty() && !last_name_.empty() && last_name_ != loaded) {
        // The process ended before it could be inspected.
        const auto word = std::find_if(command.begin(), command.end(), [](const std::string& text) {
            return text.starts_with("LD_PRELOAD=");
        });
        last.path = last_name_;
        worst = &last;
        if (word == command.end()) {
            return command.front() + " went on as " + last_name_ +
                   " (exec), in which libdwell.so gave no sign of life: LD_PRELOAD was replaced or "
                   "cleared on the way, or it is statically linked; put dwell run right before it";
        }
        last.preload = word->substr(11);
    }
    if (worst == nullptr) return {};
    if (worst->preload.find("libdwell.so") != std::string::npos) {
        const Target target = inspect_target(worst->path);
        return target.unobservable.empty() ? "" : target.unobservable + ": it is not observed";
    }
    const bool cleared = worst->preload.empty();
    return worst->path + (worst->has_mpi ? ", which uses MPI," : "") + " ran unobserved: between " +
           command.front() + " and it LD_PRELOAD was " +
           (cleared ? "cleared" : "replaced by " + worst->preload) +
           "; put dwell run behind what does that: ... dwell run " + word_to_type(worst->path);
}

}  // namespace dwell
