// A C program, which itself links no libstdc++, with a C++ library opened late; argv[1] names the
// library, argv[2] a file for the cost of a throw. 200 throws kill 11 objects each, 10 threads that
// exit and 10 that are cancelled one each: 2220.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        puts(dlerror());
        return 1;
    }
    double (*throws)(int) = (double (*)(int))dlsym(library, "library_throws");
    void (*threads)(void) = (void (*)(void))dlsym(library, "library_threads");
    int (*destroyed)(void) = (int (*)(void))dlsym(library, "library_destroyed");
    throws(50);
    FILE* file = fopen(argv[2], "w");
    fprintf(file, "%.1f\n", throws(150));
    fclose(file);
    threads();
    printf("destroyed %d\n", destroyed());
    MPI_Finalize();
    return 0;
}
