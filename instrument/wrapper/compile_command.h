// What a compiler's command line asks for, as far as dwell-cc must know it. Options are never
// changed: what is not known here passes through and does no harm.
#ifndef DWELL_INSTRUMENT_WRAPPER_COMPILE_COMMAND_H_
#define DWELL_INSTRUMENT_WRAPPER_COMPILE_COMMAND_H_

#include <string>
#include <vector>

namespace dwell {

struct CompileCommand {
    bool makes_code = false;  // neither a question to the compiler nor preprocessing alone
    bool has_source = false;  // some input is source text; otherwise it only assembles or links
    bool has_lines = false;   // debug information is wanted, with source lines
    // clang can be asked which procedures have __attribute__((no_instrument_function)): there is no
    // input that its front end does not see, and the user does not use the same answer himself.
    bool may_mark = true;
    std::string unfit;  // the option that rules probes out, empty: there is none
};

// Reads the words behind the compiler's name; response files (@file) are looked into.
CompileCommand read_compile_command(const std::vector<std::string>& words);

}  // namespace dwell

#endif  // DWELL_INSTRUMENT_WRAPPER_COMPILE_COMMAND_H_
