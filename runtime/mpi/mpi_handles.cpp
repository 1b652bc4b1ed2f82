// Queries to MPI, with null handles answered here.
#include "runtime/mpi/mpi_handles.h"

#include <dlfcn.h>

#include "runtime/mpi/mpi_api.h"

namespace dwell {

MpiQuestions g_ask;

namespace {

template <typename Handle>
bool is_one(Handle handle, Handle null) {
    return handle != nullptr && handle != null;
}
bool is_one(MPI_Datatype type) { return is_one(type, g_mpi.datatype_null); }
bool is_one(MPI_Comm comm) { return is_one(comm, g_mpi.comm_null); }
bool is_one(MPI_Win win) { return is_one(win, g_mpi.win_null); }
bool is_one(MPI_File file) { return is_one(file, g_mpi.file_null); }
bool is_one(MPI_Group group) { return is_one(group, g_mpi.group_null); }

// The result of `ask(handle, &number)`.
template <typename Ask, typename Handle>
int number_of(Ask ask, Handle handle, int unknown = 0) {
    int number = unknown;
    return is_one(handle) && ask(handle, &number) == MPI_SUCCESS ? number : unknown;
}

template <typename Ask, typename Handle>
MPI_Group asked_group(Ask ask, Handle handle) {
    MPI_Group group = nullptr;
    return is_one(handle) && ask(handle, &group) == MPI_SUCCESS ? group : nullptr;
}

void return_errors(MPI_Comm comm, MPI_Errhandler* before) {
    if (g_ask.Comm_get_errhandler(comm, before) != MPI_SUCCESS) *before = nullptr;
    if (*before != nullptr) g_mpi.Comm_set_errhandler(comm, g_mpi.errors_return);
}

void put_back(MPI_Comm comm, MPI_Errhandler* before) {
    if (*before == nullptr) return;
    g_mpi.Comm_set_errhandler(comm, *before);
    g_ask.Errhandler_free(before);
}

}  // namespace

bool load_questions(void* library) {
    bool complete = true;
#define DWELL_LOOK_UP(name)                                                             \
    g_ask.name = reinterpret_cast<decltype(g_ask.name)>(dlsym(library, "PMPI_" #name)); \
    complete = complete && g_ask.name != nullptr;
    DWELL_MPI_QUESTIONS(DWELL_LOOK_UP)
#undef DWELL_LOOK_UP
    return complete;
}

uint64_t size_of(MPI_Datatype type) {
    MPI_Count bytes = 0;
    const bool known = is_one(type) && g_ask.Type_size_x(type, &bytes) == MPI_SUCCESS && bytes > 0;
    return known ? static_cast<uint64_t>(bytes) : 0;
}

int size_of(MPI_Comm comm) { return number_of(g_ask.Comm_size, comm); }
int remote_size_of(MPI_Comm comm) { return number_of(g_ask.Comm_remote_size, comm); }
int rank_in(MPI_Comm comm) { return number_of(g_ask.Comm_rank, comm); }
bool is_inter(MPI_Comm comm) {
    return comm != g_mpi.comm_world && number_of(g_ask.Comm_test_inter, comm) != 0;
}
int topology_of(MPI_Comm comm) { return number_of(g_ask.Topo_test, comm, MPI_UNDEFINED); }

MPI_Group group_of(MPI_Comm comm) { return asked_group(g_ask.Comm_group, comm); }
MPI_Group remote_group_of(MPI_Comm comm) { return asked_group(g_ask.Comm_remote_group, comm); }
MPI_Group group_of(MPI_Win win) { return asked_group(g_ask.Win_get_group, win); }
MPI_Group group_of(MPI_File file) { return asked_group(g_ask.File_get_group, file); }

void free_group(MPI_Group* group) {
    if (is_one(*group)) g_ask.Group_free(group);
}

int size_of(MPI_Group group) { return number_of(g_ask.Group_size, group); }

bool translate(MPI_Group from, int count, const int* ranks, MPI_Group to, int* translated) {
    if (!is_one(to)) return false;
    const int size = size_of(from);
    for (int i = 0; i < count; ++i) {
        if (ranks[i] < 0 || ranks[i] >= size) return false;
    }
    return is_one(from) &&
           g_ask.Group_translate_ranks(from, count, ranks, to, translated) == MPI_SUCCESS;
}

ReturnedErrors::ReturnedErrors() {
    return_errors(g_mpi.comm_world, &of_world_);
    return_errors(g_mpi.comm_self, &of_self_);
}

ReturnedErrors::~ReturnedErrors() {
    put_back(g_mpi.comm_world, &of_world_);
    put_back(g_mpi.comm_self, &of_self_);
}

}  // namespace dwell
