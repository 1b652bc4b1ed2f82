// Two attributes of MPI_COMM_SELF, the one that MPI_Finalize deletes first refuses: Open MPI
// deletes no further one. Prints what MPI_Finalize returned.
#include <mpi.h>
#include <stdio.h>

static int refuse(MPI_Comm comm, int key, void* value, void* extra) {
    MPI_Barrier(MPI_COMM_WORLD);
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_ERR_OTHER;
}

int main(int argc, char** argv) {
    int first, last;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &first, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, first, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse, &last, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, NULL);
    // Before the end this is an error as any other.
    printf("delete: %d\n", MPI_Comm_delete_attr(MPI_COMM_SELF, last) != MPI_SUCCESS);
    MPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);  // @reduce
    printf("finalize: %d\n", MPI_Finalize() != MPI_SUCCESS);
    return 0;
}
