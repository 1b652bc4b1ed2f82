// Parallel regions before, while and after events are off for a second, and a block around all that
// ends while they are off again.
#include <unistd.h>

#include "dwell.h"

static void region(void) {
#pragma omp parallel num_threads(2)
    dwell_mark("in region", 1);
}

int main(void) {
    dwell_block_begin("around");
    region();
    dwell_events_off();
    sleep(1);
    region();
    dwell_events_on();
    region();
    dwell_events_off();
    dwell_block_end("around");
    region();
    return 0;
}
