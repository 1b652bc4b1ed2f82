// Definitions of communicators, windows, files and persistent collectives. Each has an id that is
// the same for all members, whatever their handles are, without any communication. The id of an
// object made from a defined communicator combines that one's id, the number of objects made from
// it before (collectively, so in one order) and the new object's first rank, which distinguishes
// the parts of a split. If only members of the new object take part, the id combines the group and
// the number of objects made by that group before.
//
// Objects that reach ranks of other worlds (spawn, connect, the parent) have no definition, nor
// have those made from them.
#ifndef DWELL_RUNTIME_MPI_COMM_DEFINITIONS_H_
#define DWELL_RUNTIME_MPI_COMM_DEFINITIONS_H_

#include "runtime/mpi/mpi_api.h"
#include "runtime/process/state.h"

namespace dwell {

struct CollectiveTable;
struct RemoteMembers;

// Whether members on other hosts are known (remote_collectives.h); if not looked up yet, the kind
// of the handle.
enum class RemoteState : uint8_t { kNone, kKnown, kOfComm, kOfWindow, kOfFile };
inline bool is_not_looked_up(RemoteState state) { return state >= RemoteState::kOfComm; }

// Collectives read the first cache line only.
struct alignas(64) CommDefinition {
    uintptr_t handle;
    uint32_t short_id;  // never 0 or 0xffffffff
    int32_t size;       // possible destinations: in an inter-communicator the remote group
    uint64_t id;        // short_id is its 32-bit form
    uint32_t members;   // of both groups
    int32_t rank;       // the caller's
    uint8_t side;       // of an inter-communicator: the caller's group
    bool inter;         // is an inter-communicator
    bool is_world;      // all ranks of MPI_COMM_WORLD
    RemoteState remote_state;
    uint32_t made;           // communicators and windows made from it so far
    uint32_t files;          // opened by it: counted apart, as opening may fail for some members
    uint32_t collectives;    // entered so far, which numbers the instances
    CollectiveTable* table;  // null: not looked up yet (collective_table.h)
    CommRecord* record;      // what readers of the record file see of it, or null
    CommDefinition* next;    // in the bucket or the free list
    RemoteMembers* remote;   // members on other hosts, or null
};

// After a change of `collectives`.
inline void show_entered(const CommDefinition* definition) {
    if (definition->record != nullptr) definition->record->entered = definition->collectives;
}

// In MPI_Init: for MPI_COMM_WORLD and MPI_COMM_SELF.
void define_first_comms(int world_size);
// From now on new objects get definitions. `remote`: their members on other hosts are to be looked
// up.
void keep_definitions(bool remote);

// The definition by the handle alone, which need not be valid. Null when there is none. Lock-free.
// The second form is also for windows and for collectives that count instances.
const CommDefinition* definition_of_comm(Thread* thread, MPI_Comm comm);
CommDefinition* find_definition(uintptr_t handle);

// MPI made a communicator `made` (perhaps MPI_COMM_NULL) from `from`, by a collective of all
// members of `from`; or a window, file or persistent collective. Slow: local MPI calls of some
// microseconds, at most some milliseconds for very large groups.
void define_made(MPI_Comm from, const MPI_Comm* made);
void define_made(MPI_Comm from, const MPI_Win* made);
void define_made(MPI_Comm from, const MPI_File* made);
void define_made(MPI_Comm from, const MPI_Request* made);
// A duplicate of `from`, which may not be complete yet: MPI is not asked about it.
void define_copied(MPI_Comm from, const MPI_Comm* made);
// The same by a collective of the new communicator's members, with this tag.
void define_made_by_members(MPI_Comm from, const MPI_Comm* made, int tag);

// MPI freed the handle and may reuse it. `gone`: its definition; the caller now owns its table and
// remote members. False: there was none.
bool take_definition(uintptr_t handle, CommDefinition* gone);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_COMM_DEFINITIONS_H_
