// What is sampled is a list of sites; its gaps are those of the whole process. See sampled_sites.h.
#include "runtime/sampled_sites.h"

#include <atomic>

#include "runtime/probe_trials.h"
#include "runtime/probes.h"

namespace dwell {

uint64_t g_gap = uint64_t{1} << 32;

namespace {

std::atomic<SampledSite*> g_sampled{nullptr};
Trials g_trials;
Trials::Gap g_this_gap{false, 1};
uint64_t g_gap_began = 0;  // real ticks
// Of all threads while something is sampled, ticks so far in this gap.
std::atomic<uint64_t> g_cost{0};
std::atomic<uint64_t> g_earned{0};

template <typename Work>
void for_each_sampled(Work work) {
    SampledSite* site = g_sampled.load(std::memory_order_relaxed);
    for (; site != nullptr; site = site->next) work(site);
}

bool is_same_place(const Site& a, const Site& b) {
    return a.kind == b.kind && a.module == b.module && a.offset == b.offset;
}

// Readers learn that entries of the site are missing.
void note_off(const Site& site) {
    FileHeader* header = g_process.header;
    for (CellIndex at = header->first_off_site; at != 0; at = cell_at<OffSite>(at)->next) {
        if (is_same_place(cell_at<OffSite>(at)->site, site)) return;
    }
    const CellIndex cell = take_shared_cell();
    if (cell == 0) return;
    *cell_at<OffSite>(cell) = {site, header->first_off_site, 0, {}};
    __atomic_store_n(&header->first_off_site, cell, __ATOMIC_RELEASE);
}

// Sampled sites are tried from now on, or off. True when one was not off before.
bool set_levels(uint8_t level, uint64_t now) {
    bool first = false;
    for_each_sampled([&](SampledSite* site) {
        set_level(site->row, level);
        if (level != kLevelOff || site->off_since != 0) return;
        note_off(site->site);
        site->off_since = now;
        first = true;
    });
    return first;
}

// Calls work(node) for each node of a thread.
template <typename Work>
void for_each_node(CellIndex root, Work work) {
    for (CellIndex at = root; at != 0;) {
        Node* node = cell_at<Node>(at);
        work(node);
        if (node->first_child != 0) {
            at = node->first_child;
            continue;
        }
        while (at != 0 && cell_at<Node>(at)->next_sibling == 0) at = cell_at<Node>(at)->parent;
        if (at != 0) at = cell_at<Node>(at)->next_sibling;
    }
}

// Counting of a site was broken off in the midst of the gap that ends now: its entries are taken to
// have gone on as they did before in that gap. As nobody knows, they are kept apart.
void book_cut(const SampledSite& cut, uint64_t now) {
    const uint64_t seen = cut.cut_ticks - g_gap_began + 1;
    const double unseen = static_cast<double>(now - cut.cut_ticks) / static_cast<double>(seen);
    const Site& site = cut.site;
    for (Thread* thread = g_process.threads; thread != nullptr; thread = thread->next) {
        for_each_node(thread->record->root, [&](Node* node) {
            if (!is_same_place(node->site, site) || node->part == 0) return;
            auto* part = cell_at<ProbePart>(node->part);
            if (part->gap.number != g_gap >> 32) return;
            part->off_cut += static_cast<uint64_t>(unseen * part->gap.entries * cut.cut_share) + 1;
        });
    }
}

void end_gap(uint64_t now) {
    for_each_sampled([&](SampledSite* site) {
        if (site->cut_ticks != 0 && g_live->on != 0) book_cut(*site, now);
        site->cut_ticks = 0;
    });
}

void begin_gap(uint64_t now, Trials::Gap gap) {
    const uint64_t number = (g_gap >> 32) + 1;
    __atomic_store_n(&g_gap, number << 32 | (gap.trial ? gap.share - 1 : 0), __ATOMIC_RELAXED);
    g_this_gap = gap;
    g_gap_began = now;
    g_cost.store(0, std::memory_order_relaxed);
    g_earned.store(0, std::memory_order_relaxed);
}

void forget(SampledSite* site) {
    site->sampled = false;
    site->off_since = 0;
}

}  // namespace

bool sampling_goes_on() { return g_sampled.load(std::memory_order_relaxed) != nullptr; }

bool trial_goes_on() {
    return static_cast<uint32_t>(__atomic_load_n(&g_gap, __ATOMIC_RELAXED)) != 0;
}

void pay_in_gap(uint64_t cost, uint64_t earned) {
    if (!sampling_goes_on()) return;
    g_cost.fetch_add(cost, std::memory_order_relaxed);
    g_earned.fetch_add(earned, std::memory_order_relaxed);
}

uint64_t paid_in_gap() { return g_cost.load(std::memory_order_relaxed); }

void sample(SampledSite* site, const SiteRow* row, const Site& of_nodes, uint64_t now,
            uint64_t cost, uint64_t earned) {
    if (!sampling_goes_on()) {
        g_trials.begin(now, cost, earned);
        begin_gap(now, {false, 1});
    }
    *site = {true, 0, 0, 0, of_nodes, row, g_sampled.load(std::memory_order_relaxed)};
    g_sampled.store(site, std::memory_order_relaxed);
}

bool change_gap(const SiteRow* row, uint64_t now, int64_t credit, int64_t most) {
    end_gap(now);
    if (g_trials.adapt(g_this_gap, g_cost, g_earned, credit, most)) {
        set_levels(kLevelCount, now);
        for_each_sampled(forget);
        g_sampled.store(nullptr, std::memory_order_relaxed);
        g_trials.end();
    }
    begin_gap(now, g_trials.next(reinterpret_cast<uintptr_t>(row)));
    return set_levels(trial_goes_on() ? kLevelTried : kLevelOff, now);
}

bool cut_gap(uint64_t now) {
    for_each_sampled([&](SampledSite* site) {
        const uint8_t level = level_of(site->row);
        if (level == kLevelOff) return;
        site->cut_ticks = now;
        site->cut_share = level == kLevelTried ? static_cast<uint32_t>(g_gap) + 1 : 1;
    });
    __atomic_store_n(&g_gap, g_gap >> 32 << 32, __ATOMIC_RELAXED);
    return set_levels(kLevelOff, now);
}

void forget_sampled(const SiteModule& module, uint64_t now) {
    end_gap(now);
    SampledSite* kept = nullptr;
    for (SampledSite* site = g_sampled; site != nullptr;) {
        SampledSite* next = site->next;
        if (site->row >= module.rows && site->row < module.rows_end) {
            forget(site);
        } else {
            site->next = kept;
            kept = site;
        }
        site = next;
    }
    g_sampled.store(kept, std::memory_order_relaxed);
}

}  // namespace dwell
