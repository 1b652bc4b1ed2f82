/* What small messages and collectives of ranks on different hosts take: the median over chunks of
   the mean time of one, in ns, printed by rank 0. usage: host_cost [CHUNKS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCalls = 200, kMostChunks = 2000 };

static int g_rank, g_in = 1, g_out;
static double g_ns[kMostChunks];

static void round_trip(void) {
    const int other = 1 - g_rank;
    if (g_rank == 0) MPI_Send(&g_in, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
    if (g_rank < 2) MPI_Recv(&g_out, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (g_rank == 1) MPI_Send(&g_in, 1, MPI_INT, other, 3, MPI_COMM_WORLD);
}
static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(&g_in, &g_out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void measure(const char* name, void (*call)(void), int chunks) {
    for (int i = 0; i < chunks; ++i) {
        const double start = MPI_Wtime();
        for (int k = 0; k < kCalls; ++k) call();
        g_ns[i] = 1e9 * (MPI_Wtime() - start) / kCalls;
    }
    qsort(g_ns, (size_t)chunks, sizeof(*g_ns), by_size);
    if (g_rank == 0) printf("%s: %.1f\n", name, g_ns[chunks / 2]);
}

int main(int argc, char** argv) {
    int chunks = argc > 1 ? atoi(argv[1]) : 100;
    if (chunks < 1) chunks = 1;
    if (chunks > kMostChunks) chunks = kMostChunks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    measure("round trip", round_trip, chunks);
    measure("barrier", barrier, chunks);
    measure("allreduce", allreduce, chunks);
    MPI_Finalize();
    return 0;
}
