/* Page faults and hot lines in known places; 2 ranks:
 *   event_metrics [SECONDS]
 * In each of 3 rounds rank r touches pages of memory for the first time:
 *   block touch:          (r + 1) * 500 pages
 *   between two barriers: 200 pages
 * Then it computes for SECONDS in one line. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dwell.h"

static volatile double value = 1.0;

__attribute__((noinline)) static void touch(long pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* memory = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (size_t)pages * page, MADV_NOHUGEPAGE) != 0) {
        exit(3);
    }
    for (long i = 0; i < pages; ++i) memory[(size_t)i * page] = 1;
    munmap(memory, (size_t)pages * page);
}

__attribute__((noinline)) static void burn(long steps) {
    for (long i = 0; i < steps; ++i) value = value * 1.0000001 + 1e-9; /* @burn */
}

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? atof(argv[1]) : 0;
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; ++round) {
        dwell_block_begin("touch");
        touch((rank + 1) * 500L);
        dwell_block_end("touch");
        MPI_Barrier(MPI_COMM_WORLD);
        touch(200);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (seconds > 0) {
        const double until = MPI_Wtime() + seconds;
        while (MPI_Wtime() < until) burn(100000);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
