// Queries about the program's handles, all in one place. For an invalid handle MPI calls the
// program's error handler, which usually ends the program. So null handles are never queried, nor
// ranks outside a group.
//
// Other handles are valid: they are queried after a successful call with them, or have a definition
// (comm_definitions.h), which is removed before MPI may reuse the handle. Any thread; not
// signal-safe.
#ifndef DWELL_RUNTIME_MPI_MPI_HANDLES_H_
#define DWELL_RUNTIME_MPI_MPI_HANDLES_H_

#include <mpi.h>
#include <stdint.h>

namespace dwell {

// The functions for queries, by their PMPI names. Called by mpi_handles.cpp only; unit tests
// replace them.
// clang-format off
#define DWELL_MPI_QUESTIONS(X) \
    X(Type_size_x) X(Comm_size) X(Comm_remote_size) X(Comm_rank) X(Comm_test_inter) X(Topo_test) \
    X(Comm_group) X(Comm_remote_group) X(Win_get_group) X(File_get_group) X(Group_free) \
    X(Group_size) X(Group_translate_ranks) X(Comm_get_errhandler) X(Errhandler_free)
// clang-format on
struct MpiQuestions {
#define DWELL_MEMBER(name) decltype(&PMPI_##name) name;
    DWELL_MPI_QUESTIONS(DWELL_MEMBER)
#undef DWELL_MEMBER
};
extern MpiQuestions g_ask;
// Once, by load_mpi(): false when the library lacks one of them.
bool load_questions(void* library);

// For a null handle all of these are 0, false or null.
uint64_t size_of(MPI_Datatype type);  // in bytes
int size_of(MPI_Comm comm);           // of the caller's own group
int remote_size_of(MPI_Comm comm);
int rank_in(MPI_Comm comm);
bool is_inter(MPI_Comm comm);
int topology_of(MPI_Comm comm);  // MPI_UNDEFINED: none

// A group that the caller frees.
MPI_Group group_of(MPI_Comm comm);
MPI_Group remote_group_of(MPI_Comm comm);
MPI_Group group_of(MPI_Win win);
MPI_Group group_of(MPI_File file);
void free_group(MPI_Group* group);
int size_of(MPI_Group group);
// False when one of them is no rank of the group. Ranks missing in the other group become
// MPI_UNDEFINED.
bool translate(MPI_Group from, int count, const int* ranks, MPI_Group to, int* translated);

// While it lives, errors of dwell's own calls on MPI_COMM_WORLD and MPI_COMM_SELF reach no error
// handler.
class ReturnedErrors {
  public:
    ReturnedErrors();
    ~ReturnedErrors();
    ReturnedErrors(const ReturnedErrors&) = delete;
    ReturnedErrors& operator=(const ReturnedErrors&) = delete;

  private:
    MPI_Errhandler of_world_ = nullptr;
    MPI_Errhandler of_self_ = nullptr;
};

template <typename Handle>
uintptr_t handle_in(const Handle* place) {
    return place != nullptr ? reinterpret_cast<uintptr_t>(*place) : 0;
}

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_MPI_HANDLES_H_
