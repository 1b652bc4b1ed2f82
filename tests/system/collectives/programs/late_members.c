/* One rank is late to each collective; the others sleep a little, too, so that it has a processor.
 * "neighbours": an open chain, of which each rank waits for its neighbours. Rank 0 is late, so rank
 * r waits for it from the r-th round on, through those between. "messages": the same by messages;
 * "epochs": by epochs of a window, in which each accesses the memory of the next one.
 * "barrier", "allreduce": of two groups, even ranks and odd ones. Rank 1 is late, and Open MPI
 * keeps its own group waiting as well. "bcast", "scatter": from rank 0. Rank 1 is late, through
 * which or behind which Open MPI gives to others. Each rank writes into FILE.<rank> how long its
 * calls took, but for those behind a bcast or scatter, in which all meet.
 *
 * usage: mpirun -n N dwell run late_members
 *            neighbours|messages|epochs|barrier|allreduce|bcast|scatter FILE */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { kRounds = 30, kLate_us = 6000, kEarly_us = 1000 };
static int rank, size;
static double in_calls_s;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void come(int late) {
    const struct timespec time = {0, (rank == late ? kLate_us : kEarly_us) * 1000L};
    nanosleep(&time, NULL);
}

static void along_a_chain(int by_messages) {
    const int zero = 0;
    int got[2], given[2] = {rank, rank}, up, down;
    MPI_Comm chain;
    MPI_Request requests[4];
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &zero, 0, &chain);
    MPI_Cart_shift(chain, 0, 1, &down, &up);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kRounds; i++) {
        come(0);
        const double came = now_s();
        if (by_messages) {
            MPI_Irecv(got, 1, MPI_INT, down, 1, chain, requests);
            MPI_Irecv(got + 1, 1, MPI_INT, up, 1, chain, requests + 1);
            MPI_Isend(given, 1, MPI_INT, down, 1, chain, requests + 2);
            MPI_Isend(given, 1, MPI_INT, up, 1, chain, requests + 3);
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* @messages */
        } else {
            MPI_Neighbor_allgather(given, 1, MPI_INT, got, 1, MPI_INT, chain); /* @neighbours */
        }
        in_calls_s += now_s() - came;
    }
    MPI_Comm_free(&chain);
}

static void by_epochs(void) {
    const int up = rank + 1, down = rank - 1;
    int memory = 0;
    MPI_Group all, above, below;
    MPI_Win window;
    MPI_Win_create(&memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, up < size, &up, &above);
    MPI_Group_incl(all, down >= 0, &down, &below);
    MPI_Barrier(MPI_COMM_WORLD); /* @begun */
    for (int i = 0; i < kRounds; i++) {
        come(0);
        const double came = now_s();
        MPI_Win_post(below, 0, window); /* @posted */
        MPI_Win_start(above, 0, window);
        if (up < size) MPI_Put(&rank, 1, MPI_INT, up, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
        MPI_Win_wait(window); /* @epochs */
        in_calls_s += now_s() - came;
    }
    MPI_Group_free(&below);
    MPI_Group_free(&above);
    MPI_Group_free(&all);
    MPI_Win_free(&window); /* @freed */
}

static void between_groups(const char* call) {
    int one = 1, sum;
    MPI_Comm own, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kRounds; i++) {
        come(1);
        const double came = now_s();
        if (strcmp(call, "barrier") == 0) {
            MPI_Barrier(both); /* @barrier */
        } else {
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, both); /* @allreduce */
        }
        in_calls_s += now_s() - came;
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&own);
}

static void from_rank_0(int by_scatter) {
    enum { kBytes = 1 << 16, kMostRanks = 8 };
    static char all[kMostRanks * kBytes], own[kBytes];
    const MPI_Comm world = MPI_COMM_WORLD;
    for (int i = 0; i < kRounds; i++) {
        MPI_Barrier(world); /* @met */
        come(1);
        const double came = now_s();
        if (by_scatter) {
            MPI_Scatter(all, kBytes, MPI_CHAR, own, kBytes, MPI_CHAR, 0, world); /* @scatter */
        } else {
            MPI_Bcast(own, 8, MPI_CHAR, 0, world); /* @bcast */
        }
        in_calls_s += now_s() - came;
    }
}

int main(int argc, char** argv) {
    char name[4096];
    if (argc != 3) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(argv[1], "barrier") == 0 || strcmp(argv[1], "allreduce") == 0) {
        between_groups(argv[1]);
    } else if (strcmp(argv[1], "bcast") == 0 || strcmp(argv[1], "scatter") == 0) {
        from_rank_0(strcmp(argv[1], "scatter") == 0);
    } else if (strcmp(argv[1], "epochs") == 0) {
        by_epochs();
    } else {
        along_a_chain(strcmp(argv[1], "messages") == 0);
    }
    snprintf(name, sizeof(name), "%s.%d", argv[2], rank);
    FILE* file = fopen(name, "w");
    if (file != NULL) fprintf(file, "%.9f\n", in_calls_s), fclose(file);
    MPI_Finalize();
    return 0;
}
