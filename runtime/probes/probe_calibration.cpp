// Measures the cost of a pair of probes before the first one (DESIGN 4, local rule).
#include "runtime/probes/blocks.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"
#include "runtime/probes/scratch_entries.h"
#include "runtime/process/calibration.h"

namespace dwell {

#if defined(__x86_64__)

namespace {

// A site that belongs to no module.
struct CalibrationSite {
    SiteRow row;
    uint8_t level;
};
CalibrationSite g_site;

// Calls a probe as compiled code does (site_table.h), without the test of the level.
inline void call_probe(void (*probe)(), const SiteRow* row, const uint64_t* slot) {
    asm volatile(
        "mov %1, %%r11\n\t"
        "mov %2, %%r10\n\t"
        "call *%0"
        :
        : "r"(probe), "r"(row), "r"(slot)
        : "r10", "r11", "cc", "memory");
}

}  // namespace

void calibrate_probes(Thread* thread) {
    const ScratchEntries entries(thread);
    if (!entries.are_there()) return;
    const CellIndex child = entries.index();
    Node* const node = entries.node();
    g_site.row.kind = SiteKind::kProcedure;
    g_site.row.level = static_cast<int32_t>(reinterpret_cast<const char*>(&g_site.level) -
                                            reinterpret_cast<const char*>(&g_site.row.level));
    g_site.level = kLevelFull;
    const uint64_t return_address = 1;
    const auto key = reinterpret_cast<uint64_t>(&g_site.row);
    KnownChild* known =
        &thread->known_children[known_child_slot(key, return_address, thread->record->root)];
    *known = {key, return_address, thread->record->root, child, 0, EnterKind::kChild};
    const auto pair = [&return_address] {
        call_probe(dwell_enter, &g_site.row, &return_address);
        call_probe(dwell_leave, &g_site.row, &return_address);
    };
    const StepTicks timed = least_ticks(thread, node, pair);
    g_process.probe_inner_ticks = timed.inner;
    g_process.probe_cost_ticks = timed.all;
    known->enter_kind = EnterKind::kCounted;
    g_site.level = kLevelCount;
    g_process.probe_count_ticks = least_ticks(thread, node, pair).all;
    calibrate_blocks(thread, child);
}

#else

void calibrate_probes(Thread*) {}

#endif

}  // namespace dwell
