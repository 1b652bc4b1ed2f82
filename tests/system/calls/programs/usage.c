/* What the operating system counts of it is known: usage FOLDER [die|reset]. Rank r does, after
 * MPI_Init,
 *   (r + 1) * 4000 times     touch a page of memory that it has not touched before, all of them
 *                            resident at a time: as many minor page faults;
 *   2048 times               write and read back 4096 bytes of a file in FOLDER: 8 MiB each way;
 *   200 times                sleep: as many voluntary context switches.
 * What getrusage and /proc/self/io say of it at its start and before its end it writes to
 * FOLDER/own.<rank>. With "die" rank 0 kills itself before the end, 2.5 s after the pages were
 * touched. With "reset" all is done twice, and what was recorded is forgotten between. */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kPages = 4000, kBlocks = 2048, kBlock = 4096, kSleeps = 200 };

static void touch_pages(long pages) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char* memory = mmap(NULL, (size_t)pages * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED || madvise(memory, (size_t)pages * page, MADV_NOHUGEPAGE) != 0) {
        perror("memory");
        exit(3);
    }
    for (long i = 0; i < pages; ++i) memory[(size_t)i * page] = 1;
    munmap(memory, (size_t)pages * page);
}

static void move_bytes(const char* folder, int rank) {
    static char block[kBlock];
    char path[4096];
    snprintf(path, sizeof(path), "%s/data.%d", folder, rank);
    const int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    for (int i = 0; i < kBlocks; ++i) {
        if (write(file, block, kBlock) != kBlock) exit(4);
    }
    lseek(file, 0, SEEK_SET);
    for (int i = 0; i < kBlocks; ++i) {
        if (read(file, block, kBlock) != kBlock) exit(5);
    }
    close(file);
}

static void sleep_often(void) {
    const struct timespec pause = {0, 100000};
    for (int i = 0; i < kSleeps; ++i) nanosleep(&pause, NULL);
}

static void tell(FILE* out, const char* when) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    fprintf(out, "%s user_us %ld\n", when,
            usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec);
    fprintf(out, "%s system_us %ld\n", when,
            usage.ru_stime.tv_sec * 1000000 + usage.ru_stime.tv_usec);
    fprintf(out, "%s minor_faults %ld\n", when, usage.ru_minflt);
    fprintf(out, "%s major_faults %ld\n", when, usage.ru_majflt);
    fprintf(out, "%s voluntary_switches %ld\n", when, usage.ru_nvcsw);
    fprintf(out, "%s involuntary_switches %ld\n", when, usage.ru_nivcsw);
    fprintf(out, "%s peak_kib %ld\n", when, usage.ru_maxrss);
    FILE* io = fopen("/proc/self/io", "r");
    char line[200];
    while (io != NULL && fgets(line, sizeof(line), io) != NULL) fprintf(out, "%s %s", when, line);
    if (io != NULL) fclose(io);
    fflush(out);
}

int main(int argc, char** argv) {
    const char* folder = argv[1];
    const char* mode = argc > 2 ? argv[2] : "";
    char* own = NULL;
    size_t own_bytes = 0;
    FILE* told = open_memstream(&own, &own_bytes);
    tell(told, "start");
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < (strcmp(mode, "reset") == 0 ? 2 : 1); ++round) {
        if (round == 1) MPI_Pcontrol(2);
        touch_pages((rank + 1L) * kPages);
        move_bytes(folder, rank);
        sleep_often();
    }
    if (strcmp(mode, "die") == 0) {
        const double from = MPI_Wtime();
        while (MPI_Wtime() - from < 2.5) MPI_Barrier(MPI_COMM_SELF);
        if (rank == 0) raise(SIGKILL);
    }
    if (strcmp(mode, "die") != 0) MPI_Barrier(MPI_COMM_WORLD);
    tell(told, "end");
    fclose(told);
    char path[4096];
    snprintf(path, sizeof(path), "%s/own.%d", folder, rank);
    FILE* file = fopen(path, "w");
    fputs(own, file);
    fclose(file);
    free(own);
    MPI_Finalize();
    return 0;
}
