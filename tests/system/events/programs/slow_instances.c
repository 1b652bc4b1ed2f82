/* argv[1] instances of a block "work", one message from rank 0 to rank 1 with tag 7 and 8 * (i + 1)
 * bytes in each, and a marker "step" between them. Instance i sleeps for argv[2] milliseconds where
 * i is a multiple of 4. Rank 0 and 1 print "RANK I MILLISECONDS" for each. */
#include <dwell.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static double data[4096];

int main(int argc, char** argv) {
    int rank;
    const int instances = atoi(argv[1]);
    const int sleep_ms = atoi(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < instances; ++i) {
        const double begin = MPI_Wtime();
        dwell_block_begin("work");
        if (i % 4 == 0) usleep(1000 * sleep_ms);
        if (rank == 0) {
            MPI_Send(data, i + 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        } else {
            MPI_Recv(data, i + 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        dwell_block_end("work");
        printf("%d %d %.3f\n", rank, i, 1e3 * (MPI_Wtime() - begin));
        dwell_mark("step", 1);
    }
    MPI_Finalize();
    return argc < 3;
}
