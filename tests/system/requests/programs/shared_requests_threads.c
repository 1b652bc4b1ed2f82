// Requests that one thread starts and another completes; 2 ranks, N rounds of K receives. The sum
// of what the completing thread books is exact: 2 ranks * N * K messages of 8 bytes.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

//@ let N=100
//@ let K=16
enum { N = 100, K = 16 };

static int rank;
static double in[K];
static MPI_Request requests[K];
static pthread_barrier_t posted, finished;

static void* complete(void* unused) {
    for (int i = 0; i < N; i++) {
        pthread_barrier_wait(&posted);
        //@ MPI_Waitall count=2*N received=2*N*K*8 taken={(0,1):8*N*K,(1,0):8*N*K}
        MPI_Waitall(K, requests, MPI_STATUSES_IGNORE);
        pthread_barrier_wait(&finished);
    }
    return unused;
}

int main(int argc, char** argv) {
    int provided;
    pthread_t thread;
    double out = 1, sum = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_barrier_init(&posted, NULL, 2);
    pthread_barrier_init(&finished, NULL, 2);
    pthread_create(&thread, NULL, complete, NULL);
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < K; k++) {
            //@ MPI_Irecv count=2*N*K received=0
            MPI_Irecv(&in[k], 1, MPI_DOUBLE, MPI_ANY_SOURCE, k, MPI_COMM_WORLD, &requests[k]);
        }
        pthread_barrier_wait(&posted);
        for (int k = 0; k < K; k++) {
            //@ MPI_Send count=2*N*K sent=2*N*K*8
            MPI_Send(&out, 1, MPI_DOUBLE, 1 - rank, k, MPI_COMM_WORLD);
        }
        pthread_barrier_wait(&finished);
        for (int k = 0; k < K; k++) sum += in[k];
    }
    pthread_join(thread, NULL);
    printf("rank %d sum %g\n", rank, sum);
    MPI_Finalize();
    return 0;
}
