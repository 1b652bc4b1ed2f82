// Nonblocking collectives, 4 ranks, N rounds: counts, bytes and IN_PLACE as in collectives.c; the
// bytes are booked on the line that starts the operation.
#include <mpi.h>
#include <stdio.h>

//@ let N=3
enum { N = 3 };

static int rank, a[64], b[18][64];
static const int ramp[4] = {1, 2, 3, 4}, ramp_at[4] = {0, 1, 3, 6};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int many[4] = {rank + 1, rank + 1, rank + 1, rank + 1}, many_at[4] = {0, 4, 8, 12};
    const int ones[4] = {1, 1, 1, 1}, at[4] = {0, 8, 16, 24};
    const MPI_Datatype to[4] = {MPI_INT, MPI_DOUBLE, MPI_INT, MPI_DOUBLE};
    const MPI_Datatype mine = rank % 2 ? MPI_DOUBLE : MPI_INT;
    const MPI_Datatype from[4] = {mine, mine, mine, mine};
    double c[8] = {1, 2, 3, 4}, d[8];
    MPI_Request r[19];
    MPI_Comm copy;
    const MPI_Comm w = MPI_COMM_WORLD;
    for (int i = 0; i < 64; i++) a[i] = i + rank;
    for (int i = 0; i < N; i++) {
        //@ MPI_Ibarrier count=4*N sent=0 received=0
        MPI_Ibarrier(w, &r[0]);
        //@ MPI_Ibcast count=4*N sent=12*N received=36*N
        MPI_Ibcast(b[0], 3, MPI_INT, 1, w, &r[1]);
        //@ MPI_Ireduce count=4*N sent=32*N received=8*N
        MPI_Ireduce(a, b[1], 2, MPI_INT, MPI_SUM, 2, w, &r[2]);
        //@ MPI_Igather count=4*N sent=16*N received=16*N
        MPI_Igather(a, 1, MPI_INT, b[2], 1, MPI_INT, 0, w, &r[3]);
        //@ MPI_Igatherv count=4*N sent=40*N received=40*N
        MPI_Igatherv(a, rank + 1, MPI_INT, b[3], ramp, ramp_at, MPI_INT, 3, w, &r[4]);
        //@ MPI_Iscatter count=4*N sent=32*N received=32*N
        MPI_Iscatter(a, 2, MPI_INT, b[4], 2, MPI_INT, 0, w, &r[5]);
        //@ MPI_Iscatterv count=4*N sent=40*N received=40*N
        MPI_Iscatterv(a, ramp, ramp_at, MPI_INT, b[5], rank + 1, MPI_INT, 0, w, &r[6]);
        //@ MPI_Iallgather count=4*N sent=16*N received=64*N
        MPI_Iallgather(a, 1, MPI_INT, b[6], 1, MPI_INT, w, &r[7]);
        //@ MPI_Iallgatherv count=4*N sent=40*N received=160*N
        MPI_Iallgatherv(a, rank + 1, MPI_INT, b[7], ramp, ramp_at, MPI_INT, w, &r[8]);
        //@ MPI_Ialltoall count=4*N sent=64*N received=64*N
        MPI_Ialltoall(a, 1, MPI_INT, b[8], 1, MPI_INT, w, &r[9]);
        //@ MPI_Ialltoallv count=4*N sent=160*N received=160*N
        MPI_Ialltoallv(a, ramp, ramp_at, MPI_INT, b[9], many, many_at, MPI_INT, w, &r[10]);
        //@ MPI_Ialltoallw count=4*N sent=96*N received=96*N
        MPI_Ialltoallw(c, ones, at, to, d, ones, at, from, w, &r[11]);
        //@ MPI_Iallreduce count=4*N sent=32*N received=32*N
        MPI_Iallreduce(a, b[10], 2, MPI_INT, MPI_MAX, w, &r[12]);
        //@ MPI_Ireduce_scatter count=4*N sent=160*N received=40*N
        MPI_Ireduce_scatter(a, b[11], ramp, MPI_INT, MPI_SUM, w, &r[13]);
        //@ MPI_Ireduce_scatter_block count=4*N sent=128*N received=32*N
        MPI_Ireduce_scatter_block(a, b[12], 2, MPI_INT, MPI_SUM, w, &r[14]);
        //@ MPI_Iscan count=4*N sent=32*N received=32*N
        MPI_Iscan(a, b[13], 2, MPI_INT, MPI_SUM, w, &r[15]);
        //@ MPI_Iexscan count=4*N sent=32*N
        MPI_Iexscan(a, b[14], 2, MPI_INT, MPI_SUM, w, &r[16]);
        //@ MPI_Iallgather count=4*N sent=16*N received=64*N
        MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b[15], 1, MPI_INT, w, &r[17]);
        //@ MPI_Comm_idup count=4*N sent=0 received=0
        MPI_Comm_idup(w, &copy, &r[18]);
        //@ MPI_Waitall count=4*N sent=0 received=0
        MPI_Waitall(19, r, MPI_STATUSES_IGNORE);
        MPI_Comm_free(&copy);
    }
    printf("rank %d %d %d\n", rank, b[6][3] + b[0][1], b[13][1]);
    MPI_Finalize();
    return 0;
}
