// Tests a request that is never complete 2.39 million times by each of two calls, in loops that do
// nothing else. Prints how many nanoseconds a test took in the shortest loop of each.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kLoops = 1000, kPolls = 2390 };

static double now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

int main(int argc, char** argv) {
    char byte;
    int completed, index;
    double least = 1e9, least_single = 1e9;
    MPI_Request request;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Irecv(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_SELF, &request);
    for (int loop = 0; loop < kLoops; loop++) {
        const double start = now_ns();
        for (int i = 0; i < kPolls; i++) {
            MPI_Testsome(1, &request, &completed, &index, &status);  // @poll
        }
        const double took = (now_ns() - start) / kPolls;
        if (took < least) least = took;
    }
    for (int loop = 0; loop < kLoops; loop++) {
        const double start = now_ns();
        for (int i = 0; i < kPolls; i++) {
            MPI_Test(&request, &completed, &status);  // @single
        }
        const double took = (now_ns() - start) / kPolls;
        if (took < least_single) least_single = took;
    }
    printf("%.2f %.2f\n", least, least_single);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
