// MPI_Iprobe along 300 call paths of 1 to 300 frames, each once: the work of finding them is
// dwell's. With an argument, MPI_Barrier in that many frames.
#include <mpi.h>
#include <stdlib.h>

__attribute__((noinline)) static int deeper(int frames, int barrier) {
    volatile char used[64];
    int flag = 0;
    used[0] = (char)frames;
    if (frames > 1) {
        flag = deeper(frames - 1, barrier);
    } else if (barrier) {
        MPI_Barrier(MPI_COMM_WORLD);  // @barrier
    } else {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);  // @probe
    }
    return flag + used[0];
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    if (argc > 1) {
        deeper(atoi(argv[1]), 1);
    } else {
        for (int frames = 1; frames <= 300; frames++) deeper(frames, 0);
    }
    MPI_Finalize();
    return 0;
}
