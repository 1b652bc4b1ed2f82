// The histogram of message sizes; 2 ranks. Bucket 0 counts messages of 0 bytes, bucket k those of
// 2^(k-1) .. 2^k - 1 bytes. Sizes 0 1 2 3 4 7 8 1023 1024 1025 65536, the j-th of them j + 1 times:
// 0 -> bucket 0, 1 -> 1, 2 and 3 -> 2, 4 and 7 -> 3, 8 -> 4, 1023 -> 10, 1024 and 1025 -> 11,
// 65536 -> 17.
#include <mpi.h>
#include <stdio.h>

//@ let H={0:1,1:2,2:3+4,3:5+6,4:7,10:8,11:9+10,17:11}
//@ let B=1*2+2*3+3*4+4*5+7*6+8*7+1023*8+1024*9+1025*10+65536*11
static char data[65536];

int main(int argc, char** argv) {
    const int sizes[] = {0, 1, 2, 3, 4, 7, 8, 1023, 1024, 1025, 65536};
    int rank;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int j = 0; j < 11; j++) {
        for (int i = 0; i <= j; i++) {
            if (rank == 0) {
                //@ MPI_Send count=66 sent=B messages=H
                MPI_Send(data, sizes[j], MPI_CHAR, 1, 0, MPI_COMM_WORLD);
                //@ MPI_Isend count=66 sent=B messages=H
                MPI_Isend(data, sizes[j], MPI_CHAR, 1, 1, MPI_COMM_WORLD, &request);
                //@ MPI_Wait count=66
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else {
                //@ MPI_Recv count=66 received=B messages=H
                MPI_Recv(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                //@ MPI_Irecv count=66
                MPI_Irecv(data, sizeof data, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &request);
                //@ MPI_Wait count=66 received=B messages=H
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
    }
    if (rank == 0) puts("done");
    MPI_Finalize();
    return 0;
}
