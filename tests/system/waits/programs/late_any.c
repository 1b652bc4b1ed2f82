/* Rank 1 sends synchronously, and waits for rank 0, which rests 3 ms before each receive: from any
   source, as a request, 50 times of a new one and 50 times of a persistent one: 150 ms each. */
#include <mpi.h>
#include <time.h>

enum { kTimes = 50 };

static void rest(void) {
    const struct timespec time = {0, 3000000};
    nanosleep(&time, NULL);
}

int main(int argc, char** argv) {
    int rank, value = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kTimes; ++i) {
        if (rank == 0) {
            rest();
            MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Ssend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);  // @new
        }
    }
    MPI_Recv_init(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < kTimes; ++i) {
        if (rank == 0) {
            rest();
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        } else {
            MPI_Ssend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);  // @started
        }
    }
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
