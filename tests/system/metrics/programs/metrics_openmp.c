// Page faults of two threads of OpenMP: 3 regions, in each a static loop of two iterations, one for
// each thread. Iteration i touches (i + 1) * 1000 pages: 3000 of thread 0, 6000 of thread 1.
#define _GNU_SOURCE
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void touch(long pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* memory = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (size_t)pages * page, MADV_NOHUGEPAGE) != 0) {
        exit(4);
    }
    for (long i = 0; i < pages; ++i) memory[(size_t)i * page] = 1;
    munmap(memory, (size_t)pages * page);
}

int main(void) {
    omp_set_dynamic(0);
    omp_set_num_threads(2);
    for (int k = 0; k < 3; k++) {
#pragma omp parallel for schedule(static)
        for (int i = 0; i < 2; i++) touch((i + 1) * 1000L);
    }
    puts("done");
    return 0;
}
