/* A phase that begins before the loop in which it goes on, and ends there: the loop, and what is
 * open in it, move below other phases. argv[1]: the number of turns. Run without MPI. */
#include <dwell.h>
#include <stdlib.h>

__attribute__((noinline)) static double work(int steps) {
    double sum = 0;
    for (int i = 1; i < steps; ++i) sum += 1.0 / i;
    return sum;
}

int main(int argc, char** argv) {
    const int turns = argc > 1 ? atoi(argv[1]) : 1;
    double sum = 0;
    dwell_phase_begin("turn", 0);
    for (int turn = 0; turn < turns; ++turn) {
        if (turn != 0) dwell_phase_next("turn", turn);
        for (int half = 0; half < 2; ++half) {
            sum += work(3000);
            DWELL_MARK("half", half);
        }
        if (turn + 1 == turns) dwell_phase_end();
        sum += work(500);
    }
    return sum > 0 ? 0 : 1;
}
