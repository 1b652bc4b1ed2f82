// Compiles the sources under fixtures/ while a test runs, and finds reference values in them: lines
// by their marking comment, addresses in objdump's disassembly. Neither uses dwell's own reader of
// debug information.
#ifndef DWELL_TESTS_UNIT_FIXTURE_BINARY_H_
#define DWELL_TESTS_UNIT_FIXTURE_BINARY_H_

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace dwell {

// A directory that is removed with the object.
class ScratchFolder {
  public:
    ScratchFolder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "dwell-XXXXXX").string();
        path_ = mkdtemp(pattern.data());
    }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::string operator/(const std::string& name) const { return path_ + "/" + name; }

  private:
    std::string path_;
};

inline std::string fixture(const std::string& name) { return DWELL_FIXTURES "/" + name; }

inline std::string output_of(const std::string& command) {
    std::string text;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return text;
    char block[4096];
    for (size_t got = 0; (got = fread(block, 1, sizeof block, pipe)) > 0;) text.append(block, got);
    if (pclose(pipe) != 0) text = "failed: " + command + "\n" + text;
    return text;
}

inline bool have_command(const std::string& name) {
    return !output_of("command -v " + name).starts_with("failed");
}

// Empty, or an error.
inline std::string run(const std::string& command) {
    const std::string text = output_of(command);
    return text.starts_with("failed") ? text : std::string();
}

// The line whose comment is exactly `mark`; 0 when no line or several have it.
inline int marked_line(const std::string& file, const std::string& mark) {
    std::ifstream source(file);
    int found = 0;
    int number = 0;
    for (std::string line; std::getline(source, line);) {
        ++number;
        for (const std::string comment : {"// ", "! "}) {
            if (line.ends_with(comment + mark)) {
                if (found != 0) return 0;
                found = number;
            }
        }
    }
    return found;
}

// objdump's output for a function: its first address, and its calls.
class Disassembly {
  public:
    Disassembly(const std::string& file, const std::string& symbol) {
        std::istringstream text(output_of("objdump -d --no-show-raw-insn '" + file + "'"));
        bool inside = false;
        bool after_call = false;
        for (std::string line; std::getline(text, line);) {
            if (line.ends_with(">:")) {
                inside = line.find("<" + symbol + ">:") != std::string::npos;
                if (inside) start_ = strtoull(line.c_str(), nullptr, 16);
                continue;
            }
            const size_t colon = line.find(":\t");
            if (!inside || colon == std::string::npos) continue;
            const uint64_t address = strtoull(line.c_str(), nullptr, 16);
            if (after_call) calls_.back().return_address = address;
            after_call = line.compare(colon + 2, 4, "call") == 0;
            if (after_call) calls_.push_back({line.substr(colon + 2), address});
        }
    }

    uint64_t start() const { return start_; }
    // Return address of the n-th call to `callee`; 0 when there is none.
    uint64_t return_from(const std::string& callee, int n = 0) const {
        for (const Call& call : calls_) {
            const bool same = callee == "*"
                                  ? call.text.find('*') != std::string::npos
                                  : call.text.find("<" + callee + ">") != std::string::npos ||
                                        call.text.find("<" + callee + "@") != std::string::npos;
            if (same && n-- == 0) return call.return_address;
        }
        return 0;
    }

  private:
    struct Call {
        std::string text;
        uint64_t return_address;
    };
    uint64_t start_ = 0;
    std::vector<Call> calls_;
};

// The build-id of `file` as bytes, by readelf; empty when it has none.
inline std::string build_id_of(const std::string& file) {
    const std::string text = output_of("readelf -n '" + file + "'");
    const std::string mark = "Build ID: ";
    const size_t at = text.find(mark);
    std::string bytes;
    if (at == std::string::npos) return bytes;
    for (size_t i = at + mark.size(); i + 1 < text.size() && isxdigit(text[i]); i += 2) {
        bytes += static_cast<char>(strtoul(text.substr(i, 2).c_str(), nullptr, 16));
    }
    return bytes;
}

inline std::string hex(uint64_t number) {
    char text[24];
    snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(number));
    return text;
}

}  // namespace dwell

#endif  // DWELL_TESTS_UNIT_FIXTURE_BINARY_H_
