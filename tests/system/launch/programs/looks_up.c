// What interpreters do: opens libmpi and looks its functions up on that handle. argv[1]: 0 in local
// scope, 1 in global scope, 2 with RTLD_DEEPBIND as well; else a library, which is opened so that
// its calls of MPI are bound past any preload. Each rank makes 20 barriers.
#define _GNU_SOURCE
#ifdef AS_LIBRARY
#include <mpi.h>

void use_mpi(void) {
    MPI_Init(NULL, NULL);
    for (int i = 0; i < 20; i++) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
#else
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int use_library(const char* name) {
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    void (*use_mpi)(void) = library ? (void (*)(void))dlsym(library, "use_mpi") : NULL;
    if (use_mpi == NULL) return 5;
    use_mpi();
    puts("done");
    return 0;
}

int main(int argc, char** argv) {
    if (argv[1][0] == '/') return use_library(argv[1]);
    const int mode = atoi(argv[1]);
    void* library = dlopen("libmpi.so.40", RTLD_LAZY | (mode ? RTLD_GLOBAL : RTLD_LOCAL) |
                                               (mode == 2 ? RTLD_DEEPBIND : 0));
    if (library == NULL) {
        puts(dlerror());
        return 1;
    }
    int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(library, "MPI_Init");
    int (*barrier)(void*) = (int (*)(void*))dlsym(library, "MPI_Barrier");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "MPI_Finalize");
    void* world = dlsym(library, "ompi_mpi_comm_world");
    if (dlsym(library, "MPI_No_such_function") != NULL || dlerror() == NULL) return 2;
    if (dlsym(RTLD_NEXT, "puts") == NULL || dlsym(RTLD_DEFAULT, "main_is_not_exported")) return 3;
    if (dlerror() == NULL || dlsym(library, "MPI_Send") == NULL || dlerror() != NULL) return 4;
    init(&argc, &argv);
    for (int i = 0; i < 20; i++) barrier(world);
    finalize();
    puts("done");
    return 0;
}
#endif
