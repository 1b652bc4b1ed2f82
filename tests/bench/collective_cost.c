/* What collectives of two ranks cost: the best one percent of many chunks of each, in ns, printed
   by rank 0. usage: collective_cost [CHUNKS] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kCalls = 200, kMostChunks = 10000 };

static int g_in = 1, g_out;
static double g_ns[kMostChunks];

static void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); }
static void allreduce(void) { MPI_Allreduce(&g_in, &g_out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }
static void bcast(void) { MPI_Bcast(&g_in, 1, MPI_INT, 0, MPI_COMM_WORLD); }
static void iallreduce(void) {
    MPI_Request request;
    MPI_Iallreduce(&g_in, &g_out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void dup_and_free(void) {
    MPI_Comm made;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Barrier(made);
    MPI_Comm_free(&made);
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void measure(const char* name, void (*call)(void), int calls, int chunks) {
    int rank, kept = chunks / 100 > 0 ? chunks / 100 : 1;
    double sum = 0;
    for (int i = 0; i < chunks; ++i) {
        const double start = MPI_Wtime();
        for (int k = 0; k < calls; ++k) call();
        g_ns[i] = 1e9 * (MPI_Wtime() - start) / calls;
    }
    qsort(g_ns, (size_t)chunks, sizeof(*g_ns), by_size);
    for (int i = 0; i < kept; ++i) sum += g_ns[i];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("%s: %.1f\n", name, sum / kept);
}

int main(int argc, char** argv) {
    int chunks = argc > 1 ? atoi(argv[1]) : 2000;
    if (chunks < 1) chunks = 1;
    if (chunks > kMostChunks) chunks = kMostChunks;
    MPI_Init(&argc, &argv);
    measure("Barrier", barrier, kCalls, chunks);
    measure("Allreduce", allreduce, kCalls, chunks);
    measure("Bcast", bcast, kCalls, chunks);
    measure("Iallreduce + Wait", iallreduce, kCalls, chunks);
    measure("Comm_dup + Barrier + Comm_free", dup_and_free, kCalls / 10, chunks / 10 + 1);
    MPI_Finalize();
    return 0;
}
