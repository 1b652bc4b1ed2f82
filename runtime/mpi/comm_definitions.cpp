// The table of definitions by handle, and the ids of new objects.
#include "runtime/mpi/comm_definitions.h"

#include <sys/mman.h>

#include "runtime/contract/path_hash.h"
#include "runtime/events/events.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/process/free_list.h"

namespace dwell {

namespace {

// Far apart from each other and from small numbers, which mix_path() would cancel out.
constexpr uint64_t kSelfId = 0x73656c66a9f1c36b;
constexpr uint64_t kFirst = 0x6669727374b5e9d3;
constexpr uint64_t kWindow = 0x77696e;
constexpr uint64_t kFile = 0x66696c65;
constexpr uint64_t kPersistentCollective = 0x7374616e64;
constexpr uint64_t kCopy = 0x636f7079;
constexpr uint64_t kMembers = 0x6d656d62;

constexpr size_t kBuckets = 4096;  // MPI has at most some ten thousand communicators at a time
CommDefinition* g_buckets[kBuckets];
CommDefinition* g_free_definitions = nullptr;  // with StateLock held
bool g_are_kept = false;
bool g_look_for_remote = false;
uint32_t g_removed = 0;  // definitions: a concurrent look-up may have followed a stale link

CommDefinition** bucket_of(uintptr_t handle) {
    return &g_buckets[(handle >> 4) * 0x9e3779b97f4a7c15ull >> 52];
}
static_assert(kBuckets == size_t{1} << (64 - 52));

CommDefinition* look_up(uintptr_t handle) {
    CommDefinition* definition = __atomic_load_n(bucket_of(handle), __ATOMIC_ACQUIRE);
    while (definition != nullptr &&
           __atomic_load_n(&definition->handle, __ATOMIC_ACQUIRE) != handle) {
        definition = __atomic_load_n(&definition->next, __ATOMIC_ACQUIRE);
    }
    return definition;
}

DWELL_COLD CommDefinition* look_up_again(uintptr_t handle) {
    const StateLock lock;
    return look_up(handle);
}

// Shows the definition to readers of the record file. A record is used again with its definition.
void publish(CommDefinition* definition) {
    if (definition->record == nullptr) {
        const CellIndex cell = t_thread != nullptr ? take_cells(t_thread, 1) : 0;
        if (cell == 0) return;
        definition->record = cell_at<CommRecord>(cell);
        link_first(&g_process.header->first_comm, &definition->record->next, cell);
    }
    CommRecord* record = definition->record;
    record->id = definition->id;
    record->rank = definition->rank;
    record->members = definition->members;
    record->size = definition->size;
    record->entered = definition->collectives;
    record->inter = definition->inter;
    record->side = definition->side;
    __atomic_store_n(&record->handle, definition->handle, __ATOMIC_RELEASE);
    if (t_thread != nullptr) write_comm(t_thread, *record);
}

// The newest definition of a handle comes first: MPI may reuse a handle before the thread that
// freed it has called take_definition(), which takes the oldest.
void add_definition(const CommDefinition& content) {
    CommDefinition* definition;
    {
        const StateLock lock;
        definition = take_from(&g_free_definitions);
        if (definition == nullptr) return;
        CommDefinition** bucket = bucket_of(content.handle);
        CommRecord* const record = definition->record;
        *definition = content;
        definition->record = record;
        definition->short_id = short_comm_id(content.id);
        definition->next = *bucket;
        __atomic_store_n(bucket, definition, __ATOMIC_RELEASE);
    }
    publish(definition);
}

MPI_Group g_world_group = nullptr;  // made at first use, with StateLock held

// The world ranks of `count` ranks of a group; MPI_UNDEFINED in other worlds. Open MPI searches
// MPI_COMM_WORLD for each.
bool to_world(MPI_Group group, int count, const int* ranks, int* world) {
    {
        const StateLock lock;
        if (g_world_group == nullptr) g_world_group = group_of(g_mpi.comm_world);
    }
    return translate(group, count, ranks, g_world_group, world);
}

// The groups of a communicator.
class Groups {
  public:
    Groups(MPI_Comm comm, bool inter)
        : local_(group_of(comm)), remote_(inter ? remote_group_of(comm) : nullptr) {}
    ~Groups() {
        free_group(&local_);
        free_group(&remote_);
    }
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;
    MPI_Group local() const { return local_; }
    MPI_Group remote() const { return remote_; }

  private:
    MPI_Group local_;
    MPI_Group remote_;
};

int first_of(MPI_Group group) {
    const int rank = 0;
    int world = MPI_UNDEFINED;
    return to_world(group, 1, &rank, &world) && world >= 0 ? world : -1;
}

// Fills in all but the id; false when some rank is in another world.
bool describe(MPI_Comm comm, const Groups& groups, bool inter, CommDefinition* definition) {
    const int first = first_of(groups.local());
    const int remote_first = inter ? first_of(groups.remote()) : first;
    if (first < 0 || remote_first < 0) return false;
    const int size = size_of(comm);
    const int remote_size = inter ? remote_size_of(comm) : 0;
    definition->rank = rank_in(comm);
    definition->handle = reinterpret_cast<uintptr_t>(comm);
    definition->size = inter ? remote_size : size;
    definition->members = static_cast<uint32_t>(size + remote_size);
    definition->inter = inter;
    definition->side = first < remote_first ? 0 : 1;
    definition->is_world = !inter && size == g_process.header->world_size;
    if (g_look_for_remote) definition->remote_state = RemoteState::kOfComm;
    const int low = first < remote_first ? first : remote_first;
    const int high = first < remote_first ? remote_first : first;
    definition->id =
        mix_path(mix_path(kFirst, static_cast<uint64_t>(low)), static_cast<uint64_t>(high));
    return true;
}

bool is_comm(const MPI_Comm* made) {
    return made != nullptr && *made != nullptr && *made != g_mpi.comm_null;
}

// How many communicators each group has made. Bounded; groups beyond the limit get no definitions.
struct Occurrence {
    uint64_t members;  // hash of the group; 0: free
    uint64_t count;
};
constexpr size_t kOccurrences = 1u << 18;
Occurrence* g_occurrences = nullptr;  // with StateLock held
size_t g_occurrence_count = 0;

// Counts one more; `before`: the number made before. False: there is no room.
bool count_occurrence(uint64_t members, uint64_t* before) {
    const StateLock lock;
    if (g_occurrences == nullptr) {
        void* memory = mmap(nullptr, kOccurrences * sizeof(Occurrence), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return false;
        g_occurrences = static_cast<Occurrence*>(memory);
    }
    size_t at = members & (kOccurrences - 1);
    while (g_occurrences[at].members != 0 && g_occurrences[at].members != members) {
        at = (at + 1) & (kOccurrences - 1);
    }
    if (g_occurrences[at].members == 0) {
        if (g_occurrence_count == kOccurrences / 4 * 3) return false;
        g_occurrence_count += 1;
        g_occurrences[at].members = members;
    }
    *before = g_occurrences[at].count++;
    return true;
}

// For a very large group, hashes evenly spaced ranks only, as each costs a search of
// MPI_COMM_WORLD.
uint64_t hash_of_members(MPI_Group group, int size) {
    constexpr int kSteps = 4'000'000;  // some milliseconds
    constexpr int kLeast = 16;
    constexpr int kAtOnce = 64;
    const int world = g_process.header->world_size;
    const int most = kSteps / (world > 0 ? world : 1) > kLeast ? kSteps / world : kLeast;
    const int count = size < most ? size : most;
    uint64_t hash = mix_path(kFirst, static_cast<uint64_t>(size));
    for (int done = 0; done < count;) {
        int ranks[kAtOnce];
        int translated[kAtOnce];
        int part = 0;
        while (part < kAtOnce && done < count) {
            ranks[part++] = static_cast<int>(int64_t{done++} * size / count);
        }
        if (!to_world(group, part, ranks, translated)) return 0;
        for (int i = 0; i < part; ++i) {
            hash = mix_path(hash, static_cast<uint64_t>(translated[i]));
        }
    }
    return hash;
}

bool wants_definitions() { return g_are_kept && g_live->on != 0; }

}  // namespace

void define_first_comms(int world_size) {
    CommDefinition world{};
    world.handle = reinterpret_cast<uintptr_t>(g_mpi.comm_world);
    world.id = kWorldId;
    world.size = world_size;
    world.members = static_cast<uint32_t>(world_size);
    world.rank = g_process.header->rank;
    world.is_world = true;
    add_definition(world);
    CommDefinition self{};
    self.handle = reinterpret_cast<uintptr_t>(g_mpi.comm_self);
    self.id = kSelfId;
    self.size = 1;
    self.members = 1;
    add_definition(self);
}

void keep_definitions(bool remote) {
    g_are_kept = true;
    g_look_for_remote = remote;
}

CommDefinition* find_definition(uintptr_t handle) {
    const uint32_t removed = __atomic_load_n(&g_removed, __ATOMIC_ACQUIRE);
    CommDefinition* definition = look_up(handle);
    if (definition == nullptr && __atomic_load_n(&g_removed, __ATOMIC_ACQUIRE) != removed) {
        return look_up_again(handle);
    }
    return definition;
}

const CommDefinition* definition_of_comm(Thread*, MPI_Comm comm) {
    return find_definition(reinterpret_cast<uintptr_t>(comm));
}

void define_made(MPI_Comm from, const MPI_Comm* made) {
    if (!wants_definitions()) return;
    const SlowWork work(t_thread);
    CommDefinition* parent = find_definition(reinterpret_cast<uintptr_t>(from));
    if (parent == nullptr) return;
    const uint64_t number = __atomic_fetch_add(&parent->made, 1, __ATOMIC_RELAXED);
    if (!is_comm(made)) return;
    const bool inter = is_inter(*made);
    const Groups groups(*made, inter);
    CommDefinition definition{};
    if (!describe(*made, groups, inter, &definition)) return;
    definition.id = mix_path(mix_path(parent->id, number), definition.id);
    add_definition(definition);
}

void define_made_by_members(MPI_Comm from, const MPI_Comm* made, int tag) {
    if (!wants_definitions() || !is_comm(made) ||
        // An unknown handle may belong to another MPI library.
        find_definition(reinterpret_cast<uintptr_t>(from)) == nullptr) {
        return;
    }
    const SlowWork work(t_thread);
    const bool inter = is_inter(*made);
    const Groups groups(*made, inter);
    CommDefinition definition{};
    if (!describe(*made, groups, inter, &definition)) return;
    const auto local = static_cast<int>(definition.members) - (inter ? definition.size : 0);
    uint64_t members = hash_of_members(groups.local(), local);
    if (inter) {
        const uint64_t remote = hash_of_members(groups.remote(), definition.size);
        members = definition.side == 0 ? mix_path(members, remote) : mix_path(remote, members);
    }
    members = mix_path(mix_path(mix_path(kMembers, members), static_cast<uint64_t>(tag)), inter);
    if (members == 0) members = 1;
    uint64_t number = 0;
    if (!count_occurrence(members, &number)) return;
    definition.id = mix_path(mix_path(members, number), definition.id);
    add_definition(definition);
}

namespace {

// What distinguishes the id of a window, file, persistent collective or duplicate: its kind and the
// number made before.
struct ObjectKind {
    uint64_t id_part;
    uint32_t CommDefinition::*count;
    RemoteState remote_state;
};

// For objects with the same members as their communicator.
DWELL_COLD void define_made_of_all(MPI_Comm from, uintptr_t handle, const ObjectKind& kind) {
    if (!wants_definitions()) return;
    const SlowWork work(t_thread);
    CommDefinition* parent = find_definition(reinterpret_cast<uintptr_t>(from));
    if (parent == nullptr) return;
    const uint64_t number = __atomic_fetch_add(&(parent->*kind.count), 1, __ATOMIC_RELAXED);
    if (handle == 0) return;
    CommDefinition definition = *parent;
    definition.handle = handle;
    definition.id = mix_path(mix_path(parent->id, number), kind.id_part);
    definition.made = 0;
    definition.files = 0;
    definition.collectives = 0;
    definition.table = nullptr;
    definition.remote_state =
        parent->remote_state == RemoteState::kNone ? RemoteState::kNone : kind.remote_state;
    definition.remote = nullptr;
    add_definition(definition);
}

}  // namespace

void define_copied(MPI_Comm from, const MPI_Comm* made) {
    define_made_of_all(from, is_comm(made) ? handle_in(made) : 0,
                       {kCopy, &CommDefinition::made, RemoteState::kOfComm});
}

void define_made(MPI_Comm from, const MPI_Win* made) {
    define_made_of_all(from, handle_in(made),
                       {kWindow, &CommDefinition::made, RemoteState::kOfWindow});
}

void define_made(MPI_Comm from, const MPI_File* made) {
    define_made_of_all(from, handle_in(made),
                       {kFile, &CommDefinition::files, RemoteState::kOfFile});
}

// A persistent collective numbers its own starts: members may start several in different orders.
void define_made(MPI_Comm from, const MPI_Request* made) {
    define_made_of_all(from, handle_in(made),
                       {kPersistentCollective, &CommDefinition::made, RemoteState::kNone});
}

bool take_definition(uintptr_t handle, CommDefinition* gone) {
    const StateLock lock;
    CommDefinition** oldest = nullptr;
    for (CommDefinition** at = bucket_of(handle); *at != nullptr; at = &(*at)->next) {
        if ((*at)->handle == handle) oldest = at;
    }
    if (oldest == nullptr) return false;
    CommDefinition* definition = *oldest;
    __atomic_store_n(oldest, definition->next, __ATOMIC_RELEASE);
    __atomic_fetch_add(&g_removed, 1, __ATOMIC_ACQ_REL);
    *gone = *definition;
    definition->handle = 0;
    if (definition->record != nullptr) {
        __atomic_store_n(&definition->record->handle, 0, __ATOMIC_RELEASE);
    }
    give_back_to(&g_free_definitions, definition);
    return true;
}

}  // namespace dwell
