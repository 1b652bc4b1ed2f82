// Generalised requests (MPI-3.1 12.2), complete before they are waited for.
#include <mpi.h>

static int query(void* state, MPI_Status* status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_CHAR, 0);
    return MPI_Status_set_cancelled(status, 0);
}
static int nothing(void* state) { return state != 0; }
static int cancel(void* state, int complete) { return state != 0 && complete; }

//@ let N=5
int main(int argc, char** argv) {
    MPI_Request request;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 5; i++) {
        //@ MPI_Grequest_start count=N*P
        MPI_Grequest_start(query, nothing, cancel, 0, &request);
        //@ MPI_Grequest_complete count=N*P
        MPI_Grequest_complete(request);
        //@ MPI_Wait count=N*P
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
