// Checks before compilation that the compiler can load the plugin, because a mismatch must not cost
// the user the object file. GCC accepts a plugin only if version and configuration are equal to
// those at build time, and LLVM's interface changes with each version. Asking gcc takes 0.5 ms.
// clang takes 15 ms to print its version, so the clang of the build time is recognised by size and
// time of its file.
#include "instrument/wrapper/compiler_check.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

#include "instrument/wrapper/plugin_compilers.h"

namespace dwell {
namespace {

// The rest of the line that contains `mark`, from `mark` on, without trailing blanks.
std::string line_from(const std::string& text, const char* mark) {
    const size_t start = text.find(mark);
    if (start == std::string::npos) return {};
    size_t end = std::min(text.find('\n', start), text.size());
    while (end > start && isspace(static_cast<unsigned char>(text[end - 1]))) --end;
    return text.substr(start, end - start);
}

CompilerCheck unlike(const std::string& what, const std::string& wanted) {
    if (wanted.empty()) return {Family::kNone, what + ": dwell was built without a plugin for it"};
    return {Family::kNone, what + " is not the " + wanted + " that dwell's plugin was built for"};
}

// The file that execvp would run for `compiler`, with links resolved; empty when there is none.
std::string real_path_of(const std::string& compiler) {
    char resolved[PATH_MAX];
    const auto real = [&](const std::string& path) {
        const bool good =
            access(path.c_str(), X_OK) == 0 && realpath(path.c_str(), resolved) != nullptr;
        return good ? std::string(resolved) : std::string();
    };
    if (compiler.find('/') != std::string::npos) return real(compiler);
    const char* path = getenv("PATH");
    std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string found = real((folder.empty() ? "." : folder) + "/" + compiler);
        if (!found.empty()) return found;
    }
    return {};
}

bool is_known_clang(const std::string& compiler) {
    if (kClangVersion[0] == '\0') return false;
    struct stat about {};
    return real_path_of(compiler) == kClangFile && stat(kClangFile, &about) == 0 &&
           about.st_size == kClangFile_bytes && about.st_mtime == kClangFileTime_s;
}

// The environment with messages in English.
std::vector<char*> english_environment() {
    static char english[] = "LC_ALL=C";
    std::vector<char*> all;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        if (strncmp(*variable, "LC_ALL=", 7) != 0) all.push_back(*variable);
    }
    all.push_back(english);
    all.push_back(nullptr);
    return all;
}

std::string read_to_end(int file) {
    std::string text;
    char bytes[4096];
    for (ssize_t got = 1; got != 0;) {
        got = read(file, bytes, sizeof(bytes));
        if (got < 0 && errno != EINTR) break;
        if (got > 0) text.append(bytes, static_cast<size_t>(got));
    }
    return text;
}

}  // namespace

std::optional<std::string> output_of(const std::vector<std::string>& words, bool* started) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return std::nullopt;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
    std::vector<char*> arguments;
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    pid_t child = 0;
    const int error = posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(),
                                   english_environment().data());
    posix_spawn_file_actions_destroy(&actions);
    if (started != nullptr) *started = error == 0;
    close(ends[1]);
    const std::string text = error == 0 ? read_to_end(ends[0]) : std::string();
    close(ends[0]);
    int status = 0;
    if (error != 0 || waitpid(child, &status, 0) != child || status != 0) return std::nullopt;
    return text;
}

CompilerCheck check_compiler_answer(const std::string& compiler, const std::string& answer) {
    const std::string gcc = line_from(answer, "gcc version ");
    if (!gcc.empty()) {
        if (gcc == kGccVersion && line_from(answer, "Configured with: ") == kGccConfigured) {
            return {Family::kGcc, {}};
        }
        if (gcc != kGccVersion) return unlike(gcc, kGccVersion);
        return {Family::kNone, gcc +
                                   " is configured in another way than the one that dwell's "
                                   "plugin was built for"};
    }
    const std::string clang = line_from(answer, "clang version ");
    if (clang.empty()) {
        return {Family::kNone, compiler + " is neither GCC nor clang"};
    }
    // The text before it is the vendor, with whose libraries the plugin must be compatible.
    const size_t at = answer.find("clang version ");
    const size_t start = at == 0 ? 0 : answer.rfind('\n', at - 1) + 1;
    const std::string version = answer.substr(start, at - start) + clang;
    if (version != kClangVersion) return unlike(version, kClangVersion);
    return {Family::kClang, {}};
}

CompilerCheck check_compiler(const std::vector<std::string>& command) {
    if (command.size() == 1 && is_known_clang(command.front())) return {Family::kClang, {}};
    std::vector<std::string> question = command;
    question.push_back("-v");
    bool started = false;
    const std::optional<std::string> answer = output_of(question, &started);
    if (!started) return {Family::kNone, {}};
    if (!answer) return {Family::kNone, command.back() + " -v does not tell which compiler it is"};
    return check_compiler_answer(command.back(), *answer);
}

std::optional<std::vector<std::string>> ask_mpi_wrapper(const std::string& wrapper) {
    const std::optional<std::string> answer = output_of({wrapper, "--showme:command"});
    if (!answer) return std::nullopt;
    std::istringstream words(*answer);
    std::vector<std::string> command;
    for (std::string word; words >> word;) command.push_back(word);
    if (command.empty()) return std::nullopt;
    return command;
}

}  // namespace dwell
