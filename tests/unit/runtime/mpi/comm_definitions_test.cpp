// Definitions of communicators (runtime/mpi/comm_definitions.h). Each rank is a process of its own,
// with a fake MPI that knows groups only; the ids are compared between ranks.
#include "runtime/mpi/comm_definitions.h"

#include <sys/wait.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "runtime/mpi/mpi_handles.h"
#include "tests/unit/support/recording.h"

namespace dwell {

namespace {

constexpr int kRanks = 6;
int g_own = 0;

// The members behind a handle of either kind, by world ranks.
struct Members {
    std::vector<int> local;
    std::vector<int> remote;
};

template <typename Handle>
const Members& members_of(Handle handle) {
    return *reinterpret_cast<const Members*>(handle);
}
int position(const std::vector<int>& ranks, int rank) {
    const auto found = std::find(ranks.begin(), ranks.end(), rank);
    return found != ranks.end() ? static_cast<int>(found - ranks.begin()) : MPI_UNDEFINED;
}

int group(MPI_Comm comm, MPI_Group* made) {
    *made = reinterpret_cast<MPI_Group>(new Members{members_of(comm).local, {}});
    return MPI_SUCCESS;
}
int remote_group(MPI_Comm comm, MPI_Group* made) {
    *made = reinterpret_cast<MPI_Group>(new Members{members_of(comm).remote, {}});
    return MPI_SUCCESS;
}
int end_group(MPI_Group* freed) {
    delete &members_of(*freed);
    return MPI_SUCCESS;
}
int translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to, int* translated) {
    for (int i = 0; i < count; ++i) {
        translated[i] =
            position(members_of(to).local, members_of(from).local[static_cast<size_t>(ranks[i])]);
    }
    return MPI_SUCCESS;
}
int group_size(MPI_Group of, int* size) {
    *size = static_cast<int>(members_of(of).local.size());
    return MPI_SUCCESS;
}
int test_inter(MPI_Comm comm, int* inter) {
    *inter = !members_of(comm).remote.empty();
    return MPI_SUCCESS;
}
int comm_size(MPI_Comm comm, int* size) {
    *size = static_cast<int>(members_of(comm).local.size());
    return MPI_SUCCESS;
}
int comm_remote_size(MPI_Comm comm, int* size) {
    *size = static_cast<int>(members_of(comm).remote.size());
    return MPI_SUCCESS;
}
int rank_of(MPI_Comm comm, int* rank) {
    *rank = position(members_of(comm).local, g_own);
    return MPI_SUCCESS;
}

void end_definition(MPI_Comm comm) {
    CommDefinition gone;
    take_definition(reinterpret_cast<uintptr_t>(comm), &gone);
}

// The communicators of one rank, by labels of the test.
class RankModel {
  public:
    RankModel() {
        for (int rank = 0; rank < kRanks; ++rank) world_.local.push_back(rank);
        self_.local = {g_own};
        g_ask.Comm_group = group;
        g_ask.Comm_remote_group = remote_group;
        g_ask.Group_free = end_group;
        g_ask.Group_size = group_size;
        g_ask.Group_translate_ranks = translate_ranks;
        g_ask.Comm_test_inter = test_inter;
        g_ask.Comm_size = comm_size;
        g_ask.Comm_remote_size = comm_remote_size;
        g_ask.Comm_rank = rank_of;
        g_mpi.comm_world = world();
        g_mpi.comm_self = reinterpret_cast<MPI_Comm>(&self_);
        g_process.header->world_size = kRanks;
        g_process.header->rank = g_own;
        define_first_comms(kRanks);
    }
    MPI_Comm world() { return reinterpret_cast<MPI_Comm>(&world_); }

    // Makes a communicator from `from`; a rank that is no member gets MPI_COMM_NULL.
    MPI_Comm make(MPI_Comm from, const std::vector<int>& local,
                  const std::vector<int>& remote = {}) {
        MPI_Comm made = handle(local, remote);
        define_made(from, &made);
        return made;
    }
    MPI_Comm make_by_members(const std::vector<int>& local, int tag,
                             const std::vector<int>& remote = {}) {
        MPI_Comm made = handle(local, remote);
        if (made != nullptr) define_made_by_members(world(), &made, tag);
        return made;
    }
    void free_comm(MPI_Comm comm) {
        end_definition(comm);
        delete &members_of(comm);
    }
    void label(const std::string& what, MPI_Comm comm) {
        const CommDefinition* definition =
            comm != nullptr ? definition_of_comm(nullptr, comm) : nullptr;
        if (definition != nullptr) ids_[what] = definition->id;
    }
    const std::map<std::string, uint64_t>& names() const { return ids_; }

  private:
    static MPI_Comm handle(const std::vector<int>& local, const std::vector<int>& remote) {
        if (position(local, g_own) >= 0) {
            return reinterpret_cast<MPI_Comm>(new Members{local, remote});
        }
        if (position(remote, g_own) >= 0) {
            return reinterpret_cast<MPI_Comm>(new Members{remote, local});
        }
        return nullptr;
    }
    Members world_;
    Members self_;
    std::map<std::string, uint64_t> ids_;
};

}  // namespace

class CommDefinitions : public Records {
  protected:
    using Program = std::function<void(RankModel&)>;

    void SetUp() override {
        Records::SetUp();
        keep_definitions(false);
    }

    // Runs the program on every rank. Returns the ids by label, then by rank.
    static std::map<std::string, std::map<int, uint64_t>> run(const Program& program) {
        std::map<std::string, std::map<int, uint64_t>> all;
        for (int rank = 0; rank < kRanks; ++rank) {
            int ends[2];
            EXPECT_EQ(pipe(ends), 0);
            const pid_t child = fork();
            if (child == 0) {
                g_own = rank;
                RankModel process;
                program(process);
                FILE* out = fdopen(ends[1], "w");
                for (const auto& [what, id] : process.names()) {
                    fprintf(out, "%s %lu\n", what.c_str(), id);
                }
                fclose(out);
                _exit(0);
            }
            close(ends[1]);
            FILE* in = fdopen(ends[0], "r");
            char what[64];
            unsigned long id = 0;
            while (fscanf(in, "%63s %lu", what, &id) == 2) all[what][rank] = id;
            fclose(in);
            waitpid(child, nullptr, 0);
        }
        return all;
    }

    // All members of each communicator agree on its id, which no other one has.
    static void expect_agreement(const std::map<std::string, std::map<int, uint64_t>>& all,
                                 const std::map<std::string, std::vector<int>>& wanted) {
        std::set<uint64_t> different;
        for (const auto& [what, ranks] : wanted) {
            const auto found = all.find(what);
            ASSERT_NE(found, all.end()) << what;
            std::vector<int> have;
            for (const auto& [rank, id] : found->second) {
                have.push_back(rank);
                EXPECT_EQ(id, found->second.begin()->second) << what << " on rank " << rank;
            }
            EXPECT_EQ(have, ranks) << what;
            different.insert(found->second.begin()->second);
        }
        EXPECT_EQ(different.size(), wanted.size());
    }

    inline static const std::vector<int> kAll = {0, 1, 2, 3, 4, 5};
    inline static const std::vector<int> kEven = {0, 2, 4};
    inline static const std::vector<int> kOdd = {1, 3, 5};
};

TEST_F(CommDefinitions, MembersAgree) {
    const auto names = run([](RankModel& process) {
        MPI_Comm copy = process.make(process.world(), kAll);
        MPI_Comm half = process.make(process.world(), g_own % 2 == 0 ? kEven : kOdd);
        MPI_Comm other_half = process.make(process.world(), g_own % 2 == 0 ? kEven : kOdd);
        MPI_Comm backwards = process.make(copy, {5, 4, 3, 2, 1, 0});
        MPI_Comm few = process.make(process.world(), {1, 2});  // the others get none
        MPI_Comm copy_of_half = process.make(half, g_own % 2 == 0 ? kEven : kOdd);
        MPI_Comm last = process.make(process.world(), kAll);
        process.label("world", process.world());
        process.label("copy", copy);
        process.label(g_own % 2 == 0 ? "even" : "odd", half);
        process.label(g_own % 2 == 0 ? "even2" : "odd2", other_half);
        process.label("backwards", backwards);
        process.label("few", few);
        process.label(g_own % 2 == 0 ? "even3" : "odd3", copy_of_half);
        process.label("last", last);
    });
    expect_agreement(names, {{"world", kAll},
                             {"copy", kAll},
                             {"even", kEven},
                             {"odd", kOdd},
                             {"even2", kEven},
                             {"odd2", kOdd},
                             {"backwards", kAll},
                             {"few", {1, 2}},
                             {"even3", kEven},
                             {"odd3", kOdd},
                             {"last", kAll}});
}

TEST_F(CommDefinitions, InterCommunicators) {
    const auto names = run([](RankModel& process) {
        MPI_Comm inter = process.make_by_members(kEven, 7, kOdd);
        MPI_Comm another = process.make_by_members(kOdd, 7, kEven);
        MPI_Comm tagged = process.make_by_members(kOdd, 8, kEven);
        MPI_Comm merged = process.make(inter, kAll);
        MPI_Comm copy = process.make(inter, kEven, kOdd);
        // A split of both groups: {0} with {1}, and {2, 4} with {3, 5}.
        MPI_Comm part =
            g_own < 2 ? process.make(inter, {0}, {1}) : process.make(inter, {2, 4}, {3, 5});
        process.label("inter", inter);
        process.label("another", another);
        process.label("tagged", tagged);
        process.label("merged", merged);
        process.label("copy", copy);
        process.label(g_own < 2 ? "first" : "rest", part);
    });
    expect_agreement(names, {{"inter", kAll},
                             {"another", kAll},
                             {"tagged", kAll},
                             {"merged", kAll},
                             {"copy", kAll},
                             {"first", {0, 1}},
                             {"rest", {2, 3, 4, 5}}});
}

TEST_F(CommDefinitions, ThoseMadeByTheirMembersAlone) {
    const auto names = run([](RankModel& process) {
        // Rank 0 makes one more, which the others do not know.
        MPI_Comm pair = process.make_by_members({0, 1}, 1);
        MPI_Comm other_pair = process.make_by_members({0, 2}, 1);
        MPI_Comm again = process.make_by_members({0, 2}, 1);
        MPI_Comm tagged = process.make_by_members({0, 2}, 2);
        process.label("pair", pair);
        process.label("other", other_pair);
        process.label("again", again);
        process.label("tagged", tagged);
    });
    expect_agreement(names,
                     {{"pair", {0, 1}}, {"other", {0, 2}}, {"again", {0, 2}}, {"tagged", {0, 2}}});
}

TEST_F(CommDefinitions, OfOtherWorldsNone) {
    g_own = 0;
    RankModel process;
    MPI_Comm spawned = reinterpret_cast<MPI_Comm>(new Members{{0, 1}, {100, 101}});
    EXPECT_EQ(definition_of_comm(nullptr, spawned), nullptr);
    EXPECT_EQ(definition_of_comm(nullptr, process.make(spawned, {0, 1, 100, 101})), nullptr);
    MPI_Comm made = reinterpret_cast<MPI_Comm>(new Members{{0, 1}, {100, 101}});
    define_made_by_members(process.world(), &made, 3);
    EXPECT_EQ(definition_of_comm(nullptr, made), nullptr);
}

TEST_F(CommDefinitions, DefinitionsAreComplete) {
    g_own = 3;
    RankModel process;
    const CommDefinition* world = definition_of_comm(nullptr, process.world());
    EXPECT_NE(world->short_id, 0u);
    EXPECT_EQ(world->size, kRanks);
    EXPECT_TRUE(world->is_world);
    const CommDefinition* odd = definition_of_comm(nullptr, process.make(process.world(), kOdd));
    EXPECT_EQ(odd->size, 3);
    EXPECT_EQ(odd->rank, 1);
    EXPECT_FALSE(odd->is_world);
    const CommDefinition* inter =
        definition_of_comm(nullptr, process.make_by_members(kOdd, 1, {0, 2}));
    EXPECT_EQ(inter->size, 2);  // the remote group
    EXPECT_EQ(inter->members, 5u);
    EXPECT_EQ(inter->side, 1);  // rank 0 is in the other group
    EXPECT_TRUE(inter->inter);
    EXPECT_EQ(definition_of_comm(nullptr, reinterpret_cast<MPI_Comm>(uintptr_t{4096})), nullptr);
}

// Also where several threads make communicators at a time.
TEST_F(CommDefinitions, AreAllInTheRecordFile) {
    g_own = 0;
    RankModel process;
    constexpr int kThreads = 4;
    constexpr int kTimes = 2000;
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&process] {
            attach_thread();
            for (int k = 0; k < kTimes; ++k) process.make(process.world(), kAll);
        });
    }
    for (std::thread& thread : threads) thread.join();
    int shown = 0;
    for (CellIndex at = g_process.header->first_comm; at != 0; at = cell_at<CommRecord>(at)->next) {
        shown += cell_at<CommRecord>(at)->handle != 0 ? 1 : 0;
    }
    EXPECT_EQ(shown, kThreads * kTimes + 2);  // MPI_COMM_WORLD and MPI_COMM_SELF
}

TEST_F(CommDefinitions, HandlesAreReused) {
    g_own = 0;
    RankModel process;
    std::set<uint64_t> ids;
    constexpr int kTimes = 200'000;
    static Members members{{0, 1}, {}};  // not at the address of another test's handle
    MPI_Comm comm = reinterpret_cast<MPI_Comm>(&members);
    for (int i = 0; i < kTimes; ++i) {
        define_made(process.world(), &comm);
        ids.insert(definition_of_comm(nullptr, comm)->id);
        end_definition(comm);
        ASSERT_EQ(definition_of_comm(nullptr, comm), nullptr);
    }
    EXPECT_EQ(ids.size(), size_t{kTimes});
    // Another thread got the handle again before the freeing thread removed its definition.
    define_made(process.world(), &comm);
    define_made(process.world(), &comm);
    const uint64_t newest = definition_of_comm(nullptr, comm)->id;
    end_definition(comm);
    ASSERT_NE(definition_of_comm(nullptr, comm), nullptr);
    EXPECT_EQ(definition_of_comm(nullptr, comm)->id, newest);
}

TEST_F(CommDefinitions, ManyAtATime) {
    g_own = 0;
    RankModel process;
    std::vector<MPI_Comm> comms;
    for (int i = 0; i < 20'000; ++i) comms.push_back(process.make(process.world(), {0, 1}));
    std::set<uint64_t> ids;
    for (MPI_Comm comm : comms) ids.insert(definition_of_comm(nullptr, comm)->id);
    EXPECT_EQ(ids.size(), comms.size());
    for (MPI_Comm comm : comms) process.free_comm(comm);
    EXPECT_NE(definition_of_comm(nullptr, process.world()), nullptr);
}

}  // namespace dwell
