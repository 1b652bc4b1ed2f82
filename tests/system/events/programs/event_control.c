// Blocks, of which some are not recorded, by dwell_pause(); with an argument, MPI_Pcontrol(2)
// between two markers, after much overhead. Prints the microseconds between the markers.
#include <mpi.h>
#include <stdio.h>

#include "dwell.h"

static void step(const char* name) {
    dwell_block_begin(name);
    volatile int sum = 0;
    for (int i = 0; i < 1000; ++i) sum = sum + i;
    dwell_block_end(name);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    dwell_block_begin("around");
    for (int i = 0; i < 30; ++i) {
        if (i == 10) dwell_pause();
        if (i == 20) dwell_resume();
        step("step");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    dwell_block_end("around");
    if (argc > 1) {
        for (int i = 0; i < 500000; ++i) {
            dwell_block_begin("quick");
            dwell_block_end("quick");
        }
        const double begin = MPI_Wtime();
        dwell_mark("before", 1);
        MPI_Pcontrol(2);
        dwell_mark("after", 1);
        printf("%.3f\n", (MPI_Wtime() - begin) * 1e6);
    }
    MPI_Finalize();
    return 0;
}
