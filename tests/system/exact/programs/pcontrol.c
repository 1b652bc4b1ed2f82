// MPI_Pcontrol; 2 ranks. 0 switches off, 1 on, 2 resets: only what comes after the reset, and while
// switched on, may appear. Unmatched sends and receives are completed while off and back on.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int rank, out = 1, in = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int to = 1 - rank;
    for (int i = 0; i < 5; i++) {
        // Before the reset.
        //@ MPI_Sendrecv count=0
        MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, to, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Pcontrol(2);
    for (int i = 0; i < 5; i++) {
        //@ MPI_Sendrecv count=10 sent=40 received=40
        MPI_Sendrecv(&out, 1, MPI_INT, to, 0, &in, 1, MPI_INT, to, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    MPI_Irecv(&in, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &request);
    MPI_Pcontrol(0);
    for (int i = 0; i < 5; i++) {
        //@ MPI_Allreduce count=0
        MPI_Allreduce(&out, &in, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    double until = MPI_Wtime() + 0.2;
    while (MPI_Wtime() < until) in++;
    //@ MPI_Send count=0
    MPI_Send(&out, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    // Started while on, completed while on: the message counts.
    //@ MPI_Wait count=2 received=8 taken={(0,1):4,(1,0):4}
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Pcontrol(0);
    MPI_Irecv(&in, 1, MPI_INT, to, 2, MPI_COMM_WORLD, &request);
    MPI_Pcontrol(1);
    //@ MPI_Send count=2 sent=8
    MPI_Send(&out, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    // Started while off: the call counts, whatever is known of its message.
    //@ MPI_Wait count=2
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    // Does nothing by the MPI standard's leave, and must not harm.
    MPI_Pcontrol(77, "text", 1);
    printf("rank %d in %d\n", rank, in);
    MPI_Finalize();
    return 0;
}
