/* What MPI_Waitany over 500 requests costs, and the start and completion of a request while 100 000
 * are outstanding, each through dwell and by the MPI library's own functions by turns. Writes the
 * best of all rounds.
 *
 * usage: dwell run many_requests FILE */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "library_own.h"

enum { kMany = 500, kRounds = 30, kOutstanding = 100000, kProbe = 500 };
static MPI_Request g_requests[kOutstanding + kProbe];
static int g_got[kOutstanding + kProbe];

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * now.tv_sec + now.tv_nsec;
}

typedef struct {
    __typeof__(&MPI_Waitany) waitany;
    __typeof__(&MPI_Irecv) irecv;
    __typeof__(&MPI_Wait) wait;
    double best, start, completion;
} Way;

static void least(double* best, double value) {
    if (*best == 0 || value < *best) *best = value;
}

static void wait_for_any(Way* way) {
    int one = 1, index;
    for (int i = 0; i < kMany; i++)
        way->irecv(&g_got[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &g_requests[i]);
    for (int i = 0; i < kMany; i++) MPI_Send(&one, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    const double begin = now_ns();
    for (int i = 0; i < kMany; i++) way->waitany(kMany, g_requests, &index, MPI_STATUS_IGNORE);
    least(&way->best, (now_ns() - begin) / kMany);
}

/* Behind the others, which nothing is sent to before the end. */
static void start_and_complete(Way* way) {
    int one = 1;
    MPI_Request* ours = g_requests + kOutstanding;
    double begin = now_ns();
    for (int i = 0; i < kProbe; i++)
        way->irecv(&g_got[i], 1, MPI_INT, 0, kOutstanding + i, MPI_COMM_WORLD, &ours[i]);
    least(&way->start, (now_ns() - begin) / kProbe);
    for (int i = 0; i < kProbe; i++)
        MPI_Send(&one, 1, MPI_INT, 0, kOutstanding + i, MPI_COMM_WORLD);
    begin = now_ns();
    for (int i = 0; i < kProbe; i++) way->wait(&ours[i], MPI_STATUS_IGNORE);
    least(&way->completion, (now_ns() - begin) / kProbe);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    void* library = dlopen("libmpi.so.40", RTLD_NOW | RTLD_NOLOAD);
    FILE* out = fopen(argc > 1 ? argv[1] : "many_requests.out", "w");
    if (library == NULL || out == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    Way ours = {MPI_Waitany, MPI_Irecv, MPI_Wait, 0, 0, 0};
    Way plain = {own(library, "PMPI_Waitany"),
                 own(library, "PMPI_Irecv"),
                 own(library, "PMPI_Wait"),
                 0,
                 0,
                 0};
    for (int i = 0; i < kRounds; i++) wait_for_any(&ours), wait_for_any(&plain);
    for (int i = 0; i < kOutstanding; i++)
        MPI_Irecv(&g_got[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &g_requests[i]);
    for (int i = 0; i < kRounds; i++) start_and_complete(&ours), start_and_complete(&plain);
    for (int i = 0; i < kOutstanding; i++) MPI_Send(&g_got[0], 1, MPI_INT, 0, i, MPI_COMM_SELF);
    MPI_Waitall(kOutstanding, g_requests, MPI_STATUSES_IGNORE);
    fprintf(out, "plain_ns %.1f\nours_ns %.1f\n", plain.best, ours.best);
    fprintf(out, "plain_start_ns %.1f\nours_start_ns %.1f\n", plain.start, ours.start);
    fprintf(out, "plain_completion_ns %.1f\nours_completion_ns %.1f\n", plain.completion,
            ours.completion);
    fclose(out);
    MPI_Finalize();
    return 0;
}
