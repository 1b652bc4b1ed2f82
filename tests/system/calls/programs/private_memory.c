/* 480 statements in 24 calls of one procedure: some 500 nodes. Each rank writes how many KiB of
   memory are its own before MPI_Finalize (Anonymous of /proc/self/smaps_rollup). */
#include <mpi.h>
#include <stdio.h>

/* The numbered comment in the assembly keeps the compiler from joining the cases. */
#define CASE(k, call)                            \
    case k:                                      \
        call;                                    \
        __asm__ volatile("nop #%c0" : : "i"(k)); \
        break;
#define FOUR(k, call) CASE(k, call) CASE(k + 1, call) CASE(k + 2, call) CASE(k + 3, call)

static void __attribute__((noinline)) statement(int which) {
    int in = 1, out;
    switch (which) {
#define SUM MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD)
        FOUR(0, SUM) FOUR(4, SUM) FOUR(8, SUM) FOUR(12, SUM) FOUR(16, SUM)
    }
}

static void __attribute__((noinline)) by_way_of(int way, int which) {
    switch (way) {
#define GO statement(which)
        FOUR(0, GO) FOUR(4, GO) FOUR(8, GO) FOUR(12, GO) FOUR(16, GO) FOUR(20, GO)
    }
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 3; ++round) {
        for (int way = 0; way < 24; ++way) {
            for (int which = 0; which < 20; ++which) by_way_of(way, which);
        }
    }
    FILE* file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kib = -1;
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        sscanf(line, "Anonymous: %ld kB", &kib);
    }
    if (file != NULL) fclose(file);
    printf("rank %d: %ld KiB\n", rank, kib);
    MPI_Finalize();
    return 0;
}
