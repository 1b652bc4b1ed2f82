/* What dwell_query() answers while the program runs. Two ranks; line numbers are found by the
 * marks.
 *
 *   work       20 entries of 5 ms, from a loop of 20 iterations: 100 ms
 *   down(5)    twice: 6 entries each, of 2 ms each: 12 entries, 24 ms, counted once
 *   exchange   rank 0 receives 4 times 4096 bytes from rank 1, which spins 10 ms before each; then
 *              rank 0 sends 1024 bytes: one call a line
 *   phase      "step", open when it is asked for, with all of that in it
 *
 * Each line of output: rank, name, whether it is known, the figures, and the wall time in ns that
 * the part took by the program's own clock. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "dwell.h"
#include "pass_time.h"

static int g_rank;

static unsigned long long now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000ull + (unsigned long long)t.tv_nsec;
}

static void say(const char* name, int known, const struct dwell_figures* f,
                unsigned long long wall_ns) {
    printf("%d %s %d %llu %llu %llu %llu %llu %llu %llu %llu %llu %llu\n", g_rank, name, known,
           (unsigned long long)f->count, (unsigned long long)f->inclusive_ns,
           (unsigned long long)f->exclusive_ns, (unsigned long long)f->open_ns,
           (unsigned long long)f->waiting_ns, (unsigned long long)f->transfer_ns,
           (unsigned long long)f->bytes_sent, (unsigned long long)f->bytes_received,
           (unsigned long long)f->flags, wall_ns);
}

static void ask(const char* name, unsigned long long wall_ns) {
    struct dwell_figures figures;
    memset(&figures, 0x5a, sizeof figures);
    const int known = dwell_query(name, &figures);
    say(name, known, &figures, wall_ns);
}

static void ask_line(int line, unsigned long long wall_ns) {
    char name[64];
    snprintf(name, sizeof name, "query.c:%d", line);
    ask(name, wall_ns);
}

__attribute__((noinline)) static void work(void) {
    spin_ms(5);
    keep();
}

__attribute__((noinline)) static int work_often(void) {
    const int often = g_rank < 2 ? 20 : 0; /* so that the loop stays one */
    const int line = __LINE__ + 1;
    for (int i = 0; i < often; ++i) {
        work();
    }
    keep();
    return line;
}

__attribute__((noinline)) static void down(int depth) {
    spin_ms(2);
    if (depth > 0) down(depth - 1);
    keep();
}

/* Returns how long rank 0 was in its receives. `lines`: of the barrier and the receive. */
__attribute__((noinline)) static unsigned long long exchange(int* lines) {
    static char buffer[4096];
    unsigned long long took = 0;
    for (int i = 0; i < 4; ++i) {
        lines[0] = __LINE__ + 1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (g_rank == 1) spin_ms(10);
        const unsigned long long begin = now_ns();
        lines[1] = __LINE__ + 1;
        if (g_rank == 0) MPI_Recv(buffer, 4096, MPI_BYTE, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        took += g_rank == 0 ? now_ns() - begin : 0;
        if (g_rank == 1) MPI_Send(buffer, 4096, MPI_BYTE, 0, 7, MPI_COMM_WORLD);
    }
    if (g_rank == 0) MPI_Send(buffer, 1024, MPI_BYTE, 1, 8, MPI_COMM_WORLD);
    if (g_rank == 1) MPI_Recv(buffer, 1024, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    keep();
    return took;
}

int main(int argc, char** argv) {
    struct dwell_figures figures;
    ask("work", 0); /* before MPI_Init */
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    printf("%d version %d\n", g_rank, dwell_version() != NULL);
    dwell_phase_begin("step", 3);
    const unsigned long long step = now_ns();
    const int loop = work_often();
    const unsigned long long worked = now_ns() - step;
    ask("work", worked);
    ask_line(loop, worked);
    ask_line(loop + 1, worked);
    const unsigned long long deep = now_ns();
    down(5);
    down(5);
    ask("down", now_ns() - deep);
    int lines[2];
    const unsigned long long received = exchange(lines);
    ask("MPI_Recv", received);
    ask_line(lines[0], now_ns() - deep);
    ask_line(lines[1], received);
    ask("exchange", received);
    ask("step", now_ns() - step);
    const int known = dwell_query_partner(1 - g_rank, &figures);
    say("partner", known, &figures, received);
    ask("nothing", 0);
    ask("query.c:1", 0);
    dwell_phase_end();
    ask("step", now_ns() - step);
    MPI_Finalize();
    ask("work", 0);
    return 0;
}
