// Reads the environment variables DWELL_..., the counterparts of `dwell run`'s options (DESIGN 6).
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/contract/raw_io.h"
#include "runtime/contract/settings.h"
#include "runtime/contract/visible_text.h"
#include "runtime/process/event_settings.h"
#include "runtime/process/file_limit.h"
#include "runtime/process/injection.h"
#include "runtime/process/state.h"

namespace dwell {

StatusPage* g_status_page = nullptr;

namespace {

constexpr int kMaxWarnings = 10;
int g_warnings = 0;
struct {
    bool open;
    dev_t device;
    ino_t inode;
} g_standard_error{};

constexpr size_t kLongestLine = 1200;

void put_line(const char* text) {
    if (!is_standard_error() || g_warnings++ >= kMaxWarnings) return;
    const ReentryGuard busy;  // dwell's own write is not recorded as I/O
    char line[kLongestLine] = "dwell: ";
    copy_visible(line + 7, sizeof(line) - 8, text);
    strcat(line, "\n");
    const NoSizeSignal held;
    const ssize_t written = raw_write(STDERR_FILENO, line, strlen(line));
    static_cast<void>(written);
}

// Reads a setting's variable into `value`; 0 stands for the setting's word. An unset or empty
// variable changes nothing. False, after a line on stderr, for an invalid value.
bool read_number(const char* name, uint32_t* value) {
    const Setting* const setting = find_setting(name);
    const char* const text = getenv(name);
    if (setting == nullptr || text == nullptr || *text == '\0') return true;
    if (number_of_word(setting->words, text) >= 0) {
        *value = 0;
        return true;
    }
    errno = 0;
    char* end = nullptr;
    const unsigned long number = strtoul(text, &end, 10);
    if (errno == 0 && *end == '\0' && text[0] >= '0' && text[0] <= '9' &&
        number >= setting->least && number <= setting->most) {
        *value = static_cast<uint32_t>(number);
        return true;
    }
    const char* const word = setting->words;
    warn_of_job("%s=%s is not a number from %u to %u%s%s: the program runs unobserved", name, text,
                setting->least, setting->most, word != nullptr ? " or " : "",
                word != nullptr ? word : "");
    return false;
}

// Likewise one of the words, which stand for the values from 0 on.
template <typename Value>
bool read_word(const char* name, const char* words, Value* value) {
    const char* const text = getenv(name);
    if (text == nullptr || *text == '\0') return true;
    const int number = number_of_word(words, text);
    if (number >= 0) {
        *value = static_cast<Value>(number);
        return true;
    }
    char all[60] = {};
    for (; *words != '\0'; ++words) {
        if (*words == '|') strcat(all, ", ");
        if (*words != '|') strncat(all, words, 1);
    }
    warn_of_job("%s=%.60s is none of %s: the program runs unobserved", name, text, all);
    return false;
}
template <typename Value>
bool read_word(const char* name, Value* value) {
    return read_word(name, find_setting(name)->words, value);
}
bool read_flag(const char* name, bool* flag) { return read_word(name, "0|1", flag); }

bool read_metrics(char* metrics, size_t size) {
    const char* text = getenv("DWELL_METRICS");
    if (text == nullptr || *text == '\0' || strcmp(text, "off") == 0) return true;
    if (strlen(text) < size) {
        strcpy(metrics, text);
        return true;
    }
    warn_of_job("DWELL_METRICS=%.60s... is too long: the program runs unobserved", text);
    return false;
}

bool read_events(WantedEvents* events) {
    const char* const text = getenv("DWELL_EVENTS");
    if (read_wanted_events(text != nullptr ? text : "", events)) return true;
    warn_of_job("DWELL_EVENTS=%.60s should be %s: the program runs unobserved", text, kEventForms);
    return false;
}

bool read_window(Options* options) {
    const char* const text = getenv("DWELL_EVENTS_WINDOW");
    if (text == nullptr || *text == '\0') return true;
    EventWindow window;
    if (read_event_window(text, &window)) {
        options->events_wait = window.waits && !(window.is_timed && window.from_s == 0);
        strcpy(options->event_window, text);
        return true;
    }
    warn_of_job("DWELL_EVENTS_WINDOW=%.60s should be %s: the program runs unobserved", text,
                kEventWindowForms);
    return false;
}

bool read_inject(char* inject, size_t size) {
    const char* text = getenv("DWELL_INJECT_NS");
    if (text == nullptr || *text == '\0') return true;
    uint32_t ns = 0;
    if (strlen(text) < size && injection_for(text, 0, &ns)) {
        strcpy(inject, text);
        return true;
    }
    warn_of_job(
        "DWELL_INJECT_NS=%.60s is neither NS nor RANK:NS,RANK:NS...: the program runs unobserved",
        text);
    return false;
}

}  // namespace

void find_standard_error() {
    const int saved_errno = errno;
    struct stat about;
    g_standard_error.open = fstat(STDERR_FILENO, &about) == 0;
    if (g_standard_error.open) {
        g_standard_error.device = about.st_dev;
        g_standard_error.inode = about.st_ino;
    }
    errno = saved_errno;
}

bool is_standard_error() {
    const int saved_errno = errno;
    struct stat about;
    const bool same = g_standard_error.open && fstat(STDERR_FILENO, &about) == 0 &&
                      about.st_dev == g_standard_error.device &&
                      about.st_ino == g_standard_error.inode;
    errno = saved_errno;
    return same;
}

void warn(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[600];
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    put_line(text);
}

void warn_of_job(const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[600];
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (g_status_page != nullptr) {
        status_note(g_status_page, text, launcher_rank());
    } else if (is_first_on_host()) {
        put_line(text);
    }
}

bool read_options(Options* options) {
    // Used by the `dwell` command only, checked here.
    bool report = false;
    uint32_t width = 0;
    bool no_io = true;
    WantedEvents events;
    uint32_t ring_kib = 1024;
    const bool good = read_number("DWELL_CALLPATH", &options->callpath_depth) &&
                      read_number("DWELL_SAMPLE", &options->sample_hz) &&
                      read_number("DWELL_PEERS", &options->peer_limit) &&
                      read_number("DWELL_MEMORY_MIB", &options->memory_mib) &&
                      read_number("DWELL_ROW_LIMIT", &options->row_limit) &&
                      read_number("DWELL_END_TIMEOUT", &options->end_timeout_s) &&
                      read_number("DWELL_PROBE_LIMIT", &options->probe_limit) &&
                      read_word("DWELL_WAIT", &options->wait) &&
                      read_word("DWELL_OMP", &options->omp) && read_word("DWELL_IO", &no_io) &&
                      read_events(&events) && read_number("DWELL_EVENTS_RING", &ring_kib) &&
                      read_word("DWELL_EVENTS_FULL", &options->event_policy) &&
                      read_flag("DWELL_QUIET", &options->quiet) &&
                      read_flag("DWELL_REPORT", &report) && read_number("DWELL_WIDTH", &width) &&
                      read_flag("DWELL_PRESERVE_ORDER", &options->preserve_order) &&
                      read_metrics(options->metrics, sizeof(options->metrics)) &&
                      read_inject(options->inject, sizeof(options->inject));
    options->io = !no_io;
    options->events = events.on;
    options->event_words =
        events.words != 0 ? events.words : ring_kib * uint32_t{1024 / sizeof(uint64_t)};
    // A ring for each of 64 threads, or for each of 16 where rings are large.
    constexpr uint32_t kManyThreads = 64;
    constexpr uint32_t kFewThreads = 16;
    constexpr uint32_t kLargeRingWords = 1u << 19;
    const uint32_t rings = options->event_words > kLargeRingWords ? kFewThreads : kManyThreads;
    const uint64_t bytes = uint64_t{rings} * options->event_words * sizeof(uint64_t);
    if (events.on) options->event_mib = static_cast<uint32_t>(bytes >> 20) + 1;
    const char* const sites = getenv("DWELL_EVENTS_SITES");
    if (sites != nullptr && strlen(sites) < sizeof(options->event_sites))
        strcpy(options->event_sites, sites);
    if (events.words != 0) options->event_policy = EventPolicy::kOverwrite;  // last:N
    options->event_kinds = events.kinds;
    const char* const ranks = getenv("DWELL_EVENTS_RANKS");
    if (ranks != nullptr && is_rank_list(ranks) && strlen(ranks) < sizeof(options->event_ranks))
        strcpy(options->event_ranks, ranks);
    const char* enable = getenv("DWELL_ENABLE");
    if (enable != nullptr && strlen(enable) < sizeof(options->enable)) {
        strcpy(options->enable, enable);
    }
    options->sample_is_asked_for = getenv("DWELL_SAMPLE") != nullptr;
    const char* out = getenv("DWELL_OUT");
    if (out != nullptr && strlen(out) < sizeof(options->out)) strcpy(options->out, out);
    return good && read_window(options);
}

}  // namespace dwell
