// What dwell.h reaches: the table that libdwell.so exports for it.
#include <string.h>

#include "runtime/blocks.h"
#include "runtime/dwell.h"
#include "runtime/lifecycle.h"
#include "runtime/probe_control.h"
#include "runtime/version.h"

namespace dwell {

namespace {

// Before anyone tried to observe this process: the first call may.
const uint32_t kMayAttach = 1;

BlockName* name_at(dwell_place* place, SiteKind kind) {
    auto* known = static_cast<BlockName*>(__atomic_load_n(&place->known, __ATOMIC_ACQUIRE));
    if (known != nullptr) [[likely]]
        return known;
    const GivenName name = {place->name, place->name != nullptr ? strlen(place->name) : 0};
    const char* file = place->file != nullptr ? place->file : "?";
    known = block_name(kind, kNodeNamed, name, file, place->line);
    __atomic_store_n(&place->known, known, __ATOMIC_RELEASE);
    return known;
}

BlockName* plain_name(const char* name, size_t bytes, SiteKind kind, uint8_t flags = 0) {
    return block_name(kind, kNodeNamed | flags, {name, bytes}, nullptr, 0);
}

void begin_at(dwell_place* place) { begin_block(name_at(place, SiteKind::kBlock)); }

void begin(const char* name, size_t bytes) {
    begin_block(plain_name(name, bytes, SiteKind::kBlock));
}

void end(const char* name, size_t bytes) { end_block({name, bytes}); }

void mark_at(dwell_place* place, uint64_t volume) {
    mark(name_at(place, SiteKind::kMarker), volume);
}

void mark_named(const char* name, size_t bytes, uint64_t volume) {
    mark(plain_name(name, bytes, SiteKind::kMarker), volume);
}

void phase_begin(const char* name, size_t bytes, uint64_t iteration) {
    begin_phase(plain_name(name, bytes, SiteKind::kBlock, kNodePhase), iteration);
}

int is_recording() { return g_live->ticket != 0 ? 1 : 0; }

bool is_grid(int dimensions, const int* sizes, const int* coordinates) {
    if (dimensions < 1 || dimensions > kGridDimensions || sizes == nullptr ||
        coordinates == nullptr) {
        return false;
    }
    for (int i = 0; i < dimensions; ++i) {
        if (sizes[i] < 1 || coordinates[i] < 0 || coordinates[i] >= sizes[i]) return false;
    }
    return true;
}

// The grid of that name, made when needed; null when there is no room.
GridRecord* grid_record(Thread* thread, const BlockName* name) {
    FileHeader* header = g_process.header;
    for (CellIndex at = header->first_grid; at != 0; at = cell_at<GridRecord>(at)->next) {
        if (cell_at<GridRecord>(at)->name == name->cell) return cell_at<GridRecord>(at);
    }
    const CellIndex cell = take_cells(thread, 1);
    if (cell == 0) return nullptr;
    auto* grid = cell_at<GridRecord>(cell);
    grid->name = name->cell;
    grid->next = header->first_grid;
    __atomic_store_n(&header->first_grid, cell, __ATOMIC_RELEASE);
    return grid;
}

void grid(const char* name, size_t bytes, int dimensions, const int* sizes, const int* periodic,
          const int* coordinates) {
    if (!is_grid(dimensions, sizes, coordinates)) {
        warn("dwell_grid: this is no grid of 1 to %d dimensions with a place in it: ignored",
             kGridDimensions);
        return;
    }
    const BlockName* known = plain_name(name, bytes, SiteKind::kNone);
    const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    Thread* thread = known != nullptr ? probing_thread(frame) : nullptr;
    if (thread == nullptr) return;
    const SlowProbe work(thread);
    const NamesLock lock;
    GridRecord* record = grid_record(thread, known);
    if (record == nullptr) return;
    record->periodic = 0;
    for (int i = 0; i < dimensions; ++i) {
        record->size[i] = sizes[i];
        record->coordinate[i] = coordinates[i];
        if (periodic != nullptr && periodic[i] != 0) record->periodic |= 1u << i;
    }
    __atomic_store_n(&record->dimensions, static_cast<uint32_t>(dimensions), __ATOMIC_RELEASE);
}

}  // namespace

}  // namespace dwell

extern "C" {

DWELL_EXPORT constinit struct dwell_entries dwell_entries = {
    DWELL_API_VERSION,
    0,
    &dwell::kMayAttach,
    DWELL_VERSION,
    dwell::begin_at,
    dwell::begin,
    dwell::end,
    dwell::add_volume,
    dwell::mark_at,
    dwell::mark_named,
    dwell::phase_begin,
    dwell::end_phase,
    dwell::pause_recording,
    dwell::resume_recording,
    dwell::is_recording,
    dwell::grid,
};
}

namespace dwell {

void tell_observed() { __atomic_store_n(&dwell_entries.observed, &g_live->on, __ATOMIC_RELEASE); }

}  // namespace dwell
