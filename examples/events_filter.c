/* A filter of events (docs/events-filter.md): keeps only messages of more than so many bytes, and
 * marks each of them.
 *
 *     gcc -O2 -shared -fPIC -o events_filter.so events_filter.c
 *     mpirun -n 2 dwell run --events --events-filter ./events_filter.so:160 ./app
 *
 * Calls stay, so the order of things can be seen; a small message is only missing in its call. Of a
 * program that sends 40 messages of 8, 16, 24 ... 320 bytes each way between two ranks, the log has
 * 20 each way with 160: those of 168 to 320 bytes. Each is in the log as a send and as a receive,
 * so 80 records are dropped and 80 marks added. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "dwell_events.h"

DWELL_EVENT_FILTER

static uint64_t smallest_kept = 4096;

int dwell_event_filter_begin(const char* arguments) {
    char* end = NULL;
    if (*arguments == '\0') return 0;
    smallest_kept = strtoull(arguments, &end, 10);
    if (*end == '\0') return 0;
    fprintf(stderr, "events_filter: %s is no number of bytes\n", arguments);
    return 1;
}

enum dwell_verdict dwell_event_filter_record(struct dwell_event* event,
                                             struct dwell_filter* filter) {
    if (event->kind != DWELL_EVENT_SEND && event->kind != DWELL_EVENT_RECEIVE) return DWELL_KEEP;
    const uint64_t bytes = event->bytes_sent + event->bytes_received;
    if (bytes <= smallest_kept) return DWELL_DROP;
    const uint64_t values[2] = {bytes, (uint64_t)event->tag};
    filter->add_mark(filter, "large message", 2, values);
    return DWELL_KEEP;
}
