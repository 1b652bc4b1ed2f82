// Two paths that look alike from below; 1 rank. `short_way` calls `landing` straight, `long_way`
// through three more frames. `landing` takes 16 k bytes of stack behind an indirect call, k = 0 ..
// 127, so that for some k the stack pointer below it is the same on both ways, and the frames of
// the long way still lie, dead, in the memory that the short way has just taken. Each way makes 128
// sends for each of 4 rounds: 512 on the node of each way.
#include <alloca.h>
#include <mpi.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone))

static volatile int done;

static APART void leaf(void) {
    MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);  // @leaf
    done++;
}
static void (*volatile indirect)(void) = leaf;

static APART void landing(int bytes) {
    volatile char* room = alloca((size_t)bytes + 16);
    (void)room;
    indirect();
    done++;
}
static void (*volatile land)(int) = landing;

static APART void long_3(int bytes) {
    land(bytes);
    done++;
}
static APART void long_2(int bytes) {
    volatile char room[48];
    room[0] = 1;
    long_3(bytes);
    done += room[0];
}
static APART void long_way(int bytes) {
    long_2(bytes);
    done++;
}
static APART void short_way(int bytes) {
    land(bytes);
    done++;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int round = 0; round < 4; round++) {
        for (int k = 0; k < 128; k++) {
            long_way(0);
            short_way(16 * k);
        }
    }
    printf("%d\n", done);
    MPI_Finalize();
    return 0;
}
