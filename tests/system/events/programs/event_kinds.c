// Every kind of event, with an answer that follows from the source. For 3 ranks:
//   a late and an early message from rank 0 to rank 1; 3 messages from each rank to the next, by
//   requests; one by MPI_Sendrecv; a broadcast from rank 2; a communicator of the ranks 0 and 2;
//   two checkpoints and a huge marker; a file of 5000 bytes in 5 parts, of which 3000 are read.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "dwell.h"

static char buffer[1 << 16];

static void late_and_early(int rank) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) usleep(200000);
    if (rank == 0) MPI_Send(buffer, 100, MPI_CHAR, 1, 11, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(buffer, 1000, MPI_CHAR, 0, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_Send(buffer, 200, MPI_CHAR, 1, 12, MPI_COMM_WORLD);
    if (rank == 1) usleep(200000);
    if (rank == 1) MPI_Recv(buffer, 1000, MPI_CHAR, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void around(int left, int right) {
    MPI_Request requests[6];
    for (int i = 0; i < 3; ++i)
        MPI_Irecv(buffer + 1000 * i, 1000, MPI_CHAR, left, 20 + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < 3; ++i)
        MPI_Isend(buffer + 9000, 300 + i, MPI_CHAR, right, 20 + i, MPI_COMM_WORLD,
                  &requests[3 + i]);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(buffer, 50, MPI_CHAR, right, 30, buffer + 100, 60, MPI_CHAR, left, 30,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void together(int rank) {
    MPI_Bcast(buffer, 77, MPI_CHAR, 2, MPI_COMM_WORLD);
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Barrier(half);
}

static void files(int rank, const char* folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/file.%d", folder, rank);
    dwell_block_begin("output");
    dwell_mark("checkpoint", 4096 * (rank + 1));
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 5; ++i)
        if (write(file, buffer, 1000) != 1000) MPI_Abort(MPI_COMM_WORLD, 1);
    if (pread(file, buffer, 3000, 0) != 3000) MPI_Abort(MPI_COMM_WORLD, 1);
    close(file);
    dwell_mark("checkpoint", 4096 * (rank + 1));
    dwell_mark("huge", 5000000000);
    dwell_block_end("output");
}

int main(int argc, char** argv) {
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    late_and_early(rank);
    around((rank + ranks - 1) % ranks, (rank + 1) % ranks);
    together(rank);
    files(rank, argv[1]);
    MPI_Finalize();
    return 0;
}
