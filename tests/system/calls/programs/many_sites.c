// Thousands of call paths, so that the records need more than a small device has: twelve
// procedures, each of which calls the next one from either of two places, make 2^12 = 4096 paths of
// one call each; 1 rank. No procedure calls itself, so nothing folds as recursion.
#include <mpi.h>
#include <stdio.h>

static volatile int done;

static __attribute__((noinline)) void level_0(int bits) {
    int flag;
    (void)bits;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);  // @probe
    done++;
}

#define LEVEL(number, below)                                         \
    static __attribute__((noinline)) void level_##number(int bits) { \
        if (bits & 1) {                                              \
            level_##below(bits >> 1);                                \
            done += 1;                                               \
        } else {                                                     \
            level_##below(bits >> 1);                                \
            done += 2;                                               \
        }                                                            \
    }
LEVEL(1, 0)
LEVEL(2, 1)
LEVEL(3, 2)
LEVEL(4, 3)
LEVEL(5, 4)
LEVEL(6, 5)
LEVEL(7, 6)
LEVEL(8, 7)
LEVEL(9, 8)
LEVEL(10, 9)
LEVEL(11, 10)
LEVEL(12, 11)

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int bits = 0; bits < 4096; bits++) level_12(bits);
    printf("done %d\n", done);
    MPI_Finalize();
    return 0;
}
