// A rank that never waits: messages to itself, and arithmetic, always the same. What it executes in
// work() is counted, while it is watched and while it is not. Argument: calls.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

volatile double g_value = 1;

__attribute__((noinline)) void work(int calls) {
    int out = 1, in = 0;
    for (int i = 0; i < calls; i++) {
        for (int k = 0; k < 1000; k++) g_value = g_value * 1.0000001 + 0.1;
        MPI_Sendrecv(&out, 1, MPI_INT, 0, 7, &in, 1, MPI_INT, 0, 7, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    work(1000);
    printf("warm\n");
    fflush(stdout);
    work(argc > 1 ? atoi(argv[1]) : 100000);
    MPI_Finalize();
    return 0;
}
