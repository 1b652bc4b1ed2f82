// 2 ranks of 2 threads each: 20 steps, in each of which both threads of rank 0 work 4 ms and those
// of rank 1 work 4 and 8 ms; then an allreduce, in which rank 0 waits for rank 1: 4 ms a step. In
// every step thread 0 of each rank sends 8 bytes to the other rank from inside the region.
#include <mpi.h>
#include <omp.h>
#include <stdio.h>
#include <time.h>

static void sleep_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static void exchange(int rank) {
    double out = rank, in = 0;
    MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - rank, 0, &in, 1, MPI_DOUBLE, 1 - rank, 0,  // @exchange
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    int provided, rank;
    double sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    omp_set_num_threads(2);
    for (int step = 0; step < 20; step++) {
#pragma omp parallel  // @step
        {
            if (omp_get_thread_num() == 0) exchange(rank);
            sleep_ms(rank == 1 && omp_get_thread_num() == 1 ? 8 : 4);
        }
        double one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @sum
    }
    if (rank == 0) printf("%g\n", sum);
    MPI_Finalize();
    return 0;
}
