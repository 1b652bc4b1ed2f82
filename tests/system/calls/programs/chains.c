// Call paths; 1 rank, all sends go to nobody. The same send is reached along three chains:
// first -> middle -> leaf 3 times, second -> middle -> leaf 5 times, third -> leaf 7 times. With
// whole paths it is three nodes, with two frames two, with one frame one.
#include <mpi.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone))

static volatile int done;

static APART void leaf(void) {
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // @leaf
    done++;
}
static APART void middle(void) {
    leaf();
    done++;
}
static APART void first(void) {
    middle();
    done++;
}
static APART void second(void) {
    middle();
    done++;
}
static APART void third(void) {
    leaf();
    done++;
}

// 20 calls of depth 1 .. 20, one send at the bottom of each.
static APART void recurse(int depth) {
    if (depth > 1) {
        recurse(depth - 1);
    } else {
        MPI_Ssend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // @bottom
    }
    done++;
}

// Two procedures that call each other, 1 .. 12 deep.
static APART void odd(int depth);
static APART void even(int depth) {
    if (depth > 1) odd(depth - 1);
    done++;
    if (depth == 1) MPI_Rsend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // @even
}
static APART void odd(int depth) {
    if (depth > 1) even(depth - 1);
    done++;
    if (depth == 1) MPI_Rsend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // @odd
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 3; i++) first();
    for (int i = 0; i < 5; i++) second();
    for (int i = 0; i < 7; i++) third();
    for (int depth = 1; depth <= 20; depth++) recurse(depth);
    for (int depth = 1; depth <= 12; depth++) even(depth);
    printf("%d\n", done);
    MPI_Finalize();
    return 0;
}
