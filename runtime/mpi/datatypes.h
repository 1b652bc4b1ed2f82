// The bytes that an MPI call names: sizes of datatypes, counts, statuses, ranks of a communicator.
// Each thread caches the sizes of datatypes, so the usual case costs a few loads.
#ifndef DWELL_RUNTIME_MPI_DATATYPES_H_
#define DWELL_RUNTIME_MPI_DATATYPES_H_

#include "runtime/mpi/mpi_api.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/process/state.h"

namespace dwell {

inline uint64_t as_count(int count) { return count > 0 ? static_cast<uint64_t>(count) : 0; }

DWELL_COLD uint64_t find_type_bytes(Thread* thread, MPI_Datatype type);

inline uint64_t type_bytes(Thread* thread, MPI_Datatype type) {
    const auto handle = reinterpret_cast<uintptr_t>(type);
    const TypeEntry& entry = thread->types[place_in(kTypeBits, handle)];
    if (entry.type == handle && entry.epoch == g_process.type_epoch.load(std::memory_order_relaxed))
        [[likely]] {
        return entry.bytes;
    }
    return find_type_bytes(thread, type);
}

// The number of ranks that a collective's counts refer to: of the communicator, or of the remote
// group.
int comm_span(MPI_Comm comm);
int comm_size(MPI_Comm comm);  // of the caller's own group
int neighbors_in(MPI_Comm comm);
int neighbors_out(MPI_Comm comm);
uint64_t own_count(MPI_Comm comm, const int* counts);
inline uint64_t sum_counts(int entries, const int* counts) {
    uint64_t sum = 0;
    for (int i = 0; i < entries; ++i) sum += as_count(counts[i]);
    return sum;
}
inline uint64_t sum_w(Thread* thread, int entries, const int* counts, const MPI_Datatype* types) {
    uint64_t sum = 0;
    for (int i = 0; i < entries; ++i) {
        if (counts[i] > 0) sum += as_count(counts[i]) * type_bytes(thread, types[i]);
    }
    return sum;
}

// The caller's role in a rooted collective. In an inter-communicator the root exchanges with the
// remote group only, and other ranks of its group have no part.
enum class Place { kRoot, kOther, kRemoteRoot, kNone };
Place place_of(MPI_Comm comm, int root);
inline bool is_root(Place place) { return place == Place::kRoot || place == Place::kRemoteRoot; }
inline bool is_other(Place place) { return place == Place::kOther; }
inline bool contributes(Place place) { return place == Place::kRoot || place == Place::kOther; }

inline uint64_t bytes_of(const MPI_Status* status) { return status->_ucount; }

// MPI's result for one request of a completed call: in the status if another request failed
// (MPI-3.1 3.7.5).
inline int error_in(const MPI_Status& status, int result) {
    return result == MPI_ERR_IN_STATUS ? status.MPI_ERROR : result;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_DATATYPES_H_
