// The settings of a run, each written down once: the option of `dwell run`, the variable that
// carries it to the observed processes, and the values that it may have. The command and the
// library check a value by the same row.
#ifndef DWELL_RUNTIME_CONTRACT_SETTINGS_H_
#define DWELL_RUNTIME_CONTRACT_SETTINGS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace dwell {

// A whole number from `least` to `most`, or the word. With `most` 0 one of the words, which have
// bars between them; without words, what its reader makes of it.
struct Setting {
    const char* variable;
    const char* option;
    const char* value_name;
    uint32_t least;
    uint32_t most;
    const char* words;
    const char* help;
};

constexpr uint32_t kLeastColumns = 60;
constexpr uint32_t kMostColumns = 1000;

constexpr Setting kSettings[] = {
    {"DWELL_CALLPATH", "--callpath", "N", 1, 1000, "all",
     "Frames kept of a call path, or all (default)"},
    {"DWELL_SAMPLE", "--sample", "HZ", 1, 10'000, "off",
     "Samples in a second of each thread (100), or off"},
    {"DWELL_PEERS", "--peers", "N", 1, 1'000'000, nullptr,
     "Partners told apart at each MPI statement (256)"},
    {"DWELL_MEMORY_MIB", "--memory", "MIB", 1, 4096, nullptr,
     "Largest record file of one process (64)"},
    {"DWELL_ROW_LIMIT", "--per-rank-limit", "ROWS", 1, 1'000'000'000, nullptr,
     "Rows of figures by rank, at most (200000); above it only sums"},
    {"DWELL_PROBE_LIMIT", "--probe-limit", "TENTHS", 1, 1000, "off",
     "Cost of source probes, at most, in tenths of a percent (10), or off"},
    {"DWELL_END_TIMEOUT", "--end-timeout", "SECONDS", 1, 86'400, nullptr,
     "Longest time for the profile when the program is done (60)"},
    {"DWELL_WAIT", "--wait", "HOW", 0, 0, "full|node|off",
     "Who waited for whom: full, node (on one host, default), or off"},
    {"DWELL_OMP", "--omp", "HOW", 0, 0, "on|ompt|off",
     "OpenMP's constructs: on (default), ompt (through libomp), or off"},
    {"DWELL_IO", "--io", "HOW", 0, 0, "on|off",
     "Statements that read and write files: on, or off (default)"},
    {"DWELL_METRICS", "--metrics", "LIST", 0, 0, nullptr,
     "Events of PAPI, joined by commas, default, or off (if not given)"},
    {"DWELL_WIDTH", "--width", "COLUMNS", kLeastColumns, kMostColumns, nullptr,
     "Columns of what is said at the end (the terminal's, else 80)"},
};

// Null where there is none.
inline const Setting* find_setting(const char* variable) {
    for (const Setting& setting : kSettings) {
        if (strcmp(setting.variable, variable) == 0) return &setting;
    }
    return nullptr;
}

// Whether the text is one of the setting's words.
inline bool is_word_of(const Setting& setting, const char* text) {
    for (const char* word = setting.words; word != nullptr;) {
        const size_t length = strcspn(word, "|");
        if (strlen(text) == length && strncmp(word, text, length) == 0) return true;
        word = word[length] == '|' ? word + length + 1 : nullptr;
    }
    return false;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_SETTINGS_H_
