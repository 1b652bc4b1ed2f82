// What an OpenMP construct costs: nanoseconds of each, best one percent of many short chunks on the
// thread that forks. Run with and without dwell; one printed line for each construct.
//
// openmp_cost CHUNKS
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PER_CHUNK = 50 };

static double now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static void show(const char* name, double* chunk_ns, int chunks) {
    qsort(chunk_ns, (size_t)chunks, sizeof *chunk_ns, ascending);
    printf("%s: %.1f\n", name, chunk_ns[chunks / 100] / PER_CHUNK);
}

static void region(void) {
#pragma omp parallel
    __asm__ volatile("");
}

int main(int argc, char** argv) {
    const int chunks = argc > 1 ? atoi(argv[1]) : 1000;
    double* chunk_ns = malloc((size_t)chunks * sizeof *chunk_ns);
    if (chunks < 1 || chunk_ns == NULL) return 1;
    omp_set_num_threads(2);
    omp_set_dynamic(0);
    region();
    for (int c = 0; c < chunks; c++) {
        const double begin = now_ns();
        for (int i = 0; i < PER_CHUNK; i++) region();
        chunk_ns[c] = now_ns() - begin;
    }
    show("region", chunk_ns, chunks);

#define IN_REGION(name, construct)                                         \
    do {                                                                   \
        _Pragma("omp parallel") for (int c = 0; c < chunks; c++) {         \
            const double begin = now_ns();                                 \
            for (int i = 0; i < PER_CHUNK; i++) construct;                 \
            if (omp_get_thread_num() == 0) chunk_ns[c] = now_ns() - begin; \
        }                                                                  \
        show(name, chunk_ns, chunks);                                      \
    } while (0)

    // No thread waits for the other one here. gcc deals out static loops itself.
#if defined(__GNUC__) && !defined(__clang__)
    IN_REGION("loop", {
        _Pragma("omp for schedule(dynamic) nowait") for (int k = 0; k < 2;
                                                         k++) __asm__ volatile("");
    });
#else
    IN_REGION("loop", {
        _Pragma("omp for schedule(static) nowait") for (int k = 0; k < 2; k++) __asm__ volatile("");
    });
#endif
    IN_REGION("barrier", { _Pragma("omp barrier"); });
    // Tasks that are executed at once by who creates them.
    IN_REGION("task", { _Pragma("omp task if(0)") __asm__ volatile(""); });
    omp_set_num_threads(1);
    IN_REGION("critical", { _Pragma("omp critical") __asm__ volatile(""); });
    free(chunk_ns);
    return 0;
}
