// Names a program whose executable is only an interpreter by its script.
#ifndef DWELL_SUMMARIZE_MODEL_SCRIPT_NAME_H_
#define DWELL_SUMMARIZE_MODEL_SCRIPT_NAME_H_

#include <sstream>
#include <string>
#include <string_view>

#include "summarize/model/source_paths.h"

namespace dwell {

// The script or module that Python was started with (its arguments joined by spaces). Empty for
// other programs, and without a script.
inline std::string script_name(std::string_view program, const std::string& command) {
    if (!base_name(program).starts_with("python")) return {};
    std::istringstream words(command);
    std::string word;
    words >> word;  // the interpreter
    while (words >> word) {
        if (word.starts_with("-c") || word == "-") return {};
        if (word.starts_with("-m")) {
            word.erase(0, 2);
            if (word.empty()) words >> word;
            if (word != "mpi4py") return word;  // mpi4py itself runs the script that follows
        } else if (word == "-X" || word == "-W") {
            words >> word;
        } else if (word[0] != '-') {
            return std::string(base_name(word));
        }
    }
    return {};
}

// The name of the program for people.
inline std::string shown_program(std::string_view program, const std::string& command) {
    const std::string script = script_name(program, command);
    return script.empty() ? std::string(base_name(program)) : script;
}

}  // namespace dwell

#endif  // DWELL_SUMMARIZE_MODEL_SCRIPT_NAME_H_
