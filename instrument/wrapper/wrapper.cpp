// dwell-cc: the compiler wrapper behind the names dwell-mpicc, dwell-gcc and so on (DESIGN 6). It
// becomes the plain compiler, with the options that load dwell's plugin before the user's options.
// If the plugin cannot be loaded, the program is compiled without probes, after one line on stderr.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "instrument/wrapper/compile_command.h"
#include "instrument/wrapper/compiler_check.h"
#include "runtime/contract/enabling_profile.h"
#include "runtime/contract/visible_text.h"

namespace dwell {
namespace {

constexpr std::string_view kPrefix = "dwell-";
constexpr std::string_view kCompilers[] = {"mpicc", "mpicxx",   "mpifort", "gcc",
                                           "g++",   "gfortran", "clang",   "clang++"};

// The option sets the variable, for a wrapper inside this one and for clang's plugin.
constexpr const char* kEnableVariable = "DWELL_CC_ENABLE";
constexpr const char* kAllVariable = "DWELL_CC_ALL";
constexpr const char* kVerboseVariable = "DWELL_CC_VERBOSE";
constexpr const char* kStripDebugVariable = "DWELL_CC_STRIP_DEBUG";  // these two are for clang's
                                                                     // plugin
constexpr const char* kMarkedVariable = "DWELL_CC_MARKED";           // alone

constexpr const char* kHelp =
    "Usage: dwell-mpicc|dwell-mpicxx|dwell-mpifort [--dwell-OPTION]... COMPILER'S ARGUMENTS\n"
    "       dwell-gcc|dwell-g++|dwell-gfortran|dwell-clang|dwell-clang++ likewise\n"
    "       dwell-cc [--dwell-OPTION]... COMPILER COMPILER'S ARGUMENTS\n"
    "\n"
    "Runs the compiler with dwell's plugin, which puts probes into the program.\n"
    "\n"
    "  --dwell-enable=FILE   which sites get probes (dwell-enable(5)); DWELL_CC_ENABLE=FILE\n"
    "  --dwell-all           small procedures and innermost loops too; DWELL_CC_ALL=1\n"
    "  --dwell-verbose       say what is done; DWELL_CC_VERBOSE=1\n"
    "  --dwell-show          print the compiler's command and do not run it\n"
    "  --dwell-help          this text\n";

struct Invocation {
    std::string name;      // the name that the user called, for messages
    std::string compiler;  // the compiler to run
    std::vector<std::string> arguments;
    bool show = false;
};

void say(const Invocation& invocation, const std::string& text) {
    const std::string line = invocation.name + ": " + text;
    std::string shown(kVisibleBytes * (line.size() + 2), '\0');
    copy_visible(shown.data(), shown.size(), line.c_str());
    fprintf(stderr, "%s\n", shown.c_str());
}

[[noreturn]] void refuse(const Invocation& invocation, const std::string& text) {
    say(invocation, text);
    exit(2);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

bool is_set(const char* variable) {
    const char* value = getenv(variable);
    return value != nullptr && *value != '\0' && strcmp(value, "0") != 0;
}

// dwell's own options set their variables and are removed from the arguments.
void take_own_option(const std::string& word, Invocation* invocation) {
    constexpr std::string_view kEnable = "--dwell-enable=";
    if (word.starts_with(kEnable) && word.size() > kEnable.size()) {
        setenv(kEnableVariable, word.c_str() + kEnable.size(), 1);
    } else if (word == "--dwell-enable" || word == kEnable) {
        refuse(*invocation, "--dwell-enable wants a file: --dwell-enable=FILE");
    } else if (word == "--dwell-all") {
        setenv(kAllVariable, "1", 1);
    } else if (word == "--dwell-verbose") {
        setenv(kVerboseVariable, "1", 1);
    } else if (word == "--dwell-show") {
        invocation->show = true;
    } else if (word == "--dwell-help") {
        fputs(kHelp, stdout);
        exit(0);
    } else {
        refuse(*invocation, word + " is no option of dwell's (--dwell-help shows them)");
    }
}

Invocation read_invocation(int count, char** words) {
    Invocation invocation;
    invocation.name = base_name(words[0]);
    for (int i = 1; i < count; ++i) {
        if (strncmp(words[i], "--dwell-", 8) == 0) {
            take_own_option(words[i], &invocation);
        } else {
            invocation.arguments.emplace_back(words[i]);
        }
    }
    for (const std::string_view compiler : kCompilers) {
        if (invocation.name == std::string(kPrefix) + std::string(compiler)) {
            invocation.compiler = compiler;
            return invocation;
        }
    }
    if (invocation.arguments.empty() || invocation.arguments[0][0] == '-') {
        refuse(invocation, "no compiler is named (--dwell-help shows how)");
    }
    invocation.compiler = invocation.arguments[0];
    invocation.arguments.erase(invocation.arguments.begin());
    return invocation;
}

// A path for a shell: quoted unless it contains only letters, digits and a few signs.
std::string quoted(const std::string& word) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%^";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string command_line(const Invocation& invocation) {
    std::string line;
    for (const char* variable :
         {kEnableVariable, kAllVariable, kVerboseVariable, kStripDebugVariable, kMarkedVariable}) {
        const char* value = getenv(variable);
        if (value != nullptr) line += std::string(variable) + "=" + quoted(value) + " ";
    }
    line += quoted(invocation.compiler);
    for (const std::string& word : invocation.arguments) line += " " + quoted(word);
    return line;
}

[[noreturn]] void become_compiler(const Invocation& invocation) {
    if (invocation.show) {
        puts(command_line(invocation).c_str());
        exit(0);
    }
    std::vector<char*> words = {const_cast<char*>(invocation.compiler.c_str())};
    for (const std::string& word : invocation.arguments) {
        words.push_back(const_cast<char*>(word.c_str()));
    }
    words.push_back(nullptr);
    execvp(words[0], words.data());
    const int error = errno;
    say(invocation, invocation.compiler + ": " + (error == ENOENT ? "not found" : strerror(error)));
    exit(error == ENOENT ? 127 : 126);
}

// The command that runs the compiler: for an MPI wrapper the command behind it, otherwise the
// compiler itself.
std::optional<std::vector<std::string>> compiler_command(const Invocation& invocation) {
    if (base_name(invocation.compiler).starts_with("mpi")) {
        return ask_mpi_wrapper(invocation.compiler);
    }
    return std::vector<std::string>{invocation.compiler};
}

// Whether one of `words` is a wrapper of dwell's, which adds the options itself.
bool holds_wrapper(const Invocation& invocation, const std::vector<std::string>& words) {
    bool found = false;
    for (const std::string& word : words) {
        if (!base_name(word).starts_with(kPrefix)) continue;
        if (base_name(word) == invocation.name) {
            refuse(invocation,
                   word +
                       " would call itself: name the compiler behind it, here or in OMPI_CC, "
                       "OMPI_CXX and OMPI_FC");
        }
        found = true;
    }
    return found;
}

// Beside this program in a build tree, else at the installed place; empty when missing.
std::string find_plugin(const char* file) {
    char own[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", own, sizeof(own));
    if (length <= 0 || length == sizeof(own)) return {};
    std::string folder(own, static_cast<size_t>(length));
    folder.resize(folder.rfind('/') + 1);
    for (const std::string& path :
         {folder + file, folder + DWELL_LIBDIR_FROM_BINDIR + "/dwell/" + file}) {
        char real[PATH_MAX];
        if (realpath(path.c_str(), real) != nullptr) return real;
    }
    return {};
}

// The absolute path of a valid enabling profile; empty without one.
std::string checked_profile(const Invocation& invocation) {
    const char* given = getenv(kEnableVariable);
    if (given == nullptr || *given == '\0') return {};
    EnablingProfile profile;
    if (!profile.read(given)) refuse(invocation, profile.error());
    char real[PATH_MAX];
    const std::string path = realpath(given, real) != nullptr ? real : given;
    setenv(kEnableVariable, path.c_str(), 1);
    return path;
}

std::vector<std::string> gcc_options(const std::string& plugin, const std::string& profile) {
    const std::string argument = "-fplugin-arg-dwell_gcc-";
    std::vector<std::string> options = {"-fplugin=" + plugin};
    if (!profile.empty()) options.push_back(argument + "enable=" + profile);
    if (is_set(kAllVariable)) options.push_back(argument + "all");
    if (is_set(kVerboseVariable)) options.push_back(argument + "verbose");
    return options;
}

// clang warns of unused options, as in assembling. It keeps lines only with -g, and marks
// procedures that must not be instrumented only if calls in every procedure are requested. Both are
// requested for the plugin, which removes the results again.
std::vector<std::string> clang_options(const std::string& plugin, const CompileCommand& command) {
    unsetenv(kStripDebugVariable);
    unsetenv(kMarkedVariable);
    if (!command.has_source) return {};
    std::vector<std::string> options = {"-fpass-plugin=" + plugin};
    if (!command.has_lines) {
        options.insert(options.end(), {"-Xclang", "-debug-info-kind=line-tables-only"});
        setenv(kStripDebugVariable, "1", 1);
    }
    if (command.may_mark) {
        options.insert(options.end(), {"-Xclang", "-finstrument-functions-after-inlining"});
        setenv(kMarkedVariable, "1", 1);
    }
    return options;
}

void append_to(const char* variable, const char* separator, const std::string& word) {
    const char* given = getenv(variable);
    const bool empty = given == nullptr || *given == '\0';
    setenv(variable, (empty ? word : given + (separator + word)).c_str(), 1);
}

// The compiler may be ccache by another name, which knows neither the profile's contents nor the
// variables of clang's plugin: ccache is told to cache results with different ones separately.
void tell_ccache(const std::string& profile) {
    if (!profile.empty()) append_to("CCACHE_EXTRAFILES", ":", profile);
    std::string settings = "dwell";
    for (const char* variable :
         {kEnableVariable, kAllVariable, kVerboseVariable, kStripDebugVariable, kMarkedVariable}) {
        const char* value = getenv(variable);
        settings += std::string("|") + (value != nullptr ? value : "");
    }
    append_to("CCACHE_NAMESPACE", "|", settings);
}

// Adds the options that insert probes, or prints why there will be none.
void add_plugin(Invocation* invocation) {
    const CompileCommand command = read_compile_command(invocation->arguments);
    if (!command.makes_code) return;
    const std::string profile = checked_profile(*invocation);
    const auto without_probes = [&](const std::string& reason) {
        const bool says_why = command.has_source && !reason.empty();
        if (says_why) say(*invocation, reason + ": compiled without probes");
    };
    const auto compiler = compiler_command(*invocation);
    if (!compiler) {
        return without_probes(invocation->compiler + " is no compiler wrapper of Open MPI");
    }
    if (holds_wrapper(*invocation, *compiler)) return;
    for (const std::string& unfit : {command.unfit, read_compile_command(*compiler).unfit}) {
        if (!unfit.empty()) return without_probes("no probes for code with " + unfit);
    }
    const CompilerCheck check = check_compiler(*compiler);
    if (check.family == Family::kNone) return without_probes(check.reason);
    const char* file = check.family == Family::kGcc ? "dwell_gcc.so" : "dwell_llvm.so";
    const std::string plugin = find_plugin(file);
    if (plugin.empty()) return without_probes(std::string(file) + " is missing");
    const std::vector<std::string> options = check.family == Family::kGcc
                                                 ? gcc_options(plugin, profile)
                                                 : clang_options(plugin, command);
    tell_ccache(profile);
    invocation->arguments.insert(invocation->arguments.begin(), options.begin(), options.end());
}

}  // namespace
}  // namespace dwell

int main(int argc, char** argv) {
    if (argc == 0) return 2;
    dwell::Invocation invocation = dwell::read_invocation(argc, argv);
    dwell::add_plugin(&invocation);
    if (dwell::is_set(dwell::kVerboseVariable) && !invocation.show) {
        dwell::say(invocation, dwell::command_line(invocation));
    }
    dwell::become_compiler(invocation);
}
