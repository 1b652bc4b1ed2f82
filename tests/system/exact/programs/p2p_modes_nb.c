// Buffered and ready sends in their nonblocking and persistent forms; 2 ranks. Rank 0 sends N
// messages of 3 ints with each, so each line moves N * 12 bytes from rank 0 to rank 1. Rank 1 posts
// its receives before it says so with an empty message, so a ready send always finds one.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

//@ let N=7
enum { N = 7, WAYS = 4 };

static void send_all(void) {
    int data[3] = {1, 2, 3};
    MPI_Request once[2], again[2];
    //@ MPI_Bsend_init count=1 sent=0
    MPI_Bsend_init(data, 3, MPI_INT, 1, 2, MPI_COMM_WORLD, &again[0]);
    //@ MPI_Rsend_init count=1 sent=0
    MPI_Rsend_init(data, 3, MPI_INT, 1, 3, MPI_COMM_WORLD, &again[1]);
    for (int i = 0; i < N; i++) {
        //@ MPI_Recv count=N received=0 peers={(0,1):(N,0,0)}
        MPI_Recv(NULL, 0, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        //@ MPI_Ibsend count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Ibsend(data, 3, MPI_INT, 1, 0, MPI_COMM_WORLD, &once[0]);
        //@ MPI_Irsend count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Irsend(data, 3, MPI_INT, 1, 1, MPI_COMM_WORLD, &once[1]);
        //@ MPI_Waitall count=N sent=0 received=0
        MPI_Waitall(2, once, MPI_STATUSES_IGNORE);
        //@ MPI_Start count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Start(&again[0]);
        //@ MPI_Start count=N sent=N*12 received=0 peers={(0,1):(N,N*12,0)}
        MPI_Start(&again[1]);
        //@ MPI_Waitall count=N sent=0 received=0
        MPI_Waitall(2, again, MPI_STATUSES_IGNORE);
    }
    //@ MPI_Request_free count=1
    MPI_Request_free(&again[0]);
    //@ MPI_Request_free count=1
    MPI_Request_free(&again[1]);
}

static long receive_all(void) {
    int data[WAYS][3] = {{0}};
    long sum = 0;
    MPI_Request requests[WAYS];
    for (int i = 0; i < N; i++) {
        for (int way = 0; way < WAYS; way++) {
            //@ MPI_Irecv count=4*N sent=0 received=0
            MPI_Irecv(data[way], 3, MPI_INT, 0, way, MPI_COMM_WORLD, &requests[way]);
        }
        //@ MPI_Send count=N sent=0 received=0 peers={(1,0):(N,0,0)}
        MPI_Send(NULL, 0, MPI_INT, 0, 9, MPI_COMM_WORLD);
        //@ MPI_Waitall count=N received=N*48 recv_events=4*N taken={(1,0):N*48}
        MPI_Waitall(WAYS, requests, MPI_STATUSES_IGNORE);
        for (int way = 0; way < WAYS; way++) sum += data[way][2];
    }
    return sum;
}

int main(int argc, char** argv) {
    int rank, size;
    long sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int room = 2 * N * (64 + MPI_BSEND_OVERHEAD);
    void* buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);
    if (rank == 0) send_all();
    if (rank == 1) sum = receive_all();
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    printf("rank %d sum %ld\n", rank, sum);
    MPI_Finalize();
    return 0;
}
