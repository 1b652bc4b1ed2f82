// MPI_Send and MPI_Barrier wrapped by somebody else: in the executable (-DIN_PROGRAM), in a library
// linked before MPI (-DLINKED in the program) or preloaded (-DAS_LIBRARY). The wrapper must still
// run, and each call counts once. The program prints how often the wrapper ran; 2 ranks.
#include <mpi.h>
#include <stdio.h>

#if defined(LINKED)
extern int wrapped_sends, wrapped_barriers;
#elif defined(IN_PROGRAM) || defined(AS_LIBRARY)
int wrapped_sends, wrapped_barriers;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    wrapped_sends++;
    return PMPI_Send(data, count, type, to, tag, comm);  // @wrapper_send
}
int MPI_Barrier(MPI_Comm comm) {
    wrapped_barriers++;
    return PMPI_Barrier(comm);  // @wrapper_barrier
}
#else
extern int wrapped_sends __attribute__((weak)), wrapped_barriers __attribute__((weak));
#endif

#if !defined(AS_LIBRARY)
int main(int argc, char** argv) {
    int rank, in, out = 3;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 8; i++) {
        MPI_Send(&out, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD);                    // @send
        MPI_Recv(&in, 1, MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv
        if (i < 5) MPI_Barrier(MPI_COMM_WORLD);                                     // @barrier
    }
    const int known = &wrapped_sends && &wrapped_barriers;
    printf("rank %d wrapper ran %d %d\n", rank, known ? wrapped_sends : -1,
           known ? wrapped_barriers : -1);
    MPI_Finalize();
    return 0;
}
#endif
