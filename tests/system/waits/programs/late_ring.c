/* Delays that are handed on: a message goes round a ring, N times. Rank 0 works LONG before it
 * sends, each other rank SHORT: so each rank waits for what all the others work, of that LONG for
 * rank 0 and SHORT for each other one; one of them tells, and passes on the rest. */
#include <mpi.h>
#include <time.h>

enum { N = 50 };
static const double kLong_s = 0.004, kShort_s = 0.0005;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

__attribute__((noinline)) static void work(double seconds) {
    const double until = now() + seconds;
    while (now() < until) continue;
}

int main(int argc, char** argv) {
    int rank, size, data = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < N; ++i) {
        if (rank != 0) {
            MPI_Recv(&data, 1, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv
            work(kShort_s);
        } else {
            work(kLong_s);
        }
        MPI_Send(&data, 1, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD);
        if (rank == 0) {
            MPI_Recv(&data, 1, MPI_INT, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @back
        }
    }
    MPI_Finalize();
    return 0;
}
