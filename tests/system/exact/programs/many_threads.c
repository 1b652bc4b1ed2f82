// 100 short-lived threads, one after the other, one call each; 1 rank. Records of ended threads are
// taken over, so the number of thread records stays small (memory does not grow with the run).
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

static void* call_once(void* unused) {
    int flag;
    //@ MPI_Iprobe count=100
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    for (int i = 0; i < 100; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, call_once, NULL);
        pthread_join(thread, NULL);
    }
    puts("done");
    MPI_Finalize();
    return 0;
}
