// Groups of communicators, worlds, and the translation of ranks.
#include "runtime/mpi/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/mpi/mpi_handles.h"

namespace dwell {

namespace {

constexpr int kMaxWorlds = 200;

CommRanks* g_comms = nullptr;       // with StateLock held
MPI_Group g_world_group = nullptr;  // of MPI_COMM_WORLD, made at first use
MPI_Group g_worlds[kMaxWorlds];     // remote groups of spawned or connected worlds
int g_world_count = 0;
MPI_Group g_parent_group = nullptr;

// With StateLock held.
CommRanks* ranks_of(MPI_Comm comm) {
    for (CommRanks* known = g_comms; known != nullptr; known = known->next) {
        if (known->comm == comm) return known;
    }
    const MPI_Group group = is_inter(comm) ? remote_group_of(comm) : group_of(comm);
    if (group == nullptr) return nullptr;
    auto* made = static_cast<CommRanks*>(calloc(1, sizeof(CommRanks)));
    if (made == nullptr) {
        MPI_Group unused = group;
        free_group(&unused);
        return nullptr;
    }
    made->comm = comm;
    made->group = group;
    made->users = 1;  // the list's own reference
    made->next = g_comms;
    g_comms = made;
    return made;
}

// With StateLock held. A thread may still be about to use a released object (see requests.h), so
// the object lives on until this many others were released after it.
constexpr int kGraves = 256;
CommRanks* g_graves[kGraves];
int g_next_grave = 0;

void unuse(CommRanks* ranks) {
    if (--ranks->users != 0) return;
    CommRanks* oldest = g_graves[g_next_grave];
    g_graves[g_next_grave] = ranks;
    g_next_grave = (g_next_grave + 1) % kGraves;
    if (oldest == nullptr) return;
    free_group(&oldest->group);
    free(oldest);
}

bool find_rank(MPI_Group from, int rank, MPI_Group to, int* translated) {
    *translated = MPI_UNDEFINED;
    return translate(from, 1, &rank, to, translated) && *translated != MPI_UNDEFINED;
}

// With StateLock held.
uint32_t peer_in_group(MPI_Group group, int rank) {
    int translated = MPI_UNDEFINED;
    if (g_world_group == nullptr) g_world_group = group_of(g_mpi.comm_world);
    if (find_rank(group, rank, g_world_group, &translated)) {
        return static_cast<uint32_t>(translated);
    }
    if (find_rank(group, rank, g_parent_group, &translated)) {
        return kParentWorld << kPeerRankBits | static_cast<uint32_t>(translated);
    }
    for (int i = 0; i < g_world_count; ++i) {
        if (find_rank(group, rank, g_worlds[i], &translated)) {
            return static_cast<uint32_t>(i + 1) << kPeerRankBits |
                   static_cast<uint32_t>(translated);
        }
    }
    return kNoPeer;
}

void cache(Thread* thread, uintptr_t handle, int rank, uint64_t epoch, uint32_t peer) {
    thread->ranks[rank_place(handle, rank)] = {handle, rank, peer, epoch};
}

}  // namespace

uint32_t find_peer(Thread* thread, MPI_Comm comm, int rank) {
    const ToolWork work(thread);
    const uint64_t epoch = g_process.comm_epoch.load(std::memory_order_relaxed);
    thread->in_tool.begin();
    uint32_t peer = kNoPeer;
    {
        const StateLock lock;
        const CommRanks* ranks = ranks_of(comm);
        if (ranks != nullptr) peer = peer_in_group(ranks->group, rank);
    }
    thread->in_tool.end();
    cache(thread, reinterpret_cast<uintptr_t>(comm), rank, epoch, peer);
    return peer;
}

uint32_t peer_in(CommRanks* ranks, int rank) {
    if (rank < 0) return kNoPeer;
    if (ranks == nullptr) return static_cast<uint32_t>(rank);
    const StateLock lock;
    return peer_in_group(ranks->group, rank);
}

uint32_t peer_in_window(Thread* thread, MPI_Win win, int rank) {
    if (rank < 0) return kNoPeer;
    const auto handle = reinterpret_cast<uintptr_t>(win);
    // Bit 63 distinguishes windows from communicators in the same cache.
    const uint64_t epoch = g_process.window_epoch.load(std::memory_order_relaxed) | 1ull << 63;
    const RankEntry& known = thread->ranks[rank_place(handle, rank)];
    if (known.comm == handle && known.rank == rank && known.epoch == epoch) return known.peer;
    const ToolWork work(thread);
    thread->in_tool.begin();
    MPI_Group group = group_of(win);
    const uint32_t peer = peer_of_group(thread, group, rank);
    free_group(&group);
    thread->in_tool.end();
    cache(thread, handle, rank, epoch, peer);
    return peer;
}

uint32_t peer_of_group(Thread* thread, MPI_Group group, int rank) {
    thread->in_tool.begin();
    uint32_t peer = kNoPeer;
    {
        const StateLock lock;
        peer = peer_in_group(group, rank);
    }
    thread->in_tool.end();
    return peer;
}

CommRanks* hold_ranks(MPI_Comm comm) {
    if (comm == nullptr || comm == g_mpi.comm_world) return nullptr;
    const StateLock lock;
    CommRanks* ranks = ranks_of(comm);
    if (ranks != nullptr) ranks->users += 1;
    return ranks;
}

void release_ranks(CommRanks* ranks) {
    if (ranks == nullptr) return;
    const StateLock lock;
    unuse(ranks);
}

void forget_comm(uintptr_t handle) {
    const StateLock lock;
    g_process.comm_epoch.fetch_add(1, std::memory_order_relaxed);
    for (CommRanks** at = &g_comms; *at != nullptr; at = &(*at)->next) {
        CommRanks* known = *at;
        if (reinterpret_cast<uintptr_t>(known->comm) != handle) continue;
        *at = known->next;
        known->comm = nullptr;
        unuse(known);
        return;
    }
}

void forget_windows() { g_process.window_epoch.fetch_add(1, std::memory_order_relaxed); }

bool number_world(MPI_Comm comm) {
    if (!g_mpi.usable || !is_inter(comm)) return false;
    MPI_Group remote = remote_group_of(comm);
    if (remote == nullptr) return false;
    const StateLock lock;
    if (peer_in_group(remote, 0) != kNoPeer || g_world_count == kMaxWorlds) {
        free_group(&remote);
        return false;
    }
    g_worlds[g_world_count++] = remote;
    g_process.comm_epoch.fetch_add(1, std::memory_order_relaxed);
    return true;
}

namespace {

bool is_root_below_launcher(MPI_Comm comm, int root) {
    return g_status_page != nullptr && g_status_page->within_launcher != 0 && rank_in(comm) == root;
}

void count_children(MPI_Comm children, const char* command) {
    const char* slash = strrchr(command, '/');
    if (strcmp(slash == nullptr ? command : slash + 1, "dwell") == 0) return;
    __atomic_fetch_add(&g_process.header->spawned_unseen,
                       static_cast<uint32_t>(remote_size_of(children)), __ATOMIC_RELAXED);
}

}  // namespace

void note_spawn(MPI_Comm children, MPI_Comm comm, int root, const char* command) {
    if (is_root_below_launcher(comm, root)) count_children(children, command);
}

void note_spawn(MPI_Comm children, MPI_Comm comm, int root, char* const* commands) {
    if (is_root_below_launcher(comm, root)) count_children(children, commands[0]);
}

void number_parent_world() {
    MPI_Comm parent = nullptr;
    if (g_mpi.Comm_get_parent(&parent) != MPI_SUCCESS || parent == nullptr ||
        parent == g_mpi.comm_null) {
        return;
    }
    g_parent_group = remote_group_of(parent);
    g_process.header->flags |= kFileSpawned;
}

}  // namespace dwell
