// MPI_Pcontrol(2) forgets what was before: 0.6 s are, 0.2 s are not; of the pause in between 0.1 s
// lie before it, and 0.1 s after it.
#include <mpi.h>

static void spin(double seconds) {
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) continue;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    spin(0.5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(0);
    spin(0.1);
    MPI_Pcontrol(2);
    spin(0.1);
    MPI_Pcontrol(1);
    spin(0.1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
