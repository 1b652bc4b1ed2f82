// Blocking point-to-point calls of every mode between ranks 0 and 1; 2 ranks. Rank 0 sends N
// messages of 3 ints with each mode, so each line moves N * 12 bytes from rank 0 to rank 1. A
// peer's count is in messages: a Sendrecv with one partner is two.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

//@ let N=7
enum { N = 7 };

static int rank, sum;

static void send_all_modes(int* data) {
    for (int i = 0; i < N; i++) {
        //@ MPI_Send count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Send(data, 3, MPI_INT, 1, 1, MPI_COMM_WORLD);
        //@ MPI_Ssend count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Ssend(data, 3, MPI_INT, 1, 2, MPI_COMM_WORLD);
        //@ MPI_Bsend count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Bsend(data, 3, MPI_INT, 1, 3, MPI_COMM_WORLD);
        //@ MPI_Recv count=N sent=0 received=0 peers={(0,1):(N,0,0)}
        MPI_Recv(NULL, 0, MPI_INT, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        //@ MPI_Rsend count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Rsend(data, 3, MPI_INT, 1, 5, MPI_COMM_WORLD);
    }
}

static void receive_all_modes(void) {
    int data[8] = {0};
    MPI_Status status;
    MPI_Request ready;
    for (int i = 0; i < N; i++) {
        //@ MPI_Recv count=N sent=0 received=N*12 peers={(1,0):(N,0,N*12)}
        MPI_Recv(data, 8, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += data[2];
        //@ MPI_Recv count=N sent=0 received=N*12 peers={(1,0):(N,0,N*12)}
        MPI_Recv(data, 8, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += data[2];
        //@ MPI_Recv count=N sent=0 received=N*12 peers={(1,0):(N,0,N*12)}
        MPI_Recv(data, 8, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        sum += data[2] + status.MPI_SOURCE * 100 + status.MPI_TAG * 1000;
        //@ MPI_Irecv count=N sent=0 received=0
        MPI_Irecv(data, 8, MPI_INT, 0, 5, MPI_COMM_WORLD, &ready);
        //@ MPI_Send count=N sent=0 received=0 peers={(1,0):(N,0,0)}
        MPI_Send(NULL, 0, MPI_INT, 0, 4, MPI_COMM_WORLD);
        //@ MPI_Wait count=N received=N*12 recv_events=N taken={(1,0):N*12}
        MPI_Wait(&ready, &status);
        sum += data[2] + status.MPI_TAG * 10000;
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int room = 4096 + MPI_BSEND_OVERHEAD;
    void* buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);
    int data[3] = {1, 2, 3}, other[5] = {0}, both[2] = {rank, rank};
    if (rank == 0) send_all_modes(data);
    if (rank == 1) receive_all_modes();
    const int partner = 1 - rank;
    for (int i = 0; i < N; i++) {
        // Each rank sends 12 bytes and takes 12, though it offers room for 20.
        //@ MPI_Sendrecv count=2*N sent=2*N*12 received=2*N*12
        //@ + peers={(0,1):(2*N,N*12,N*12),(1,0):(2*N,N*12,N*12)}
        MPI_Sendrecv(data, 3, MPI_INT, partner, 6, other, 5, MPI_INT, partner, 6, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        //@ MPI_Sendrecv_replace count=2*N sent=2*N*8 received=2*N*8
        //@ + peers={(0,1):(2*N,N*8,N*8),(1,0):(2*N,N*8,N*8)}
        MPI_Sendrecv_replace(both, 2, MPI_INT, partner, 7, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
        // To nobody and from nobody: no byte moves and there is no partner.
        //@ MPI_Send count=2*N sent=0 received=0 peers={}
        MPI_Send(data, 3, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD);
        //@ MPI_Recv count=2*N sent=0 received=0 peers={}
        MPI_Recv(data, 3, MPI_INT, MPI_PROC_NULL, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        // To oneself.
        //@ MPI_Sendrecv count=2*N sent=2*N*12 received=2*N*12
        //@ + peers={(0,0):(2*N,N*12,N*12),(1,1):(2*N,N*12,N*12)}
        MPI_Sendrecv(data, 3, MPI_INT, rank, 9, other, 5, MPI_INT, rank, 9, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        // Half open: rank 0 only sends, rank 1 only receives.
        const int to = rank == 0 ? 1 : MPI_PROC_NULL, from = rank == 1 ? 0 : MPI_PROC_NULL;
        //@ MPI_Sendrecv count=2*N sent=N*12 received=N*12 peers={(0,1):(N,N*12,0),(1,0):(N,0,N*12)}
        MPI_Sendrecv(data, 3, MPI_INT, to, 10, other, 5, MPI_INT, from, 10, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    int size;
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    printf("rank %d sum %d other %d both %d\n", rank, sum, other[2], both[0]);
    MPI_Finalize();
    return 0;
}
