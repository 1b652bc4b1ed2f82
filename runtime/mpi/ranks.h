// Translates ranks of any communicator to ranks in MPI_COMM_WORLD ("peers").
#ifndef DWELL_RUNTIME_MPI_RANKS_H_
#define DWELL_RUNTIME_MPI_RANKS_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

// The group of a communicator's ranks (of an inter-communicator: the remote group), kept while the
// communicator lives or a request refers to it. A request holds this and not the handle, because
// MPI reuses handles.
struct CommRanks {
    MPI_Comm comm;  // null after the communicator was freed
    MPI_Group group;
    uint32_t users;
    CommRanks* next;
};

// The peer of `rank` in `comm`; kNoPeer when it is no valid rank. A known pair costs a few loads, a
// new one an MPI call.
DWELL_COLD uint32_t find_peer(Thread* thread, MPI_Comm comm, int rank);
uint32_t peer_in(CommRanks* ranks, int rank);
// Of a rank in any group. An MPI call.
uint32_t peer_of_group(Thread* thread, MPI_Group group, int rank);
uint32_t peer_in_window(Thread* thread, MPI_Win win, int rank);

// Index in Thread::ranks for a rank of a communicator or window.
inline uint32_t rank_place(uintptr_t handle, int rank) {
    return (place_in(kRankBits, handle) + static_cast<uint32_t>(rank)) % kRankEntries;
}

inline uint32_t peer_of(Thread* thread, MPI_Comm comm, int rank) {
    if (rank < 0) return kNoPeer;
    if (comm == g_mpi.comm_world) [[likely]]
        return static_cast<uint32_t>(rank);
    const RankEntry& entry = thread->ranks[rank_place(reinterpret_cast<uintptr_t>(comm), rank)];
    if (entry.comm == reinterpret_cast<uintptr_t>(comm) && entry.rank == rank &&
        entry.epoch == g_process.comm_epoch.load(std::memory_order_relaxed)) {
        return entry.peer;
    }
    return find_peer(thread, comm, rank);
}

// For a request; null for MPI_COMM_WORLD, whose ranks are the peers. To be released by
// release_ranks().
CommRanks* hold_ranks(MPI_Comm comm);
void release_ranks(CommRanks* ranks);

// After MPI freed a communicator, whose handle may be reused.
void forget_comm(uintptr_t handle);
void forget_windows();

// `comm` may reach ranks of another world (spawn, connect, the parent): they get a world number.
// False: they have one, or none is left.
bool number_world(MPI_Comm comm);
void number_parent_world();  // after MPI_Init

// The root of `comm` has spawned processes, the first of which runs `command`. The launcher starts
// them, so `dwell run` below it does not reach them. `command` is significant at the root only.
void note_spawn(MPI_Comm children, MPI_Comm comm, int root, const char* command);
void note_spawn(MPI_Comm children, MPI_Comm comm, int root, char* const* commands);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_RANKS_H_
