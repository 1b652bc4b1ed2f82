// The values of --events, --events-window, --events-rate and --events-ranks. No allocation, no
// dependency beyond libc.
#ifndef DWELL_RUNTIME_PROCESS_EVENT_SETTINGS_H_
#define DWELL_RUNTIME_PROCESS_EVENT_SETTINGS_H_

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/contract/mpi_calls.h"
#include "runtime/contract/record_layout.h"

namespace dwell {

constexpr uint32_t kLeastRingWords = 8192;
constexpr uint32_t kMostRingWords = 1u << 27;

// One bit for each SiteKind whose nodes have events, and two more: for the collectives among the
// communication statements, and for metrics.
struct EventKindWord {
    const char* word;
    uint32_t kinds;
};
constexpr uint32_t event_bit(SiteKind kind) { return 1u << static_cast<uint32_t>(kind); }
constexpr uint32_t kCollectiveEvents = 1u << 31;
constexpr uint32_t kMetricEvents = 1u << 30;
static_assert(static_cast<uint32_t>(SiteKind::kSample) < 30);
inline uint32_t event_bit_of(SiteKind kind, uint16_t call) {
    const bool is_collective = kind == SiteKind::kCommunication && call < kMpiCallCount &&
                               kMpiCalls[call].call_class == CallClass::kCollective;
    return is_collective ? kCollectiveEvents : event_bit(kind);
}
constexpr uint32_t kMpiEvents = event_bit(SiteKind::kCommunication) | kCollectiveEvents;
constexpr uint32_t kBlockEvents = event_bit(SiteKind::kBlock) | event_bit(SiteKind::kMarker);
constexpr uint32_t kProcedureEvents = event_bit(SiteKind::kProcedure);
constexpr EventKindWord kEventKindWords[] = {
    {"mpi", kMpiEvents},
    {"collectives", kCollectiveEvents},
    {"procedures", kProcedureEvents},
    {"loops", event_bit(SiteKind::kLoop)},
    {"blocks", kBlockEvents},
    {"openmp", event_bit(SiteKind::kOpenMp)},
    {"io", event_bit(SiteKind::kIo)},
    {"metrics", kMetricEvents},
    {"samples", event_bit(SiteKind::kSample)},
    // AIMS's TRACE_LEVEL (AIMS 2.2, 4.1.5 and C.1): blocks and markers; procedures, too; global
    // operations, too; messages, too.
    {"level0", kBlockEvents},
    {"level1", kBlockEvents | kProcedureEvents},
    {"level2", kBlockEvents | kProcedureEvents | kCollectiveEvents},
    {"level3", kBlockEvents | kProcedureEvents | kMpiEvents},
    // What PICL's tracelevel() takes (TM-12125, table 13). Each log has the events of tracing.
    {"messages", kMpiEvents},
    {"user-events", ~kMpiEvents},
    {"tracing", 0},
};
constexpr uint32_t kAllEvents = ~0u;

struct WantedEvents {
    bool on = false;
    uint32_t words = 0;  // of a ring for last:N; 0: as --events-ring and --events-full
    bool names_kinds = false;
    uint32_t kinds = kAllEvents;  // as EventKindWord::kinds
};
constexpr const char* kEventForms =
    "all, off, last:N (N from 1 to 134217728), or some of mpi, collectives, procedures, loops, "
    "blocks, openmp, io, metrics, samples, level0 to level3, messages, user-events and tracing; "
    "joined by commas";

// Of --events-window: events are written while the process is inside of some entries of a place.
enum class WindowPlace : uint8_t {
    kNone,
    kPhase,
    kBlock,  // other than phases
    kEntry,  // a procedure, block or MPI statement by its name, a loop as FILE:LINE
};
constexpr size_t kLongestWindow = 1000;
struct PlaceWindow {
    WindowPlace place = WindowPlace::kNone;
    const char* pattern = nullptr;  // a part of the value
    size_t pattern_bytes = 0;
    uint64_t first = 1;  // of the entries, counted in each process
    uint64_t last = UINT64_MAX;
};

// The value of --events-window.
struct EventWindow {
    bool waits = false;  // events are off until they are switched on
    bool is_timed = false;
    double from_s = 0;
    double to_s = 0;  // 0: no end
    PlaceWindow inside;
};
constexpr const char* kEventWindowForms =
    "FROM-TO in seconds (10-12.5, 10- or -10) or off, phase:NAME, block:NAME, entry:PLACE:N or "
    "entry:PLACE:N-M; or both, joined by a comma (10-,phase:NAME)";

// "N", "N-M" or "N-"; false: something else.
inline bool read_entries(const char* text, PlaceWindow* window) {
    constexpr size_t kMostDigits = 18;
    const auto read = [&text](uint64_t* number) {
        const size_t digits = strspn(text, "0123456789");
        if (digits == 0 || digits > kMostDigits) return false;
        *number = strtoull(text, nullptr, 10);
        text += digits;
        return *number != 0;
    };
    if (!read(&window->first)) return false;
    window->last = window->first;
    if (*text == '-') {
        window->last = UINT64_MAX;
        ++text;
        if (*text != '\0' && !read(&window->last)) return false;
    }
    return *text == '\0' && window->last >= window->first;
}

inline bool read_place_window(const char* text, PlaceWindow* window) {
    struct Word {
        const char* word;
        WindowPlace place;
    };
    constexpr Word kWords[] = {{"phase:", WindowPlace::kPhase},
                               {"block:", WindowPlace::kBlock},
                               {"entry:", WindowPlace::kEntry}};
    for (const Word& known : kWords) {
        const size_t length = strlen(known.word);
        if (strncmp(text, known.word, length) != 0) continue;
        window->place = known.place;
        window->pattern = text + length;
        window->pattern_bytes = strlen(window->pattern);
        if (known.place == WindowPlace::kEntry) {
            const char* const colon = strrchr(window->pattern, ':');
            if (colon == nullptr || !read_entries(colon + 1, window)) return false;
            window->pattern_bytes = static_cast<size_t>(colon - window->pattern);
        }
        return window->pattern_bytes != 0;
    }
    return false;
}

// "off", or two times, up to `length`.
inline bool read_time_window(const char* text, size_t length, EventWindow* window) {
    window->waits = true;
    if (length == 3 && strncmp(text, "off", length) == 0) return true;
    if (length < 2 || strspn(text, "0123456789.-") != length) return false;
    const char* const past = text + length;
    const char* const dash = strchr(text, '-');
    if (dash == nullptr || dash >= past || memchr(dash + 1, '-', past - dash - 1) != nullptr)
        return false;
    char* end = nullptr;
    window->is_timed = true;
    if (dash != text) {
        window->from_s = strtod(text, &end);
        if (end != dash) return false;
    }
    if (dash + 1 != past) {
        window->to_s = strtod(dash + 1, &end);
        if (end != past || window->to_s <= window->from_s) return false;
    }
    return true;
}

// `window` refers to `text` from then on.
inline bool read_event_window(const char* text, EventWindow* window) {
    *window = EventWindow{};
    if (strlen(text) > kLongestWindow) return false;
    if (read_place_window(text, &window->inside)) return true;
    window->inside = PlaceWindow{};
    const size_t length = strcspn(text, ",");
    if (!read_time_window(text, length, window)) return false;
    return text[length] == '\0' || read_place_window(text + length + 1, &window->inside);
}

// The value of --events-rate: a place with more events a second than `high` is reduced, one with
// fewer than `low` has events again.
struct EventRates {
    uint64_t high = 0;  // 0: none is reduced
    uint64_t low = 0;
};
constexpr const char* kEventRateForms =
    "HIGH or HIGH:LOW, events a second of one place (10000:1000)";
inline bool read_event_rates(const char* text, EventRates* rates) {
    *rates = EventRates{};
    const size_t digits = strspn(text, "0123456789");
    if (digits == 0 || digits > 12) return false;
    rates->high = strtoull(text, nullptr, 10);
    rates->low = rates->high / 10;
    if (text[digits] == ':') {
        const char* const low = text + digits + 1;
        if (strspn(low, "0123456789") != strlen(low) || *low == '\0' || strlen(low) > 12)
            return false;
        rates->low = strtoull(low, nullptr, 10);
    } else if (text[digits] != '\0') {
        return false;
    }
    return rates->high != 0 && rates->low < rates->high;
}

// The value of --events-longer: only instances that take longer than the limit have events.
struct EventTrigger {
    uint64_t limit_ns = 0;     // 0: none
    const char* pattern = "";  // of the sites, in the value; empty: all
};
constexpr const char* kEventTriggerForms =
    "a whole number of ns, us, ms or s, and perhaps the sites: 10ms, or 10ms:exchange";
inline bool read_event_trigger(const char* text, EventTrigger* trigger) {
    constexpr struct {
        const char* word;
        uint64_t ns;
    } kUnits[] = {{"ns", 1}, {"us", 1000}, {"ms", 1'000'000}, {"s", 1'000'000'000}};
    *trigger = EventTrigger{};
    const size_t digits = strspn(text, "0123456789");
    const size_t length = strcspn(text, ":");
    if (digits == 0 || digits > 9 || digits > length) return false;
    for (const auto& unit : kUnits) {
        if (strlen(unit.word) == length - digits &&
            strncmp(text + digits, unit.word, length - digits) == 0)
            trigger->limit_ns = strtoull(text, nullptr, 10) * unit.ns;
    }
    if (text[length] == ':') {
        trigger->pattern = text + length + 1;
        if (*trigger->pattern == '\0') return false;
    }
    return trigger->limit_ns != 0;
}

// One of the words between commas; false: none.
inline bool read_event_word(const char* word, size_t length, WantedEvents* wanted) {
    constexpr char kLast[] = "last:";
    constexpr size_t kLastLength = sizeof(kLast) - 1;
    const auto is = [=](const char* known) {
        return strlen(known) == length && strncmp(word, known, length) == 0;
    };
    if (is("all")) return true;
    for (const EventKindWord& known : kEventKindWords) {
        if (!is(known.word)) continue;
        wanted->kinds = (wanted->names_kinds ? wanted->kinds : 0) | known.kinds;
        wanted->names_kinds = true;
        return true;
    }
    if (length <= kLastLength || strncmp(word, kLast, kLastLength) != 0) return false;
    uint64_t number = 0;
    for (size_t i = kLastLength; i < length; ++i) {
        if (word[i] < '0' || word[i] > '9' || number > kMostRingWords) return false;
        number = 10 * number + static_cast<uint64_t>(word[i] - '0');
    }
    if (number == 0 || number > kMostRingWords) return false;
    wanted->words = kLeastRingWords;
    // Most records are one word; a sixteenth of the ring is being overwritten.
    while (wanted->words < number + number / 8) wanted->words *= 2;
    return true;
}

// The value of --events; false: it is none of kEventForms.
inline bool read_wanted_events(const char* text, WantedEvents* wanted) {
    *wanted = WantedEvents{};
    if (*text == '\0' || strcmp(text, "off") == 0) return true;
    wanted->on = true;
    for (;;) {
        const size_t length = strcspn(text, ",");
        if (!read_event_word(text, length, wanted)) return false;
        if (text[length] == '\0') return true;
        text += length + 1;
    }
}

// Whether a list like "0-3,8" has the rank; an empty one has all. Its form was checked.
inline bool is_rank_in(const char* list, long rank) {
    if (*list == '\0') return true;
    for (;;) {
        char* end = nullptr;
        const long first = strtol(list, &end, 10);
        const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;
        if (rank >= first && rank <= last) return true;
        if (*end != ',') return false;
        list = end + 1;
    }
}
constexpr const char* kRankForms = "ranks and ranges of ranks, joined by commas (0-3,8)";
inline bool is_rank_list(const char* list) {
    for (;;) {
        long first = 0;
        for (int part = 0; part < 2; ++part) {
            const size_t digits = strspn(list, "0123456789");
            if (digits == 0 || digits > 9) return false;
            const long rank = atol(list);
            if (rank < first) return false;
            first = rank;
            list += digits;
            if (part == 0 && *list != '-') break;
            if (part == 0) ++list;
        }
        if (*list == '\0') return true;
        if (*list++ != ',') return false;
    }
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_PROCESS_EVENT_SETTINGS_H_
