// Rank 0 has 40 large sends under way to rank 1, which receives them 50 ms later: there is room on
// the way to a partner for what 31 of them say.
#include <mpi.h>
#include <unistd.h>

enum { kSends = 40, kBytes = 65536 };
static char data[kSends][kBytes];

int main(int argc, char** argv) {
    int rank = 0;
    MPI_Request requests[kSends];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kSends && rank == 0; i++) {
        MPI_Isend(data[i], kBytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
    }
    if (rank == 1) usleep(50000);
    for (int i = 0; i < kSends; i++) {
        if (rank == 0) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);  // @sent
        } else {
            MPI_Recv(data[i], kBytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
