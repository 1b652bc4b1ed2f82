// 2 ranks, 2 threads each: code of OpenMP's that ends with an MPI call, which compilers call in
// place of a return at -O2. 5 times each: 2 x 5 barriers of the ranks at every line. No two of them
// are the same code, which gcc would make one of.
#include <mpi.h>
#include <omp.h>

static void last(void) {
    MPI_Barrier(MPI_COMM_WORLD);  // @last
}

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    omp_set_num_threads(2);
    for (int k = 0; k < 5; k++) {
#pragma omp parallel  // @single_region
#pragma omp single nowait
        MPI_Barrier(MPI_COMM_WORLD);  // @single
#pragma omp parallel
#pragma omp single
#pragma omp task
        MPI_Barrier(MPI_COMM_WORLD);  // @task
#pragma omp parallel num_threads(1)   // @alone_region
        MPI_Barrier(MPI_COMM_SELF);   // @alone
#pragma omp parallel num_threads(1)   // @last_region
        last();
    }
    MPI_Finalize();
    return 0;
}
