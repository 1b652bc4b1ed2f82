// Calls that fail for a null datatype, on a communicator that returns errors; 2 ranks. The handler
// of MPI_COMM_WORLD, which MPI asks for datatypes, ends the job.
#include <mpi.h>
#include <stdio.h>

static int class_of(int error) {
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

int main(int argc, char** argv) {
    int rank, a[4] = {0}, b[4] = {0}, found[6];
    const int ones[2] = {1, 1}, steps[2] = {0, 1};
    const MPI_Datatype none = MPI_DATATYPE_NULL, nones[2] = {none, none},
                       ints[2] = {MPI_INT, MPI_INT};
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    const int other = 1 - rank;
    //@ MPI_Sendrecv count=2 failed=2 sent=0 received=0 peers={}
    found[0] = class_of(
        MPI_Sendrecv(a, 1, none, other, 0, b, 1, MPI_INT, other, 0, comm, MPI_STATUS_IGNORE));
    //@ MPI_Sendrecv count=2 failed=2 sent=0 received=0 peers={}
    found[1] = class_of(
        MPI_Sendrecv(a, 1, MPI_INT, other, 0, b, 1, none, other, 0, comm, MPI_STATUS_IGNORE));
    //@ MPI_Sendrecv_replace count=2 failed=2 sent=0 received=0 peers={}
    found[2] = MPI_Sendrecv_replace(a, 1, none, other, 0, other, 0, comm, MPI_STATUS_IGNORE);
    found[2] = class_of(found[2]);
    //@ MPI_Alltoallw count=2 failed=2
    found[3] = class_of(MPI_Alltoallw(a, ones, steps, nones, b, ones, steps, ints, comm));
    //@ MPI_Reduce count=2 failed=2
    found[4] = class_of(MPI_Reduce(a, b, 1, none, MPI_SUM, 0, comm));
    //@ MPI_Recv count=2 failed=2
    found[5] = class_of(MPI_Recv(a, 1, none, other, 0, comm, MPI_STATUS_IGNORE));
    printf("%d: %d %d %d %d %d %d\n", rank, found[0], found[1], found[2], found[3], found[4],
           found[5]);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
