// Computation between known lines; each rank writes to argv[1].<rank> how long, in seconds, its own
// clock says that each stretch took: "first_second second_third third_first wall", the last from
// the return of MPI_Init to the call of MPI_Finalize. Waiting for each other cannot disturb: the
// calls between are local.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double compute(double seconds) {
    const double start = now();
    double at;
    do {
        at = now();
    } while (at - start < seconds);
    return at - start;
}

int main(int argc, char** argv) {
    int rank, flag;
    double a = 0, b = 0, c = 0;
    MPI_Init(&argc, &argv);
    const double start = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; i++) {
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @first
        a += compute(0.030);
        MPI_Iprobe(MPI_ANY_SOURCE, 2, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @second
        b += compute(0.010 * (rank + 1));
        MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @third
        if (i < 9) c += compute(0.005);
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    FILE* file = fopen(name, "w");
    fprintf(file, "%.9f %.9f %.9f %.9f\n", a, b, c, now() - start);
    fclose(file);
    MPI_Finalize();
    return 0;
}
