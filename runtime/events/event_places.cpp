// The choice of places with events, and windows that are entries of a place (event_places.h).
#include "runtime/events/event_places.h"

#include <string.h>

#include <new>

#include "runtime/events/events.h"
#include "runtime/process/event_settings.h"

namespace dwell {

namespace {

const EnablingProfile* g_event_sites = nullptr;  // created once, never freed
PlaceWindow g_window;

// "FILE:LINE".
bool is_at(std::string_view place, const SiteFacts& site) {
    constexpr size_t kMostDigits = 9;
    const size_t colon = place.rfind(':');
    if (colon == std::string_view::npos || place.size() - colon > kMostDigits + 1) return false;
    uint32_t line = 0;
    for (size_t i = colon + 1; i < place.size(); ++i) {
        if (place[i] < '0' || place[i] > '9') return false;
        line = 10 * line + static_cast<uint32_t>(place[i] - '0');
    }
    return line != 0 && line == site.line && file_matches({place.data(), colon}, site.file);
}

bool is_window(const SiteFacts& site, bool is_phase) {
    const std::string_view pattern = {g_window.pattern, g_window.pattern_bytes};
    switch (site.kind) {
        case SiteKind::kBlock:
            if (g_window.place == WindowPlace::kPhase && !is_phase) return false;
            if (g_window.place == WindowPlace::kBlock && is_phase) return false;
            return procedure_matches(pattern, site.name, nullptr);
        case SiteKind::kProcedure:
        case SiteKind::kCommunication:
            return g_window.place == WindowPlace::kEntry &&
                   procedure_matches(pattern, site.name, site.demangled);
        case SiteKind::kLoop:
            return g_window.place == WindowPlace::kEntry && is_at(pattern, site);
        default:
            return false;
    }
}

// The calling thread follows at once, others at their next call or probe.
void follow_window(Thread* thread, uint64_t virt, bool has_changed) {
    const Thread* const first = g_process.threads.load(std::memory_order_acquire);
    if (has_changed && first != nullptr && first->next != nullptr) tell_threads();
    follow_events(thread, virt);
}

}  // namespace

bool read_event_places() {
    const Options& options = g_process.options;
    g_event_sites = nullptr;
    g_window = PlaceWindow{};
    EventWindow window;
    if (options.event_window[0] != '\0' && read_event_window(options.event_window, &window))
        g_window = window.inside;
    if (options.event_sites[0] == '\0') return true;
    alignas(EnablingProfile) static char memory[sizeof(EnablingProfile)];
    auto* const profile = new (memory) EnablingProfile;
    if (!profile->read(options.event_sites)) {
        warn_of_job("%s: the program runs unobserved", profile->error());
        return false;
    }
    g_event_sites = profile;
    return true;
}

bool chooses_places() { return g_event_sites != nullptr || g_window.place != WindowPlace::kNone; }

bool chooses_places_by_name() {
    return (g_event_sites != nullptr && g_event_sites->asks_for_names()) ||
           g_window.place == WindowPlace::kEntry;
}

uint8_t event_flags_of(const SiteFacts& site, bool is_phase) {
    uint8_t flags = 0;
    if (g_event_sites != nullptr) {
        const Decision decision = g_event_sites->decide(site);
        if (decision == Decision::kOff || decision == Decision::kCount) flags |= kNodeNoEvents;
    }
    if (g_window.place != WindowPlace::kNone && is_window(site, is_phase)) flags |= kNodeWindow;
    return flags;
}

bool wants_events() {
    return g_live->event_order == EventOrder::kOn &&
           (g_window.place == WindowPlace::kNone ||
            __atomic_load_n(&g_live->open_windows, __ATOMIC_ACQUIRE) != 0);
}

bool enter_event_window(Thread* thread, CellIndex node, uint64_t virt) {
    const uint64_t number = __atomic_add_fetch(&g_live->window_entries, 1, __ATOMIC_RELAXED);
    if (number > g_window.last) {
        // From now on its entries cost no more than others.
        __atomic_fetch_and(&cell_at<Node>(node)->site.flags, static_cast<uint8_t>(~kNodeWindow),
                           __ATOMIC_RELAXED);
        return false;
    }
    if (number < g_window.first) return false;
    const bool opened = __atomic_fetch_add(&g_live->open_windows, 1, __ATOMIC_ACQ_REL) == 0;
    follow_window(thread, virt, opened);
    return true;
}

void leave_event_window(Thread* thread, uint64_t virt) {
    const bool closed = __atomic_sub_fetch(&g_live->open_windows, 1, __ATOMIC_ACQ_REL) == 0;
    follow_window(thread, virt, closed);
}

bool enter_call_window(Thread* thread, CellIndex node) {
    const SlowWork work(thread);
    if (!enter_event_window(thread, node, virtual_ticks(thread, work.start()))) return false;
    thread->events += kCallInWindow;
    return true;
}

void leave_call_window(Thread* thread, uint64_t virt) {
    if (thread->events < kCallInWindow) return;
    const SlowWork work(thread);
    thread->events -= kCallInWindow;
    leave_event_window(thread, virt);
}

}  // namespace dwell
