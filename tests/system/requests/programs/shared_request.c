// Starts that Open MPI completes at once and that share one request handle; 2 ranks. Six pending
// small sends, an Isend to MPI_PROC_NULL and a barrier on MPI_COMM_SELF: eight requests, all
// pending together, each booked under its own line. The only message that the wait brings is the
// last one.
#include <mpi.h>
#include <stdio.h>

//@ let N=3
enum { N = 3 };

int main(int argc, char** argv) {
    int rank, out[6] = {1, 2, 3, 4, 5, 6}, in[6], shared = 0;
    long sum = 0;
    MPI_Request r[10];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int to = 1 - rank;
    for (int i = 0; i < N; i++) {
        //@ MPI_Isend count=2*N sent=2*N*4 peers={(0,1):(N,4*N,0),(1,0):(N,4*N,0)}
        MPI_Isend(out, 1, MPI_INT, to, 0, MPI_COMM_WORLD, &r[0]);
        //@ MPI_Isend count=2*N sent=2*N*8 peers={(0,1):(N,8*N,0),(1,0):(N,8*N,0)}
        MPI_Isend(out, 2, MPI_INT, to, 1, MPI_COMM_WORLD, &r[1]);
        //@ MPI_Isend count=2*N sent=2*N*12 peers={(0,1):(N,12*N,0),(1,0):(N,12*N,0)}
        MPI_Isend(out, 3, MPI_INT, to, 2, MPI_COMM_WORLD, &r[2]);
        //@ MPI_Isend count=2*N sent=2*N*16 peers={(0,1):(N,16*N,0),(1,0):(N,16*N,0)}
        MPI_Isend(out, 4, MPI_INT, to, 3, MPI_COMM_WORLD, &r[3]);
        //@ MPI_Isend count=2*N sent=2*N*20 peers={(0,1):(N,20*N,0),(1,0):(N,20*N,0)}
        MPI_Isend(out, 5, MPI_INT, to, 4, MPI_COMM_WORLD, &r[4]);
        //@ MPI_Isend count=2*N sent=2*N*24 peers={(0,1):(N,24*N,0),(1,0):(N,24*N,0)}
        MPI_Isend(out, 6, MPI_INT, to, 5, MPI_COMM_WORLD, &r[5]);
        //@ MPI_Isend count=2*N sent=0 peers={}
        MPI_Isend(out, 6, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &r[6]);
        //@ MPI_Ibarrier count=2*N sent=0 received=0
        MPI_Ibarrier(MPI_COMM_SELF, &r[7]);
        //@ MPI_Irecv count=2*N received=0 peers={}
        MPI_Irecv(in, 6, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &r[8]);
        //@ MPI_Irecv count=2*N received=0
        MPI_Irecv(in, 6, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &r[9]);
        for (int k = 1; k < 9; k++) shared += r[k] == r[0];
        //@ MPI_Waitall count=2*N received=2*N*4 taken={(0,1):4*N,(1,0):4*N}
        //@ + send_events=2*N*7 recv_events=2*N*3
        MPI_Waitall(10, r, MPI_STATUSES_IGNORE);
        sum += in[0];
        for (int tag = 1; tag < 6; tag++) {
            //@ MPI_Recv count=2*N*5 received=2*N*(8+12+16+20+24)
            //@ + peers={(0,1):(5*N,0,80*N),(1,0):(5*N,0,80*N)}
            MPI_Recv(in, 6, MPI_INT, to, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += in[tag];
        }
    }
    printf("rank %d sum %ld\n", rank, sum);
    fprintf(stderr, "%d handles shared\n", shared);
    MPI_Finalize();
    return 0;
}
