// argv[1] probes at one line; 1 rank. Record files and outputs must not grow with that number.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const long times = argc > 1 ? atol(argv[1]) : 1;
    int flag;
    for (long i = 0; i < times; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @probe
    }
    puts("done");
    MPI_Finalize();
    return 0;
}
