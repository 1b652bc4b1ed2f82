// Procedures that the compiler puts into others, with and without something in them that is
// measured.
//
//   main 1: relax (inlined): its loop 1 entry, 10 iterations: MPI_Barrier 10
//           smooth (inlined): its loop 1 entry, 4 iterations: relax in it (inlined):
//             loop 4 entries, 20 iterations: MPI_Barrier 20
//
//           crunch (inlined): at least 0.5 s of computation, where nothing is measured
#include <mpi.h>
#include <stdio.h>

#define IN_PLACE static inline __attribute__((always_inline))

static volatile double g_sum;

IN_PLACE void crunch(double seconds) {
    const double end = MPI_Wtime() + seconds;
    double sum = 0;
    while (sum >= 0) {
        for (int i = 0; i < 100000; i++) sum += 1.0 / (i + 1);
        if (MPI_Wtime() > end) break;
    }
    g_sum = sum;
}

IN_PLACE void relax(int sweeps) {
    for (int i = 0; i < sweeps; i++) MPI_Barrier(MPI_COMM_WORLD);
}

IN_PLACE void smooth(int levels, int sweeps) {
    for (int level = 0; level < levels; level++) {
        relax(sweeps);
        g_sum += level;
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    relax(9 + argc);
    smooth(3 + argc, 4 + argc);
    crunch(argc * 0.5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
