/* Blocks that are open when events go off, when they go on again, or both. The blocks "short" are
 * three, each at the same depth; events are off for 50 ms of the first two. */
#include <dwell.h>
#include <unistd.h>

int main(void) {
    dwell_events_on();
    dwell_block_begin("around");
    dwell_block_begin("short");
    dwell_block_begin("innermost");
    dwell_events_off();
    dwell_block_end("innermost");
    usleep(50000);
    dwell_block_end("short");

    dwell_block_begin("short");
    usleep(50000);
    dwell_events_on();
    dwell_block_begin("whole");
    dwell_block_end("whole");
    dwell_events_off();
    dwell_block_end("short");

    dwell_block_begin("short");
    dwell_block_begin("twice");
    dwell_events_on();
    dwell_block_begin("twice");
    dwell_events_off();
    usleep(1000);
    dwell_events_on();
    dwell_block_end("twice");
    dwell_block_end("twice");
    dwell_block_end("short");
    dwell_block_end("around");
    return 0;
}
