#include "runtime/probe_control.h"

#include <cxxabi.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "runtime/probes.h"
#include "runtime/site_copies.h"
#include "runtime/usage.h"

namespace dwell {

namespace {

constexpr int kMaxSiteModules = 512;
constexpr uint32_t kLeastCountdown = 16;
// How often control looks, about, and how long a reduced site rests before it is tried again: twice
// as long each time. So it rests for about as long as it was seen to cost too much until then, and
// how long it went on is known to a factor of two.
constexpr uint64_t kLookEvery_ns = 1'000'000;
constexpr uint64_t kFirstRest_ns = 1'000'000;  // the first rest is twice that
constexpr int kLongestRestDoublings = 12;      // 4 s
// A site that takes longer than this many pairs of probes cannot be what makes them expensive.
constexpr uint64_t kShortInCosts = 4;
// What lies between probes takes at least this part of the time that passes: their cost, measured
// where nothing overlaps with it, may seem to be all of it.
constexpr uint64_t kLeastBetween = 4;
constexpr int kMostTogether = 16;  // sites that are looked at as active together

// What control knows of a site.
struct SiteState {
    uint8_t wanted;  // the level that the user enabled
    bool kept;       // the user said that it is on: it stays on, whatever it costs
    uint8_t steps;   // times it stepped down
    bool reduced;
    CellIndex node;          // whose probe made it step down
    uint64_t retry_ticks;    // real ticks when it is tried at its wanted level
    uint64_t count_since;    // real ticks when its reduction to counting was done, 0: it was not
    uint64_t count_at_step;  // of its node then
    uint64_t slow_at_step;   // the thread's slow_count_ticks then
    uint64_t off_since;      // 0: not off
    uint64_t active_since;   // its probes cost too much since about then, with rests between
    uint64_t alone_until;    // the next probe after it was switched off; 0: none came
    const SiteRow* then;     // switched off right after it, so active with it; else null
    double entries_a_tick;   // before it was switched off
    // Since it is tried again: a part of what is estimated for the time before. See end_off.
    uint64_t held_entries;
    uint64_t hold_until;  // real ticks
};

struct Registered {
    const SiteModule* module;
    SiteState* states;  // one a row
    bool by_symbols;    // probes of units without links reach the library
    bool by_links;      // those of the others do
};

Registered g_modules[kMaxSiteModules];
int g_module_count = 0;
bool g_on = false;
std::atomic<uint64_t> g_next_retry{UINT64_MAX};
EnablingProfile* g_enabled = nullptr;  // made once, lives on
std::atomic<bool> g_profile_reduced{false};

uint8_t* level_byte(const SiteRow* row) {
    return const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(&row->level)) + row->level;
}

void set_level(const SiteRow* row, uint8_t level) {
    __atomic_store_n(level_byte(row), level, __ATOMIC_RELAXED);
}

uint8_t level_after(Decision decision) {
    if (decision == Decision::kOff || decision == Decision::kCount) {
        g_profile_reduced.store(true, std::memory_order_relaxed);
        FileHeader* header = g_process.header;
        if (header != nullptr)
            __atomic_fetch_or(&header->flags, uint32_t{kFileSitesOff}, __ATOMIC_RELAXED);
    }
    if (decision == Decision::kOff) return kLevelOff;
    return decision == Decision::kCount ? kLevelCount : kLevelFull;
}

Decision decision_about(const SiteRow* row) {
    if (g_enabled == nullptr) return Decision::kUnsaid;
    const SiteRow* procedure = procedure_of(row);
    const char* name = row_text(&procedure->name);
    char* demangled = nullptr;
    if (name != nullptr && g_enabled->asks_for_names()) {
        int status = 0;
        demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    }
    const Decision decision = g_enabled->decide(
        {row->kind, row->flags, row->line, name, demangled, row_text(&row->file)});
    free(demangled);
    return decision;
}

void switch_on(Registered* registered) {
    const SiteModule* module = registered->module;
    const auto rows = static_cast<size_t>(module->rows_end - module->rows);
    if (registered->states == nullptr) {
        registered->states = static_cast<SiteState*>(calloc(rows, sizeof(SiteState)));
        if (registered->states == nullptr) return;
        for (size_t i = 0; i < rows; ++i) {
            if (module->rows[i].level != 0) {
                const Decision decision = decision_about(&module->rows[i]);
                registered->states[i].wanted = level_after(decision);
                registered->states[i].kept = decision == Decision::kOn;
            }
        }
    }
    bool reached = true;
    for (size_t i = 0; i < rows; ++i) {
        const SiteRow* row = &module->rows[i];
        if (row->kind == SiteKind::kProgram) {
            const uint16_t version = reinterpret_cast<const UnitRow*>(row)->version;
            reached = version < kFirstWithLinks ? registered->by_symbols : registered->by_links;
        } else if (row->level != 0 && reached) {
            set_level(row, registered->states[i].wanted);
        }
    }
}

// A module that holds units of both kinds has a constructor for each.
void register_module(const SiteModule* module, bool by_links) {
    const bool observe = probes_wanted();
    const SlowLock lock;
    Registered* registered = std::find_if(
        g_modules, g_modules + g_module_count,
        [module](const Registered& known) { return known.module->rows == module->rows; });
    if (registered == g_modules + g_module_count) {
        if (g_module_count == kMaxSiteModules) {
            static bool said = false;
            if (!said)
                warn_of_job("more than %d instrumented modules: the rest is not watched",
                            kMaxSiteModules);
            said = true;
            return;
        }
        *registered = {module, nullptr, false, false};
        g_module_count += 1;
    }
    (by_links ? registered->by_links : registered->by_symbols) = true;
    if (observe) {
        g_on = true;
        switch_on(registered);
    }
}

// With SlowLock held: the state of a row, null when its module is gone.
SiteState* state_of(const SiteRow* row) {
    for (int i = 0; i < g_module_count; ++i) {
        const SiteModule* module = g_modules[i].module;
        if (row >= module->rows && row < module->rows_end && g_modules[i].states != nullptr) {
            return &g_modules[i].states[row - module->rows];
        }
    }
    return nullptr;
}

uint64_t ticks_of_ns(uint64_t ns) {
    if (!g_process.use_tsc) return ns;
    const double ticks = static_cast<double>(now_ticks() - g_process.start_ticks);
    const double elapsed_ns = static_cast<double>(monotonic_ns() - g_process.start_mono_ns);
    return static_cast<uint64_t>(static_cast<double>(ns) * ticks / (elapsed_ns + 1));
}

// How many entries fit into `ticks` by the node's time. Recursive ones share it, others that were
// only counted have none.
double most_entries(const Node* node, uint64_t ticks) {
    const uint64_t without = cell_at<ProbePart>(node->part)->counted;
    if (node->count <= without || node->ticks == 0) return static_cast<double>(ticks);
    const auto entries = static_cast<double>(node->count - without);
    return static_cast<double>(ticks) * entries / static_cast<double>(node->ticks);
}

// When the thread that switched it off, and all that were switched off right after it, met the next
// probe; 0: not yet.
uint64_t alone_until(const SiteState& of_site) {
    const SiteState* state = &of_site;
    for (int i = 0; state->then != nullptr && i < kMostTogether; ++i) {
        const SiteState* next = state_of(state->then);
        if (next == nullptr) break;
        state = next;
    }
    return state->alone_until;
}

// The site was off until now: what that hid is estimated. It was entered as often as before, or, as
// it runs faster without probes, as often as there was time for.
//
// Its entries may have ended in that time, nobody knows when. They are taken to have gone on until
// the thread met another probe, as there is nothing else that is known to have taken that time, and
// for as long as they had gone on before; when the site is tried again, that is half of the time
// that it was off, at most. The rest is held until it costs too much again, and counts unless that
// takes longer than it was reduced.
void end_off(SiteState* state, uint64_t now, bool tried) {
    if (state->off_since == 0 || g_live->on == 0) return;  // also in a forked child
    const uint64_t off = now - state->off_since;
    const Node* node = cell_at<Node>(state->node);
    if (node->part != 0 && off != 0) {
        auto* part = cell_at<ProbePart>(node->part);
        part->off_ticks += off;
        const double as_before = static_cast<double>(off) * state->entries_a_tick;
        const auto entries = static_cast<uint64_t>(std::min(as_before, most_entries(node, off)));
        const uint64_t again =
            std::min(tried ? off / 2 : off, state->off_since - state->active_since);
        const uint64_t until = alone_until(*state);
        const uint64_t alone = until > state->off_since ? until - state->off_since : off;
        const uint64_t likely = std::min(std::max(again, alone), off);
        const auto taken = static_cast<uint64_t>(
            static_cast<double>(entries) * static_cast<double>(likely) / static_cast<double>(off));
        state->held_entries = tried ? entries - taken : 0;
        part->off_entries += taken;
    }
    state->off_since = 0;
}

// The site costs too much, first seen in the window that began at `since`.
void note_active(SiteState* state, uint64_t now, uint64_t since) {
    const bool goes_on = state->active_since != 0 && now <= state->hold_until;
    if (!goes_on) state->active_since = since;
    if (goes_on && state->held_entries != 0 && g_live->on != 0) {
        cell_at<ProbePart>(cell_at<Node>(state->node)->part)->off_entries += state->held_entries;
    }
    state->held_entries = 0;
}

// No site of the module is on any more.
void switch_off(const Registered& registered, uint64_t now) {
    const SiteModule* module = registered.module;
    memset(module->levels, 0, static_cast<size_t>(module->levels_end - module->levels));
    if (registered.states == nullptr) return;
    const auto rows = static_cast<size_t>(module->rows_end - module->rows);
    for (size_t i = 0; i < rows; ++i) {
        end_off(&registered.states[i], now, false);
        registered.states[i].held_entries = 0;
    }
}

// All levels changed between full and counting: what threads remember may be wrong.
void change_ticket() {
    if (g_live->ticket != 0) __atomic_fetch_add(&g_live->ticket, 1, __ATOMIC_RELEASE);
}

// Tries reduced sites whose rest is over at their wanted level again.
void retry_sites(uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < g_module_count; ++i) {
        const SiteModule* module = g_modules[i].module;
        if (g_modules[i].states == nullptr) continue;
        for (const SiteRow* row = module->rows; row < module->rows_end; ++row) {
            SiteState* state = &g_modules[i].states[row - module->rows];
            if (!state->reduced) continue;
            if (state->retry_ticks > now) {
                if (state->retry_ticks < next) next = state->retry_ticks;
                continue;
            }
            end_off(state, now, true);
            state->hold_until = now + (now - state->count_since);
            state->reduced = false;
            state->count_since = 0;
            set_level(row, state->wanted);
        }
    }
    g_next_retry.store(next, std::memory_order_relaxed);
    change_ticket();
}

// Of `elapsed` what probes that cost `lost` left to the program; not 0.
uint64_t without(uint64_t lost, uint64_t elapsed) {
    const uint64_t least = elapsed / kLeastBetween + 1;
    return elapsed > lost && elapsed - lost > least ? elapsed - lost : least;
}

// How often the site was entered in a tick since it only counts, without what its own probes took:
// those of other sites go on when it is off. One that was entered under another node meanwhile is
// taken to have had all the probes of the window.
double rate_of(const SiteState& state, CellIndex index, uint64_t now, double window_rate) {
    const uint64_t count = cell_at<Node>(index)->count;
    if (state.node != index || count <= state.count_at_step) return window_rate;
    const uint64_t entries = count - state.count_at_step;
    const uint64_t elapsed = now - state.count_since + 1;
    // That of slow probes is measured: they are a large part of the few that come before it is off.
    const uint64_t slow = t_thread->slow_count_ticks - state.slow_at_step;
    const uint64_t cost = entries * g_process.probe_count_ticks + slow;
    return static_cast<double>(entries) / static_cast<double>(without(cost, elapsed));
}

// From here on the entries of a site that only counts tell its rate.
void begin_rate(SiteState* state, CellIndex index) {
    state->node = index;
    state->count_at_step = cell_at<Node>(index)->count;
    state->slow_at_step = t_thread->slow_count_ticks;
}

// The site of the probe that was the last of a window in which probes cost too much: full, then
// counting, then off. Entries that are open then end at that time, their leave never comes: see
// end_entries_of_off. True when it went off.
bool step_down(const SiteRow* row, CellIndex index, uint64_t now, uint64_t window,
               double window_rate) {
    SiteState* state = state_of(row);
    if (state == nullptr || state->kept) return false;
    const uint8_t level = level_of(row);
    if (level == kLevelOff) return false;
    if (level == kLevelCount && state->count_since == 0) {  // reduced to that by the user
        note_active(state, now, now - window);
        begin_rate(state, index);
        state->count_since = now_ticks();
        return false;
    }
    if (level == kLevelFull) {
        note_active(state, now, now - window);
        set_level(row, kLevelCount);
        if (state->steps < kLongestRestDoublings) state->steps += 1;
        begin_rate(state, index);
    } else {
        set_level(row, kLevelOff);
        state->off_since = now;
        state->alone_until = 0;
        state->then = nullptr;
        SiteState* before = state_of(t_thread->switched_off_last);
        if (before != nullptr && before != state &&
            now - before->off_since < ticks_of_ns(kLookEvery_ns)) {
            before->then = row;
        }
        t_thread->switched_off_last = row;
        state->entries_a_tick = rate_of(*state, index, now, window_rate);
    }
    change_ticket();
    // The step takes longer than the few entries that are counted after it.
    if (state->off_since == 0) state->count_since = now_ticks();
    state->node = index;
    state->reduced = true;
    state->retry_ticks = now + (ticks_of_ns(kFirstRest_ns) << state->steps);
    if (state->retry_ticks < g_next_retry.load(std::memory_order_relaxed)) {
        g_next_retry.store(state->retry_ticks, std::memory_order_relaxed);
    }
    return state->off_since != 0;
}

bool is_short(const Node* node, uint64_t cost_ticks) {
    // Recursive entries share the time of the one that is timed.
    const uint64_t counted = node->part != 0 ? cell_at<ProbePart>(node->part)->counted : 0;
    const uint64_t watched = node->count > counted ? node->count - counted : 0;
    if (watched == 0) return true;
    // At the limit of intrusion, something this long cannot be called too often by itself.
    const uint64_t limit = cost_ticks * 1000 / g_process.options.probe_limit;
    return node->ticks / watched < limit * kShortInCosts;
}

void unlink_module(const LinkedModule* module) { dwell_unregister_sites(&module->sites); }

template <typename Work>
void for_each_table(const LinkedModule* module, Work work) {
    for (uint64_t* at = module->links; at < module->links_end;) {
        auto* const table = reinterpret_cast<LinkTable*>(at);
        at += 1 + table->entries;
        work(table);
    }
}

}  // namespace

// How many steps of a window that took `elapsed` make up the time after which control looks again.
static uint32_t next_window(uint32_t window, uint64_t elapsed) {
    const double wanted =
        static_cast<double>(ticks_of_ns(kLookEvery_ns)) / static_cast<double>(elapsed) * window;
    if (wanted < kLeastCountdown) return kLeastCountdown;
    return wanted > kControlCountdown ? kControlCountdown : static_cast<uint32_t>(wanted);
}

// The first probe of the thread since it switched a site off. Another window of control follows.
static void note_probe_after(Thread* thread, uint64_t now) {
    thread->in_dwell.begin();
    {
        const SlowLock lock;
        SiteState* state = state_of(thread->switched_off);
        if (state != nullptr && state->off_since != 0 && state->alone_until == 0) {
            state->alone_until = now;
        }
    }
    thread->switched_off = nullptr;
    thread->probe_countdown = kLeastCountdown;
    thread->probe_window += kLeastCountdown;
    thread->slow_ticks += now_ticks() - now;
    thread->in_dwell.end();
}

bool profile_reduced_sites() { return g_profile_reduced.load(std::memory_order_relaxed); }

uint8_t enabled_level_of(const SiteFacts& named) {
    return g_enabled != nullptr ? level_after(g_enabled->decide(named)) : uint8_t{kLevelFull};
}

void start_control(Thread* thread) {
    thread->probe_countdown = thread->probe_window = kControlCountdown;
    thread->probe_lost_ticks = 0;
    thread->control_ticks = now_ticks();
    thread->code_countdown = thread->code_window = kControlCountdown;
    thread->code_counted = 0;
    thread->code_looked_ticks = thread->control_ticks;
}

void control_slowly(const SiteRow* row, const uint64_t* slot, uint64_t) {
    Thread* thread = t_thread;
    if (t_busy != 0) {  // a signal handler: the next probe looks
        thread->probe_countdown = 1;
        return;
    }
    const uint64_t now = now_ticks();
    if (thread->switched_off != nullptr) {
        note_probe_after(thread, now);
        return;
    }
    const uint64_t elapsed = now - thread->control_ticks + 1;
    const uint64_t lost =
        thread->probe_lost_ticks + thread->probe_window * g_process.probe_cost_ticks;
    const uint32_t limit = g_process.options.probe_limit;
    const auto permille =
        static_cast<uint64_t>(1000.0 * static_cast<double>(lost) / static_cast<double>(elapsed));
    thread->in_dwell.begin();
    bool rarer = false;  // what is left may come so rarely that the old window would take long
    if (limit != 0 && permille > limit) {
        // A site that only counts was entered under the innermost entry, another one just left.
        const KnownChild& known = thread->known_children[known_child_slot(
            reinterpret_cast<uint64_t>(row), row->kind == SiteKind::kProcedure ? *slot : 0,
            thread->on.top->node)];
        if (known.row == reinterpret_cast<uint64_t>(row) &&
            is_short(cell_at<Node>(known.node), g_process.probe_cost_ticks)) {
            const SlowLock lock;
            rarer = step_down(row, known.node, now, elapsed,
                              static_cast<double>(thread->probe_window) /
                                  static_cast<double>(without(lost, elapsed)));
        }
    } else if (now >= g_next_retry.load(std::memory_order_relaxed) && permille * 2 <= limit) {
        const SlowLock lock;
        retry_sites(now);
    }
    if (rarer) end_entries_of_off(thread);
    note_usage_at_times(now);
    // Often enough to see a change soon, rarely enough to cost nothing.
    thread->probe_countdown = rarer ? 1 : next_window(thread->probe_window, elapsed);
    if (rarer) thread->switched_off = row;
    thread->probe_window = thread->probe_countdown;
    thread->probe_lost_ticks = 0;
    const uint64_t after = now_ticks();
    thread->control_ticks = after;
    thread->slow_ticks += after - now;
    thread->in_dwell.end();
}

void control_code(Thread* thread, KnownChild* known) {
    const uint64_t now = now_ticks();
    const uint64_t elapsed = now - thread->code_looked_ticks + 1;
    const uint64_t lost =
        (thread->code_window - thread->code_counted) * g_process.block_cost_ticks +
        thread->code_counted * code_count_ticks();
    const uint32_t limit = g_process.options.probe_limit;
    const auto permille =
        static_cast<uint64_t>(1000.0 * static_cast<double>(lost) / static_cast<double>(elapsed));
    Node* node = cell_at<Node>(known->node);
    const bool counts = known->way == ProbeWay::kCounted;
    if (limit != 0 && permille > limit) {
        const bool reduce =
            !counts && is_short(node, g_process.block_cost_ticks) && ensure_part(thread, node);
        if (reduce) {
            known->way = ProbeWay::kCounted;
            thread->code_retry_ticks = now + (ticks_of_ns(kFirstRest_ns) << thread->code_rests);
        }
    } else if (thread->code_retry_ticks != 0 && now >= thread->code_retry_ticks &&
               permille * 2 <= limit) {
        // Sites and blocks that have a level are found again with it.
        for (KnownChild& child : thread->known_children) {
            if (child.way == ProbeWay::kCounted) child.row = 0;
        }
        thread->code_retry_ticks = 0;
        if (thread->code_rests < kLongestRestDoublings) thread->code_rests += 1;
    }
    thread->code_countdown = thread->code_window = next_window(thread->code_window, elapsed);
    thread->code_counted = 0;
    thread->code_looked_ticks = now_ticks();
    thread->slow_ticks += thread->code_looked_ticks - now;
}

bool read_enabling_profile(const char* path) {
    if (path[0] == '\0') return true;
    alignas(EnablingProfile) static char memory[sizeof(EnablingProfile)];
    auto* profile = new (memory) EnablingProfile;
    if (!profile->read(path)) {
        warn_of_job("%s: no site is watched", profile->error());
        return false;
    }
    g_enabled = profile;
    return true;
}

void switch_sites(bool on) {
    const SlowLock lock;
    if (on == g_on) return;
    g_on = on;
    const uint64_t now = now_ticks();
    for (int i = 0; i < g_module_count; ++i) {
        if (on) {
            switch_on(&g_modules[i]);
            continue;
        }
        switch_off(g_modules[i], now);
    }
}

uint64_t switched_off_at(const SiteRow* row) {
    const SlowLock lock;
    const SiteState* state = state_of(row);
    return state != nullptr ? state->off_since : 0;
}

int registered_modules() { return g_module_count; }

}  // namespace dwell

using namespace dwell;

extern "C" {

DWELL_EXPORT void dwell_register_sites(const SiteModule* module) { register_module(module, false); }

DWELL_EXPORT void dwell_link_module(LinkedModule* module) {
    bool newer = false;
    for_each_table(module, [&newer](LinkTable* table) {
        if (table->entries > kEntryPoints) newer = true;
    });
    if (newer) {
        warn(
            "a part of the program was compiled by a newer dwell: its procedures and loops are "
            "not watched; use that dwell, or compile it again");
        return;
    }
    constexpr decltype(&dwell_enter) kEntries[kEntryPoints] = {
        dwell_enter,      dwell_leave,  dwell_loop_enter, dwell_loop_enter_counting,
        dwell_loop_leave, dwell_landed, dwell_vforked};
    for_each_table(module, [&kEntries](LinkTable* table) {
        for (uint64_t i = 0; i < table->entries; ++i) table->entry[i] = kEntries[i];
    });
    module->unlink = unlink_module;
    register_module(&module->sites, true);
}

DWELL_EXPORT void dwell_unregister_sites(const SiteModule* module) {
    const SlowLock lock;
    for (int i = 0; i < g_module_count; ++i) {
        if (g_modules[i].module != module) continue;
        switch_off(g_modules[i], now_ticks());
        free(g_modules[i].states);
        g_modules[i] = g_modules[--g_module_count];
        break;
    }
    change_ticket();
}
}
