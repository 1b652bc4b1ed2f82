// Thousands of call paths: every path of length 12 through two procedures, 4096 of them, so that
// the records need more than a small device has; 1 rank.
#include <mpi.h>
#include <stdio.h>

static volatile int done;
static void left(int depth, int bits);
static void right(int depth, int bits);

static void next(int depth, int bits) {
    if (depth == 0) {
        int flag;
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @probe
        done++;
    } else if (bits & 1) {
        left(depth - 1, bits >> 1);
        done++;
    } else {
        right(depth - 1, bits >> 1);
        done++;
    }
}
static __attribute__((noinline)) void left(int depth, int bits) {
    next(depth, bits);
    done++;
}
static __attribute__((noinline)) void right(int depth, int bits) {
    next(depth, bits);
    done++;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int bits = 0; bits < 4096; bits++) next(12, bits);
    printf("done %d\n", done);
    MPI_Finalize();
    return 0;
}
