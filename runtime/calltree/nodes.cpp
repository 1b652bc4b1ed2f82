// Nodes of the call tree in the record file.
#include "runtime/calltree/nodes.h"

#include "runtime/calltree/modules.h"
#include "runtime/contract/mpi_calls.h"
#include "runtime/events/event_places.h"
#include "runtime/process/event_settings.h"

namespace dwell {

namespace {

// Above this share (in eighths) of the record file new paths collapse, so that one flat node for
// each call site still fits.
constexpr uint32_t kFoldShare8 = 7;

bool is_mpi_call(const Site& site) {
    return site.kind == SiteKind::kCommunication && site.call < kMpiCallCount;
}

// Of a site whose maker knows no more of it than its kind and call. Probes know more (probes.cpp).
uint8_t event_flags_of_new(const Site& site) {
    const bool has_no_row = site.kind == SiteKind::kCommunication ||
                            site.kind == SiteKind::kOpenMp || site.kind == SiteKind::kIo ||
                            (site.flags & kNodeCode) != 0;
    if (!has_no_row) return 0;
    const char* const name = is_mpi_call(site) ? kMpiCalls[site.call].name : nullptr;
    return event_flags_of({site.kind, 0, 0, name, nullptr, nullptr}, false);
}

}  // namespace

CellIndex child_of(Thread* thread, CellIndex parent, const Site& site) {
    Node* above = cell_at<Node>(parent);
    for (CellIndex at = above->first_child; at != 0;) {
        const Node* node = cell_at<Node>(at);
        if (node->site.offset == site.offset && node->site.module == site.module &&
            node->site.call == site.call && node->site.kind == site.kind) {
            return at;
        }
        at = node->next_sibling;
    }
    const bool communicates = site.kind == SiteKind::kCommunication;
    const bool with_part = site.kind == SiteKind::kOpenMp || site.kind == SiteKind::kIo;
    const uint32_t cells = communicates ? kHistogramOffsetCells + kHistogramCells
                           : with_part  ? kPartCells + 1
                                        : 1;
    const CellIndex made = take_cells(thread, cells);
    if (made == 0) return 0;
    Node* node = cell_at<Node>(made);
    node->site = site;
    if (site.kind == SiteKind::kOpenMp && metrics_on()) node->site.flags |= kNodeRead;
    const bool has_name = made >> kEventWhatBits == 0;  // in an event
    if ((g_process.options.event_kinds & event_bit_of(site.kind, site.call)) == 0 || !has_name) {
        node->site.flags |= kNodeNoEvents;
    }
    if (chooses_places()) node->site.flags |= event_flags_of_new(site);
    node->parent = parent;
    node->min_ticks = UINT64_MAX;
    if (communicates || with_part) node->part = made + kPartCells;
    if (communicates) {
        cell_at<CommPart>(node->part)->histogram = made + kHistogramOffsetCells;
    }
    node->next_sibling = above->first_child;
    __atomic_store_n(&above->first_child, made, __ATOMIC_RELEASE);
    return made;
}

CellIndex common_ancestor(CellIndex a, CellIndex b) {
    auto depth = [](CellIndex node) {
        int n = 0;
        for (; node != 0; node = cell_at<Node>(node)->parent) ++n;
        return n;
    };
    int depth_a = depth(a);
    int depth_b = depth(b);
    for (; depth_a > depth_b; --depth_a) a = cell_at<Node>(a)->parent;
    for (; depth_b > depth_a; --depth_b) b = cell_at<Node>(b)->parent;
    while (a != b) {
        a = cell_at<Node>(a)->parent;
        b = cell_at<Node>(b)->parent;
    }
    return a;
}

Site site_at(Thread* thread, void* return_address, SiteKind kind, uint16_t call, bool checked) {
    const auto address = reinterpret_cast<uintptr_t>(return_address);
    const ModulePlace place = place_of_address(thread, address - 1, checked);
    Site site{};
    site.module = place.module;
    site.offset = place.module != 0 ? place.offset + 1 : address;
    site.kind = kind;
    site.call = call;
    if (place.module == 0) site.flags = kNodeForeign;
    return site;
}

bool is_over_budget() {
    const uint64_t limit = static_cast<uint64_t>(g_process.options.memory_mib) * 1024 * 1024;
    const FileHeader* header = g_process.header;
    const uint32_t cells = __atomic_load_n(&header->cells_reserved, __ATOMIC_RELAXED) -
                           g_process.ring_cells.load(std::memory_order_relaxed);
    const uint64_t used = uint64_t{cells} * kCellBytes;
    return (__atomic_load_n(&header->flags, __ATOMIC_RELAXED) & kFileFull) != 0 ||
           used > limit / 8 * kFoldShare8;
}

CellIndex node_on_path(CellIndex from, const Site& site) {
    for (CellIndex at = from; at != 0; at = cell_at<Node>(at)->parent) {
        const Site& on_path = cell_at<Node>(at)->site;
        if (on_path.offset == site.offset && on_path.module == site.module &&
            on_path.kind == site.kind && on_path.call == site.call) {
            return at;
        }
    }
    return 0;
}

Site site_of_call(Thread* thread, uint64_t return_address) {
    return site_at(thread, reinterpret_cast<void*>(return_address), SiteKind::kCall, 0);
}

}  // namespace dwell
