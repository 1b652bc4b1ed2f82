// What a pair of probes costs, measured before the first one (DESIGN 4, local rule).
#include "runtime/openmp/omp_calibration.h"
#include "runtime/probes/blocks.h"
#include "runtime/probes/probe_control.h"
#include "runtime/probes/probes.h"
#include "runtime/process/calibration.h"

namespace dwell {

#if defined(__x86_64__)

namespace {

// A site of no one.
struct CalibrationSite {
    SiteRow row;
    uint8_t level;
};
CalibrationSite g_site;

// The probes as a plugin writes them (site_table.h), without the test of the level.
inline void call_probe(void (*probe)(), const SiteRow* row, const uint64_t* slot) {
    asm volatile(
        "mov %1, %%r11\n\t"
        "mov %2, %%r10\n\t"
        "call *%0"
        :
        : "r"(probe), "r"(row), "r"(slot)
        : "r10", "r11", "cc", "memory");
}

// A stack of entries and two nodes for `thread`, which has records of no one.
class EntriesOfNoOne {
  public:
    explicit EntriesOfNoOne(Thread* thread) : first_(take_cells(thread, 4)) {
        if (first_ == 0) return;
        node()->part = first_ + 1;
        other()->part = first_ + 3;
        entries_[0] = {UINT64_MAX, 0, 0, thread->record->root, 0};
        thread->on = {entries_, entries_, entries_ + 3, 0, UINT64_MAX, &thread->depth_elsewhere, 0};
        thread->probe_ticket = g_live->ticket;
        thread->probe_countdown = thread->count_countdown = UINT32_MAX;
    }
    bool are_there() const { return first_ != 0; }
    CellIndex index() const { return first_; }
    Node* node() const { return cell_at<Node>(first_); }
    Node* other() const { return cell_at<Node>(first_ + 2); }

  private:
    CellIndex first_;
    ProbeEntry entries_[4] = {};
};

}  // namespace

void calibrate_probes(Thread* thread) {
    const EntriesOfNoOne entries(thread);
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
    *known = {key, return_address, thread->record->root, child, 0, ProbeWay::kDown};
    const auto pair = [&return_address] {
        call_probe(dwell_enter, &g_site.row, &return_address);
        call_probe(dwell_leave, &g_site.row, &return_address);
    };
    const StepTicks timed = least_ticks(thread, node, pair);
    g_process.probe_inner_ticks = timed.inner;
    g_process.probe_cost_ticks = timed.all;
    known->way = ProbeWay::kCounted;
    g_site.level = kLevelCount;
    g_process.probe_count_ticks = least_ticks(thread, node, pair).all;
    calibrate_blocks(thread, child);
}

void calibrate_omp_on(Thread* thread) {
    const EntriesOfNoOne entries(thread);
    if (entries.are_there()) calibrate_omp(thread, entries.node(), entries.other());
}

#else

void calibrate_probes(Thread*) {}
void calibrate_omp_on(Thread*) {}

#endif

}  // namespace dwell
