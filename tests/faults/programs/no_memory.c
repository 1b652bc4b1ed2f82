// Completes 5000 receives of its own messages, one by MPI_Waitany, others by MPI_Waitsome, while
// the process gets no more memory: a tool that needs some for so many requests does without. Prints
// the number of receives completed and the sum of what they brought, 1 + 2 + ... + 5000 = 12502500.
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

enum { kRequests = 5000 };
static MPI_Request requests[kRequests];
static int values[kRequests], indices[kRequests];

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < kRequests; ++i) {
        MPI_Irecv(&values[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    }
    for (int i = 0; i < kRequests; ++i) {
        const int value = i + 1;
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    }
    struct rlimit before, none;
    getrlimit(RLIMIT_AS, &before);
    none = before;
    none.rlim_cur = 1 << 20;  // less than the process has
    setrlimit(RLIMIT_AS, &none);
    int done = 0, some = 0, index = 0;
    MPI_Waitany(kRequests, requests, &index, MPI_STATUS_IGNORE);
    if (index != MPI_UNDEFINED) ++done;
    for (;;) {
        MPI_Waitsome(kRequests, requests, &some, indices, MPI_STATUSES_IGNORE);
        if (some == MPI_UNDEFINED) break;
        done += some;
    }
    setrlimit(RLIMIT_AS, &before);
    long sum = 0;
    for (int i = 0; i < kRequests; ++i) sum += values[i];
    printf("%d %ld\n", done, sum);
    MPI_Finalize();
    return 0;
}
