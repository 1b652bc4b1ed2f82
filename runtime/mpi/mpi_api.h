// The MPI library of the process, reached at run time: libdwell.so does not link it (DESIGN 2).
// `g_mpi` holds the functions and handles that dwell itself uses; filled once by load_mpi().
#ifndef DWELL_RUNTIME_MPI_MPI_API_H_
#define DWELL_RUNTIME_MPI_MPI_API_H_

#include <mpi.h>

#include "runtime/contract/mpi_call_numbers.h"
#include "runtime/process/state.h"

static_assert(OMPI_MAJOR_VERSION >= 4, "built against Open MPI's ABI of libmpi.so.40");

// The functions that dwell calls, by their PMPI names. Those that query the program's handles are
// in mpi_handles.h.
// clang-format off
#define DWELL_MPI_FUNCTIONS(X) \
    X(Comm_get_parent) X(Comm_create_group) X(Comm_set_errhandler) \
    X(Comm_call_errhandler) X(Comm_create_keyval) X(Comm_free_keyval) X(Comm_set_attr) X(Group_incl) \
    X(Cartdim_get) X(Cart_get) X(Cart_shift) X(Graph_neighbors) X(Graph_neighbors_count) \
    X(Dist_graph_neighbors) X(Dist_graph_neighbors_count) X(Test) X(Testall) X(Testany) \
    X(Testsome) X(Wait) X(Get_count) X(Request_get_status) X(Request_free) X(Cancel) X(Isend) \
    X(Irecv) X(Send) X(Recv) X(Recv_init) X(Start) X(Ibarrier) X(Ireduce_scatter_block) \
    X(Probe) X(Mprobe) X(Iprobe) X(Improbe) X(Query_thread)
// clang-format on

namespace dwell {

struct MpiApi {
#define DWELL_MEMBER(name) decltype(&PMPI_##name) name;
    DWELL_MPI_FUNCTIONS(DWELL_MEMBER)
#undef DWELL_MEMBER
    MPI_Comm comm_world;
    MPI_Comm comm_self;
    MPI_Comm comm_null;
    MPI_Group group_null;
    MPI_Win win_null;
    MPI_File file_null;
    MPI_Datatype datatype_null;
    MPI_Request request_null;
    MPI_Request request_empty;  // shared by requests that are complete when started; may be null
    MPI_Datatype byte;
    MPI_Datatype integer;
    MPI_Op sum;
    MPI_Op no_op;
    MPI_Errhandler errors_return;
    void* library;  // dlopen handle
    bool usable;    // an MPI library whose handles dwell understands
};
extern MpiApi g_mpi;

// The name that the program called; each has its own next definition.
enum EntryForm { kMpiForm = 0, kPmpiForm = 1 };
extern void* g_next[2][kMpiCallNumbers];

// The next definition of MPI_X or PMPI_X after dwell's own, looked up once: in search order, or, if
// MPI was opened late in local scope, in the loaded MPI library. Never null: a missing function
// gets one that returns MPI_ERR_OTHER after a line on stderr.
DWELL_COLD void* find_next(EntryForm form, uint16_t number);

// The same for Fortran's entry points (fortran_entries.h), by symbol. Never null.
DWELL_COLD void* find_next_in_fortran(const char* symbol);

// The same in the MPI libraries alone, wherever they were opened; null when missing.
void* find_in_mpi(const char* symbol);

// Whether MPI is loaded; if so, the file of its library, and whether it was started.
bool find_unseen_mpi(char* library, size_t size, bool* started);

template <typename Function>
inline Function next_of(EntryForm form, MpiCall number) {
    void* next = __atomic_load_n(&g_next[form][static_cast<int>(number)], __ATOMIC_RELAXED);
    if (next == nullptr) [[unlikely]]
        next = find_next(form, static_cast<uint16_t>(number));
    return reinterpret_cast<Function>(next);
}

// Fills g_mpi from the library that serves PMPI_Init. False, with `why` set, for a library that
// dwell does not understand.
bool load_mpi(const char** why);

// The function that a call from code at `return_address` would reach without dwell, if it lies in
// another MPI library than g_mpi's; else null.
void* foreign_definition(uintptr_t return_address, EntryForm form, uint16_t number);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_MPI_API_H_
