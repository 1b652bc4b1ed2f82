// The paper's loop with four communication statements (its section 6.4.2), here from a rank to
// itself: argv[1] iterations. With argv[2] it ends by SIGKILL, so that its records stay.
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>

#include "pass_time.h"

__attribute__((noinline)) void cal(const int* from, int* to, int n) {
    for (int i = 0; i < n; i++) to[i] = from[i] + 1;
    keep();
}

int main(int argc, char** argv) {
    const int times = atoi(argv[1]);
    int in[8] = {0}, out[8] = {0};
    MPI_Init(&argc, &argv);
    for (int i = 0; i < times; i++) {  // the loop
        MPI_Send(out, 8, MPI_INT, 0, 1, MPI_COMM_SELF);
        MPI_Send(out, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
        MPI_Recv(in, 8, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        MPI_Recv(in, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        cal(in, out, 8);
    }
    if (argc > 2) raise(SIGKILL);
    MPI_Finalize();
    return 0;
}
