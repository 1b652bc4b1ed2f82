// MPI_THREAD_MULTIPLE; 2 ranks of 8 threads. Thread t of rank 0 exchanges N messages of 4 (t + 1)
// bytes with thread t of rank 1 under tag t: each rank sends N * 4 * (1 + ... + 8) = 144 N bytes on
// each line. Receives are posted from wildcards half of the time.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

//@ let N=200
enum { N = 200, THREADS = 8 };

static int rank;
static long sums[THREADS];
static pthread_barrier_t together;  // all threads are alive at once

static void* work(void* argument) {
    const int t = (int)(long)argument, to = 1 - rank;
    int out[THREADS] = {0}, in[THREADS] = {0};
    MPI_Request request;
    MPI_Status status;
    pthread_barrier_wait(&together);
    for (int i = 0; i < N; i++) {
        out[t] = i;
        //@ MPI_Irecv count=16*N received=0
        MPI_Irecv(in, THREADS, MPI_INT, i % 2 ? MPI_ANY_SOURCE : to, t, MPI_COMM_WORLD, &request);
        //@ MPI_Send count=16*N sent=288*N peers={(0,1):(8*N,144*N,0),(1,0):(8*N,144*N,0)}
        MPI_Send(out, t + 1, MPI_INT, to, t, MPI_COMM_WORLD);
        //@ MPI_Wait count=16*N received=288*N taken={(0,1):144*N,(1,0):144*N} recv_events=16*N
        MPI_Wait(&request, &status);
        sums[t] += in[t] + status.MPI_TAG + status.MPI_SOURCE;
        //@ MPI_Sendrecv count=16*N sent=288*N received=288*N
        MPI_Sendrecv(out, t + 1, MPI_INT, to, t, in, THREADS, MPI_INT, to, t, MPI_COMM_WORLD,
                     &status);
    }
    pthread_barrier_wait(&together);
    return NULL;
}

int main(int argc, char** argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (long t = 0; t < THREADS; t++) pthread_create(&threads[t], NULL, work, (void*)t);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    long sum = provided == MPI_THREAD_MULTIPLE ? 0 : 1000000;
    for (int t = 0; t < THREADS; t++) sum += sums[t];
    printf("rank %d sum %ld\n", rank, sum);
    MPI_Finalize();
    return 0;
}
