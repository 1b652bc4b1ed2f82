// The variables that set dwell's options, and those that seem to be meant as one of them but are
// spelt otherwise. Other names that begin with DWELL_ are left alone: sites have DWELL_ROOT and its
// like in their modules. No dependency beyond libc; no allocation. report/console/metric_names.h
// has a wider notion of likeness, for names that are asked for: here what is none of dwell's must
// pass.
//
// Signal safety: none is needed, all run at a start. Thread safety: as that of environ.
#ifndef DWELL_RUNTIME_CONTRACT_VARIABLES_H_
#define DWELL_RUNTIME_CONTRACT_VARIABLES_H_

#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "runtime/contract/settings.h"

namespace dwell {

constexpr char kVariablePrefix[] = "DWELL_";
constexpr size_t kVariablePrefixLength = sizeof(kVariablePrefix) - 1;

// Besides those of kSettings, read by libdwell.so, `dwell run` or both; the compiler wrappers have
// their own.
constexpr const char* kOtherVariables[] = {
    "DWELL_CLOCK_SHIFT_NS", "DWELL_COMMAND", "DWELL_ENABLE",     "DWELL_INJECT_NS", "DWELL_OUT",
    "DWELL_PRESERVE_ORDER", "DWELL_QUIET",   "DWELL_RECORD_DIR", "DWELL_REPORT",    "DWELL_RUN_PID",
    "DWELL_STATUS",
};

// Whether one letter more, less or other, two that changed places, or a last word left out is all
// that tells the first `length` characters of `name` from `known`.
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

// The variable that was meant by `entry`, NAME=VALUE as in environ; null where NAME is a variable
// of dwell or like none.
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

// Calls `use(entry, length of its name, meant_variable(entry))` for each that is misspelt.
template <typename Use>
void for_each_misspelt(const char* const* entries, Use use) {
    if (entries == nullptr) return;
    for (; *entries != nullptr; ++entries) {
        const char* meant = meant_variable(*entries);
        if (meant != nullptr) use(*entries, static_cast<int>(strcspn(*entries, "=")), meant);
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_CONTRACT_VARIABLES_H_
