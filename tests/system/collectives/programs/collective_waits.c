// Two ranks, of which now the one and now the other comes late to a collective. Each CASE is one
// line; the program takes its own time stamps around the call and writes, for each line and rank,
// what the collective rule (DESIGN 4) says that was waited there:
//     line, rank, calls, waited (ns), text of the timed calls
// usage: collective_waits FILE. Kills itself at the end, so that its records stay.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kRounds = 12, kCases = 80, kLate_ns = 2000000 };
enum Rule { kAll, kRoot0, kToRoot0, kUpTo, kNobody };

static int rank, cases;
static struct {
    int line, calls;
    char text[200];
    enum Rule rule;
    double from[2 * kRounds], to[2 * kRounds];
} seen[kCases], other[kCases];

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static void spin(double ns) {
    const double start = now_ns();
    while (now_ns() - start < ns) {
    }
}

static void align(int late) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late) spin(kLate_ns);
}

// The calls before and after run in every round, outside the time stamps.
#define CASE(RULE, BEFORE, CALL, AFTER)         \
    do {                                        \
        seen[cases].line = __LINE__;            \
        seen[cases].rule = RULE;                \
        strncpy(seen[cases].text, #CALL, 199);  \
        for (int k = 0; k < 2 * kRounds; ++k) { \
            BEFORE;                             \
            align(k % 2);                       \
            seen[cases].from[k] = now_ns();     \
            CALL;                               \
            seen[cases].to[k] = now_ns();       \
            AFTER;                              \
        }                                       \
        seen[cases++].calls = 2 * kRounds;      \
    } while (0)
#define NOTHING ((void)0)

static int depends(enum Rule rule, int on) {
    switch (rule) {
        case kAll:
            return 1;
        case kRoot0:
            return on == 0;
        case kToRoot0:
            return rank == 0;
        case kUpTo:
            return on < rank;
        default:
            return 0;
    }
}

static void write_answers(const char* path) {
    char name[4096];
    MPI_Sendrecv(seen, sizeof(seen), MPI_BYTE, 1 - rank, 0, other, sizeof(other), MPI_BYTE,
                 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    snprintf(name, sizeof(name), "%s.%d", path, rank);
    FILE* file = fopen(name, "w");
    for (int c = 0; c < cases; ++c) {
        double waited = 0;
        for (int k = 0; k < seen[c].calls; ++k) {
            double until = other[c].from[k] < seen[c].to[k] ? other[c].from[k] : seen[c].to[k];
            if (depends(seen[c].rule, 1 - rank) && until > seen[c].from[k]) {
                waited += until - seen[c].from[k];
            }
        }
        fprintf(file, "%d %d %d %.0f %s\n", seen[c].line, rank, seen[c].calls, waited,
                seen[c].text);
    }
    fclose(file);
}

static void plain_collectives(MPI_Comm comm) {
    int in[4] = {rank, 1, 2, 3};
    int out[8] = {0};
    int ones[2] = {1, 1};
    int places[2] = {0, 1};
    int first[2] = {1, 0};
    CASE(kAll, NOTHING, MPI_Barrier(comm), NOTHING);
    CASE(kRoot0, NOTHING, MPI_Bcast(in, 1, MPI_INT, 0, comm), NOTHING);
    CASE(kToRoot0, NOTHING, MPI_Reduce(in, out, 1, MPI_INT, MPI_SUM, 0, comm), NOTHING);
    CASE(kAll, NOTHING, MPI_Allreduce(in, out, 1, MPI_INT, MPI_SUM, comm), NOTHING);
    CASE(kToRoot0, NOTHING, MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm), NOTHING);
    CASE(kToRoot0, NOTHING, MPI_Gatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, 0, comm),
         NOTHING);
    // Only rank 0 gives something: it waits for nobody.
    CASE(kNobody, NOTHING, MPI_Gatherv(in, 1 - rank, MPI_INT, out, first, places, MPI_INT, 0, comm),
         NOTHING);
    CASE(kRoot0, NOTHING, MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, 0, comm), NOTHING);
    CASE(kRoot0, NOTHING, MPI_Scatterv(in, ones, places, MPI_INT, out, 1, MPI_INT, 0, comm),
         NOTHING);
    CASE(kAll, NOTHING, MPI_Allgather(in, 1, MPI_INT, out, 1, MPI_INT, comm), NOTHING);
    CASE(kAll, NOTHING, MPI_Allgatherv(in, 1, MPI_INT, out, ones, places, MPI_INT, comm), NOTHING);
    CASE(kAll, NOTHING, MPI_Alltoall(in, 1, MPI_INT, out, 1, MPI_INT, comm), NOTHING);
    CASE(kAll, NOTHING, MPI_Alltoallv(in, ones, places, MPI_INT, out, ones, places, MPI_INT, comm),
         NOTHING);
    CASE(kAll, NOTHING, MPI_Reduce_scatter(in, out, ones, MPI_INT, MPI_SUM, comm), NOTHING);
    CASE(kAll, NOTHING, MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, comm), NOTHING);
    CASE(kUpTo, NOTHING, MPI_Scan(in, out, 1, MPI_INT, MPI_SUM, comm), NOTHING);
    CASE(kUpTo, NOTHING, MPI_Exscan(in, out, 1, MPI_INT, MPI_SUM, comm), NOTHING);
}

static void requests(MPI_Comm comm) {
    int in = rank;
    int out = 0;
    int one[2] = {1, 1};
    int places[2] = {0, 1};
    int got[2];
    MPI_Request request = MPI_REQUEST_NULL;
    CASE(kAll, NOTHING, MPI_Ibarrier(comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE), NOTHING);
    CASE(kRoot0, NOTHING, MPI_Ibcast(&in, 1, MPI_INT, 0, comm, &request);
         MPI_Waitall(1, &request, MPI_STATUSES_IGNORE), NOTHING);
    CASE(kAll, NOTHING, MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE), NOTHING);
    CASE(kAll, NOTHING, MPI_Iallgatherv(&in, 1, MPI_INT, got, one, places, MPI_INT, comm, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE), NOTHING);
    // Both have entered before one of them is late to wait: what the other one waits is transfer.
    CASE(kNobody, MPI_Ibarrier(comm, &request), MPI_Wait(&request, MPI_STATUS_IGNORE), NOTHING);
}

// Names of communicators are the same for sender and receiver.
static void messages(MPI_Comm comm, int partner) {
    int in = 0;
    MPI_Request request;
    if (rank == 0) {
        CASE(kNobody, NOTHING, MPI_Send(&rank, 1, MPI_INT, partner, 3, comm), NOTHING);
        CASE(kNobody, NOTHING, MPI_Send(&rank, 1, MPI_INT, partner, 3, comm), NOTHING);
    } else {
        CASE(kUpTo, NOTHING, MPI_Recv(&in, 1, MPI_INT, partner, 3, comm, MPI_STATUS_IGNORE),
             NOTHING);
        CASE(kUpTo, MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 3, comm, &request),
             MPI_Wait(&request, MPI_STATUS_IGNORE), NOTHING);
    }
}

static void made(MPI_Comm comm) {
    MPI_Comm mine;
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    CASE(kAll, NOTHING, MPI_Comm_dup(comm, &mine), MPI_Comm_free(&mine));
    CASE(kAll, NOTHING, MPI_Comm_split(comm, 0, rank, &mine), MPI_Comm_free(&mine));
    CASE(kAll, MPI_Comm_dup(comm, &mine), MPI_Barrier(mine), MPI_Comm_free(&mine));
    CASE(kAll, MPI_Comm_split(comm, 0, -rank, &mine), MPI_Barrier(mine), MPI_Comm_free(&mine));
    MPI_Comm_split(comm, 0, -rank, &mine);
    messages(mine, rank);  // the ranks are exchanged
    MPI_Comm_free(&mine);
    CASE(kAll, MPI_Comm_create_group(comm, group, 7, &mine), MPI_Barrier(mine),
         MPI_Comm_free(&mine));
    // MPI_Comm_idup leaves the handle at once.
    MPI_Request request;
    CASE(kAll, NOTHING, MPI_Comm_idup(comm, &mine, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Comm_free(&mine));
    CASE(kAll, MPI_Comm_idup(comm, &mine, &request);
         MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_Barrier(mine), MPI_Comm_free(&mine));
    // A call that MPI rejects is none of the collectives that the ranks make together.
    int in = 0;
    MPI_Comm_dup(comm, &mine);
    MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
    CASE(kAll, if (rank == 0) MPI_Bcast(&in, -1, MPI_INT, 0, mine), MPI_Barrier(mine), NOTHING);
    MPI_Comm_free(&mine);
    // Switched off: communicators made and collectives entered meanwhile are not lost count of.
    CASE(kAll, MPI_Pcontrol(0); MPI_Comm_dup(comm, &mine); MPI_Barrier(mine);
         MPI_Pcontrol(1), MPI_Barrier(mine), MPI_Comm_free(&mine));
    MPI_Group_free(&group);
}

static void topologies(void) {
    int size = 2;
    int periodic = 1;
    int in[2] = {rank, rank};
    int out[2];
    int both[2] = {1, 1};
    int none[2] = {0, 0};
    int places[2] = {0, 1};
    MPI_Comm ring;
    MPI_Comm chain;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
    CASE(kAll, NOTHING, MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, ring), NOTHING);
    CASE(kAll, NOTHING,
         MPI_Neighbor_alltoallv(in, both, places, MPI_INT, out, both, places, MPI_INT, ring),
         NOTHING);
    CASE(kNobody, NOTHING,
         MPI_Neighbor_alltoallv(in, none, places, MPI_INT, out, none, places, MPI_INT, ring),
         NOTHING);
    // Rank 0 sends to rank 1, nobody to rank 0.
    int peer = 1 - rank;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank, &peer, both, 1 - rank, &peer, both,
                                   MPI_INFO_NULL, 0, &chain);
    CASE(kUpTo, NOTHING, MPI_Neighbor_allgather(in, 1, MPI_INT, out, 1, MPI_INT, chain), NOTHING);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&chain);
}

static void inter_communicator(void) {
    MPI_Comm self;
    MPI_Comm inter;
    MPI_Comm merged;
    int in = rank;
    int out = 0;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &self);
    MPI_Intercomm_create(self, 0, MPI_COMM_WORLD, 1 - rank, 5, &inter);
    CASE(kAll, NOTHING, MPI_Barrier(inter), NOTHING);
    CASE(kAll, NOTHING, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, inter), NOTHING);
    CASE(kRoot0, NOTHING, MPI_Bcast(&in, 1, MPI_INT, rank == 0 ? MPI_ROOT : 0, inter), NOTHING);
    CASE(kToRoot0, NOTHING,
         MPI_Reduce(&in, &out, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : 0, inter), NOTHING);
    messages(inter, 0);
    MPI_Intercomm_merge(inter, rank, &merged);
    CASE(kAll, NOTHING, MPI_Barrier(merged), NOTHING);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&self);
}

static void windows(void) {
    MPI_Win window;
    MPI_Group world;
    MPI_Group partner;
    static int memory[4];
    int in = rank;
    int who = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &who, &partner);
    CASE(kAll, NOTHING,
         MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window),
         MPI_Win_free(&window));
    MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    CASE(kAll, NOTHING, MPI_Win_fence(0, window), NOTHING);
    // Rank 0 has access to rank 1's memory: it waits until that is exposed, and rank 1 until rank 0
    // has had its access.
    if (rank == 0) {
        CASE(kAll, NOTHING, MPI_Win_start(partner, 0, window);
             MPI_Put(&in, 1, MPI_INT, 1, 0, 1, MPI_INT, window); MPI_Win_complete(window), NOTHING);
        CASE(kNobody, MPI_Win_start(partner, 0, window);
             MPI_Put(&in, 1, MPI_INT, 1, 0, 1, MPI_INT, window), MPI_Win_complete(window), NOTHING);
    } else {
        CASE(kNobody, NOTHING, MPI_Win_post(partner, 0, window), MPI_Win_wait(window));
        CASE(kAll, MPI_Win_post(partner, 0, window), MPI_Win_wait(window), NOTHING);
    }
    MPI_Win_free(&window);
    MPI_Group_free(&partner);
    MPI_Group_free(&world);
}

int main(int argc, char** argv) {
    if (argc != 2) return 2;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    plain_collectives(MPI_COMM_WORLD);
    requests(MPI_COMM_WORLD);
    made(MPI_COMM_WORLD);
    topologies();
    inter_communicator();
    windows();
    write_answers(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    raise(SIGKILL);
}
