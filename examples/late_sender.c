/* A receiver that waits because its sender is late.
 *
 *   late_sender [MESSAGES [MILLISECONDS [BYTES]]]      default 20 25 1024
 *
 * Even ranks compute for MILLISECONDS and then send BYTES bytes to the next rank, which has nothing
 * to do but receive. With the defaults each odd rank makes 20 receives of 1024 bytes, 20480 bytes
 * in all, and waits 20 * 25 ms = 500 ms in MPI_Recv; even ranks compute 500 ms and hardly wait. The
 * last rank of an odd number of ranks has no partner and does nothing.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void compute_for(double seconds) {
    const double end = MPI_Wtime() + seconds;
    while (MPI_Wtime() < end) {
    }
}

static void send_late(char* message, int bytes, int partner, double seconds) {
    compute_for(seconds);
    MPI_Send(message, bytes, MPI_CHAR, partner, 0, MPI_COMM_WORLD);
}

static void receive_early(char* message, int bytes, int partner) {
    MPI_Recv(message, bytes, MPI_CHAR, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int messages = argc > 1 ? atoi(argv[1]) : 20;
    const double seconds = (argc > 2 ? atof(argv[2]) : 25.0) * 1e-3;
    const int bytes = argc > 3 ? atoi(argv[3]) : 1024;
    char* message = calloc(bytes > 0 ? (size_t)bytes : 1, 1);
    if (message == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    const int partner = rank % 2 == 0 ? rank + 1 : rank - 1;
    for (int i = 0; i < messages && partner < ranks; ++i) {
        if (rank % 2 == 0) {
            send_late(message, bytes, partner, seconds);
        } else {
            receive_early(message, bytes, partner);
        }
    }
    free(message);
    if (rank == 0) printf("%d messages\n", messages);
    MPI_Finalize();
    return 0;
}
