// Rank 1 frees a receive that takes a message unseen, and then receives from any source. So does
// rank 2, whose message rank 1 waits for.
#include <mpi.h>
#include <unistd.h>

enum { kRounds = 20, kTag = 5, kOtherTag = 6, kGap_us = 1000 };

int main(int argc, char** argv) {
    int rank = 0, data = 0, taken = 0;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        MPI_Irecv(&taken, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(&data, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    for (int i = 0; i < kRounds; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            usleep(kGap_us);
            MPI_Send(&data, 1, MPI_INT, 2, kOtherTag, MPI_COMM_WORLD);
        } else {
            MPI_Recv(&data, 1, MPI_INT, MPI_ANY_SOURCE, rank == 1 ? kTag : kOtherTag,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (rank == 2) MPI_Send(&data, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return 0;
}
