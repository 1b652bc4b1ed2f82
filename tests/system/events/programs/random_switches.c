/* ARGV[2] random steps with the seed ARGV[1]: nested blocks, markers, and events off or on. Prints
 * each step with the state of events: "B name 1", "E name 1", "M 1". */
#include <dwell.h>
#include <stdio.h>
#include <stdlib.h>

enum { kDeepest = 8 };

static const char* names[] = {"a", "b", "c", "d"};
static int left;
static int on = 1;

static void within(int depth) {
    while (left-- > 0) {
        const int step = rand() % 10;
        if (step < 4 && depth < kDeepest) {
            const char* name = names[rand() % 4];
            printf("B %s %d\n", name, on);
            dwell_block_begin(name);
            within(depth + 1);
            dwell_block_end(name);
            printf("E %s %d\n", name, on);
        } else if (step < 7 && depth > 0) {
            return;
        } else if (step < 8) {
            on = !on;
            if (on) {
                dwell_events_on();
            } else {
                dwell_events_off();
            }
        } else {
            printf("M %d\n", on);
            dwell_mark("m", 1);
        }
    }
}

int main(int argc, char** argv) {
    srand(argc > 2 ? (unsigned)atoi(argv[1]) : 0);
    left = argc > 2 ? atoi(argv[2]) : 0;
    dwell_events_on();
    while (left > 0) within(0);
    return 0;
}
