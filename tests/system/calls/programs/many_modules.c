// Opens the libraries DIR/0.so to DIR/(N-1).so and calls each once: many_modules DIR N.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int called = 0;
    for (int i = 0; argc > 2 && i < atoi(argv[2]); i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%d.so", argv[1], i);
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        void (*lib_barrier)(void) = library ? (void (*)(void))dlsym(library, "lib_barrier") : NULL;
        if (!lib_barrier) continue;
        lib_barrier();
        called++;
    }
    printf("%d called\n", called);
    MPI_Finalize();
    return 0;
}
