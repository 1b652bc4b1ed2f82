// Collectives of ranks on several hosts. Each rank writes its own time stamps, of a clock that is
// the same on all (CLOCK_REALTIME on one machine), to FILE.RANK: name, begin and end of each call.
//   remote_collectives known FILE TIMES LATE_US   one rank is late for each by so much
//   remote_collectives others FILE TIMES LATE_US  the same, not only of communicators; writes FILE
//   remote_collectives paused FILE TIMES LATE_US  rank 1 is paused in the second third of a loop
//   remote_collectives comms FILE TIMES LATE_US   communicators made, used and freed; prints a sum
//   remote_collectives often FILE TIMES LATE_US   no one is late; prints a sum
//   remote_collectives failing FILE TIMES LATE_US calls that MPI rejects on one rank, tried again
//   remote_collectives end FILE TIMES LATE_US     rank 0 is late for MPI_Finalize
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static FILE* told;
static int rank, size, late_us;
static double numbers[64], sums[64];

static long long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}
static void spin_us(int us) {
    const long long end = now_ns() + us * 1000LL;
    while (now_ns() < end) continue;
}
static long long begun;
static void come(int late) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late) spin_us(late_us);
    begun = now_ns();
}
static void gone(const char* name) { fprintf(told, "%s %lld %lld\n", name, begun, now_ns()); }

static void known(int times) {
    const int last = size - 1;
    MPI_Comm world = MPI_COMM_WORLD, other, all;
    MPI_Request request;
    MPI_Comm_dup(world, &other);
    MPI_Comm_split(world, 0, -rank, &all);  // the other way round
    for (int i = 0; i < times; ++i) {
        come(0), MPI_Barrier(world), gone("barrier");                          // @barrier
        come(0), MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, world);  // @allreduce
        gone("allreduce");
        come(last), MPI_Alltoall(numbers, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, world);  // @alltoall
        gone("alltoall");
        come(0), MPI_Bcast(numbers, 1, MPI_DOUBLE, 0, world), gone("bcast");          // @bcast
        come(0), MPI_Scatter(numbers, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, 0, world);  // @scatter
        gone("scatter");
        come(last), MPI_Reduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, 0, world);  // @reduce
        gone("reduce");
        come(last), MPI_Gather(numbers, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, 0, world);  // @gather
        gone("gather");
        come(0), MPI_Scan(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, world), gone("scan");  // @scan
        come(0), MPI_Barrier(other), gone("dup");                                       // @dup
        come(0), MPI_Bcast(numbers, 1, MPI_DOUBLE, last, all), gone("split");           // @split
        come(0), MPI_Iallreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);  // @request
        gone("request");
        // Who does not depend on the late one does not wait.
        come(last), MPI_Bcast(numbers, 1, MPI_DOUBLE, 0, world);  // @bcast_by_early
        gone("bcast_by_early");
        come(0), MPI_Reduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, 0, world);  // @reduce_to_late
        gone("reduce_to_late");
    }
    MPI_Comm_free(&other);
    MPI_Comm_free(&all);
}

// Collectives of windows, files, topologies and inter-communicators.
static void others(int times, const char* path) {
    const int last = size - 1, side = rank % 2, every = 1;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    const int root = side == 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;  // rank 0, of the even
    const int to_root = side == 0 ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL;  // rank 1, of the odd
    const int up_in = rank > 0 ? rank - 1 : 0, up_out = rank + 1;
    MPI_Comm world = MPI_COMM_WORLD, half, inter, circle, ring, up;
    MPI_Request request;
    MPI_Win win;
    MPI_File file;
    MPI_Comm_split(world, side, rank, &half);
    MPI_Intercomm_create(half, 0, world, 1 - side, 7, &inter);
    MPI_Cart_create(world, 1, &size, &every, 0, &circle);
    MPI_Dist_graph_create_adjacent(world, 1, &before, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &ring);
    MPI_Dist_graph_create_adjacent(world, rank > 0, &up_in, MPI_UNWEIGHTED, rank < last, &up_out,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &up);
    MPI_Win_create(numbers, sizeof(numbers), 1, MPI_INFO_NULL, world, &win);
    MPI_File_open(world, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_Datatype type = MPI_DOUBLE;
    for (int i = 0; i < times; ++i) {
        come(0), MPI_Win_fence(0, win), gone("fence");                                // @fence
        come(last), MPI_Neighbor_allgather(numbers, 1, type, sums, 1, type, circle);  // @circle
        gone("circle");
        come(0), MPI_Neighbor_alltoall(numbers, 1, type, sums, 1, type, ring);  // @ring
        gone("ring");
        come(0), MPI_Neighbor_allgather(numbers, 1, type, sums, 1, type, up);  // @up
        gone("up");
        come(0), MPI_Barrier(inter), gone("inter");         // @inter
        come(0), MPI_Bcast(numbers, 1, type, root, inter);  // @inter_bcast
        gone("inter_bcast");
        come(0), MPI_Reduce(numbers, sums, 1, type, MPI_SUM, to_root, inter);  // @inter_reduce
        gone("inter_reduce");
        come(0), MPI_Ineighbor_allgather(numbers, 1, type, sums, 1, type, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);  // @wait_ring
        gone("wait_ring");
        come(0),
            MPI_File_write_at_all(file, 8 * rank, numbers, 1, type, MPI_STATUS_IGNORE);  // @file
        gone("file");
    }
    MPI_File_close(&file);
    MPI_Win_free(&win);
    MPI_Comm_free(&up);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&circle);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void paused(int times) {
    for (int i = 0; i < times; ++i) {
        if (rank == 1 && i == times / 3) MPI_Pcontrol(0);
        if (rank == 1 && i == 2 * times / 3) MPI_Pcontrol(1);
        come(0), MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);  // @paused
        gone("paused");
    }
}

static void comms(int times) {
    double sum = 0;
    for (int i = 0; i < times; ++i) {
        MPI_Comm half, both;
        MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
        MPI_Comm_dup(MPI_COMM_WORLD, &both);
        for (int k = 0; k < 4; ++k) {
            numbers[0] = rank + i + k;
            MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, half);
            sum += sums[0];
            MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_MAX, both);
            sum += sums[0];
            MPI_Bcast(numbers, 1, MPI_DOUBLE, k % size, both);
            sum += numbers[0];
        }
        MPI_Comm_free(&half);
        MPI_Comm_free(&both);
    }
    printf("rank %d: %.0f\n", rank, sum);
}

// Roots and members of reductions run ahead as far as MPI lets them.
static void often(int times) {
    double sum = 0;
    for (int i = 0; i < times; ++i) {
        numbers[0] = rank + i;
        MPI_Reduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, i % 3 % size, MPI_COMM_WORLD);
        sum += rank == i % 3 % size ? sums[0] : 0;
        MPI_Bcast(numbers, 2, MPI_DOUBLE, i % size, MPI_COMM_WORLD);
        sum += numbers[0];
        MPI_Scan(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        sum += sums[0];
        if (i % 7 == 0) MPI_Barrier(MPI_COMM_WORLD);
        if (i % 50 == 0) {
            MPI_Request request;
            MPI_Iallreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    }
    printf("rank %d: %.0f\n", rank, sum);
}

static void failing(int times) {
    MPI_Comm world;
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
    for (int i = 0; i < times; ++i) {
        if (rank == i % size) MPI_Allreduce(numbers, sums, -1, MPI_DOUBLE, MPI_SUM, world);
        come(0), MPI_Allreduce(numbers, sums, 1, MPI_DOUBLE, MPI_SUM, world);  // @failing
        gone("failing");
    }
    MPI_Comm_free(&world);
}

int main(int argc, char** argv) {
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 5) MPI_Abort(MPI_COMM_WORLD, 2);
    const char* what = argv[1];
    const int times = atoi(argv[3]);
    late_us = atoi(argv[4]);
    snprintf(path, sizeof(path), "%s.%d", argv[2], rank);
    told = fopen(path, "w");
    if (strcmp(what, "known") == 0) known(times);
    if (strcmp(what, "others") == 0) others(times, argv[2]);
    if (strcmp(what, "paused") == 0) paused(times);
    if (strcmp(what, "comms") == 0) comms(times);
    if (strcmp(what, "often") == 0) often(times);
    if (strcmp(what, "failing") == 0) failing(times);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "end") == 0 && rank == 0) spin_us(late_us);
    begun = now_ns();
    MPI_Finalize();  // @finalize
    gone("end");
    fclose(told);
    return 0;
}
