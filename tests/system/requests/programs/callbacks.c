/* Functions that MPI calls back, each of which computes and calls MPI itself: they are the
 * program's. Prints how often each was called and for how long, in seconds, in all.
 *
 * usage: mpirun -n 2 dwell run callbacks FILE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kRounds = 10, kSpin_ms = 5 };
static int g_calls;
static double g_seconds;
static int g_counts[5]; /* of them: sums, copies, deletions, errors, queries */
static jmp_buf g_way_out;

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}
static void compute(int which) {
    const double begin = now_s();
    while (now_s() - begin < 1e-3 * kSpin_ms) continue;
    g_calls += 1;
    g_counts[which] += 1;
    g_seconds += now_s() - begin;
}
static void local_call(void) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair); /* @inside */
    MPI_Type_free(&pair);
}

static void add(void* in, void* inout, int* length, MPI_Datatype* type) {
    (void)type;
    compute(0);
    local_call();
    for (int i = 0; i < *length; i++) ((int*)inout)[i] += ((int*)in)[i];
}
static int copy(MPI_Comm comm, int key, void* state, void* in, void* out, int* flag) {
    (void)comm, (void)key, (void)state;
    compute(1);
    local_call();
    MPI_Barrier(MPI_COMM_SELF); /* @copy */
    *(void**)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}
static int delete (MPI_Comm comm, int key, void* value, void* state) {
    (void)comm, (void)key, (void)value, (void)state;
    compute(2);
    local_call();
    return MPI_SUCCESS;
}
static void complain(MPI_Comm* comm, int* error, ...) {
    (void)comm, (void)error;
    compute(3);
    local_call();
}
static void give_up(MPI_Comm* comm, int* error, ...) {
    complain(comm, error);
    longjmp(g_way_out, 1);
}
static int query(void* state, MPI_Status* status) {
    (void)state;
    compute(4);
    local_call();
    MPI_Status_set_elements(status, MPI_CHAR, 0);
    return MPI_Status_set_cancelled(status, 0);
}
static int nothing(void* state) { return state != 0; }
static int cancel(void* state, int complete) { return state != 0 && complete; }

int main(int argc, char** argv) {
    MPI_Op op;
    MPI_Comm with, copied;
    MPI_Errhandler mild, harsh;
    MPI_Request request;
    int key, rank, one = 1, two = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Op_create(add, 1, &op);
    MPI_Comm_create_keyval(copy, delete, &key, 0);
    MPI_Comm_create_errhandler(complain, &mild);
    /* By its name of MPI 1, which mpi.h no more declares. */
    int (*create)(void (*)(MPI_Comm*, int*, ...), MPI_Errhandler*) =
        (__typeof__(create))dlsym(RTLD_DEFAULT, "MPI_Errhandler_create");
    if (create == NULL) create = MPI_Comm_create_errhandler;
    create(give_up, &harsh);
    for (int i = 0; i < kRounds; i++) {
        MPI_Allreduce(&one, &two, 1, MPI_INT, op, MPI_COMM_WORLD); /* @allreduce */
        MPI_Iallreduce(&one, &two, 1, MPI_INT, op, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* @wait */
    }
    MPI_Comm_dup(MPI_COMM_SELF, &with);
    MPI_Comm_set_attr(with, key, &key);
    for (int i = 0; i < kRounds; i++) {
        MPI_Comm_dup(with, &copied); /* @dup */
        MPI_Comm_free(&copied);      /* @free */
    }
    MPI_Comm_set_errhandler(with, mild);
    for (int i = 0; i < kRounds; i++) MPI_Send(&one, 1, MPI_INT, 5, 0, with); /* @send */
    MPI_Comm_set_errhandler(with, harsh);
    for (volatile int i = 0; i < kRounds; i++) {
        if (setjmp(g_way_out) == 0) MPI_Ssend(&one, 1, MPI_INT, 5, 0, with); /* @ssend */
        MPI_Barrier(MPI_COMM_SELF);                                          /* @barrier */
    }
    for (int i = 0; i < kRounds; i++) {
        MPI_Grequest_start(query, nothing, cancel, 0, &request);
        MPI_Grequest_complete(request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* @general */
    }
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "callbacks", rank);
    FILE* told = fopen(name, "w");
    if (told == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    fprintf(told, "%d %.6f", g_calls, g_seconds);
    for (int i = 0; i < 5; i++) fprintf(told, " %d", g_counts[i]);
    fprintf(told, "\n");
    fclose(told);
    printf("%d\n", two);
    MPI_Op_free(&op);
    MPI_Finalize();
    return 0;
}
