// MPI_Pcontrol with a name begins and ends blocks: "outer" once, with "step 0" to "step 2" inside,
// 0.1 s each. Without one it pauses and goes on, whatever the call before it was given.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static void spin(double seconds) {
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) continue;
}

int main(int argc, char** argv) {
    char name[16];
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(1, "outer");
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof(name), "step %d", i);
        MPI_Pcontrol(1, name);
        spin(0.1);
        MPI_Pcontrol(-1, name);
    }
    MPI_Pcontrol(0);
    spin(0.1);
    if (strcmp(argv[0], "on") != 0) MPI_Pcontrol(1);
    fprintf(stderr, "%s", "");
    MPI_Pcontrol(1);
    MPI_Pcontrol(-1, "outer");
    MPI_Barrier(MPI_COMM_WORLD);  // @barrier
    MPI_Finalize();
    return 0;
}
