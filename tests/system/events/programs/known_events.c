/* A known order of events on each of two ranks: argv[1] rounds of a block "round" with a message of
 * 8 * (round + 1) bytes and tag `round` from rank 0 to rank 1 and back by a request, a marker, and
 * a broadcast of rank 1. With argv[2] "api", events are on in the rounds 2 to 4 alone; with "abort"
 * rank 1 aborts in the last round; with "kill" it waits there for its end. */
#include <dwell.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double data[4096];

int main(int argc, char** argv) {
    int rank;
    const int rounds = atoi(argv[1]);
    const char* how = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < rounds; ++round) {
        MPI_Request request;
        const int count = 1 + round % 4096;
        if (strcmp(how, "api") == 0 && round == 2) dwell_events_on();
        if (strcmp(how, "api") == 0 && round == 5) MPI_Pcontrol(4);
        dwell_block_begin("round");
        if (rank == 0) {
            MPI_Send(data, count, MPI_DOUBLE, 1, round, MPI_COMM_WORLD);
            MPI_Recv(data, count, MPI_DOUBLE, 1, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(data, count, MPI_DOUBLE, 0, round, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Send(data, count, MPI_DOUBLE, 0, round, MPI_COMM_WORLD);
        }
        dwell_mark("turn", 1);
        MPI_Bcast(data, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
        dwell_block_end("round");
        if (rank == 1 && round + 1 == rounds && strcmp(how, "abort") == 0) abort();
        if (round + 1 == rounds && strcmp(how, "kill") == 0) sleep(60);
    }
    MPI_Finalize();
    return 0;
}
