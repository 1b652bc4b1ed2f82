/* Buffers are allocated and freed in each of 60 rounds, as halo exchanges do. MPI's first message
   from a rank to itself falls between, and what MPI allocates for it lies behind the buffers: so
   the C library keeps what is freed. Writes how many pages were touched anew. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { kBuffers = 4, kBytes = 473088, kRounds = 60 };

static long faults(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void exchange(int rank) {
    char* buffer[kBuffers];
    for (int i = 0; i < kBuffers; ++i) {
        buffer[i] = malloc(kBytes);
        memset(buffer[i], i, kBytes);
    }
    MPI_Sendrecv(buffer[0], kBytes / 2, MPI_BYTE, rank, 1, buffer[1], kBytes, MPI_BYTE, rank, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = kBuffers - 1; i >= 0; --i) free(buffer[i]);
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    /* What is small finds a place among these, all else lies behind them. */
    enum { kSmall = 64, kLarge = 256 };
    void* volatile block[kLarge];
    for (int i = 1; i < kLarge; ++i) {
        for (int k = 0; k < 8; ++k) block[i] = malloc(16 * i);
    }
    for (int i = 1; i < kSmall; ++i) free(block[i]);
    /* A freed block of this size makes malloc() take others like it from the heap. */
    void* volatile first = malloc(kBytes);
    free(first);
    exchange(rank);
    const long before = faults();
    for (int i = 0; i < kRounds; ++i) exchange(rank);
    printf("rank %d: %ld pages\n", rank, faults() - before);
    MPI_Finalize();
    return 0;
}
