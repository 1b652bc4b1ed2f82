// Which queries are made to MPI (runtime/mpi/mpi_handles.h): a fake MPI knows the handles of these
// tests and counts queries about others.
#include "runtime/mpi/mpi_handles.h"

#include <gtest/gtest.h>

#include "runtime/mpi/mpi_api.h"

namespace dwell {

namespace {

char g_objects[8];
template <typename Handle>
Handle handle(int which) {
    return reinterpret_cast<Handle>(&g_objects[which]);
}
constexpr int kGood = 0;
constexpr int kNull = 1;
int g_refused = 0;

template <typename Handle>
int answer(Handle asked, int* number, int value) {
    if (asked != handle<Handle>(kGood)) {
        g_refused += 1;
        return MPI_ERR_ARG;
    }
    *number = value;
    return MPI_SUCCESS;
}
int type_size(MPI_Datatype type, MPI_Count* bytes) {
    int size = 0;
    const int result = answer(type, &size, 24);
    *bytes = size;
    return result;
}
int comm_size(MPI_Comm comm, int* size) { return answer(comm, size, 5); }
int comm_group(MPI_Comm comm, MPI_Group* group) {
    int ignored = 0;
    *group = handle<MPI_Group>(kGood);
    return answer(comm, &ignored, 0);
}
int win_group(MPI_Win win, MPI_Group* group) {
    int ignored = 0;
    *group = handle<MPI_Group>(kGood);
    return answer(win, &ignored, 0);
}
int group_size(MPI_Group group, int* size) { return answer(group, size, 5); }
int translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to, int* translated) {
    int ignored = 0;
    for (int i = 0; i < count; ++i) {
        if (ranks[i] < 0 || ranks[i] >= 5) g_refused += 1;
        translated[i] = ranks[i] + 10;
    }
    answer(to, &ignored, 0);
    return answer(from, &ignored, 0);
}

class MpiHandles : public testing::Test {
  protected:
    MpiHandles() {
        g_mpi.comm_world = handle<MPI_Comm>(2);
        g_mpi.comm_null = handle<MPI_Comm>(kNull);
        g_mpi.datatype_null = handle<MPI_Datatype>(kNull);
        g_mpi.win_null = handle<MPI_Win>(kNull);
        g_mpi.file_null = handle<MPI_File>(kNull);
        g_mpi.group_null = handle<MPI_Group>(kNull);
        g_ask.Type_size_x = type_size;
        g_ask.Comm_size = g_ask.Comm_remote_size = g_ask.Comm_rank = comm_size;
        g_ask.Comm_test_inter = g_ask.Topo_test = comm_size;
        g_ask.Comm_group = g_ask.Comm_remote_group = comm_group;
        g_ask.Win_get_group = win_group;
        g_ask.Group_size = group_size;
        g_ask.Group_translate_ranks = translate_ranks;
        g_refused = 0;
    }
};

}  // namespace

TEST_F(MpiHandles, AnswersAboutHandles) {
    EXPECT_EQ(size_of(handle<MPI_Datatype>(kGood)), 24u);
    EXPECT_EQ(size_of(handle<MPI_Comm>(kGood)), 5);
    EXPECT_EQ(topology_of(handle<MPI_Comm>(kGood)), 5);
    EXPECT_TRUE(is_inter(handle<MPI_Comm>(kGood)));
    EXPECT_EQ(group_of(handle<MPI_Comm>(kGood)), handle<MPI_Group>(kGood));
    EXPECT_EQ(group_of(handle<MPI_Win>(kGood)), handle<MPI_Group>(kGood));
    EXPECT_EQ(g_refused, 0);
}

TEST_F(MpiHandles, NeverAsksAboutNullHandles) {
    for (const bool zero : {false, true}) {
        EXPECT_EQ(size_of(zero ? nullptr : handle<MPI_Datatype>(kNull)), 0u);
        const MPI_Comm comm = zero ? nullptr : handle<MPI_Comm>(kNull);
        EXPECT_EQ(size_of(comm) + remote_size_of(comm) + rank_in(comm), 0);
        EXPECT_FALSE(is_inter(comm));
        EXPECT_EQ(topology_of(comm), MPI_UNDEFINED);
        EXPECT_EQ(group_of(comm), nullptr);
        EXPECT_EQ(remote_group_of(comm), nullptr);
        EXPECT_EQ(group_of(zero ? nullptr : handle<MPI_Win>(kNull)), nullptr);
        EXPECT_EQ(group_of(zero ? nullptr : handle<MPI_File>(kNull)), nullptr);
        MPI_Group group = zero ? nullptr : handle<MPI_Group>(kNull);
        EXPECT_EQ(size_of(group), 0);
        free_group(&group);
        int rank = 0;
        EXPECT_FALSE(translate(group, 1, &rank, handle<MPI_Group>(kGood), &rank));
        EXPECT_FALSE(translate(handle<MPI_Group>(kGood), 1, &rank, group, &rank));
    }
    EXPECT_EQ(g_refused, 0);
}

TEST_F(MpiHandles, NeverAsksAboutRanksOutsideAGroup) {
    const auto group = handle<MPI_Group>(kGood);
    int translated[2] = {0, 0};
    const int good[2] = {0, 4};
    EXPECT_TRUE(translate(group, 2, good, group, translated));
    EXPECT_EQ(translated[1], 14);
    for (const int wrong : {-1, 5, 4711}) {
        const int ranks[2] = {0, wrong};
        EXPECT_FALSE(translate(group, 2, ranks, group, translated));
    }
    EXPECT_EQ(g_refused, 0);
}

}  // namespace dwell
