// Events of all threads of a process while its first thread is in a phase: the second thread calls
// MPI_Barrier 100 times before the phase, 100 times in it and 100 times behind it.
#include <mpi.h>
#include <pthread.h>

#include "dwell.h"

static pthread_barrier_t both;

static void* second(void* unused) {
    for (int part = 0; part < 3; ++part) {
        pthread_barrier_wait(&both);
        for (int i = 0; i < 100; ++i) MPI_Barrier(MPI_COMM_SELF);
        pthread_barrier_wait(&both);
    }
    return unused;
}

int main(int argc, char** argv) {
    int level;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    pthread_barrier_init(&both, 0, 2);
    pthread_create(&thread, 0, second, 0);
    for (int part = 0; part < 3; ++part) {
        if (part == 1) dwell_phase_begin("middle", 1);
        pthread_barrier_wait(&both);
        pthread_barrier_wait(&both);
        if (part == 1) dwell_phase_end();
    }
    pthread_join(thread, 0);
    MPI_Finalize();
    return 0;
}
