/* Rank 0 sends 64 bytes, or as many as argv[1] says, by a persistent request 100 us after a
   barrier, and waits for it, or by MPI_Send or MPI_Sendrecv if argv[2] says so; rank 1 receives
   them 1100 us after that, 100 times. Until it does Open MPI leaves such a message where it is, if
   it has more than 256 bytes or goes by the request, so that rank 0 waits for 1 ms each time, 100
   ms in all. What delays rank 0 more is not the program's. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kTimes = 100, kMost = 4096 };
static char data[kMost];

static void compute_us(long us) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const long long end_ns = time.tv_sec * 1000000000LL + time.tv_nsec + us * 1000;
    do clock_gettime(CLOCK_MONOTONIC, &time);
    while (time.tv_sec * 1000000000LL + time.tv_nsec < end_ns);
}

int main(int argc, char** argv) {
    const int bytes = argc > 1 ? atoi(argv[1]) : 64;
    const char* how = argc > 2 ? argv[2] : "start";
    int rank;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) MPI_Send_init(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    for (int i = 0; i < kTimes; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);  // @barrier
        compute_us(rank == 0 ? 100 : 1100);
        if (rank == 0 && strcmp(how, "send") == 0) {
            MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);  // @send
        } else if (rank == 0 && strcmp(how, "sendrecv") == 0) {
            MPI_Sendrecv(data, bytes, MPI_BYTE, 1, 0,  // @sendrecv
                         NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 0) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);  // @sent
        } else {
            MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (rank == 0) MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
