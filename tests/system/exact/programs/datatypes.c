// Bytes of derived datatypes are their size, not their extent; 2 ranks, N rounds. A type handle
// that is freed and created anew with another size must not show the old size.
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

//@ let N=4
enum { N = 4 };

struct Mixed {
    char letter;
    double value[3];
    short number;
};

int main(int argc, char** argv) {
    int rank;
    double data[64];
    struct Mixed mixed[2] = {{'a', {1, 2, 3}, 4}, {'b', {5, 6, 7}, 8}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 64; i++) data[i] = i;
    MPI_Datatype vector, structure, fresh;
    // 5 blocks of 2 doubles, 4 apart: 80 bytes in an extent of 144.
    MPI_Type_vector(5, 2, 4, MPI_DOUBLE, &vector);
    MPI_Type_commit(&vector);
    // 1 + 24 + 2 = 27 bytes in an extent of 40.
    MPI_Datatype kinds[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT};
    MPI_Aint places[3] = {offsetof(struct Mixed, letter), offsetof(struct Mixed, value),
                          offsetof(struct Mixed, number)};
    MPI_Datatype plain;
    MPI_Type_create_struct(3, (int[]){1, 3, 1}, places, kinds, &plain);
    MPI_Type_create_resized(plain, 0, sizeof(struct Mixed), &structure);
    MPI_Type_commit(&structure);
    for (int i = 0; i < N; i++) {
        if (rank == 0) {
            //@ MPI_Send count=N sent=80*N peers={(0,1):(N,80*N,0)}
            MPI_Send(data, 1, vector, 1, 0, MPI_COMM_WORLD);
            //@ MPI_Send count=N sent=54*N peers={(0,1):(N,54*N,0)}
            MPI_Send(mixed, 2, structure, 1, 1, MPI_COMM_WORLD);
        } else {
            // 10 doubles of the vector arrive in a buffer for 64.
            //@ MPI_Recv count=N received=80*N peers={(1,0):(N,0,80*N)}
            MPI_Recv(data, 64, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            //@ MPI_Recv count=N received=54*N peers={(1,0):(N,0,54*N)}
            MPI_Recv(mixed, 2, structure, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    // Rounds 0 .. N-1 have types of 1, 2, 3, 4 ints: 4 * (1 + 2 + 3 + 4) = 40 bytes.
    for (int i = 0; i < N; i++) {
        MPI_Type_contiguous(i + 1, MPI_INT, &fresh);
        MPI_Type_commit(&fresh);
        if (rank == 0) {
            //@ MPI_Send count=N sent=40 peers={(0,1):(N,40,0)}
            MPI_Send(data, 1, fresh, 1, 2, MPI_COMM_WORLD);
        } else {
            //@ MPI_Recv count=N received=40 peers={(1,0):(N,0,40)}
            MPI_Recv(data, 1, fresh, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        //@ MPI_Type_free count=2*N
        MPI_Type_free(&fresh);
    }
    printf("rank %d %g %g %d\n", rank, data[9], mixed[1].value[2], mixed[1].number);
    MPI_Finalize();
    return 0;
}
