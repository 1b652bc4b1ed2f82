// 2 ranks of 2 threads each: 20 steps, in each of which every thread works 2 ms, exchanges 8 bytes
// with the thread of its number on the other rank, and works 3 ms; then the first thread works 7
// ms, in which the other one has nothing to do: 140 ms outside of regions on each rank.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void sleep_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static void exchange(int rank, int tag) {
    double out = rank, in = 0;
    const int other = 1 - rank;
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, other, tag, &in, 1, MPI_DOUBLE, other, tag,  // @exchange
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    omp_set_num_threads(2);
    for (int step = 0; step < 20; step++) {
#pragma omp parallel  // @step
        {
            sleep_ms(2);
            exchange(rank, omp_get_thread_num());
            sleep_ms(3);
        }
        sleep_ms(7);
    }
    if (rank == 0) puts("done");
    MPI_Finalize();
    return 0;
}
