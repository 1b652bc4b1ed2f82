// More causes of waiting than a thread keeps: 2 ranks. Rank 0 works 50 us before each of 9800
// sends, which it reaches on 4900 ways, and then 20 ms, 40 times, always on the same one; rank 1
// waits for all of them.
#include <mpi.h>
#include <time.h>

enum { kSites = 70, kHeavy = 40 };

static void work(double seconds) {
    const double until = MPI_Wtime() + seconds;
    while (MPI_Wtime() < until) {
    }
}

// Each send is a call of its own: what the compiler sees of two is never the same.
#define SEND(number)                                       \
    case number:                                           \
        MPI_Send(&site, 1, MPI_INT, 1, 1, MPI_COMM_WORLD); \
        __asm__ volatile("" : : "i"(number));              \
        break
#define FIVE(first)  \
    SEND(first);     \
    SEND(first + 1); \
    SEND(first + 2); \
    SEND(first + 3); \
    SEND(first + 4)

__attribute__((noinline)) static void send_at(int site) {
    work(50e-6);
    switch (site) {
        FIVE(0);
        FIVE(5);
        FIVE(10);
        FIVE(15);
        FIVE(20);
        FIVE(25);
        FIVE(30);
        FIVE(35);
        FIVE(40);
        FIVE(45);
        FIVE(50);
        FIVE(55);
        FIVE(60);
        FIVE(65);
    }
}

int main(int argc, char** argv) {
    int rank = 0, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        for (int i = 0; i < kSites; i++) {
            for (int j = 0; j < kSites; j++) {
                send_at(i);
                send_at(j);
            }
        }
        for (int i = 0; i < kHeavy; i++) {
            work(20e-3);
            MPI_Send(&number, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);  // @heavy
        }
    } else {
        for (int i = 0; i < 2 * kSites * kSites + kHeavy; i++) {
            MPI_Recv(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @recv
        }
    }
    MPI_Finalize();
    return 0;
}
