/* Rank 1 works kWork_us, asleep, and sends to rank 0, which asks for that in a loop and at once
 * passes it on to rank 2, which waits in MPI_Recv: rank 1 made both of them wait, and rank 0
 * nobody.
 *
 * usage: mpirun -n 3 dwell run polled_relay test|testall|iprobe
 */
#include <mpi.h>
#include <string.h>
#include <time.h>

enum { kTimes = 50, kWork_us = 5000 };

static void produce(void) {
    const struct timespec work = {0, kWork_us * 1000L};
    int x = 1;
    nanosleep(&work, NULL);
    MPI_Send(&x, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
}
static void relay(const char* how) {
    int x = 0, done = 0;
    MPI_Request request;
    if (strcmp(how, "iprobe") == 0) {
        while (!done) MPI_Iprobe(1, 1, MPI_COMM_WORLD, &done, MPI_STATUS_IGNORE);
        MPI_Recv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Irecv(&x, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        while (!done && strcmp(how, "test") == 0) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        while (!done) MPI_Testall(1, &request, &done, MPI_STATUSES_IGNORE);
    }
    MPI_Send(&x, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
}
static void consume(void) {
    int x;
    MPI_Recv(&x, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @consume */
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kTimes; ++i) {
        if (rank == 0) relay(argv[1]);
        if (rank == 1) produce();
        if (rank == 2) consume();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
