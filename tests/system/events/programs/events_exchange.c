// Messages and collectives of known number, order and size, on communicators of several kinds, for
// three ranks or more. The procedure with the long name is named by the compiler's command line.
#include <mpi.h>

enum { kRounds = 5, kTag = 10, kOtherTag = 77, kOtherBytes = 1000 };

static char buffer[8192];

// One message to the next rank, one from the rank before.
__attribute__((noinline)) static void pass_on(int rank, int size, int round) {
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    const int bytes = 4 * (round + 1);
    if (rank == 0)
        MPI_Send(buffer, bytes, MPI_CHAR, next, kTag + round, MPI_COMM_WORLD);  // @send_first
    MPI_Recv(buffer, bytes, MPI_CHAR, before, kTag + round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0)
        MPI_Send(buffer, bytes, MPI_CHAR, next, kTag + round, MPI_COMM_WORLD);  // @send_later
}

// From the first rank of the world to the last one, whose rank is 0 in `reversed`.
__attribute__((noinline)) void LONG_NAME(int rank, int size, MPI_Comm reversed) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0) MPI_Isend(buffer, kOtherBytes, MPI_CHAR, 0, kOtherTag, reversed, &request);
    if (rank == size - 1)
        MPI_Irecv(buffer, kOtherBytes, MPI_CHAR, MPI_ANY_SOURCE, kOtherTag, reversed, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

__attribute__((noinline)) static void together(MPI_Comm reversed, MPI_Comm half) {
    static int ints[100];
    double sums[3] = {0, 0, 0};
    double all[3];
    MPI_Bcast(ints, 100, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Reduce(sums, all, 3, MPI_DOUBLE, MPI_SUM, 0, reversed);
    MPI_Allreduce(sums, all, 1, MPI_DOUBLE, MPI_SUM, half);
    MPI_Bcast(ints, 7, MPI_INT, 0, MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD);
}

// What EPILOG has no records for: a collective that does not block, a transfer from one side.
__attribute__((noinline)) static void others(int rank, int size) {
    static int shown[4];
    MPI_Request request;
    MPI_Win window;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_create(shown, sizeof shown, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&rank, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_free(&window);
}

int main(int argc, char** argv) {
    int rank;
    int size;
    MPI_Comm reversed;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_split(MPI_COMM_WORLD, 0, size - rank, &reversed);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int round = 0; round < kRounds; ++round) pass_on(rank, size, round);
    LONG_NAME(rank, size, reversed);
    together(reversed, half);
    others(rank, size);
    MPI_Finalize();
    return 0;
}
