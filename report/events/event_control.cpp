// What the collector has ranks do: windows of time, and places with too many events; and what they
// have not written.
#include "report/events/event_collector.h"

#include <algorithm>

#include "report/results/record_files.h"
#include "runtime/process/clock.h"

namespace dwell {

// The window counts from the start of the host's first process, in all of them.
void EventCollector::keep_window(uint64_t start_ticks, Rank* rank) const {
    FileHeader* const header = rank->records.own_header();
    const double rate = static_cast<double>(std::max<uint64_t>(header->ticks_per_second, 1));
    const double age_s = static_cast<double>(ticks_now() - start_ticks) / rate;
    const bool on = age_s >= window_.from_s && (window_.to_s == 0 || age_s < window_.to_s);
    const EventOrder order = on ? EventOrder::kOn : EventOrder::kOff;
    if (load_shared(&header->event_order) != order)
        __atomic_store_n(reinterpret_cast<uint32_t*>(&header->event_order),
                         static_cast<uint32_t>(order), __ATOMIC_RELEASE);
}

// Once a second. The rank looks at the node's flag, no more; what it does without events is in the
// node's count and time.
void EventCollector::keep_rates(Job* job, Rank* rank, bool at_end) {
    constexpr uint64_t kEvery_ns = 1'000'000'000;
    constexpr uint64_t kCountsAlone = 10;  // times the high rate
    const uint64_t now_ns = monotonic_ns();
    if (rank->limited_ns == 0) rank->limited_ns = now_ns;
    const uint64_t passed_ns = now_ns - rank->limited_ns;
    if (passed_ns < kEvery_ns && !at_end) return;
    rank->limited_ns = now_ns;
    const double seconds = std::max(static_cast<double>(passed_ns) * 1e-9, 1e-3);
    std::vector<LevelChange> changes;
    for (auto& [cell, place] : rank->places) {
        auto* const node = rank->records.at<Node>(cell);
        if (node == nullptr) continue;
        uint64_t count = load_shared(&node->count);
        uint64_t ticks = load_shared(&node->ticks);
        const bool has_events = place.level == EventLevel::kEvents;
        const double events =
            static_cast<double>(has_events ? place.events : 2 * (count - place.looked));
        const double rate = events / seconds;
        EventLevel level = place.level;
        if (rate > static_cast<double>(rates_.high)) {
            level = rate > static_cast<double>(kCountsAlone * rates_.high)
                        ? EventLevel::kCounts
                        : EventLevel::kStatistics;
        } else if (rate < static_cast<double>(rates_.low)) {
            level = EventLevel::kEvents;
        }
        place.events = 0;
        place.looked = count;
        const bool changes_level = level != place.level;
        const bool is_told =
            changes_level || level == EventLevel::kStatistics || (at_end && !has_events);
        if (!is_told && !has_events) continue;
        if (changes_level) {
            // Just before, so that each call is counted or has events.
            count = load_shared(&node->count);
            ticks = load_shared(&node->ticks);
            auto* const flags = &node->site.flags;
            if (level == EventLevel::kEvents) {
                __atomic_fetch_and(flags, static_cast<uint8_t>(~kNodeNoEvents), __ATOMIC_RELEASE);
            } else {
                __atomic_fetch_or(flags, uint8_t{kNodeNoEvents}, __ATOMIC_RELEASE);
            }
        }
        if (is_told) {
            changes.push_back({cell, level, ticks_now(), has_events ? 0 : count - place.count,
                               has_events ? 0 : ticks - place.ticks});
        }
        place.count = place.looked = count;
        place.ticks = ticks;
        place.level = level;
    }
    if (!changes.empty() && job->log) job->log->write_levels(rank->number, changes);
}

// At places that were to have events.
uint64_t EventCollector::entries_counted(Rank* rank) {
    // Copied, as records move when more of their file is mapped.
    const size_t cells = rank->records.header().cells_used;
    const uint32_t left_out = rank->records.header().events_left_out;
    std::vector<CellIndex> nodes;
    uint64_t counted = 0;
    for_each_thread(rank, [&](CellIndex, const ThreadRecord& thread) {
        nodes.push_back(thread.root);
        counted += thread.events.recursions_counted;
    });
    for (size_t left = cells; !nodes.empty() && left != 0; --left) {
        const auto* const found = rank->records.at<Node>(nodes.back());
        nodes.pop_back();
        if (found == nullptr) continue;
        const Node node = *found;
        for (const CellIndex next : {node.first_child, node.next_sibling}) {
            if (next != 0) nodes.push_back(next);
        }
        const SiteKind kind = node.site.kind;
        const bool is_probed =
            kind == SiteKind::kProcedure || kind == SiteKind::kLoop || kind == SiteKind::kBlock;
        if (!is_probed || node.part == 0 || (node.site.flags & kNodeNoEvents) != 0 ||
            (left_out & event_bit(kind)) != 0)
            continue;
        const auto* const part = rank->records.at<ProbePart>(node.part);
        if (part != nullptr) counted += part->counted + part->off_entries;
    }
    return counted;
}

}  // namespace dwell
