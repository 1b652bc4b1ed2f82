/* One rank is late for each collective by a set time; the others wait where the collective makes
 * them depend on it, and not where it does not. Stamps as in known_waits.c.
 *
 * usage: mpirun -n 2 dwell run known_collectives FILE */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

enum { kTimes = 100, kLate_us = 3000, kLarge = 500 };
#define OF(buffer) buffer, kLarge, MPI_DOUBLE
static FILE* told;
static int rank;
static int last;

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
/* `late` comes later than the other rank. */
static void come(int late, const char* name) {
    MPI_Barrier(MPI_COMM_WORLD);
    const long long end = now_ns() + (rank == late ? kLate_us : 20) * 1000LL;
    while (now_ns() < end) continue;
    fprintf(told, "%s %lld\n", name, now_ns());
}

static void left(const char* name) { fprintf(told, "%s_left %lld\n", name, now_ns()); }

/* A persistent one, where Open MPI has them. */
static MPI_Request standing;
static void start_standing(void) {
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
    static double one = 1, sum;
    static int made;
    if (!made++)
        MPIX_Allreduce_init(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &standing);
    MPI_Start(&standing);
#else
    MPI_Ibarrier(MPI_COMM_WORLD, &standing);
#endif
}

static void one_round(void) {
    MPI_Comm world = MPI_COMM_WORLD, comm;
    static double large[2 * kLarge], taken[2 * kLarge];
    double one[2] = {1, 2}, sum[4] = {0};
    MPI_Request request;
    come(0, "barrier"), MPI_Barrier(world);                                       /* @barrier */
    come(0, "allreduce"), MPI_Allreduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, world); /* @allreduce */
    come(0, "alltoall"),
        MPI_Alltoall(one, 1, MPI_DOUBLE, sum, 1, MPI_DOUBLE, world); /* @alltoall */
    come(0, "allgather"),
        MPI_Allgather(one, 1, MPI_DOUBLE, sum, 1, MPI_DOUBLE, world); /* @allgather */
    come(0, "reduce_scatter"),
        MPI_Reduce_scatter_block(one, sum, 1, MPI_DOUBLE, MPI_SUM, world); /* @reduce_scatter */
    come(0, "bcast"), MPI_Bcast(one, 1, MPI_DOUBLE, 0, world);             /* @bcast */
    come(0, "scatter"),
        MPI_Scatter(one, 1, MPI_DOUBLE, sum, 1, MPI_DOUBLE, 0, world);               /* @scatter */
    come(0, "scan"), MPI_Scan(one, sum, 1, MPI_DOUBLE, MPI_SUM, world);              /* @scan */
    come(1, "reduce"), MPI_Reduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, 0, world);       /* @reduce */
    come(1, "gather"), MPI_Gather(one, 1, MPI_DOUBLE, sum, 1, MPI_DOUBLE, 0, world); /* @gather */
    /* Who does not depend on the late one does not wait. */
    come(1, "bcast_by_early"), MPI_Bcast(one, 1, MPI_DOUBLE, 0, world); /* @bcast_by_early */
    come(0, "reduce_to_late"),
        MPI_Reduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, 0, world);               /* @reduce_to_late */
    come(1, "scan_after"), MPI_Scan(one, sum, 1, MPI_DOUBLE, MPI_SUM, world); /* @scan_after */
    /* What is large is given when it is taken, but perhaps by the barrier before. */
    come(1, "bcast_large"), MPI_Bcast(OF(large), 0, world); /* @bcast_large */
    left("bcast_large");
    come(1, "scatter_large"), MPI_Scatter(OF(large), OF(taken), 0, world); /* @scatter_large */
    left("scatter_large");
    come(0, "gather_large"), MPI_Gather(OF(large), OF(taken), 0, world); /* @gather_large */
    left("gather_large");
    come(0, "reduce_large"), MPI_Reduce(large, OF(taken), MPI_SUM, 0, world); /* @reduce_large */
    left("reduce_large");
    come(1, "scan_large"), MPI_Scan(large, OF(taken), MPI_SUM, world); /* @scan_large */
    left("scan_large");
    MPI_Barrier(world);
    MPI_Iallreduce(one, sum, 1, MPI_DOUBLE, MPI_SUM, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    come(0, "persistent"), start_standing();
    MPI_Wait(&standing, MPI_STATUS_IGNORE);            /* @persistent */
    come(0, "dup"), MPI_Comm_dup(world, &comm);        /* @dup */
    come(0, "disconnect"), MPI_Comm_disconnect(&comm); /* @disconnect */
}

/* Rank 0 has the lock, and gives it back late. Open MPI takes locks in MPI_Win_lock. */
static void lock_round(MPI_Win window) {
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, window);
        come(0, "lock"), MPI_Win_unlock(last, window);
    } else {
        come(0, "lock"), MPI_Win_lock(MPI_LOCK_EXCLUSIVE, last, 0, window); /* @lock */
        MPI_Win_unlock(last, window);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* or rank 0 may take it again first, and wait for ever */
}

static void file_round(const char* path) {
    MPI_File file;
    const int mode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    come(0, "open");
    MPI_File_open(MPI_COMM_WORLD, path, mode, MPI_INFO_NULL, &file); /* @open */
    come(0, "write");
    MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE); /* @write */
    fprintf(told, "written %lld\n", now_ns());
    come(0, "close"), MPI_File_close(&file); /* @close */
}

int main(int argc, char** argv) {
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s.%d", argc > 1 ? argv[1] : "told", rank);
    told = fopen(path, "w");
    if (told == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Comm_size(MPI_COMM_WORLD, &last);
    last -= 1;
    for (int i = 0; i < kTimes; ++i) one_round();
    MPI_Win window;
    void* memory;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < kTimes / 2; ++i) lock_round(window);
    MPI_Win_free(&window);
    snprintf(path, sizeof(path), "%s.file", argc > 1 ? argv[1] : "told");
    for (int i = 0; i < 3; ++i) file_round(path);
    come(0, "finalize"), MPI_Finalize(); /* @finalize */
    return 0;
}
