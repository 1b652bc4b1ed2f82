// Partners that are none: requests that are complete when they start, and share one handle. N
// rounds.
#include <mpi.h>

//@ let N=10
enum { N = 10 };

int main(int argc, char** argv) {
    double in = 0, out = 1;
    MPI_Request request, both[2];
    MPI_Init(&argc, &argv);
    for (int i = 0; i < N; i++) {
        //@ MPI_Irecv count=N*P received=0
        MPI_Irecv(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        //@ MPI_Wait count=N*P recv_ready=N*P recv_blocked=0 send_events=0
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < N; i++) {
        //@ MPI_Isend count=N*P sent=0
        MPI_Isend(&out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        //@ MPI_Wait count=N*P send_ready=N*P send_blocked=0 recv_events=0
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        //@ MPI_Irecv count=N*P received=0
        MPI_Irecv(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &both[0]);
        //@ MPI_Isend count=N*P sent=0
        MPI_Isend(&out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &both[1]);
        //@ MPI_Waitall count=N*P send_ready=N*P recv_ready=N*P send_blocked=0 recv_blocked=0
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
    }
    // One that is given up is not taken for a later one.
    //@ MPI_Irecv count=P received=0
    MPI_Irecv(&in, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    //@ MPI_Isend count=P sent=0
    MPI_Isend(&out, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
    //@ MPI_Wait count=P send_ready=P recv_events=0
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
