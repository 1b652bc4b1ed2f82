// The list of sampled sites. Gaps are common to the whole process (sampled_sites.h).
#include "runtime/probes/sampled_sites.h"

#include <atomic>

#include "runtime/probes/probe_trials.h"
#include "runtime/probes/probes.h"

namespace dwell {

uint64_t g_gap = uint64_t{1} << 32;

namespace {

std::atomic<SampledSite*> g_sampled{nullptr};
Trials g_trials;
Trials::TrialGap g_this_gap{false, 1};
// Ticks of all threads in the current gap, while any site is sampled.
std::atomic<uint64_t> g_cost{0};
std::atomic<uint64_t> g_earned{0};

template <typename Work>
void for_each_sampled(Work work) {
    SampledSite* site = g_sampled.load(std::memory_order_relaxed);
    for (; site != nullptr; site = site->next) work(site);
}

// The record that shows readers that entries of the site are missing.
CellIndex record_of(const Site& site) {
    FileHeader* header = g_process.header;
    for (CellIndex at = header->first_off_site; at != 0; at = cell_at<OffSite>(at)->next) {
        if (is_same_place(cell_at<OffSite>(at)->site, site)) return at;
    }
    const CellIndex cell = take_shared_cell();
    if (cell == 0) return 0;
    *cell_at<OffSite>(cell) = {site, header->first_off_site, 0, 0, 0, 0, {}};
    __atomic_store_n(&header->first_off_site, cell, __ATOMIC_RELEASE);
    return cell;
}

// Switches the site off; true when it was never off before.
bool go_off(SampledSite* site, uint64_t now) {
    set_level(site->row, kLevelOff);
    site->off_again = now;
    if (site->off_since != 0) return false;
    site->off_since = now;
    site->record = record_of(site->site);
    return true;
}

void end_stretch(SampledSite* site, uint64_t now) {
    if (site->off_again != 0 && site->record != 0) {
        auto* off = cell_at<OffSite>(site->record);
        const auto ticks = static_cast<double>(now - site->off_again);
        off->stretches += ticks;
        off->squares += ticks * ticks;
        off->cut += site->cut ? ticks : 0;
    }
    site->off_again = 0;
    site->cut = false;
}

void begin_gap(Trials::TrialGap gap) {
    const uint64_t number = (g_gap >> 32) + 1;
    __atomic_store_n(&g_gap, number << 32 | (gap.trial ? gap.share - 1 : 0), __ATOMIC_RELAXED);
    g_this_gap = gap;
    g_cost.store(0, std::memory_order_relaxed);
    g_earned.store(0, std::memory_order_relaxed);
}

void forget(SampledSite* site, uint64_t now) {
    end_stretch(site, now);
    site->sampled = false;
    site->off_since = 0;
}

}  // namespace

bool any_site_sampled() { return g_sampled.load(std::memory_order_relaxed) != nullptr; }

bool is_trial_gap() {
    return static_cast<uint32_t>(__atomic_load_n(&g_gap, __ATOMIC_RELAXED)) != 0;
}

void pay_in_gap(uint64_t cost, uint64_t earned) {
    if (!any_site_sampled()) return;
    g_cost.fetch_add(cost, std::memory_order_relaxed);
    g_earned.fetch_add(earned, std::memory_order_relaxed);
}

uint64_t paid_in_gap() { return g_cost.load(std::memory_order_relaxed); }

void sample(SampledSite* site, const SiteRow* row, const Site& of_nodes, uint64_t now,
            uint64_t cost, uint64_t earned) {
    if (!any_site_sampled()) {
        g_trials.begin(now, cost, earned);
        begin_gap({false, 1});
    }
    *site = {true, 0, 0, false, 0, of_nodes, row, g_sampled.load(std::memory_order_relaxed)};
    g_sampled.store(site, std::memory_order_relaxed);
}

bool change_gap(const SiteRow* row, uint64_t now, int64_t credit, int64_t most) {
    for_each_sampled([now](SampledSite* site) { end_stretch(site, now); });
    if (g_trials.adapt(g_this_gap, g_cost, g_earned, credit, most)) {
        for_each_sampled([now](SampledSite* site) {
            set_level(site->row, kLevelCount);
            forget(site, now);
        });
        g_sampled.store(nullptr, std::memory_order_relaxed);
        g_trials.end();
    }
    begin_gap(g_trials.next(reinterpret_cast<uintptr_t>(row)));
    bool first = false;
    for_each_sampled([&](SampledSite* site) {
        if (is_trial_gap()) {
            set_level(site->row, kLevelTried);
        } else if (go_off(site, now)) {
            first = true;
        }
    });
    return first;
}

bool cut_gap(uint64_t now) {
    bool first = false;
    for_each_sampled([&](SampledSite* site) {
        if (site->off_again != 0) return;
        if (go_off(site, now)) first = true;
        site->cut = true;
    });
    __atomic_store_n(&g_gap, g_gap >> 32 << 32, __ATOMIC_RELAXED);
    return first;
}

void forget_sampled(const SiteModule& module, uint64_t now) {
    SampledSite* kept = nullptr;
    for (SampledSite* site = g_sampled; site != nullptr;) {
        SampledSite* next = site->next;
        if (site->row >= module.rows && site->row < module.rows_end) {
            forget(site, now);
        } else {
            site->next = kept;
            kept = site;
        }
        site = next;
    }
    g_sampled.store(kept, std::memory_order_relaxed);
}

}  // namespace dwell
