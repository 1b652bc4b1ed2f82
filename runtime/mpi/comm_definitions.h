// Names of communicators, windows, files and persistent collectives, which mean the same to all
// their members, whatever their handles are. No name is negotiated: one that is made from a named
// communicator is called after that, after how many were made from it before (all its members take
// part in that, in one order), and after its first rank, which tells the parts of a split apart.
// Where only members of the new one take part it is called after the group and how many such were
// made before.
//
// What reaches ranks of other worlds (spawn, connect, the parent) has no name, nor has what is made
// from that.
#ifndef DWELL_RUNTIME_MPI_COMM_DEFINITIONS_H_
#define DWELL_RUNTIME_MPI_COMM_DEFINITIONS_H_

#include "runtime/mpi/mpi_api.h"
#include "runtime/process/state.h"

namespace dwell {

struct CollectiveTable;
struct RemoteMembers;

// Whether members on other hosts are told (remote_collectives.h); where it was not looked for them
// yet, what the handle is.
enum class RemoteState : uint8_t { kNone, kKnown, kOfComm, kOfWindow, kOfFile };
inline bool is_not_looked(RemoteState state) { return state >= RemoteState::kOfComm; }

// Collectives read the first cache line.
struct alignas(64) CommDefinition {
    uintptr_t handle;
    uint32_t name;  // never 0 or 0xffffffff
    int32_t size;   // ranks that messages may go to: of the remote group of an inter-communicator
    uint64_t id;    // what the name is short for
    uint32_t members;  // of both groups
    int32_t rank;      // the caller's
    uint8_t side;      // of an inter-communicator: which of its groups is the caller's
    bool inter;        // it is one
    bool is_world;     // MPI_COMM_WORLD, or another one of all its ranks
    RemoteState remote_state;
    uint32_t made;           // communicators and windows made from it so far
    uint32_t files;          // opened by it: some calls may fail where others succeed
    uint32_t collectives;    // begun on it so far: their numbers
    CollectiveTable* table;  // null: not looked for yet (collective_table.h)
    CommDefinition* next;    // in the table, or of the free ones
    RemoteMembers* remote;   // where there are any
};

// In MPI_Init.
void name_first_comms(int world_size);
// From now on what is made gets a name; `far`: its members on other hosts are to be looked for.
void keep_names(bool remote);

// What is known of the communicator, by its handle alone: nothing of it is read, so it need not be
// valid. Null when it has no name. Lock-free; the second form is for windows as well, and for what
// collectives count.
const CommDefinition* definition_of_comm(Thread* thread, MPI_Comm comm);
CommDefinition* find_name(uintptr_t handle);

// MPI made something new: the communicator `made` (perhaps MPI_COMM_NULL) from `from` by a
// collective of all of its members; or by the members of the new one, with this tag; or a window,
// file or persistent collective. Slow: local calls of MPI, some microseconds; at most some
// milliseconds for very large ones.
void name_made(MPI_Comm from, const MPI_Comm* made);
void name_made(MPI_Comm from, const MPI_Win* made);
void name_made(MPI_Comm from, const MPI_File* made);
void name_made(MPI_Comm from, const MPI_Request* made);
// A copy of `from`: MPI is not asked about it, as it may not be complete yet.
void name_copied(MPI_Comm from, const MPI_Comm* made);
// `board`: where its members met to make it, or null. False: it got no name, and the board is the
// caller's still.
bool name_made_by_members(MPI_Comm from, const MPI_Comm* made, int tag,
                          CollectiveTable* table = nullptr);

// What the members of the group would make next in that way from `from`: its name, without handle,
// before it is made. False when that is not known, or the caller no member.
bool name_before_made(MPI_Comm from, MPI_Group group, int tag, CommDefinition* name);

// MPI freed the handle, which may come back as another one: what it was, with its board and far
// members, which are the caller's now. False: it had no name.
bool take_name(uintptr_t handle, CommDefinition* gone);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_COMM_DEFINITIONS_H_
