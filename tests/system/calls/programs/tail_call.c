// `return MPI_Send(...)` at -O2 is a jump: the return address lies in the caller. The line is found
// from DWARF call sites where there is one candidate, else the node is labelled; 1 rank.
#include <mpi.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone))

APART int send_it(int* data, int count) {
    return MPI_Send(data, count, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // @unique
}

APART int one_of_two(int* data, int tag) {
    if (tag) return MPI_Ssend(data, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);  // @tail_one
    return MPI_Ssend(data, 2, MPI_INT, MPI_PROC_NULL, 2, MPI_COMM_SELF);            // @tail_two
}

int main(int argc, char** argv) {
    int data[4] = {0}, sum = 0;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 9; i++) sum += send_it(data, 1) == MPI_SUCCESS;
    for (int i = 0; i < 4; i++) sum += one_of_two(data, i % 2) == MPI_SUCCESS;  // @caller
    printf("%d\n", sum);
    MPI_Finalize();
    return 0;
}
