// A thread computes 0.6 s between two calls; after 0.2 s of it another one forgets what was before
// by MPI_Pcontrol(2). Each thread has 0.4 s after that.
#include <mpi.h>
#include <pthread.h>
#include <time.h>

static double began;

static void spin_until(double seconds) {
    while (MPI_Wtime() < began + seconds) continue;
}

static void* other(void* none) {
    MPI_Barrier(MPI_COMM_SELF);
    spin_until(0.6);
    MPI_Barrier(MPI_COMM_SELF);  // @other
    return none;
}

int main(int argc, char** argv) {
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    began = MPI_Wtime();
    pthread_create(&thread, NULL, other, NULL);
    spin_until(0.2);
    MPI_Pcontrol(2);
    spin_until(0.6);
    MPI_Barrier(MPI_COMM_SELF);  // @own
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
