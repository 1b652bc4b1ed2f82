// Each step rank 0 computes for 10 ms, then all meet: the others wait for it. Each rank
// passes 1000 bytes to the next in its exchange. Arguments: steps; "reset" for MPI_Pcontrol(2) in
// the middle; "hang": after the steps rank 1 receives from rank 0, which waits for all. STEPS_GO:
// the steps begin when a file of that name is there.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void compute(double seconds) {
    const double until = MPI_Wtime() + seconds;
    volatile double value = 1;
    while (MPI_Wtime() < until) {
        for (int i = 0; i < 1000; i++) value = value * 1.0000001 + 0.1;
    }
}

static void step(int rank, int size) {
    static char out[1000], in[1000];
    if (rank == 0) compute(0.01);
    int mine = rank, most = 0;
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);  // @meet
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv(out, 1000, MPI_CHAR, next, 7,  // @pass
                 in, 1000, MPI_CHAR, last, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int steps = argc > 1 ? atoi(argv[1]) : 100;
    const char* const how = argc > 2 ? argv[2] : "";
    const char* const go = getenv("STEPS_GO");
    while (go != NULL && access(go, F_OK) != 0) usleep(10000);
    for (int i = 0; i < steps; i++) {
        if (strcmp(how, "reset") == 0 && i == steps / 2) MPI_Pcontrol(2);
        step(rank, size);
    }
    if (strcmp(how, "hang") == 0) {
        int value = 0;
        if (rank == 1) {
            MPI_Recv(&value, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @lost
        } else {
            MPI_Barrier(MPI_COMM_WORLD);  // @last
        }
    }
    MPI_Finalize();
    return 0;
}
