/* argv[1] messages of 8 bytes around a ring, each rank sending before it receives in every second
 * turn; prints nothing. */
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    int rank;
    int ranks;
    double in = 0;
    double out = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int next = (rank + 1) % ranks;
    const int before = (rank + ranks - 1) % ranks;
    for (int i = atoi(argv[1]) / ranks; i > 0; --i) {
        if ((i + rank) % 2 == 0) {
            MPI_Send(&out, 1, MPI_DOUBLE, next, i % 7, MPI_COMM_WORLD);
            MPI_Recv(&in, 1, MPI_DOUBLE, before, i % 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Sendrecv(&out, 1, MPI_DOUBLE, next, i % 7, &in, 1, MPI_DOUBLE, before, i % 7,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
