// Probes and matched probes; 2 ranks. Rank 0 sends N messages of 8 bytes for each way to look at
// them; the probe moves nothing, the receive after it moves 8 bytes.
#include <mpi.h>
#include <stdio.h>

//@ let N=6
enum { N = 6 };

int main(int argc, char** argv) {
    int rank, flag = 0, in[2], out[2] = {4, 5}, length;
    long sum = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < N && rank == 0; i++) {
        for (int tag = 0; tag < 4; tag++) {
            //@ MPI_Send count=4*N sent=4*N*8 peers={(0,1):(4*N,4*N*8,0)}
            MPI_Send(out, 2, MPI_INT, 1, tag, MPI_COMM_WORLD);
        }
    }
    for (int i = 0; i < N && rank == 1; i++) {
        //@ MPI_Probe count=N sent=0 received=0
        MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &length);
        //@ MPI_Recv count=N received=N*8 peers={(1,0):(N,0,N*8)}
        MPI_Recv(in, length, MPI_INT, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        //@ MPI_Iprobe received=0 recv_ready=N
        for (flag = 0; !flag;) MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        //@ MPI_Recv count=N received=N*8 peers={(1,0):(N,0,N*8)}
        MPI_Recv(in, 2, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        //@ MPI_Mprobe count=N received=0
        MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, &status);
        //@ MPI_Mrecv count=N received=N*8 peers={(1,0):(N,0,N*8)}
        MPI_Mrecv(in, 2, MPI_INT, &message, MPI_STATUS_IGNORE);
        for (flag = 0; !flag;) MPI_Improbe(0, 3, MPI_COMM_WORLD, &flag, &message, &status);
        //@ MPI_Imrecv count=N received=0
        MPI_Imrecv(in, 2, MPI_INT, &message, &request);
        //@ MPI_Wait count=N received=N*8 taken={(1,0):N*8}
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += in[0] + in[1];
    }
    for (int i = 0; i < N; i++) {
        // Nothing of tag 99 ever comes: always the unsuccessful kind.
        //@ MPI_Iprobe count=2*N received=0 recv_ready=0 recv_blocked=2*N
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &flag, &status);
        sum += flag;
        // From nobody there is always a message at once.
        //@ MPI_Mprobe count=2*N received=0 peers={}
        MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        //@ MPI_Mrecv count=2*N received=0 peers={}
        MPI_Mrecv(NULL, 0, MPI_INT, &message, &status);
    }
    printf("rank %d sum %ld\n", rank, sum);
    MPI_Finalize();
    return 0;
}
