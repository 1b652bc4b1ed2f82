/* Rank 0 sends 1000 messages of 1000 bytes, each of which Open MPI leaves where it is until rank 1
   is in a probe or receive that takes it; rank 1 probes for each and receives it. */
#include <mpi.h>

enum { kTimes = 1000, kBytes = 1000 };
static char data[kBytes];

int main(int argc, char** argv) {
    int rank;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kTimes; ++i) {
        if (rank == 0) {
            MPI_Send(data, kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);  // @send
        } else {
            MPI_Probe(0, 0, MPI_COMM_WORLD, &status);  // @probe
            MPI_Recv(data, kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
