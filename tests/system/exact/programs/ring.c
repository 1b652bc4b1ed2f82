// A ring for any number of ranks, rounds in argv[1] (10 without): each rank passes 4 bytes to the
// next one and reduces 8 bytes; exits with argv[2]. With one rank the ring is a message to oneself.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

//@ let N=10
int main(int argc, char** argv) {
    int rank, size, in = 0;
    double sum = 0, all = 0;
    MPI_Init(&argc, &argv);
    const int rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        //@ MPI_Sendrecv count=N*P sent=4*N*P received=4*N*P
        //@ + taken={(r,(r-1)%P):4*N for r in range(P)}
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        sum += in;
        //@ MPI_Allreduce count=N*P sent=8*N*P received=8*N*P
        MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("%d ranks: %g\n", size, all);
    MPI_Finalize();
    return argc > 2 ? atoi(argv[2]) : 0;
}
