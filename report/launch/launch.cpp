// Inspects the program before it runs. The result is advice only: in doubt the program counts as
// observable, and the sign of life decides (runtime/contract/status_page.h).
#include "report/launch/launch.h"

#include <elf.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "report/sampling/elf_file.h"

namespace dwell {
namespace {

#if defined(__x86_64__)
constexpr int kOwnMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int kOwnMachine = EM_AARCH64;
#elif defined(__powerpc64__)
constexpr int kOwnMachine = EM_PPC64;
#elif defined(__riscv)
constexpr int kOwnMachine = EM_RISCV;
#else
constexpr int kOwnMachine = EM_NONE;
#endif

// The first word after "#!" of a script, empty when `path` is no script.
std::string script_interpreter(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::string line;
    if (!std::getline(file, line) || line.compare(0, 2, "#!") != 0) return {};
    const size_t start = line.find_first_not_of(" \t", 2);
    if (start == std::string::npos) return {};
    return line.substr(start, line.find_first_of(" \t\r", start) - start);
}

// The loader ignores LD_PRELOAD, or most of it, for a program that gains privileges.
std::string gained_privileges(const std::string& path) {
    struct stat about {};
    if (stat(path.c_str(), &about) != 0) return {};
    if ((about.st_mode & S_ISUID) != 0 && about.st_uid != geteuid()) return "setuid";
    if ((about.st_mode & S_ISGID) != 0 && about.st_gid != getegid()) return "setgid";
    if (geteuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
        return "a program with file capabilities";
    }
    return {};
}

std::string why_unobservable(const ElfFile& elf) {
    if (!elf.is_64_bit) return "a 32-bit program";
    if (kOwnMachine != EM_NONE && elf.machine != kOwnMachine) {
        return "for another kind of processor";
    }
    if (elf.interpreter.empty()) return "statically linked";
    if (elf.interpreter.find("ld-musl") != std::string::npos) {
        return "linked with another C library (musl)";
    }
    return {};
}

void look_into(const std::string& path, Target* target) {
    const std::string interpreter = script_interpreter(path);
    const std::string& file = interpreter.empty() ? path : interpreter;
    std::string reason = gained_privileges(file);
    target->sampled = reason.empty();
    target->mpi = !interpreter.empty();
    if (const std::optional<ElfFile> elf = read_elf_file(file)) {
        if (reason.empty()) reason = why_unobservable(*elf);
        for (const std::string& library : elf->needed) {
            if (library.compare(0, 6, "libmpi") == 0) target->mpi = true;
        }
    }
    if (reason.empty()) return;
    const std::string subject =
        interpreter.empty() ? path + " is " : path + " is run by " + file + ", which is ";
    target->unobservable = subject + reason;
}

bool is_executable_file(const std::string& path) {
    struct stat about {};
    return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
           access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::optional<std::string> find_program(const std::string& program) {
    if (program.find('/') != std::string::npos) {
        if (is_executable_file(program)) return program;
        return std::nullopt;
    }
    const char* variable = getenv("PATH");
    std::string_view path = variable == nullptr ? "/bin:/usr/bin" : variable;
    for (;;) {
        const size_t colon = path.find(':');
        const std::string folder(path.substr(0, colon));
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
        if (is_executable_file(candidate)) return candidate;
        if (colon == std::string_view::npos) return std::nullopt;
        path.remove_prefix(colon + 1);
    }
}

bool is_launcher(const std::string& program) {
    static constexpr std::array<std::string_view, 12> kLaunchers = {
        "mpirun", "mpiexec", "orterun", "prterun", "prun",   "srun",
        "aprun",  "jsrun",   "lrun",    "flux",    "oshrun", "shmemrun"};
    std::string name = std::filesystem::path(program).filename().string();
    name.resize(
        std::min(name.find_first_of(".-"), name.size()));  // mpirun.openmpi, mpiexec-openmpi
    for (const std::string_view launcher : kLaunchers) {
        if (name == launcher) return true;
    }
    return false;
}

Target inspect_target(const std::string& program) {
    Target target;
    const std::optional<std::string> path = find_program(program);
    if (!path) return target;
    target.path = *path;
    target.launcher = is_launcher(program);
    if (!target.launcher) look_into(*path, &target);
    return target;
}

std::string own_path() {
    std::error_code error;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
    return error ? std::string() : path.string();
}

std::optional<std::string> find_library() {
    const std::filesystem::path folder = std::filesystem::path(own_path()).parent_path();
    for (const char* relative : {DWELL_LIBDIR_FROM_BINDIR, "../runtime"}) {
        std::error_code error;
        const std::filesystem::path library =
            std::filesystem::weakly_canonical(folder / relative / "libdwell.so", error);
        if (!error && access(library.c_str(), R_OK) == 0) return library.string();
    }
    return std::nullopt;
}

std::string preload_value(const std::string& library, const std::string& preload) {
    std::string value = library;
    const auto name = std::filesystem::path(library).filename();
    size_t at = 0;
    while (at < preload.size()) {
        const size_t end = std::min(preload.find_first_of(" :", at), preload.size());
        const std::string entry = preload.substr(at, end - at);
        // Also another version of dwell: two of them would take each other for MPI.
        const bool same = std::filesystem::path(entry).filename() == name;
        if (!entry.empty() && !same) value += ":" + entry;
        at = end + 1;
    }
    return value;
}

}  // namespace dwell
