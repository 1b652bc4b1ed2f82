// A parent of one rank starts two children of this same program; each side sends the other 8 bytes
// for each child. Children have a world of their own, so the parent's peers are ranks of world 1.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm parent, children;
    int rank, two[2] = {1, 2}, in[2] = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        //@ MPI_Comm_spawn count=1
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                       MPI_ERRCODES_IGNORE);
        for (int k = 0; k < 2; k++) {
            //@ MPI_Send count=2 sent=16 peers={(0,"w1:0"):(1,8,0),(0,"w1:1"):(1,8,0)}
            MPI_Send(two, 2, MPI_INT, k, 0, children);
            //@ MPI_Recv count=2 received=16 peers={(0,"w1:0"):(1,0,8),(0,"w1:1"):(1,0,8)}
            MPI_Recv(in, 2, MPI_INT, k, 0, children, MPI_STATUS_IGNORE);  // @parent_recv
        }
        printf("parent got %d %d\n", in[0], in[1]);
        MPI_Comm_disconnect(&children);
    } else {
        MPI_Recv(in, 2, MPI_INT, 0, 0, parent, MPI_STATUS_IGNORE);  // @child_recv
        MPI_Send(in, 2, MPI_INT, 0, 0, parent);                     // @child_send
        MPI_Sendrecv(two, 1, MPI_INT, 1 - rank, 1, in, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&parent);
    }
    MPI_Finalize();
    return 0;
}
