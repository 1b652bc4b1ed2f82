// The first message after MPI_Init, to and fro. In rank 1 the first posix_fallocate takes 200 ms
// more: that is what dwell calls to make its record file, before MPI starts.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int posix_fallocate(int file, off_t start, off_t bytes) {
    static int called = 0;
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!called++ && rank != NULL && strcmp(rank, "1") == 0) {
        const struct timespec longer = {0, 200 * 1000 * 1000};
        nanosleep(&longer, NULL);
    }
    int (*next)(int, off_t, off_t) =
        (int (*)(int, off_t, off_t))dlsym(RTLD_NEXT, "posix_fallocate");
    return next(file, start, bytes);
}

int main(int argc, char** argv) {
    int rank = 0;
    char out = 'x', in = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Sendrecv(&out, 1, MPI_CHAR, 1 - rank, 0, &in, 1, MPI_CHAR, 1 - rank, 0,  // @first
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
