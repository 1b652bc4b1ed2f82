// Communicators by the thousand: made, used and freed in loops, held for long, of all sizes, by
// several threads at a time. Prints what the collectives gave.
// usage: many_comms [kill]: kills itself at the end, so that its records stay.
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { kRounds = 1500, kHeld = 60, kThreadRounds = 300 };

static int rank, size;

static long sum_on(MPI_Comm comm) {
    long in = rank + 1, out = 0;
    MPI_Barrier(comm);                                     // @barrier
    MPI_Allreduce(&in, &out, 1, MPI_LONG, MPI_SUM, comm);  // @allreduce
    return out;
}

static long come_and_go(void) {
    long sum = 0;
    for (int i = 0; i < kRounds; ++i) {
        MPI_Comm copy, part, none;
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        sum += sum_on(copy);
        MPI_Comm_split(copy, (rank >> i % 2) & 1, i % 3 == 0 ? -rank : rank, &part);
        MPI_Comm_free(&copy);
        sum += sum_on(part);
        MPI_Comm_split(part, rank % 2 ? MPI_UNDEFINED : 0, 0, &none);
        if (none != MPI_COMM_NULL) MPI_Comm_free(&none);
        sum = sum * 31 % 1000003;
        MPI_Comm_free(&part);
    }
    return sum;
}

static long held(void) {
    MPI_Comm comms[kHeld];
    long sum = 0;
    for (int i = 0; i < kHeld; ++i)
        MPI_Comm_split(MPI_COMM_WORLD, rank % (i % size + 1), 0, &comms[i]);
    for (int round = 0; round < 20; ++round) {
        for (int i = 0; i < kHeld; ++i) sum += sum_on(comms[(i * 7 + round) % kHeld]);
    }
    MPI_Request requests[kHeld];
    for (int i = 0; i < kHeld; ++i) MPI_Ibarrier(comms[i], &requests[i]);
    MPI_Waitall(kHeld, requests, MPI_STATUSES_IGNORE);  // @waitall
    for (int i = 0; i < kHeld; ++i) MPI_Comm_free(&comms[i]);
    return sum;
}

static void* in_thread(void* argument) {
    MPI_Comm own = *(MPI_Comm*)argument;
    long sum = 0;
    for (int i = 0; i < kThreadRounds; ++i) {
        MPI_Comm copy;
        MPI_Comm_dup(own, &copy);
        sum += sum_on(copy);
        MPI_Comm_free(&copy);
    }
    return (void*)sum;
}

static long threads(void) {
    pthread_t other;
    MPI_Comm comms[2];
    void* sums[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    pthread_create(&other, NULL, in_thread, &comms[1]);
    sums[0] = in_thread(&comms[0]);
    pthread_join(other, &sums[1]);
    MPI_Comm_free(&comms[0]);
    MPI_Comm_free(&comms[1]);
    return (long)sums[0] + (long)sums[1];
}

int main(int argc, char** argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const long first = come_and_go(), second = held();
    const long third = level == MPI_THREAD_MULTIPLE ? threads() : 0;
    printf("%d: %ld %ld %ld\n", rank, first, second, third);
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "kill") == 0) {
        MPI_Barrier(MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    MPI_Finalize();
    return 0;
}
