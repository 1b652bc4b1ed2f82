// Finds out which compiler a command runs, and whether a plugin of this build can be loaded into
// it.
#ifndef DWELL_INSTRUMENT_WRAPPER_COMPILER_CHECK_H_
#define DWELL_INSTRUMENT_WRAPPER_COMPILER_CHECK_H_

#include <optional>
#include <string>
#include <vector>

namespace dwell {

enum class Family { kNone, kGcc, kClang };

struct CompilerCheck {
    Family family = Family::kNone;  // kNone: no plugin of this build fits
    std::string reason;             // why no plugin fits; empty when the compiler cannot be started
};

// `command` runs the compiler, by path or by a name in PATH; launchers such as ccache may come
// before it.
CompilerCheck check_compiler(const std::vector<std::string>& command);

// The same from the output of `compiler -v`.
CompilerCheck check_compiler_answer(const std::string& compiler, const std::string& answer);

// The command that an MPI compiler wrapper runs with the present variables (OMPI_CC and others);
// nothing when the wrapper is not Open MPI's.
std::optional<std::vector<std::string>> ask_mpi_wrapper(const std::string& wrapper);

// Both outputs of a command; nothing when it failed or could not be started (see `started`).
std::optional<std::string> output_of(const std::vector<std::string>& words,
                                     bool* started = nullptr);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_WRAPPER_COMPILER_CHECK_H_
