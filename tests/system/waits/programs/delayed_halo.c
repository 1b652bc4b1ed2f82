/* Two ranks exchange 1000 bytes, or as many as argv[1] says, by MPI_Irecv, MPI_Isend and
   MPI_Waitall, 200 times: rank 0 computes 100 us before each exchange and rank 1 500 us, so that
   rank 0 waits for 400 us each time, 80 ms in all, for a message and for the receiver of its own.
   What delays rank 1 more is not the program's. */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

enum { kTimes = 200, kMost = 100000 };
static char out[kMost], in[kMost];

static void compute_us(long us) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    const long long end_ns = time.tv_sec * 1000000000LL + time.tv_nsec + us * 1000;
    do clock_gettime(CLOCK_MONOTONIC, &time);
    while (time.tv_sec * 1000000000LL + time.tv_nsec < end_ns);
}

int main(int argc, char** argv) {
    const int bytes = argc > 1 ? atoi(argv[1]) : 1000;
    int rank;
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < kTimes; ++i) {
        compute_us(rank == 0 ? 100 : 500);
        MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);  // @computed
        MPI_Isend(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);  // @exchange
    }
    MPI_Finalize();
    return 0;
}
