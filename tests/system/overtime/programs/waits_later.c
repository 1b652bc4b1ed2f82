// Waiting that begins at half time. In 100 rounds both ranks work 5 ms; in 100 more rank 0 works
// 5 ms and rank 1 nothing: so rank 1 waits 0.5 s, all of it in the second half. Each round rank 0
// sends 1000 bytes and rank 1 none. The first half is the phase `even`, the second one `uneven`.
// Rank 0 prints how long it worked in the second half, which is longer on a busy machine.
#include <dwell.h>
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { kRounds = 100, kBytes = 1000 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double worked;

static void work(double seconds) {
    const double began = now();
    while (now() < began + seconds) continue;
    worked += now() - began;
}

static char data[kBytes];

static void round_of(int rank, double mine) {
    work(mine);
    if (rank == 0) {
        MPI_Send(data, kBytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, kBytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char** argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1) MPI_Pcontrol(2);  // what was before is discarded
    dwell_phase_begin("even", 1);
    for (int i = 0; i < kRounds; ++i) round_of(rank, 0.005);
    dwell_phase_end();
    if (argc > 2) MPI_Pcontrol(2);
    worked = 0;
    dwell_phase_begin("uneven", 1);
    for (int i = 0; i < kRounds; ++i) round_of(rank, rank == 0 ? 0.005 : 0);
    dwell_phase_end();
    if (rank == 0) printf("%.6f\n", worked);
    MPI_Finalize();
    return 0;
}
