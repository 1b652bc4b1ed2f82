// Partners by their rank in MPI_COMM_WORLD, whatever communicator they were named in.
#ifndef DWELL_RUNTIME_MPI_RANKS_H_
#define DWELL_RUNTIME_MPI_RANKS_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

// The group that the ranks of one communicator name (of an inter-communicator: the remote one),
// kept while the communicator lives or a request refers to it. Handles are reused after a free, so
// a request holds this and not the handle.
struct CommRanks {
    MPI_Comm comm;  // null after the communicator was freed
    MPI_Group group;
    uint32_t users;
    CommRanks* next;
};

// The peer that `rank` of `comm` is; kNoPeer when it is no rank at all. A known pair costs a few
// loads; a new one a call into MPI.
DWELL_COLD uint32_t find_peer(Thread* thread, MPI_Comm comm, int rank);
uint32_t peer_in(CommRanks* ranks, int rank);
// Of a rank of any group. A call into MPI.
uint32_t peer_of_group(Thread* thread, MPI_Group group, int rank);
uint32_t peer_in_window(Thread* thread, MPI_Win win, int rank);

// Of a communicator's or window's rank among Thread::ranks.
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

// For a request; null for MPI_COMM_WORLD, whose ranks are the peers. Give it back with
// release_ranks.
CommRanks* hold_ranks(MPI_Comm comm);
void release_ranks(CommRanks* ranks);

// A communicator was freed: its handle may come back as another one. Called after MPI freed it.
void forget_comm(uintptr_t handle);
void forget_windows();

// `comm` may reach ranks of another world (spawn, connect, the parent): they get a world number.
// False: they have one, or there is none left.
bool meet_world(MPI_Comm comm);
void meet_parent();  // after MPI_Init

// The root of `comm` had processes started, the first of which runs `command`: the launcher starts
// them, so `dwell run` below it does not reach them. `command` is significant at the root alone.
void note_spawn(MPI_Comm children, MPI_Comm comm, int root, const char* command);
void note_spawn(MPI_Comm children, MPI_Comm comm, int root, char* const* commands);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_RANKS_H_
