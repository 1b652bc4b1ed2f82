/* Everything of dwell.h. With the argument "kill" the program ends by SIGKILL, so that its records
 * can be read as they are.
 *
 *   block around:            1, in it:
 *     phase step:           10, last iteration 9, in each:
 *       block work:          3 times, volume 100 each: 30, 3000
 *         marker event:      30, volume 2 each: 60
 *     block recursive:       4 deep: 40, of them 30 untimed, volume 1 at the innermost: 10
 *     block from a function: begun in start(), ended in stop(): 5
 *     C scope:               7
 *   grid:                    3 x 4 x 5, the second periodic, at 2 3 4
 *   What begins in the pause is not recorded.
 */
#include "dwell.h"

#include <signal.h>
#include <stdio.h>

/* Two declarations on one line compile. */
#define BOTH_SCOPES       \
    DWELL_SCOPE("first"); \
    DWELL_SCOPE("second")
__attribute__((unused)) static void on_one_line(void) { BOTH_SCOPES; }

static void recurse(int depth) {
    DWELL_BLOCK_BEGIN("recursive");
    if (depth > 1) {
        recurse(depth - 1);
    } else {
        dwell_block_volume(1);
    }
    DWELL_BLOCK_END("recursive");
}

static void scoped(void) {
    DWELL_SCOPE("scope");
    if (dwell_is_recording() == 2) return;
}

static void start(void) { dwell_block_begin("carried"); }
static void stop(void) { dwell_block_end("carried"); }

int main(int argc, char** argv) {
    const int sizes[3] = {3, 4, 5};
    const int periodic[3] = {0, 1, 0};
    const int place[3] = {2, 3, 4};
    const int nowhere[3] = {3, 0, 0};
    char name[16] = "around";
    dwell_block_begin(name);
    for (int step = 0; step < 10; ++step) {
        dwell_phase_next("step", (uint64_t)step);
        for (int i = 0; i < 3; ++i) {
            DWELL_BLOCK_BEGIN("work");
            DWELL_MARK("event", 2);
            dwell_block_volume(100);
            dwell_block_end("work");
        }
        recurse(4);
    }
    dwell_phase_end();
    for (int i = 0; i < 5; ++i) {
        start();
        stop();
    }
    for (int i = 0; i < 7; ++i) scoped();
    dwell_grid("cart", 3, sizes, periodic, place);
    dwell_grid("nowhere", 3, sizes, periodic, nowhere);
    dwell_pause();
    printf("in the pause %d\n", dwell_is_recording());
    DWELL_BLOCK_BEGIN("unseen");
    dwell_mark("unseen too", 1);
    dwell_resume();
    DWELL_BLOCK_END("unseen");
    printf("after it %d\n", dwell_is_recording());
    dwell_block_end(name);
    dwell_block_end("never begun");
    printf("version %s\n", dwell_version() != NULL ? dwell_version() : "none");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "kill") == 0) raise(SIGKILL);
    return 0;
}
