// Calls lib_sends.c; 2 ranks, 6 times each. The library is loaded at another address in each rank:
// `rank` anonymous mappings of odd sizes are made before it is opened; argv[1] names it.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rank; i++) {
        mmap(NULL, 0x123000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    }
    void* library = dlopen(argv[1], RTLD_NOW);
    void (*lib_send)(int) = library ? (void (*)(int))dlsym(library, "lib_send") : NULL;
    for (int i = 0; i < 6 && lib_send; i++) lib_send(1 - rank);  // @user
    if (library) dlclose(library);
    printf("rank %d %s\n", rank, lib_send ? "sent" : dlerror());
    MPI_Finalize();
    return 0;
}
