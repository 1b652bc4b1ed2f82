// The functions behind dwell.h: the table that libdwell.so exports for it.
#include <string.h>

#include "runtime/contract/version.h"
#include "runtime/events/events.h"
#include "runtime/lifecycle/lifecycle.h"
#include "runtime/probes/blocks.h"
#include "runtime/probes/grids.h"
#include "runtime/probes/probe_control.h"

#include "runtime/api/query.h"

namespace dwell {

namespace {

// Returned before the first attempt to observe this process: the first call may attach.
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

void grid(const char* name, size_t bytes, int dimensions, const int* sizes, const int* periodic,
          const int* coordinates) {
    if (!describe_grid({name, bytes}, 0, dimensions, sizes, periodic, coordinates)) {
        warn("dwell_grid: this is no grid of 1 to %d dimensions with a place in it: ignored",
             kGridDimensions);
    }
}

// Programs of later versions have more room than figures are known, those of earlier ones less.
int copy(const dwell_figures& known, bool found, dwell_figures* figures, size_t room) {
    memcpy(figures, &known, room < sizeof(known) ? room : sizeof(known));
    return found ? 1 : 0;
}

int query(const char* name, size_t bytes, dwell_figures* figures, size_t room) {
    dwell_figures known{};
    const bool found = query_name({name, bytes}, &known);
    return copy(known, found, figures, room);
}

void switch_events(int on) { order_events(on != 0); }

int query_of_partner(int rank, dwell_figures* figures, size_t room) {
    dwell_figures known{};
    const bool found = query_partner(rank, &known);
    return copy(known, found, figures, room);
}

}  // namespace

}  // namespace dwell

// What programs of version 1 know stays where it was.
static_assert(offsetof(dwell_entries, query) == 3 * sizeof(uint64_t) + 12 * sizeof(void (*)()));

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
    dwell::query,
    dwell::query_of_partner,
    dwell::switch_events,
};
}

namespace dwell {

namespace {

void note_observed() { __atomic_store_n(&dwell_entries.observed, &g_live->on, __ATOMIC_RELEASE); }

__attribute__((constructor)) void follow() { on_profiled(note_observed); }

}  // namespace

}  // namespace dwell
