/* A persistent request made while recording was off: 10 requests whose start was not seen. */
#include <mpi.h>

int main(int argc, char** argv) {
    int one = 1;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Pcontrol(0);
    MPI_Bsend_init(&one, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF, &request);
    MPI_Pcontrol(1);
    for (int i = 0; i < 10; i++) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
    MPI_Finalize();
    return 0;
}
