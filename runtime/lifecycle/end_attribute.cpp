// An attribute of MPI_COMM_SELF whose deletion marks the end.
#include "runtime/lifecycle/end_attribute.h"

#include "runtime/mpi/mpi_api.h"

namespace dwell {

namespace {

// More keys would make the table of keys grow and change the heap in which the program's blocks
// lie: CoMD's blocks went back to the kernel in each exchange.
constexpr int kNumbersLeftFree = 8;

void (*g_at_end)() = nullptr;

// Used in place of MPI_COMM_NULL_COPY_FN, which is a function of the MPI library.
int copy_nothing(MPI_Comm, int, void*, void*, void*, int* copied) {
    *copied = 0;
    return MPI_SUCCESS;
}

int delete_nothing(MPI_Comm, int, void*, void*) { return MPI_SUCCESS; }

int attribute_deleted(MPI_Comm, int, void*, void*) {
    g_at_end();
    return MPI_SUCCESS;
}

}  // namespace

void note_failed_deletion(uintptr_t comm) {
    if (g_at_end != nullptr && comm == reinterpret_cast<uintptr_t>(g_mpi.comm_self)) g_at_end();
}

bool call_inside_finalize(void (*at_end)()) {
    if (g_mpi.comm_self == nullptr) return false;
    g_at_end = at_end;
    // Open MPI assigns the lowest free number.
    int left_free[kNumbersLeftFree];
    int count = 0;
    while (count < kNumbersLeftFree &&
           g_mpi.Comm_create_keyval(copy_nothing, delete_nothing, &left_free[count], nullptr) ==
               MPI_SUCCESS) {
        ++count;
    }
    int key = 0;
    bool set = false;
    if (g_mpi.Comm_create_keyval(copy_nothing, attribute_deleted, &key, nullptr) == MPI_SUCCESS) {
        set = g_mpi.Comm_set_attr(g_mpi.comm_self, key, nullptr) == MPI_SUCCESS;
        g_mpi.Comm_free_keyval(&key);  // the key stays valid while the attribute exists
    }
    while (count > 0) g_mpi.Comm_free_keyval(&left_free[--count]);
    return set;
}

}  // namespace dwell
