// Reads the DWELL_ variables, the twins of `dwell run`'s options (DESIGN 6).
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/state.h"

namespace dwell {

namespace {

constexpr int kMaxWarnings = 10;
int g_warnings = 0;

// The value of variable `name` when it is a whole number in [least, most]; else `otherwise`.
uint32_t number(const char* name, uint32_t least, uint32_t most, uint32_t otherwise,
                const char* word = nullptr, uint32_t word_value = 0) {
    const char* text = getenv(name);
    if (text == nullptr || *text == '\0') return otherwise;
    if (word != nullptr && strcmp(text, word) == 0) return word_value;
    errno = 0;
    char* end = nullptr;
    const unsigned long value = strtoul(text, &end, 10);
    if (errno == 0 && *end == '\0' && text[0] != '-' && value >= least && value <= most) {
        return static_cast<uint32_t>(value);
    }
    warn("%s=%s is not a number from %u to %u%s%s: using the default", name, text, least, most,
         word != nullptr ? " or " : "", word != nullptr ? word : "");
    return otherwise;
}

}  // namespace

void warn(const char* format, ...) {
    if (g_warnings++ >= kMaxWarnings) return;
    char line[600] = "dwell: ";
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line + 7, sizeof(line) - 8, format, arguments);
    va_end(arguments);
    strcat(line, "\n");
    const ssize_t written = write(STDERR_FILENO, line, strlen(line));
    static_cast<void>(written);
}

void read_options(Options* options) {
    options->callpath_depth = number("DWELL_CALLPATH", 1, 1000, 0, "all", 0);
    options->sample_hz = number("DWELL_SAMPLE", 1, 10000, 100, "off", 0);
    options->peer_limit = number("DWELL_PEERS", 1, 1u << 20, 256);
    options->memory_mib = number("DWELL_MEMORY_MIB", 1, 1u << 16, 64);
    options->row_limit = number("DWELL_ROW_LIMIT", 0, UINT_MAX, 0);
    options->merge_timeout_s = number("DWELL_MERGE_TIMEOUT", 1, 86400, 60);
    const char* quiet = getenv("DWELL_QUIET");
    options->quiet = quiet != nullptr && *quiet != '\0' && strcmp(quiet, "0") != 0;
    const char* out = getenv("DWELL_OUT");
    if (out != nullptr && strlen(out) < sizeof(options->out)) strcpy(options->out, out);
}

}  // namespace dwell
