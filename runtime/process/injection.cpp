// The delay added to every probe in tests.
#include "runtime/process/injection.h"

#include <errno.h>
#include <stdlib.h>

namespace dwell {

void (*g_on_delay)(bool begins) = nullptr;

namespace {

constexpr unsigned long kMostInjected_ns = 1'000'000'000;
constexpr unsigned long kMostRank = (1u << kPeerRankBits) - 1;

// Reads a number and advances `text` behind it.
bool read_whole(const char** text, unsigned long most, unsigned long* value) {
    if (**text < '0' || **text > '9') return false;
    char* end = nullptr;
    errno = 0;
    *value = strtoul(*text, &end, 10);
    *text = end;
    return errno == 0 && *value <= most;
}

}  // namespace

bool injection_for(const char* text, int rank, uint32_t* ns) {
    *ns = 0;
    unsigned long first = 0;
    unsigned long delay = 0;
    const char* at = text;
    if (read_whole(&at, kMostInjected_ns, &delay) && *at == '\0') {
        *ns = static_cast<uint32_t>(delay);
        return true;
    }
    for (at = text;; ++at) {
        if (!read_whole(&at, kMostRank, &first) || *at != ':') return false;
        ++at;
        if (!read_whole(&at, kMostInjected_ns, &delay)) return false;
        if (first == static_cast<unsigned long>(rank)) *ns = static_cast<uint32_t>(delay);
        if (*at == '\0') return true;
        if (*at != ',') return false;
    }
}

int highest_injected(const char* text) {
    int highest = -1;
    unsigned long rank = 0;
    unsigned long delay = 0;
    for (const char* at = text; read_whole(&at, kMostRank, &rank) && *at == ':'; ++at) {
        if (static_cast<int>(rank) > highest) highest = static_cast<int>(rank);
        ++at;
        if (!read_whole(&at, kMostInjected_ns, &delay) || *at != ',') break;
    }
    return highest;
}

bool set_injection(int rank) {
    uint32_t ns = 0;
    if (g_process.options.inject[0] != '\0') injection_for(g_process.options.inject, rank, &ns);
    const double ticks = static_cast<double>(g_process.header->ticks_per_second) * 1e-9 * ns;
    const auto before = g_process.inject_ticks;
    g_process.inject_ticks = static_cast<uint64_t>(ticks);
    return (before != 0) != (g_process.inject_ticks != 0);
}

uint64_t inject(Thread* thread) {
    if (g_on_delay != nullptr) g_on_delay(true);
    const uint64_t start = now_ticks();
    uint64_t spent = 0;
    while (spent < g_process.inject_ticks) spent = now_ticks() - start;
    thread->record->injected_ticks += spent;
    if (g_on_delay != nullptr) g_on_delay(false);
    return spent;
}

}  // namespace dwell
