/* Sends that wait for a rank whose receives are requests. Each rank stamps when it comes to the
 * call at the marker, or to the one that completes its receive: the early one waits until the late
 * one's stamp.
 *
 * usage: mpirun -n 2 dwell run late_starts FILE        rank 0 waits for rank 1
 *        mpirun -n 3 dwell run late_starts FILE        a ring: rank 0 waits for its receiver, rank
 * 2 for its sender, both for rank 1 writes FILE.RANK: the case, and the stamp in ns
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kTimes = 100, kLate_us = 3000, kMost = 4000 };
static FILE* told;
static int rank, size;
static char out[kMost], in[kMost];
static MPI_Request receive, sends;

static void rest_us(int us) {
    const struct timespec time = {0, us * 1000L};
    nanosleep(&time, NULL);
}
static void stamp(const char* name) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    fprintf(told, "%s %lld\n", name, now.tv_sec * 1000000000LL + now.tv_nsec);
}

static void be_late(const char* name) {
    rest_us(kLate_us);
    stamp(name);
}
static void start(const char* name) {
    be_late(name);
    MPI_Start(&receive);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}
/* The receive was started before, and MPI takes nothing when something else is started. */
static void wait_late(const char* name) {
    MPI_Request other;
    rest_us(kLate_us / 2);
    MPI_Isend(out, 1, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &other);
    rest_us(kLate_us / 2);
    stamp(name);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
}
static void test_late(const char* name) {
    int done = 0;
    be_late(name);
    while (!done) MPI_Test(&receive, &done, MPI_STATUS_IGNORE);
}
/* Both are here. Without a rest the early one begins while the late one is still leaving. */
static void meet(int us) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (us > 0) rest_us(us);
}
static void init(int bytes) {
    if (rank == 1) MPI_Recv_init(in, bytes, MPI_BYTE, 0, 3, MPI_COMM_WORLD, &receive);
    if (rank == 0) MPI_Send_init(out, bytes, MPI_BYTE, 1, 3, MPI_COMM_WORLD, &sends);
}

static void for_two(void) {
    MPI_Status* none = MPI_STATUS_IGNORE;
    MPI_Comm world = MPI_COMM_WORLD;
    for (int i = 0; i < kTimes; ++i) {
        init(64); /* a persistent send is not copied ahead, however short it is */
        meet(200);
        if (rank == 0)
            MPI_Start(&sends), stamp("init_64"), MPI_Wait(&sends, none); /* @init_64 */
        else
            start("init_64");
        meet(200);
        MPI_Request_free(rank == 0 ? &sends : &receive);
        init(1000);
        meet(200);
        if (rank == 0)
            stamp("send"), MPI_Send(out, 1000, MPI_BYTE, 1, 3, world); /* @send */
        else
            start("send");
        meet(0);
        if (rank == 0)
            stamp("at_once"), MPI_Send(out, 1000, MPI_BYTE, 1, 3, world); /* @at_once */
        else
            MPI_Start(&receive), wait_late("at_once");
        if (rank == 0) stamp("at_once_left"); /* the barrier's last look may have taken it */
        if (rank == 0) MPI_Recv(in, 1, MPI_BYTE, 1, 5, world, none);
        meet(200);
        if (rank == 0)
            stamp("tested"), MPI_Send(out, 1000, MPI_BYTE, 1, 3, world); /* @tested */
        else
            MPI_Start(&receive), test_late("tested");
        meet(200);
        MPI_Request_free(rank == 0 ? &sends : &receive);
        init(kMost);
        meet(0);
        if (rank == 0)
            MPI_Start(&sends), stamp("init_4000"), MPI_Wait(&sends, none); /* @init_4000 */
        else
            start("init_4000");
        meet(200);
        MPI_Request_free(rank == 0 ? &sends : &receive);
    }
}

static void ring(void) {
    MPI_Request both[2];
    const int up = (rank + 1) % size, down = (rank + size - 1) % size;
    MPI_Recv_init(in, 64, MPI_BYTE, down, 3, MPI_COMM_WORLD, both);
    MPI_Send_init(out, 64, MPI_BYTE, up, 3, MPI_COMM_WORLD, both + 1);
    for (int i = 0; i < kTimes; ++i) {
        meet(200);
        if (rank == 1) rest_us(kLate_us);
        stamp("ring");
        MPI_Startall(2, both);
        MPI_Waitall(2, both, MPI_STATUSES_IGNORE); /* @ring */
    }
    MPI_Request_free(both);
    MPI_Request_free(both + 1);
}

int main(int argc, char** argv) {
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2 || size < 2) MPI_Abort(MPI_COMM_WORLD, 2);
    snprintf(path, sizeof(path), "%s.%d", argv[1], rank);
    told = fopen(path, "w");
    if (told == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    if (size == 2)
        for_two();
    else
        ring();
    fclose(told);
    MPI_Finalize();
    return 0;
}
