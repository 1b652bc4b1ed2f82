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
        break;
#define TEN(tens)                                                                   \
    SEND(tens * 10 + 0)                                                             \
    SEND(tens * 10 + 1)                                                             \
    SEND(tens * 10 + 2) SEND(tens * 10 + 3) SEND(tens * 10 + 4) SEND(tens * 10 + 5) \
        SEND(tens * 10 + 6) SEND(tens * 10 + 7) SEND(tens * 10 + 8) SEND(tens * 10 + 9)

__attribute__((noinline)) static void send_at(int site) {
    work(50e-6);
    switch (site) { TEN(0) TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) }
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
