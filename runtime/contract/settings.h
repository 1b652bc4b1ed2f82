// The settings of a run: the option of `dwell run`, the environment variable that passes it to the
// observed processes, and its permitted values; the command and the library check values by the
// same row. Also finds misspelt variables. Other names that begin with DWELL_ are ignored, because
// sites define DWELL_ROOT and the like in their modules. report/console/metric_names.h accepts less
// similar names, because those were requested by the user.
//
// No dependency beyond libc; no allocation. Called at a start only, so not for signal handlers.
#ifndef DWELL_RUNTIME_CONTRACT_SETTINGS_H_
#define DWELL_RUNTIME_CONTRACT_SETTINGS_H_

#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace dwell {

// A whole number from `least` to `most`, or one word. With `most` 0 one of the words, separated by
// bars; without words, any text that its reader accepts.
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
    {"DWELL_WATCHDOG", "--watchdog", "SECONDS", 1, 86'400, "off",
     "Says where every rank is when nothing moves for so long, or off (default)"},
    {"DWELL_LIVE", "--live", "SECONDS", 1, 86'400, "off",
     "Writes where the job is into OUT/live again and again, or off (default)"},
    {"DWELL_WAIT", "--wait", "HOW", 0, 0, "full|node|off",
     "Who waited for whom: full, node (on one host, default), or off"},
    {"DWELL_OMP", "--omp", "HOW", 0, 0, "on|ompt|off",
     "OpenMP's constructs: on (default), ompt (through libomp), or off"},
    {"DWELL_IO", "--io", "HOW", 0, 0, "on|off",
     "Statements that read and write files: on, or off (default)"},
    {"DWELL_EVENTS", "--events", "WHAT", 0, 0, nullptr,
     "Writes full events: all, some kinds, the last:N of each thread, or off (default)"},
    {"DWELL_EVENTS_SITES", "--events-sites", "FILE", 0, 0, nullptr,
     "Enabling profile that says which sites have events (all)"},
    {"DWELL_EVENTS_RANKS", "--events-ranks", "LIST", 0, 0, nullptr,
     "Ranks with events, such as 0-3,8 (all)"},
    {"DWELL_EVENTS_WINDOW", "--events-window", "WHEN", 0, 0, nullptr,
     "When events are written: FROM-TO in seconds, off until they are switched on, in a "
     "phase:NAME or block:NAME, or from entry:PLACE:N on to its end"},
    {"DWELL_EVENTS_RATE", "--events-rate", "HIGH[:LOW]", 0, 0, nullptr,
     "Places with more events a second get statistics, then counts instead (no limit)"},
    {"DWELL_EVENTS_LONGER", "--events-longer", "LIMIT[:SITES]", 0, 0, nullptr,
     "Only of instances of sites that take longer than LIMIT: 10ms, or 10ms:exchange"},
    {"DWELL_EVENTS_FILTER", "--events-filter", "FILE.so[:ARGUMENTS]", 0, 0, nullptr,
     "Functions that drop, change and add events: a library made with dwell_events.h"},
    {"DWELL_EVENTS_RING", "--events-ring", "KIB", 64, 1'048'576, nullptr,
     "Space for events of one thread that were not read yet (1024)"},
    {"DWELL_EVENTS_FULL", "--events-full", "HOW", 0, 0, "drop|stop|overwrite|flush",
     "What a thread does when that is full: drop (default), stop, overwrite or flush"},
    {"DWELL_METRICS", "--metrics", "LIST", 0, 0, nullptr,
     "Events of PAPI, joined by commas, default, or off (if not given)"},
    {"DWELL_WIDTH", "--width", "COLUMNS", kLeastColumns, kMostColumns, nullptr,
     "Columns of what is said at the end (the terminal's, else 80)"},
};

// The setting of a variable; null where there is none.
inline const Setting* find_setting(const char* variable) {
    for (const Setting& setting : kSettings) {
        if (strcmp(setting.variable, variable) == 0) return &setting;
    }
    return nullptr;
}

// The number of the text among words that are separated by bars, from 0; -1: none of them.
inline int number_of_word(const char* words, const char* text) {
    for (int number = 0; words != nullptr; ++number) {
        const size_t length = strcspn(words, "|");
        if (strlen(text) == length && strncmp(words, text, length) == 0) return number;
        words = words[length] == '|' ? words + length + 1 : nullptr;
    }
    return -1;
}

constexpr char kVariablePrefix[] = "DWELL_";
constexpr size_t kVariablePrefixLength = sizeof(kVariablePrefix) - 1;

// Further variables read by libdwell.so, `dwell run` or both; the compiler wrappers have their own.
constexpr const char* kOtherVariables[] = {
    "DWELL_CLOCK_SHIFT_NS", "DWELL_COMMAND", "DWELL_ENABLE",     "DWELL_INJECT_NS", "DWELL_OUT",
    "DWELL_PRESERVE_ORDER", "DWELL_QUIET",   "DWELL_RECORD_DIR", "DWELL_REPORT",    "DWELL_RUN_PID",
    "DWELL_STATUS",         "DWELL_TALLY",
};

// Whether the first `length` characters of `name` differ from `known` only by one letter added,
// missing or replaced, two letters exchanged, or a missing last word.
inline bool is_nearly(const char* name, size_t length, const char* known) {
    const size_t whole = strlen(known);
    size_t head = 0;
    while (head < length && head < whole && name[head] == known[head]) ++head;
    if (head == length && known[head] == '_') return true;
    size_t tail = 0;
    while (tail < length - head && tail < whole - head &&
           name[length - 1 - tail] == known[whole - 1 - tail]) {
        ++tail;
    }
    const size_t ours = length - head - tail;
    const size_t theirs = whole - head - tail;
    if (ours == 2 && theirs == 2) {
        return name[head] == known[head + 1] && name[head + 1] == known[head];
    }
    return ours <= 1 && theirs <= 1;
}

// The variable probably meant by `entry` (NAME=VALUE as in environ); null where NAME is a variable
// of dwell or similar to none.
inline const char* meant_variable(const char* entry) {
    if (strncmp(entry, kVariablePrefix, kVariablePrefixLength) != 0) return nullptr;
    const char* equals = strchr(entry, '=');
    const size_t length = equals == nullptr ? strlen(entry) : static_cast<size_t>(equals - entry);
    const char* meant = nullptr;
    bool is_one = false;
    const auto compare = [&](const char* known) {
        is_one = is_one || (strlen(known) == length && strncmp(entry, known, length) == 0);
        if (is_nearly(entry, length, known)) meant = known;
    };
    for (const Setting& setting : kSettings) compare(setting.variable);
    for (const char* known : kOtherVariables) compare(known);
    return is_one ? nullptr : meant;
}

// Calls `use(entry, length of its name, meant_variable(entry))` for each misspelt variable.
template <typename Use>
void for_each_misspelt(const char* const* entries, Use use) {
    if (entries == nullptr) return;
    for (; *entries != nullptr; ++entries) {
        const char* meant = meant_variable(*entries);
        if (meant != nullptr) use(*entries, static_cast<int>(strcspn(*entries, "=")), meant);
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_SETTINGS_H_
