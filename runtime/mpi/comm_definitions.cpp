#include "runtime/mpi/comm_definitions.h"

#include <errno.h>
#include <sys/mman.h>

#include "runtime/contract/path_hash.h"
#include "runtime/mpi/mpi_handles.h"
#include "runtime/process/free_list.h"

namespace dwell {

namespace {

// Far from each other, and from small numbers, which mix_path() would cancel out.
constexpr uint64_t kWorldId = 0x776f726c6421d4e1;
constexpr uint64_t kSelfId = 0x73656c66a9f1c36b;
constexpr uint64_t kFirst = 0x6669727374b5e9d3;
constexpr uint64_t kWindow = 0x77696e;
constexpr uint64_t kFile = 0x66696c65;
constexpr uint64_t kStanding = 0x7374616e64;
constexpr uint64_t kCopy = 0x636f7079;
constexpr uint64_t kMembers = 0x6d656d62;

constexpr size_t kBuckets = 4096;  // MPI has at most some ten thousand communicators at a time
CommDefinition* g_buckets[kBuckets];
CommDefinition* g_free_names = nullptr;  // with StateLock held
bool g_are_kept = false;
bool g_look_for_remote = false;
uint32_t g_forgotten = 0;  // names so far: a look-up may have lost its way meanwhile

CommDefinition** bucket_of(uintptr_t handle) {
    return &g_buckets[(handle >> 4) * 0x9e3779b97f4a7c15ull >> 52];
}
static_assert(kBuckets == size_t{1} << (64 - 52));

CommDefinition* look_up(uintptr_t handle) {
    CommDefinition* name = __atomic_load_n(bucket_of(handle), __ATOMIC_ACQUIRE);
    while (name != nullptr && __atomic_load_n(&name->handle, __ATOMIC_ACQUIRE) != handle) {
        name = __atomic_load_n(&name->next, __ATOMIC_ACQUIRE);
    }
    return name;
}

DWELL_COLD CommDefinition* look_up_again(uintptr_t handle) {
    const StateLock lock;
    return look_up(handle);
}

uint32_t short_name(uint64_t id) {
    const auto folded = static_cast<uint32_t>(id ^ id >> 32);
    return folded != 0 && folded != UINT32_MAX ? folded : 1;
}

// The newest of a handle comes first: MPI may hand a handle out again before the thread that freed
// it has got to take_name(), which takes the oldest.
void add_name(const CommDefinition& content) {
    const StateLock lock;
    CommDefinition* name = take_from(&g_free_names);
    if (name == nullptr) return;
    CommDefinition** bucket = bucket_of(content.handle);
    *name = content;
    name->name = short_name(content.id);
    name->next = *bucket;
    __atomic_store_n(bucket, name, __ATOMIC_RELEASE);
}

MPI_Group g_world_group = nullptr;  // made at the first need, with StateLock held

// The world ranks of `count` ranks of a group; those of other worlds are MPI_UNDEFINED. Each takes
// Open MPI a search through MPI_COMM_WORLD.
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

// All but the id; false when some rank is of another world.
bool describe(MPI_Comm comm, const Groups& groups, bool inter, CommDefinition* name) {
    const int first = first_of(groups.local());
    const int remote_first = inter ? first_of(groups.remote()) : first;
    if (first < 0 || remote_first < 0) return false;
    const int size = size_of(comm);
    const int remote_size = inter ? remote_size_of(comm) : 0;
    name->rank = rank_in(comm);
    name->handle = reinterpret_cast<uintptr_t>(comm);
    name->size = inter ? remote_size : size;
    name->members = static_cast<uint32_t>(size + remote_size);
    name->inter = inter;
    name->side = first < remote_first ? 0 : 1;
    name->is_world = !inter && size == g_process.header->world_size;
    if (g_look_for_remote) name->remote_state = RemoteState::kOfComm;
    const int low = first < remote_first ? first : remote_first;
    const int high = first < remote_first ? remote_first : first;
    name->id = mix_path(mix_path(kFirst, static_cast<uint64_t>(low)), static_cast<uint64_t>(high));
    return true;
}

bool is_comm(const MPI_Comm* made) {
    return made != nullptr && *made != nullptr && *made != g_mpi.comm_null;
}

// Groups of which members made communicators: how many so far. Bounded; what finds no room stays
// without a name.
struct Occurrence {
    uint64_t members;  // hash of the group; 0 = free
    uint64_t count;
};
constexpr size_t kOccurrences = 1u << 18;
Occurrence* g_occurrences = nullptr;  // with StateLock held
size_t g_occurrence_count = 0;

// How many before; with `made`, this is one more.
uint64_t occurrences_before(uint64_t members, bool made, bool* known) {
    const StateLock lock;
    *known = false;
    if (g_occurrences == nullptr) {
        void* memory = mmap(nullptr, kOccurrences * sizeof(Occurrence), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return 0;
        g_occurrences = static_cast<Occurrence*>(memory);
    }
    size_t at = members & (kOccurrences - 1);
    while (g_occurrences[at].members != 0 && g_occurrences[at].members != members) {
        at = (at + 1) & (kOccurrences - 1);
    }
    if (g_occurrences[at].members == 0) {
        if (!made) {
            *known = g_occurrence_count < kOccurrences / 4 * 3;
            return 0;
        }
        if (g_occurrence_count == kOccurrences / 4 * 3) return 0;
        g_occurrence_count += 1;
        g_occurrences[at].members = members;
    }
    *known = true;
    const uint64_t before = g_occurrences[at].count;
    if (made) g_occurrences[at].count += 1;
    return before;
}

// Of a very large group, ranks at even distances stand for all: a rank costs a search through
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

// What dwell asks of MPI meanwhile is not the program's; errno stays.
class NamingWork {
  public:
    NamingWork() : thread_(t_thread), start_(now_ticks()), saved_errno_(errno) {
        if (thread_ == nullptr) return;
        was_in_tool_ = thread_->in_tool;
        thread_->in_tool.begin();
    }
    ~NamingWork() {
        errno = saved_errno_;
        if (thread_ == nullptr) return;
        thread_->in_tool = was_in_tool_;
        if (g_live->paused == 0) thread_->slow_overhead += now_ticks() - start_;
    }
    NamingWork(const NamingWork&) = delete;
    NamingWork& operator=(const NamingWork&) = delete;

  private:
    Thread* thread_;
    uint64_t start_;
    int saved_errno_;
    ToolSection was_in_tool_;
};

bool wants_names() { return g_are_kept && g_live->on != 0; }

}  // namespace

void name_first_comms(int world_size) {
    CommDefinition world{};
    world.handle = reinterpret_cast<uintptr_t>(g_mpi.comm_world);
    world.id = kWorldId;
    world.size = world_size;
    world.members = static_cast<uint32_t>(world_size);
    world.rank = g_process.header->rank;
    world.is_world = true;
    add_name(world);
    CommDefinition self{};
    self.handle = reinterpret_cast<uintptr_t>(g_mpi.comm_self);
    self.id = kSelfId;
    self.size = 1;
    self.members = 1;
    add_name(self);
}

void keep_names(bool remote) {
    g_are_kept = true;
    g_look_for_remote = remote;
}

CommDefinition* find_name(uintptr_t handle) {
    const uint32_t forgotten = __atomic_load_n(&g_forgotten, __ATOMIC_ACQUIRE);
    CommDefinition* name = look_up(handle);
    if (name == nullptr && __atomic_load_n(&g_forgotten, __ATOMIC_ACQUIRE) != forgotten) {
        return look_up_again(handle);
    }
    return name;
}

const CommDefinition* definition_of_comm(Thread*, MPI_Comm comm) {
    return find_name(reinterpret_cast<uintptr_t>(comm));
}

void name_made(MPI_Comm from, const MPI_Comm* made) {
    if (!wants_names()) return;
    const NamingWork work;
    CommDefinition* parent = find_name(reinterpret_cast<uintptr_t>(from));
    if (parent == nullptr) return;
    const uint64_t number = __atomic_fetch_add(&parent->made, 1, __ATOMIC_RELAXED);
    if (!is_comm(made)) return;
    const bool inter = is_inter(*made);
    const Groups groups(*made, inter);
    CommDefinition name{};
    if (!describe(*made, groups, inter, &name)) return;
    name.id = mix_path(mix_path(parent->id, number), name.id);
    add_name(name);
}

// Of the hash of those who make it, and the id so far.
uint64_t id_of_made(uint64_t members, uint64_t number, uint64_t id) {
    return mix_path(mix_path(members, number), id);
}
uint64_t with_tag(uint64_t members, int tag, bool inter) {
    members = mix_path(mix_path(mix_path(kMembers, members), static_cast<uint64_t>(tag)), inter);
    return members != 0 ? members : 1;
}

bool name_made_by_members(MPI_Comm from, const MPI_Comm* made, int tag, CollectiveTable* table) {
    if (!wants_names() || !is_comm(made) ||
        // A handle that dwell knows nothing of may be another MPI library's.
        find_name(reinterpret_cast<uintptr_t>(from)) == nullptr) {
        return false;
    }
    const NamingWork work;
    const bool inter = is_inter(*made);
    const Groups groups(*made, inter);
    CommDefinition name{};
    if (!describe(*made, groups, inter, &name)) return false;
    const auto local = static_cast<int>(name.members) - (inter ? name.size : 0);
    uint64_t members = hash_of_members(groups.local(), local);
    if (inter) {
        const uint64_t remote = hash_of_members(groups.remote(), name.size);
        members = name.side == 0 ? mix_path(members, remote) : mix_path(remote, members);
    }
    members = with_tag(members, tag, inter);
    bool known = false;
    const uint64_t number = occurrences_before(members, true, &known);
    if (!known) return false;
    name.id = id_of_made(members, number, name.id);
    name.table = table;
    name.collectives = 1;  // that made it
    add_name(name);
    return true;
}

bool name_before_made(MPI_Comm from, MPI_Group group, int tag, CommDefinition* name) {
    int own = MPI_UNDEFINED;
    const NamingWork work;
    if (find_name(reinterpret_cast<uintptr_t>(from)) == nullptr) return false;
    const int size = size_of(group);
    if (size < 1) return false;
    const int first = first_of(group);
    const int rank = g_process.header->rank;
    if (first < 0 || !translate(g_world_group, 1, &rank, group, &own) || own < 0) return false;
    const uint64_t members = with_tag(hash_of_members(group, size), tag, false);
    bool known = false;
    const uint64_t number = occurrences_before(members, false, &known);
    const auto place = static_cast<uint64_t>(first);
    *name = CommDefinition{};
    name->id = id_of_made(members, number, mix_path(mix_path(kFirst, place), place));
    name->name = short_name(name->id);
    name->members = static_cast<uint32_t>(size);
    name->size = size;
    name->rank = own;
    name->is_world = size == g_process.header->world_size;
    return known;
}

namespace {

// What a window, file, persistent collective or copy is called after: what it is, and how many were
// made before.
struct Naming {
    uint64_t what;
    uint32_t CommDefinition::*count;
    RemoteState remote_state;
};

// It has the members of its communicator.
DWELL_COLD void name_made_of_all(MPI_Comm from, uintptr_t handle, const Naming& naming) {
    if (!wants_names()) return;
    const NamingWork work;
    CommDefinition* parent = find_name(reinterpret_cast<uintptr_t>(from));
    if (parent == nullptr) return;
    const uint64_t number = __atomic_fetch_add(&(parent->*naming.count), 1, __ATOMIC_RELAXED);
    if (handle == 0) return;
    CommDefinition name = *parent;
    name.handle = handle;
    name.id = mix_path(mix_path(parent->id, number), naming.what);
    name.made = 0;
    name.files = 0;
    name.collectives = 0;
    name.table = nullptr;
    name.remote_state =
        parent->remote_state == RemoteState::kNone ? RemoteState::kNone : naming.remote_state;
    name.remote = nullptr;
    add_name(name);
}

template <typename Handle>
uintptr_t handle_at(const Handle* place) {
    return place != nullptr ? reinterpret_cast<uintptr_t>(*place) : 0;
}

}  // namespace

void name_copied(MPI_Comm from, const MPI_Comm* made) {
    name_made_of_all(from, is_comm(made) ? handle_at(made) : 0,
                     {kCopy, &CommDefinition::made, RemoteState::kOfComm});
}

void name_made(MPI_Comm from, const MPI_Win* made) {
    name_made_of_all(from, handle_at(made),
                     {kWindow, &CommDefinition::made, RemoteState::kOfWindow});
}

void name_made(MPI_Comm from, const MPI_File* made) {
    name_made_of_all(from, handle_at(made), {kFile, &CommDefinition::files, RemoteState::kOfFile});
}

// Its starts are collectives of its own: of several such each member may start another one first.
void name_made(MPI_Comm from, const MPI_Request* made) {
    name_made_of_all(from, handle_at(made), {kStanding, &CommDefinition::made, RemoteState::kNone});
}

bool take_name(uintptr_t handle, CommDefinition* gone) {
    const StateLock lock;
    CommDefinition** oldest = nullptr;
    for (CommDefinition** at = bucket_of(handle); *at != nullptr; at = &(*at)->next) {
        if ((*at)->handle == handle) oldest = at;
    }
    if (oldest == nullptr) return false;
    CommDefinition* name = *oldest;
    __atomic_store_n(oldest, name->next, __ATOMIC_RELEASE);
    __atomic_fetch_add(&g_forgotten, 1, __ATOMIC_ACQ_REL);
    *gone = *name;
    name->handle = 0;
    give_back_to(&g_free_names, name);
    return true;
}

}  // namespace dwell
