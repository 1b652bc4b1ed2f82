/* Three programs whose time should not depend on who watches: matrix multiplication in stages
 * (initialise, distribute, compute, collect), a stencil that exchanges borders, a master with
 * workers; and an exchange of small messages.
 *
 * usage: mpirun -n 2 stages matrix|stencil|master|pingpong REPETITIONS
 *
 * Prints the seconds that each rank took from the end of the first MPI_Pcontrol to the beginning of
 * the second one, and of them those in each stage, and a checksum. The first makes dwell forget
 * what was before, the second one pauses it: what it shows as a rank's virtual time is that of the
 * same stretch. Stages are dwell's phases: their virtual times are those of the same stretches,
 * too.
 *
 * STAGES_PAUSE_NS: so long the program itself pauses before each message of the matrix
 * multiplication and at each change of a stage, and leaves out of its seconds what that took: what
 * is left tells how much slower the machine is for a program that is stretched like that. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwell.h"

enum { kOrder = 160, kGrid = 192, kRow = 256, kMostRanks = 64 };
static int rank, size;
static double a[kOrder][kOrder], b[kOrder][kOrder], c[kOrder][kOrder];
static double sum;

/* The stages of all programs, by name; seconds in each, up to now. */
enum Stage { kInitialise, kDistribute, kCompute, kCollect, kExchange, kStages, kNone = kStages };
static const char* const kNames[kStages] = {"initialise", "distribute", "compute", "collect",
                                            "exchange"};
static double spent[kStages + 1], since;
static enum Stage now_in = kNone;
static double pause_s, paused, all_paused; /* of one; since the stage began; since the beginning */

static void pause_if_asked(void) {
    if (pause_s == 0) return;
    const double begin = MPI_Wtime();
    double now = begin;
    while (now - begin < pause_s) now = MPI_Wtime();
    paused += now - begin;
    all_paused += now - begin;
}

static void enter(enum Stage stage) {
    pause_if_asked();
    const double now = MPI_Wtime();
    spent[now_in] += now - since - paused;
    since = now;
    paused = 0;
    now_in = stage;
    if (stage == kNone) {
        dwell_phase_end();
    } else {
        dwell_phase_next(kNames[stage], 0);
    }
}

static void initialise(int salt) {
    for (int i = 0; i < kOrder; ++i) {
        for (int k = 0; k < kOrder; ++k) {
            a[i][k] = (i * 7 + k + salt) % 13;
            b[i][k] = (i + k * 5 + salt) % 11;
        }
    }
}

/* Rank 0 gives each of the others its rows, one message a row, and gets them back. */
static void matrix(int salt) {
    const int rows = kOrder / size;
    enter(kInitialise);
    if (rank == 0) initialise(salt);
    enter(kDistribute);
    for (int to = 1; to < size && rank == 0; ++to) {
        for (int i = 0; i < kOrder; ++i) {
            pause_if_asked();
            MPI_Send(b[i], kOrder, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
        }
        for (int i = to * rows; i < (to + 1) * rows; ++i) {
            pause_if_asked();
            MPI_Send(a[i], kOrder, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
        }
    }
    const int from = rank * rows;
    if (rank != 0) {
        for (int i = 0; i < kOrder; ++i) {
            pause_if_asked();
            MPI_Recv(b[i], kOrder, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int i = from; i < from + rows; ++i) {
            pause_if_asked();
            MPI_Recv(a[i], kOrder, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    enter(kCompute);
    for (int i = from; i < from + rows; ++i) {
        for (int k = 0; k < kOrder; ++k) c[i][k] = 0;
        for (int j = 0; j < kOrder; ++j) {
            for (int k = 0; k < kOrder; ++k) c[i][k] += a[i][j] * b[j][k];
        }
    }
    enter(kCollect);
    if (rank != 0) {
        for (int i = from; i < from + rows; ++i) {
            pause_if_asked();
            MPI_Send(c[i], kOrder, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
        }
        return;
    }
    for (int of = 1; of < size; ++of) {
        for (int i = of * rows; i < (of + 1) * rows; ++i) {
            pause_if_asked();
            MPI_Recv(c[i], kOrder, MPI_DOUBLE, of, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < kOrder; ++i) sum += c[i][(i + salt) % kOrder];
}

static double grid[kGrid + 2][kGrid], next[kGrid + 2][kGrid];

static void stencil(int salt) {
    const int up = (rank + 1) % size, down = (rank + size - 1) % size;
    grid[1 + salt % kGrid][salt % 7] += 1;
    enter(kExchange);
    MPI_Sendrecv(grid[kGrid], kGrid, MPI_DOUBLE, up, 1, grid[0], kGrid, MPI_DOUBLE, down, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(grid[1], kGrid, MPI_DOUBLE, down, 2, grid[kGrid + 1], kGrid, MPI_DOUBLE, up, 2,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    enter(kCompute);
    for (int i = 1; i <= kGrid; ++i) {
        for (int k = 1; k < kGrid - 1; ++k) {
            next[i][k] = 0.2 * (grid[i][k] + grid[i - 1][k] + grid[i + 1][k] + grid[i][k - 1] +
                                grid[i][k + 1]);
        }
    }
    memcpy(grid[1], next[1], sizeof(double) * kGrid * kGrid);
    sum += grid[kGrid / 2][3];
}

static double work_on(double* row) {
    double result = 0;
    for (int pass = 0; pass < 40; ++pass) {
        for (int k = 0; k < kRow; ++k) result = result * 0.999 + row[k];
    }
    return result;
}

/* Rank 0 gives a row to whoever is done with the one before. */
static void master(int tasks) {
    double row[kRow] = {0}, result = 0;
    MPI_Status status;
    if (rank != 0) {
        for (;;) {
            enter(kDistribute);
            MPI_Recv(row, kRow, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            if (status.MPI_TAG == 2) return;
            enter(kCompute);
            result = work_on(row);
            enter(kCollect);
            MPI_Send(&result, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
        }
    }
    int given = 0;
    enter(kDistribute);
    for (int to = 1; to < size && given < tasks; ++to, ++given) {
        row[given % kRow] = given;
        MPI_Send(row, kRow, MPI_DOUBLE, to, 1, MPI_COMM_WORLD);
    }
    for (int done = 0; done < given; ++done) {
        enter(kCollect);
        MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status);
        sum += result;
        if (given == tasks) continue;
        enter(kDistribute);
        row[given % kRow] = given;
        ++given;
        MPI_Send(row, kRow, MPI_DOUBLE, status.MPI_SOURCE, 1, MPI_COMM_WORLD);
    }
    enter(kDistribute);
    for (int to = 1; to < size; ++to) MPI_Send(row, 0, MPI_DOUBLE, to, 2, MPI_COMM_WORLD);
}

static void pingpong(void) {
    double value = sum;
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&value, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
    sum = value + 1;
}

static void run(const char* what, int repetitions) {
    for (int i = 0; i < repetitions; ++i) {
        if (strcmp(what, "matrix") == 0) matrix(i);
        if (strcmp(what, "stencil") == 0) stencil(i);
        if (strcmp(what, "pingpong") == 0) pingpong();
    }
    if (strcmp(what, "master") == 0) master(repetitions);
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "matrix";
    const int repetitions = argc > 2 ? atoi(argv[2]) : 20;
    const char* pause_ns = getenv("STAGES_PAUSE_NS");
    if (pause_ns != NULL) pause_s = atof(pause_ns) * 1e-9;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    run(what, repetitions < 20 ? repetitions : 20); /* pages, caches, connections */
    enter(kNone);
    MPI_Barrier(MPI_COMM_WORLD);
    sum = 0;
    memset(grid, 0, sizeof(grid));
    memset(next, 0, sizeof(next));
    MPI_Pcontrol(2);
    const double begin = MPI_Wtime();
    memset(spent, 0, sizeof(spent));
    since = begin;
    paused = all_paused = 0;
    run(what, repetitions);
    enter(kNone);
    const double seconds = MPI_Wtime() - begin - all_paused;
    MPI_Pcontrol(0);
    double all[kMostRanks], of[kMostRanks][kStages];
    MPI_Gather(&seconds, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Gather(spent, kStages, MPI_DOUBLE, of, kStages, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == 0; ++r) {
        printf("rank %d: %.9f s\n", r, all[r]);
        for (int k = 0; k < kStages; ++k) {
            if (of[r][k] > 0) printf("rank %d, %s: %.9f s\n", r, kNames[k], of[r][k]);
        }
    }
    if (rank == 0) printf("checksum %.6f\n", sum);
    MPI_Finalize();
    return 0;
}
