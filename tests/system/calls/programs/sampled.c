// Two hot lines between two calls; 1 rank. `heavy` runs its line twice as often as `light` does.
#include <mpi.h>
#include <stdio.h>

static volatile double x = 1.0;

static __attribute__((noinline)) void heavy(long n) {
    for (long i = 0; i < 2 * n; i++) x = x * 1.0000001 + 1e-9;  // @heavy
}
static __attribute__((noinline)) void light(long n) {
    for (long i = 0; i < n; i++) x = x * 1.0000001 + 1e-9;  // @light
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);  // @start
    const double until = MPI_Wtime() + 2.0;
    while (MPI_Wtime() < until) {
        heavy(7001);
        light(7001);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // @end
    puts("done");
    MPI_Finalize();
    return 0;
}
