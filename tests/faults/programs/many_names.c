// Without MPI: 3000 blocks of different names, once each, so that its records take half a megabyte.
// Sleeps argv[1] seconds at the end.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dwell.h"

int main(int argc, char** argv) {
    int done = 0;
    for (int i = 0; i < 3000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "block number %d", i);
        dwell_block_begin(name);
        done++;
        dwell_block_end(name);
    }
    printf("%d blocks\n", done);
    if (argc > 1) usleep((useconds_t)(1e6 * atof(argv[1])));
    return 3;
}
