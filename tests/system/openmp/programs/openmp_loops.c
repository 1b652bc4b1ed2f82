// Loops of every schedule with known chunks, T = 4 threads of 1 region each; no time matters.
#include <omp.h>

#define WORK __asm__ volatile("")

static volatile int zero;

// Chunk k goes to thread k modulo 4.
static void statics(void) {
#pragma omp parallel
    {
#pragma omp for schedule(static)  // @even: one chunk each, of 3, 3, 2 and 2
        for (int i = 0; i < 10; i++) WORK;
#pragma omp for schedule(static)  // @few: 2 threads have one iteration each, the others none
        for (int i = 0; i < 2; i++) WORK;
#pragma omp for schedule(static, 3)  // @threes: 3 3 3 3 3 3 2, so 6, 6, 5 and 3 in 2, 2, 2 and 1
        for (int i = 0; i < 20; i++) WORK;
#pragma omp for schedule(static, 8)  // @eights: 8 8 4, and none
        for (int i = 0; i < 20; i++) WORK;
#pragma omp for schedule(static, 1)  // @down: -30, -27 ... 30, downwards: 6, 5, 5 and 5
        for (long i = 30; i >= -30; i -= 3) WORK;
#pragma omp for ordered schedule(static, 8)  // @ordered: as those, but handed out by the runtime
        for (int i = 0; i < 20; i++) {
#pragma omp ordered
            WORK;
        }
#pragma omp for schedule(static, 2)  // @none: nothing to do
        for (int i = 0; i < zero; i++) WORK;
    }
}

// Who gets a chunk depends on who comes first, how many there are does not.
static void others(void) {
#pragma omp parallel
    {
#pragma omp for schedule(dynamic)  // @ones: 20 chunks
        for (int i = 0; i < 20; i++) WORK;
#pragma omp for schedule(dynamic, 3)  // @dynamic: 7 chunks
        for (int i = 0; i < 20; i++) WORK;
#pragma omp for collapse(2) schedule(dynamic, 4)  // @collapsed: 30 iterations in 8 chunks
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 5; j++) WORK;
#pragma omp for schedule(guided, 10)  // @guided: the rest divided by 8, then tens (test)
        for (int i = 0; i < 400; i++) WORK;
#pragma omp for schedule(runtime)  // @runtime: OMP_SCHEDULE=dynamic,7: 15 chunks
        for (int i = 0; i < 100; i++) WORK;
#pragma omp single
#pragma omp taskloop num_tasks(5)  // @taskloop: 5 tasks of 6
        for (int i = 0; i < 30; i++) WORK;
    }
}

// 2 teams, each of which has 20 of 40 iterations: one after the other, for thread 0 of each alone.
static void teams(void) {
#pragma omp teams num_teams(2) thread_limit(1)  // @teams
#pragma omp distribute parallel for             // @distribute
    for (int i = 0; i < 40; i++) WORK;
}

int main(void) {
    omp_set_num_threads(4);
    omp_set_dynamic(0);
    statics();
    others();
    teams();
    return 0;
}
