/* A program without MPI that names a block: io_serial FILE. Comments as in io_forms.c. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "dwell.h"

static char buffer[1000];

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    /* What is written is not to change because it is written. */
    char kept[200];
    if (dlopen("/no/such/library.so", RTLD_NOW) != NULL) return 10;
    const char* why = dlerror();
    snprintf(kept, sizeof(kept), "%s", why);
    fputs(why, stderr);
    if (strcmp(why, kept) != 0) return 11;
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
    /* Its number is a pipe's then. */
    const int last = open(argv[1], O_RDONLY);       /* io: open 1 0 0 */
    if (read(last, buffer, 1000) != 1000) return 7; /* io: read 1 1000 0 */
    closefrom(last);
    int ends[2];
    if (pipe(ends) != 0 || ends[0] != last) return 8;
    if (write(ends[1], buffer, 5) != 5 || read(ends[0], buffer, 5) != 5) return 9;
    return 0;
}
