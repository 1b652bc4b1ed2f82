/* What a wrapped I/O call costs: the function as the program calls it (through dwell) against the C
 * library's own, in alternating chunks of one run. The best one percent of the chunks of each side
 * stand for the cost. The file lies in the page cache.
 *
 * usage: mpirun -n 1 [dwell run --io on|off] io_cost FILE [CHUNKS]
 *
 * Costs are printed in nanoseconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

enum { kCalls = 100, kMaxChunks = 100000 };

typedef struct {
    __typeof__(&pread) pread;
    __typeof__(&pwrite) pwrite;
    __typeof__(&fwrite) fwrite;
    __typeof__(&fgets) fgets;
} Api;

static int g_file;
static FILE* g_out;
static FILE* g_in;
static char g_bytes[64];
static uint64_t g_with[kMaxChunks], g_without[kMaxChunks];

#define BODY(name, prepare, call)                                    \
    static __attribute__((noinline)) uint64_t name(const Api* api) { \
        prepare;                                                     \
        const uint64_t start = __rdtsc();                            \
        for (int i = 0; i < kCalls; ++i) call;                       \
        return __rdtsc() - start;                                    \
    }
static volatile ssize_t g_result;
static char* volatile g_line;
BODY(body_pread, , g_result = api->pread(g_file, g_bytes, 1, 0))
BODY(body_pwrite, , g_result = api->pwrite(g_file, g_bytes, 1, 0))
BODY(body_fwrite, rewind(g_out), g_result = (ssize_t)api->fwrite(g_bytes, 16, 1, g_out))
BODY(body_fgets, rewind(g_in), g_line = api->fgets(g_bytes, 32, g_in))

static int by_size(const void* a, const void* b) {
    const uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
    return x < y ? -1 : x > y;
}
static double best_percent(uint64_t* ticks, int chunks) {
    qsort(ticks, (size_t)chunks, sizeof(*ticks), by_size);
    return (double)ticks[chunks / 100];
}

static double tick_ns(void) {
    struct timespec a, b;
    clock_gettime(CLOCK_MONOTONIC, &a);
    const uint64_t start = __rdtsc();
    do clock_gettime(CLOCK_MONOTONIC, &b);
    while ((b.tv_sec - a.tv_sec) * 1000000000L + (b.tv_nsec - a.tv_nsec) < 20000000L);
    const uint64_t ticks = __rdtsc() - start;
    return (double)((b.tv_sec - a.tv_sec) * 1000000000L + (b.tv_nsec - a.tv_nsec)) / (double)ticks;
}

static void measure(const char* name, uint64_t (*body)(const Api*), const Api* with,
                    const Api* without, int chunks, double ns_per_tick) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
        g_with[chunk] = body(with);
        g_without[chunk] = body(without);
    }
    const double a = best_percent(g_with, chunks) * ns_per_tick / kCalls;
    const double b = best_percent(g_without, chunks) * ns_per_tick / kCalls;
    printf("%s: %.1f of %.1f\n", name, a - b, b);
}

int main(int argc, char** argv) {
    int chunks = argc > 2 ? atoi(argv[2]) : 3000;
    if (chunks < 1) chunks = 1;
    if (chunks > kMaxChunks) chunks = kMaxChunks;
    MPI_Init(&argc, &argv);
    void* library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
    if (argc < 2 || library == NULL) {
        fprintf(stderr, "usage: io_cost FILE [CHUNKS]; with glibc\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    g_out = fopen(argv[1], "w");
    for (int i = 0; i < kCalls; ++i) fputs("fifteen letters\n", g_out);
    fflush(g_out);
    g_in = fopen(argv[1], "r");
    g_file = open(argv[1], O_RDWR);
    const Api with = {pread, pwrite, fwrite, fgets};
    const Api without = {dlsym(library, "pread"), dlsym(library, "pwrite"),
                         dlsym(library, "fwrite"), dlsym(library, "fgets")};
    const double ns = tick_ns();
    measure("pread of a byte", body_pread, &with, &without, chunks, ns);
    measure("pwrite of a byte", body_pwrite, &with, &without, chunks, ns);
    measure("fwrite of 16 bytes", body_fwrite, &with, &without, chunks, ns);
    measure("fgets of 16 bytes", body_fgets, &with, &without, chunks, ns);
    MPI_Finalize();
    return 0;
}
