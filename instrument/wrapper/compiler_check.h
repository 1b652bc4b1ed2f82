// Which compiler a command runs, and whether a plugin that was built here can be loaded into it.
#ifndef DWELL_INSTRUMENT_WRAPPER_COMPILER_CHECK_H_
#define DWELL_INSTRUMENT_WRAPPER_COMPILER_CHECK_H_

#include <optional>
#include <string>
#include <vector>

namespace dwell {

enum class Family { kNone, kGcc, kClang };

struct CompilerCheck {
    Family family = Family::kNone;  // kNone: no plugin of ours fits
    std::string reason;             // why not; empty when the compiler cannot be started
};

// `command` runs the compiler: its name, to be looked up in PATH, or path; launchers such as ccache
// may stand before it.
CompilerCheck check_compiler(const std::vector<std::string>& command);

// The same from what `compiler -v` printed.
CompilerCheck check_compiler_answer(const std::string& compiler, const std::string& answer);

// The command that an MPI compiler wrapper runs as its variables (OMPI_CC and others) are; nothing
// when the wrapper is not of Open MPI.
std::optional<std::vector<std::string>> ask_mpi_wrapper(const std::string& wrapper);

// Both outputs of a command, nothing when it could not be started (which `started` tells) or
// failed.
std::optional<std::string> output_of(const std::vector<std::string>& words,
                                     bool* started = nullptr);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_WRAPPER_COMPILER_CHECK_H_
