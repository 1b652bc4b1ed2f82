// Records grids of processes in the record file.
#include "runtime/probes/grids.h"

#include <string.h>

#include "runtime/mpi/mpi_api.h"
#include "runtime/mpi/mpi_handles.h"

namespace dwell {

namespace {

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

bool same_shape(const GridRecord* a, const GridRecord& b) {
    return a->dimensions == b.dimensions && a->periodic == b.periodic &&
           memcmp(a->size, b.size, sizeof(b.size)) == 0;
}

// Finds or creates the grid of that name (and shape, for grids of MPI); null when there is no room.
// One grid more than the limit is created, so that readers can see that the limit was exceeded.
GridRecord* grid_record(Thread* thread, const GridRecord& wanted) {
    FileHeader* header = g_process.header;
    const bool by_mpi = (wanted.periodic & kGridByMpi) != 0;
    uint32_t known = 0;
    for (CellIndex at = header->first_grid; at != 0; at = cell_at<GridRecord>(at)->next) {
        GridRecord* grid = cell_at<GridRecord>(at);
        const bool same = by_mpi ? same_shape(grid, wanted)
                                 : grid->name == wanted.name && (grid->periodic & kGridByMpi) == 0;
        if (same) return grid;
        known += 1;
    }
    const CellIndex cell = known <= kGridLimit ? take_cells(thread, 1) : CellIndex{0};
    if (cell == 0) return nullptr;
    auto* grid = cell_at<GridRecord>(cell);
    grid->name = wanted.name;
    grid->next = header->first_grid;
    __atomic_store_n(&header->first_grid, cell, __ATOMIC_RELEASE);
    return grid;
}

}  // namespace

bool describe_grid(GivenName name, uint32_t flags, int dimensions, const int* sizes,
                   const int* periodic, const int* coordinates) {
    if (!is_grid(dimensions, sizes, coordinates)) return false;
    const BlockName* known = block_name(SiteKind::kNone, kNodeNamed, name, nullptr, 0);
    const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    Thread* thread = known != nullptr ? probing_thread(frame) : nullptr;
    if (thread == nullptr) return true;
    GridRecord wanted{};
    wanted.name = known->cell;
    wanted.dimensions = static_cast<uint32_t>(dimensions);
    wanted.periodic = flags;
    for (int i = 0; i < dimensions; ++i) {
        wanted.size[i] = sizes[i];
        wanted.coordinate[i] = coordinates[i];
        if (periodic != nullptr && periodic[i] != 0) wanted.periodic |= 1u << i;
    }
    const SlowProbe work(thread);
    const NamesLock lock;
    GridRecord* record = grid_record(thread, wanted);
    if (record == nullptr) return true;
    record->periodic = wanted.periodic;
    memcpy(record->size, wanted.size, sizeof(wanted.size));
    memcpy(record->coordinate, wanted.coordinate, sizeof(wanted.coordinate));
    __atomic_store_n(&record->dimensions, wanted.dimensions, __ATOMIC_RELEASE);
    return true;
}

void record_cart_grid(MPI_Comm comm) {
    if (!g_mpi.usable) return;
    const auto frame = reinterpret_cast<uint64_t>(__builtin_frame_address(0));
    Thread* thread = probing_thread(frame);
    if (thread == nullptr) return;
    int dimensions = 0;
    int sizes[kGridDimensions];
    int periodic[kGridDimensions];
    int place[kGridDimensions];
    {
        const SlowProbe work(thread);
        const bool known = topology_of(comm) == MPI_CART &&
                           2 * size_of(comm) > g_process.header->world_size &&
                           g_mpi.Cartdim_get(comm, &dimensions) == MPI_SUCCESS && dimensions >= 1 &&
                           dimensions <= kGridDimensions &&
                           g_mpi.Cart_get(comm, dimensions, sizes, periodic, place) == MPI_SUCCESS;
        if (!known) return;
    }
    constexpr GivenName kName = {"MPI_Cart_create", 15};
    describe_grid(kName, kGridByMpi, dimensions, sizes, periodic, place);
}

}  // namespace dwell
