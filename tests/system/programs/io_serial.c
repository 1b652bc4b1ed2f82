/* A program without MPI that names a block: io_serial FILE. Comments as in io_forms.c. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "dwell.h"

static char buffer[1000];

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    /* Nothing is observed before the first block begins. */
    const int file = open(argv[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < 40; ++i) {
        dwell_block_begin("step");
        if (write(file, buffer, 1000) != 1000) return 3; /* io: write 40 0 40000 */
        dwell_block_end("step");
    }
    for (int i = 0; i < 7; ++i) {
        if (pread(file, buffer, 1000, 0) != 1000) return 4; /* io: pread 7 7000 0 */
    }
    if (fsync(file) != 0) return 5; /* io: fsync 1 0 0 */
    if (close(file) != 0) return 6; /* io: close 1 0 0 */
    return 0;
}
