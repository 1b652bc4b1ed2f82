// The facts about a compiler's command line that dwell-cc needs. Options are never changed, and
// unknown options pass through.
#ifndef DWELL_INSTRUMENT_WRAPPER_COMPILE_COMMAND_H_
#define DWELL_INSTRUMENT_WRAPPER_COMPILE_COMMAND_H_

#include <string>
#include <vector>

namespace dwell {

struct CompileCommand {
    bool makes_code = false;  // neither a query to the compiler nor preprocessing alone
    bool has_source = false;  // some input is source text; otherwise the command only assembles or
                              // links
    bool has_lines = false;   // debug information with source lines is requested
    // clang can be asked which procedures have __attribute__((no_instrument_function)): its front
    // end sees all inputs, and the user does not use the same option.
    bool may_mark = true;
    std::string unfit;  // the option that excludes probes, empty if there is none
};

// Reads the words after the compiler's name, including response files (@file).
CompileCommand read_compile_command(const std::vector<std::string>& words);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_WRAPPER_COMPILE_COMMAND_H_
