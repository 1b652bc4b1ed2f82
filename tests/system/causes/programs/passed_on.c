// Waiting that is passed on: 3 ranks, argv[1] rounds. Rank 1 is slow (it sleeps, so that the others
// have the processors) and sends to rank 0, which passes the number on to rank 2; that one probes
// for it before it receives it, or looks in a loop, round by round. Only rank 1 makes anybody wait.
// Prints the sum that rank 2 got.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char** argv) {
    const struct timespec slow = {0, 5000000};
    const int rounds = argc > 1 ? atoi(argv[1]) : 0;
    long number = 0, sum = 0;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        if (rank == 1) {
            nanosleep(&slow, NULL);
            number = i;
            MPI_Send(&number, 1, MPI_LONG, 0, 1, MPI_COMM_WORLD);  // @slow
        } else if (rank == 0) {
            MPI_Recv(&number, 1, MPI_LONG, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @middle
            MPI_Send(&number, 1, MPI_LONG, 2, 2, MPI_COMM_WORLD);                     // @pass
        } else if (i % 2 == 0) {
            MPI_Probe(0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);                       // @probed
            MPI_Recv(&number, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @taken
            sum += number;
        } else {
            int there = 0;
            while (!there) MPI_Iprobe(0, 2, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
            MPI_Recv(&number, 1, MPI_LONG, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @looked_for
            sum += number;
        }
    }
    if (rank == 2) printf("%ld\n", sum);
    MPI_Finalize();
    return 0;
}
