// Opens MPI late, in local scope, as Python does; 1 rank. argv[1] names a library with call sites
// (cxx_library would do too); the calls below go through dlsym, 12 of them.
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
    void* mpi = dlopen("libmpi.so.40", RTLD_NOW | RTLD_LOCAL);
    if (!mpi) return 1;
    int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(mpi, "MPI_Init");
    int (*finalize)(void) = (int (*)(void))dlsym(mpi, "MPI_Finalize");
    int (*barrier)(void*) = (int (*)(void*))dlsym(mpi, "MPI_Barrier");
    void* world = dlsym(mpi, "ompi_mpi_comm_world");
    int sum = init(NULL, NULL);
    for (int i = 0; i < 12; i++) sum += barrier(world);
    sum += finalize();
    printf("sum %d\n", sum);
    return 0;
}
