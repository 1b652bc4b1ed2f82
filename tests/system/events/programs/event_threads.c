// Two threads, each of which is three times in a block; a block while events are off; then, with an
// argument, as many blocks as it says, in quick succession.
#include <stdlib.h>
#include <unistd.h>

#include "dwell.h"

int main(int argc, char** argv) {
#pragma omp parallel num_threads(2)
    for (int i = 0; i < 3; ++i) {
        dwell_block_begin("part");
        dwell_block_end("part");
    }
    dwell_events_off();
    dwell_block_begin("unseen");
    dwell_block_end("unseen");
    dwell_events_on();
    for (long left = argc > 1 ? atol(argv[1]) : 0; left > 0; --left) {
        dwell_block_begin("quick");
        dwell_block_end("quick");
    }
    usleep(300000);  // a flight recorder is read at the end, of processes that were seen before
    return 0;
}
