// Attributes of MPI_COMM_SELF whose delete functions call MPI inside MPI_Finalize, as PETSc has;
// one is set at once after MPI_Init, one at the end. Prints the numbers of its keys. Exits with
// code 3, after a second: the launcher may kill the other rank as soon as one has exited so.
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static int gone(MPI_Comm comm, int key, void* value, void* extra) {
    int one = 1, sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);  // @reduce
    MPI_Barrier(MPI_COMM_WORLD);                                    // @barrier
    printf("%s: sum %d\n", (const char*)value, sum);
    (void)comm, (void)key, (void)extra;
    return MPI_SUCCESS;
}

int main(int argc, char** argv) {
    int provided, first, last, keys[300], initialized, finalized;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &first, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, first, "first");
    for (int i = 0; i < 300; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
    }
    printf("keys %d %d %d\n", first, keys[0], keys[1]);
    for (int i = 0; i < 300; i++) MPI_Comm_free_keyval(&keys[i]);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, gone, &last, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, last, "last");
    printf("last key %d\n", last);
    const int result = MPI_Finalize();
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    printf("after: %d %d %d\n", result, initialized, finalized);
    fflush(stdout);
    sleep(1);
    return 3;
}
