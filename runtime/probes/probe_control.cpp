// Registers modules of instrumented sites, and adapts their levels to the cost of probes.
#include "runtime/probes/probe_control.h"

#include <cxxabi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>

#include "runtime/measure/usage.h"
#include "runtime/probes/function_clones.h"
#include "runtime/probes/probes.h"
#include "runtime/probes/sampled_sites.h"

namespace dwell {

namespace {

constexpr int kMaxSiteModules = 512;
// Approximate time between two checks. A reduced site is timed again after a rest, which doubles
// each time.
constexpr uint64_t kLookEvery_ns = 500'000;
constexpr uint64_t kGap_ns = 100'000;          // length of a gap while any site is sampled
constexpr uint64_t kFirstRest_ns = 1'000'000;  // the first rest is twice that
constexpr int kLongestRestDoublings = 12;      // 4 s
constexpr uint32_t kMostCounted = 16 * 1024;   // entries that only count between two checks
// Largest credit of a thread, and limit of counting cost in one gap beyond the credit: most bursts
// are covered by a few milliseconds.
constexpr uint64_t kMostCredit_ns = 1'000'000;
constexpr uint64_t kMostOfGap_ns = 4'000'000;
// A site that lasts longer than this many pairs of probes cannot make them expensive.
constexpr uint64_t kShortInCosts = 4;

// What control knows about a site.
struct SiteState {
    uint8_t wanted;        // the level that the user enabled
    bool kept;             // enabled explicitly by the user: stays on at any cost
    uint8_t event_flags;   // event_flags_of()
    uint8_t rests;         // how often it was reduced
    uint64_t retry_ticks;  // real ticks at which it is timed again, 0: has its wanted level
    SampledSite sampling;
};

// Cost of a thread's probes since its last check, and its remaining credit.
struct Window {
    uint64_t lost;
    uint64_t earned;
    int64_t credit;
    int64_t most;
};

struct Registered {
    const SiteModule* module;
    SiteState* states;  // one for each row
    bool by_symbols;    // units without link tables reach the library
    bool by_links;      // units with link tables do
};

Registered g_modules[kMaxSiteModules];
int g_module_count = 0;
bool g_on = false;
std::atomic<uint32_t> g_table_readers{0};
// Written with StateLock held.
uint64_t g_next_retry = UINT64_MAX;

EnablingProfile* g_enabled = nullptr;  // created once, never freed
std::atomic<bool> g_profile_reduced{false};

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

// What the user has said of a site.
void ask_about(const SiteRow* row, SiteState* state) {
    if (g_enabled == nullptr && !chooses_places()) {
        state->wanted = kLevelFull;
        return;
    }
    const SiteRow* procedure = procedure_of(row);
    const char* name = row_text(&procedure->name);
    char* demangled = nullptr;
    if (name != nullptr &&
        (chooses_places_by_name() || (g_enabled != nullptr && g_enabled->asks_for_names()))) {
        int status = 0;
        demangled = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    }
    const SiteFacts facts = {row->kind, row->flags, row->line,
                             name,      demangled,  row_text(&row->file)};
    const Decision decision = g_enabled != nullptr ? g_enabled->decide(facts) : Decision::kUnsaid;
    state->wanted = level_after(decision);
    state->event_flags = event_flags_of(facts, false);
    // An entry that is not seen could not be the n-th.
    state->kept = decision == Decision::kOn || (state->event_flags & kNodeWindow) != 0;
    free(demangled);
}

void switch_on(Registered* registered) {
    const SiteModule* module = registered->module;
    const auto rows = static_cast<size_t>(module->rows_end - module->rows);
    if (registered->states == nullptr) {
        registered->states = static_cast<SiteState*>(calloc(rows, sizeof(SiteState)));
        if (registered->states == nullptr) return;
        for (size_t i = 0; i < rows; ++i) {
            if (module->rows[i].level != 0) ask_about(&module->rows[i], &registered->states[i]);
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

// A module that contains units of both kinds registers twice.
void register_module(const SiteModule* module, bool by_links) {
    const bool observe = probes_wanted();
    const StateLock lock;
    Registered* registered = std::find_if(
        g_modules, g_modules + g_module_count,
        [module](const Registered& known) { return known.module->rows == module->rows; });
    if (registered == g_modules + g_module_count) {
        if (g_module_count == kMaxSiteModules) {
            static bool warned = false;
            if (!warned)
                warn_of_job("more than %d instrumented modules: the rest is not watched",
                            kMaxSiteModules);
            warned = true;
            return;
        }
        *registered = {module, nullptr, false, false};
        __atomic_store_n(&g_module_count, g_module_count + 1, __ATOMIC_RELEASE);
    }
    (by_links ? registered->by_links : registered->by_symbols) = true;
    if (observe) {
        g_on = true;
        switch_on(registered);
    }
}

// The state of a row; null when its module was unloaded. StateLock must be held.
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

// Levels changed between full and counting: cached children may be wrong.
void change_ticket() {
    if (g_live->ticket != 0) __atomic_fetch_add(&g_live->ticket, 1, __ATOMIC_RELEASE);
}

// Switches all sites of the module off.
void switch_off(const Registered& registered, uint64_t now) {
    const SiteModule* module = registered.module;
    forget_sampled(*module, now);
    memset(module->levels, 0, static_cast<size_t>(module->levels_end - module->levels));
}

// Times reduced sites again whose rest has ended.
void retry_sites(uint64_t now) {
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < g_module_count; ++i) {
        const SiteModule* module = g_modules[i].module;
        if (g_modules[i].states == nullptr) continue;
        for (const SiteRow* row = module->rows; row < module->rows_end; ++row) {
            SiteState* state = &g_modules[i].states[row - module->rows];
            if (state->retry_ticks == 0 || state->sampling.sampled) continue;
            if (state->retry_ticks > now) {
                if (state->retry_ticks < next) next = state->retry_ticks;
                continue;
            }
            state->retry_ticks = 0;
            set_level(row, kLevelFull);
        }
    }
    __atomic_store_n(&g_next_retry, next, __ATOMIC_RELAXED);
    change_ticket();
}

// Calls work(row, state) for a row and the loops in it, except those that the user enabled
// explicitly.
template <typename Work>
void for_each_within(const SiteRow* row, Work work) {
    SiteState* state = state_of(row);
    for (const SiteRow* inner = row; state != nullptr; state = state_of(++inner)) {
        const bool other = inner->kind == SiteKind::kProcedure || inner->kind == SiteKind::kProgram;
        if (other && inner != row) return;
        if (inner->level != 0 && !state->kept && encloses(row, inner)) work(inner, state);
    }
}

bool has_loop(const Node* node, const Site& loop) {
    for (CellIndex at = node->first_child; at != 0; at = cell_at<Node>(at)->next_sibling) {
        const Node* child = cell_at<Node>(at);
        if (child->site.kind != SiteKind::kLoop) continue;
        if (is_same_place(child->site, loop) || has_loop(child, loop)) return true;
    }
    return false;
}

// Reduces the site of the last probe of a window in which probes cost too much, and its loops: from
// full to counting, then to sampled.
void step_down(const SiteRow* row, const Node* node, uint64_t now, const Window& window) {
    const SiteState* known = state_of(row);
    if (known == nullptr || known->kept) return;
    const uint8_t level = level_of(row);
    if (level == kLevelFull && window.credit < window.most / 2) {
        const uint64_t rests = std::min<uint64_t>(known->rests + 1, kLongestRestDoublings);
        const uint64_t retry = now + (ticks_of_ns(kFirstRest_ns) << rests);
        for_each_within(row, [&](const SiteRow* inner, SiteState* state) {
            const bool full = level_of(inner) == kLevelFull;
            if (!full && state->retry_ticks == 0) return;
            if (full) set_level(inner, kLevelCount);
            state->rests = static_cast<uint8_t>(std::max<uint64_t>(state->rests, rests));
            state->retry_ticks = std::max(state->retry_ticks, retry);
        });
        __atomic_store_n(&g_next_retry, std::min(g_next_retry, retry), __ATOMIC_RELAXED);
        change_ticket();
    } else if (level == kLevelCount && window.credit < 0) {
        for_each_within(row, [&](const SiteRow* inner, SiteState* state) {
            if (level_of(inner) != kLevelCount || state->sampling.sampled) return;
            Site site = node->site;
            site.kind = inner->kind;
            site.offset += static_cast<uint64_t>(inner - row) * sizeof(SiteRow);
            // A loop that was never entered costs nothing, and would have no node while it is off.
            if (inner != row && !has_loop(node, site)) return;
            sample(&state->sampling, inner, site, now, window.lost, window.earned);
        });
    }
}

bool is_short(const Node* node, uint64_t cost_ticks) {
    // Recursive entries share the time of the timed one.
    const uint64_t counted = node->part != 0 ? cell_at<ProbePart>(node->part)->counted : 0;
    const uint64_t watched = node->count > counted ? node->count - counted : 0;
    if (watched == 0) return true;
    // At the overhead limit, a longer site alone cannot be called too often.
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

// Steps of the next window so that it lasts `wanted_ns`, after a window that took `elapsed`.
static uint32_t next_window(uint32_t window, uint64_t elapsed, uint64_t wanted_ns, uint32_t most) {
    const double wanted =
        static_cast<double>(ticks_of_ns(wanted_ns)) / static_cast<double>(elapsed) * window;
    if (wanted < 1) return 1;
    // Steps differ in length.
    most = std::min(most, 2 * window);
    return wanted > most ? most : static_cast<uint32_t>(wanted);
}

bool profile_reduced_sites() { return g_profile_reduced.load(std::memory_order_relaxed); }

uint8_t enabled_level_of(const SiteFacts& named) {
    return g_enabled != nullptr ? level_after(g_enabled->decide(named)) : uint8_t{kLevelFull};
}

uint8_t event_flags_of_row(const SiteRow* row) {
    const StateLock lock;
    const SiteState* const state = state_of(row);
    return state != nullptr ? state->event_flags : uint8_t{0};
}

void start_control(Thread* thread) {
    // Probes that are rare look often whether somebody has switched events on or off.
    constexpr uint32_t kFirstWithEvents = 4;
    const uint32_t first = g_process.options.events ? kFirstWithEvents : kControlCountdown;
    thread->probe_countdown = thread->probe_window = thread->gap_window = first;
    thread->count_countdown = thread->count_window = first;
    thread->probe_lost_ticks = 0;
    thread->control_ticks = thread->gap_ticks = now_ticks();
    thread->probe_credit = INT64_MAX / 2;  // limited at the first check
    thread->code_countdown = thread->code_window = kControlCountdown;
    thread->code_counted = 0;
    thread->code_looked_ticks = thread->control_ticks;
}

// Updates the thread's credit by the cost of probes since the last check.
static Window update_credit(Thread* thread, uint64_t now) {
    const uint64_t counted = thread->count_window - thread->count_countdown;
    const uint64_t count_lost = counted * g_process.probe_count_ticks;
    const uint64_t pairs = thread->probe_window - thread->probe_countdown;
    Window window;
    window.lost = thread->probe_lost_ticks + pairs * g_process.probe_cost_ticks + count_lost;
    window.earned = (now - thread->control_ticks + 1) * g_process.options.probe_limit / 1000;
    const int64_t credit = thread->probe_credit + static_cast<int64_t>(window.earned - window.lost);
    window.most = static_cast<int64_t>(ticks_of_ns(kMostCredit_ns));
    window.credit = thread->probe_credit =
        std::clamp(credit, -static_cast<int64_t>(ticks_of_ns(kMostOfGap_ns)), window.most);
    pay_in_gap(count_lost, window.earned);
    return window;
}

// Reduces the site of the last probe, or times reduced sites again. True when a site goes off.
static bool adapt_levels(const SiteRow* row, const Node* node, uint64_t now, const Window& window) {
    if (g_process.options.probe_limit == 0) return false;
    if (window.lost > window.earned) {
        const StateLock lock;
        if (window.credit < window.most / 2 && node != nullptr &&
            is_short(node, g_process.probe_cost_ticks)) {
            step_down(row, node, now, window);
        }
        return paid_in_gap() > ticks_of_ns(kMostOfGap_ns) && cut_gap(now);
    }
    if (now >= __atomic_load_n(&g_next_retry, __ATOMIC_RELAXED) &&
        window.credit > window.most / 4 * 3) {
        const StateLock lock;
        retry_sites(now);
    }
    return false;
}

void control_slowly(const SiteRow* row, const uint64_t* slot, uint64_t) {
    Thread* thread = t_thread;
    // The window of pairs has ended, or else that of counted entries.
    const bool pairs = thread->probe_countdown == 0;
    if (t_in_guard != 0) {  // in a signal handler: the next probe checks
        (pairs ? thread->probe_countdown : thread->count_countdown) = 1;
        return;
    }
    const uint64_t now = now_ticks();
    thread->in_tool.begin();
    const Window window = update_credit(thread, now);
    const bool tried = is_trial_gap();
    bool off = false;
    if (pairs && any_site_sampled()) {
        const StateLock lock;
        off = change_gap(row, now, window.credit, window.most);
    }
    const KnownChild& known = thread->known_children[known_child_slot(
        reinterpret_cast<uint64_t>(row), row->kind == SiteKind::kProcedure ? *slot : 0,
        thread->on.top->node)];
    // A counted site was entered below the innermost entry, any other one was just left.
    const bool is_known = known.row == reinterpret_cast<uint64_t>(row);
    const Node* node = is_known ? cell_at<Node>(known.node) : nullptr;
    if (adapt_levels(row, node, now, window)) off = true;
    if (off) {  // open entries end now, because their leave will not come
        change_ticket();
        end_switched_off_entries(thread);
    }
    note_usage_at_times(now);
    look_for_event_order();
    // Frequent enough to react soon, rare enough to cost nothing. The length of a window of pairs
    // must not depend on counted entries or on the cost of a trial.
    const uint32_t counted = std::max(thread->count_window - thread->count_countdown, 64u);
    thread->count_countdown = thread->count_window =
        next_window(counted, now - thread->control_ticks + 1, kLookEvery_ns, kMostCounted);
    if (pairs) {
        if (!tried) {
            thread->gap_window =
                next_window(thread->gap_window, now - thread->gap_ticks + 1,
                            any_site_sampled() ? kGap_ns : kLookEvery_ns, kControlCountdown);
        }
        thread->probe_countdown = thread->gap_window;
    }
    if (off) thread->probe_countdown = 1;  // a gap that was cut short ends soon
    thread->probe_window = thread->probe_countdown;
    const uint64_t after = now_ticks();
    thread->probe_lost_ticks = cost_of_slow(after - now);
    thread->control_ticks = after;
    if (pairs) thread->gap_ticks = after;
    thread->slow_overhead += after - now;
    thread->in_tool.end();
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
    const bool counts = known->enter_kind == EnterKind::kCounted;
    if (limit != 0 && permille > limit) {
        const bool reduce =
            !counts && is_short(node, g_process.block_cost_ticks) && ensure_part(thread, node);
        if (reduce) {
            known->enter_kind = EnterKind::kCounted;
            thread->code_retry_ticks = now + (ticks_of_ns(kFirstRest_ns) << thread->code_rests);
        }
    } else if (thread->code_retry_ticks != 0 && now >= thread->code_retry_ticks &&
               permille * 2 <= limit) {
        // Sites and blocks with a level are looked up again and keep their level.
        for (KnownChild& child : thread->known_children) {
            if (child.enter_kind == EnterKind::kCounted) child.row = 0;
        }
        thread->code_retry_ticks = 0;
        if (thread->code_rests < kLongestRestDoublings) thread->code_rests += 1;
    }
    thread->code_countdown = thread->code_window =
        next_window(thread->code_window, elapsed, kLookEvery_ns, kControlCountdown);
    thread->code_counted = 0;
    thread->code_looked_ticks = now_ticks();
    thread->slow_overhead += thread->code_looked_ticks - now;
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
    const StateLock lock;
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
    const StateLock lock;
    const SiteState* state = state_of(row);
    return state != nullptr ? state->sampling.off_since : 0;
}

int registered_modules() { return __atomic_load_n(&g_module_count, __ATOMIC_ACQUIRE); }

const SiteModule* registered_module(int number) {
    return __atomic_load_n(&g_modules[number].module, __ATOMIC_ACQUIRE);
}

TablesHeld::TablesHeld() { g_table_readers.fetch_add(1, std::memory_order_seq_cst); }
TablesHeld::~TablesHeld() { g_table_readers.fetch_sub(1, std::memory_order_release); }

// Before the tables of an unregistered module are unmapped. A child of fork() has only one thread,
// and a reader never takes a second.
static void wait_for_table_readers() {
    constexpr uint64_t kLongest_ns = 1'000'000'000;
    std::atomic_thread_fence(std::memory_order_seq_cst);
    const uint64_t start = monotonic_ns();
    while (g_live->on != 0 && g_table_readers.load(std::memory_order_seq_cst) != 0 &&
           monotonic_ns() - start < kLongest_ns) {
        sched_yield();
    }
}

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
        warn_of_job(
            "a part of the program was compiled by a newer dwell: its procedures and loops are "
            "not watched; use that dwell, or compile it again");
        return;
    }
    static constexpr decltype(&dwell_enter) kEntries[kEntryPoints] = {
        dwell_enter,      dwell_leave,  dwell_loop_enter, dwell_loop_enter_counting,
        dwell_loop_leave, dwell_landed, dwell_vforked};
    for_each_table(module, [](LinkTable* table) {
        for (uint64_t i = 0; i < table->entries; ++i) table->entry[i] = kEntries[i];
    });
    module->unlink = unlink_module;
    register_module(&module->sites, true);
}

DWELL_EXPORT void dwell_unregister_sites(const SiteModule* module) {
    {
        const StateLock lock;
        for (int i = 0; i < g_module_count; ++i) {
            if (g_modules[i].module != module) continue;
            switch_off(g_modules[i], now_ticks());
            free(g_modules[i].states);
            g_modules[i] = g_modules[g_module_count - 1];
            __atomic_store_n(&g_module_count, g_module_count - 1, __ATOMIC_RELEASE);
            break;
        }
        change_ticket();
    }
    wait_for_table_readers();
}
}
