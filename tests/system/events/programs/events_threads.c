// Two ranks: the main threads exchange three messages each way with tag 6, second threads four with
// tag 5 at the same time.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { kMain = 3, kSecond = 4 };

static int rank;

static void exchange(int count, int tag) {
    for (int i = 0; i < count; ++i) {
        int sent = i;
        int received;
        if (rank == 0) MPI_Send(&sent, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
        MPI_Recv(&received, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(&sent, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
    }
}

static void* second(void* nothing) {
    exchange(kSecond, 5);
    return nothing;
}

int main(int argc, char** argv) {
    int provided;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (provided == MPI_THREAD_MULTIPLE) {
        pthread_create(&thread, NULL, second, NULL);
        exchange(kMain, 6);
        pthread_join(thread, NULL);
    }
    if (rank == 0) printf("%d\n", provided == MPI_THREAD_MULTIPLE);
    MPI_Finalize();
    return 0;
}
