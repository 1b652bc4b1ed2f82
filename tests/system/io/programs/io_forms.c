/* Every form of reading and writing that the library follows, on one rank or more: io_forms FOLDER.
 * A comment "io: NAME COUNT READ WRITTEN" says what a right profile shows at its line for each
 * rank. Nothing else of this file is recorded: pipes, sockets, standard streams, memory. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(int line, const char* what) {
    fprintf(stderr, "io_forms.c:%d: %s: %s\n", line, what, strerror(errno));
    exit(9);
}
#define CHECK(condition)                              \
    do {                                              \
        if (!(condition)) fail(__LINE__, #condition); \
    } while (0)

static char buffer[4096];
/* Known to nobody at compile time, so that fortified code checks it. */
static volatile size_t k100 = 100;
static volatile int kThree = 3;

/* Before main: nothing is observed yet, and nothing may break. */
static __attribute__((constructor)) void early(void) {
    FILE* file = fopen("/dev/null", "w");
    CHECK(file != NULL && fputs("early", file) >= 0 && fclose(file) == 0);
    CHECK(write(-1, buffer, 1) == -1 && errno == EBADF);
}

/* The function itself: of getline() the header makes another one, inline. */
static ssize_t (*volatile get_line)(char**, size_t*, FILE*) = getline;

static int print_list(FILE* file, const char* format, ...) {
    va_list list;
    va_start(list, format);
    const int bytes = vfprintf(file, format, list); /* io: vfprintf 1 0 8 */
    va_end(list);
    return bytes;
}

static int print_list_to(int file, const char* format, ...) {
    va_list list;
    va_start(list, format);
    const int bytes = vdprintf(file, format, list); /* io: vdprintf 1 0 8 */
    va_end(list);
    return bytes;
}

static void descriptors(const char* path, const char* folder) {
    struct iovec parts[2] = {{buffer, 60}, {buffer + 100, 40}};
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600); /* io: open 1 0 0 */
    CHECK(file >= 0);
    for (int i = 0; i < kThree; ++i) {
        CHECK(write(file, buffer, k100) == 100); /* io: write 3 0 300 */
    }
    CHECK(pwrite(file, buffer, k100, 300) == 100);     /* io: pwrite 1 0 100 */
    CHECK(pwrite64(file, buffer, k100, 400) == 100);   /* io: pwrite 1 0 100 */
    CHECK(writev(file, parts, 2) == 100);              /* io: writev 1 0 100 */
    CHECK(pwritev(file, parts, 2, 500) == 100);        /* io: pwritev 1 0 100 */
    CHECK(pwritev64(file, parts, 2, 600) == 100);      /* io: pwritev 1 0 100 */
    CHECK(pwritev2(file, parts, 2, 700, 0) == 100);    /* io: pwritev2 1 0 100 */
    CHECK(pwritev64v2(file, parts, 2, 800, 0) == 100); /* io: pwritev2 1 0 100 */
    CHECK(fsync(file) == 0);                           /* io: fsync 1 0 0 */
    CHECK(fdatasync(file) == 0);                       /* io: fdatasync 1 0 0 */
    CHECK(lseek(file, 0, SEEK_SET) == 0);
    for (int i = 0; i < kThree; ++i) {
        CHECK(read(file, buffer, k100) == 100); /* io: read 3 300 0 */
    }
    CHECK(pread(file, buffer, k100, 0) == 100);     /* io: pread 1 100 0 */
    CHECK(pread64(file, buffer, k100, 0) == 100);   /* io: pread 1 100 0 */
    CHECK(readv(file, parts, 2) == 100);            /* io: readv 1 100 0 */
    CHECK(preadv(file, parts, 2, 0) == 100);        /* io: preadv 1 100 0 */
    CHECK(preadv64(file, parts, 2, 0) == 100);      /* io: preadv 1 100 0 */
    CHECK(preadv2(file, parts, 2, 0, 0) == 100);    /* io: preadv2 1 100 0 */
    CHECK(preadv64v2(file, parts, 2, 0, 0) == 100); /* io: preadv2 1 100 0 */
    CHECK(pread(file, buffer, k100, 850) == 50);    /* io: pread 1 50 0 */
    CHECK(pread(file, buffer, k100, 5000) == 0);    /* io: pread 1 0 0 */
    for (int i = 0; i < kThree; ++i) {
        CHECK(dprintf(file, "%04d\n", kThree) == 5); /* io: dprintf 3 0 15 */
    }
    CHECK(print_list_to(file, "%07d\n", kThree) == 8);
    /* Another name of the same file, and one that is taken over from a socket. */
    int pair[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    CHECK(write(pair[0], buffer, 10) == 10 && read(pair[1], buffer, 10) == 10);
    CHECK(dup2(file, pair[0]) == pair[0]);
    CHECK(pwrite(pair[0], buffer, 10, 0) == 10); /* io: pwrite 1 0 10 */
    CHECK(dup2(pair[1], pair[0]) == pair[0]);
    CHECK(read(pair[0], buffer, 1) == 0);
    CHECK(close(pair[0]) == 0 && close(pair[1]) == 0);
    CHECK(close(file) == 0); /* io: close 1 0 0 */
    int ends[2];
    CHECK(pipe(ends) == 0);
    CHECK(write(ends[1], buffer, 10) == 10 && read(ends[0], buffer, 10) == 10);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);

    const int place = open64(folder, O_RDONLY | O_DIRECTORY);
    CHECK(place >= 0);
    file = openat(place, "other", O_RDWR | O_CREAT, 0600); /* io: openat 1 0 0 */
    CHECK(file >= 0 && close(file) == 0);                  /* io: close 1 0 0 */
    file = openat64(place, "other", O_RDWR);               /* io: openat 1 0 0 */
    CHECK(file >= 0 && close(file) == 0);                  /* io: close 1 0 0 */
    CHECK(close(place) == 0);
    file = creat(path, 0600);             /* io: creat 1 0 0 */
    CHECK(file >= 0 && close(file) == 0); /* io: close 1 0 0 */
    file = open64(path, O_RDWR);          /* io: open 1 0 0 */
    CHECK(file >= 0);
    CHECK(write(file, buffer, 0) == 0); /* io: write 1 0 0 */
    CHECK(close(file) == 0);            /* io: close 1 0 0 */
}

static void kept_errno(const char* path) {
    errno = 0;
    CHECK(open("/no/such/file", O_RDONLY) == -1 && errno == ENOENT); /* io: open 1 0 0 failed */
    const int file = open(path, O_RDONLY);                           /* io: open 1 0 0 */
    CHECK(write(file, buffer, 1) == -1 && errno == EBADF);           /* io: write 1 0 0 failed */
    errno = 77;
    CHECK(pread(file, buffer, 0, 0) == 0 && errno == 77); /* io: pread 1 0 0 */
    CHECK(close(file) == 0 && errno == 77);               /* io: close 1 0 0 */
    CHECK(read(file, buffer, 1) == -1 && errno == EBADF);
    CHECK(close(-1) == -1 && errno == EBADF);
}

static void streams(const char* path) {
    FILE* file = fopen(path, "w+"); /* io: fopen 1 0 0 */
    CHECK(file != NULL);
    for (int i = 0; i < kThree; ++i) {
        CHECK(fwrite(buffer, 10, k100, file) == 100); /* io: fwrite 3 0 3000 */
    }
    CHECK(fwrite_unlocked(buffer, 10, k100, file) == 100); /* io: fwrite 1 0 1000 */
    CHECK(fputs("line of 16 bytes", file) >= 0);           /* io: fputs 1 0 16 */
    CHECK(fputs_unlocked("s\n", file) >= 0);               /* io: fputs 1 0 2 */
    CHECK(fprintf(file, "%06d\n", kThree) == 7);           /* io: fprintf 1 0 7 */
    CHECK(print_list(file, "%07d\n", kThree) == 8);
    CHECK(fflush(file) == 0);             /* io: fflush 1 0 0 */
    CHECK(fseek(file, 0, SEEK_SET) == 0); /* io: fseek 1 0 0 */
    for (int i = 0; i < kThree; ++i) {
        CHECK(fread(buffer, 10, k100, file) == 100); /* io: fread 3 3000 0 */
    }
    CHECK(fread_unlocked(buffer, 10, k100, file) == 100);     /* io: fread 1 1000 0 */
    CHECK(fgets(buffer, (int)k100, file) == buffer);          /* io: fgets 1 18 0 */
    CHECK(fgets_unlocked(buffer, (int)k100, file) == buffer); /* io: fgets 1 7 0 */
    CHECK(fgets(buffer, (int)k100, file) == buffer);          /* io: fgets 1 8 0 */
    CHECK(fgets(buffer, (int)k100, file) == NULL);            /* io: fgets 1 0 0 */
    CHECK(fseeko(file, 0, SEEK_SET) == 0);                    /* io: fseeko 1 0 0 */
    CHECK(fseeko64(file, 0, SEEK_SET) == 0);                  /* io: fseeko 1 0 0 */
    file = freopen(path, "r", file);                          /* io: freopen 1 0 0 */
    CHECK(file != NULL);
    CHECK(fwrite(buffer, 1, 1, file) == 0);   /* io: fwrite 1 0 0 failed */
    CHECK(fclose(file) == 0);                 /* io: fclose 1 0 0 */
    file = fopen64(path, "r");                /* io: fopen 1 0 0 */
    CHECK(file != NULL && fclose(file) == 0); /* io: fclose 1 0 0 */
    char* line = NULL;
    size_t room = 0;
    file = fopen(path, "w+"); /* io: fopen 1 0 0 */
    CHECK(file != NULL);
    CHECK(fputs("one\ntwo\nthree;four", file) >= 0); /* io: fputs 1 0 18 */
    CHECK(fseek(file, 0, SEEK_SET) == 0);            /* io: fseek 1 0 0 */
    CHECK(getline(&line, &room, file) == 4);         /* io: getline 1 4 0 */
    CHECK(get_line(&line, &room, file) == 4);        /* io: getline 1 4 0 */
    CHECK(getdelim(&line, &room, ';', file) == 6);   /* io: getdelim 1 6 0 */
    CHECK(getdelim(&line, &room, ';', file) == 4);   /* io: getdelim 1 4 0 */
    CHECK(get_line(&line, &room, file) == -1);       /* io: getline 1 0 0 */
    CHECK(fclose(file) == 0);                        /* io: fclose 1 0 0 */
    free(line);
    const int descriptor = open(path, O_RDONLY); /* io: open 1 0 0 */
    file = fdopen(descriptor, "r");              /* io: fdopen 1 0 0 */
    CHECK(file != NULL && fclose(file) == 0);    /* io: fclose 1 0 0 */
    CHECK(fopen("/no/such/file", "r") == NULL);  /* io: fopen 1 0 0 failed */
    /* Not in a file. */
    file = fmemopen(buffer, sizeof(buffer), "w+");
    CHECK(file != NULL && fputs("memory", file) >= 0 && fclose(file) == 0);
    CHECK(fputs("to standard output\n", stdout) >= 0 && fflush(stdout) == 0);
    CHECK(fflush(NULL) == 0);
}

static int (*volatile print_out)(const char*, va_list) = vprintf;
static int print_list_out(const char* format, ...) {
    va_list list;
    va_start(list, format);
    const int bytes = print_out(format, list); /* io: vprintf 1 0 2 */
    va_end(list);
    return bytes;
}

/* Standard output is a file for a while. What it was before stays open: it may be a terminal, whose
 * closing would be recorded. */
static void to_standard_output(const char* path) {
    CHECK(fflush(stdout) == 0);
    const int kept = dup(STDOUT_FILENO);
    const int file = open(path, O_WRONLY | O_TRUNC); /* io: open 1 0 0 */
    CHECK(dup2(file, STDOUT_FILENO) == STDOUT_FILENO);
    for (int i = 0; i < kThree; ++i) {
        CHECK(printf("%04d\n", kThree) == 5); /* io: printf 3 0 15 */
    }
    CHECK(puts("a line") >= 0); /* io: puts 1 0 7 */
    CHECK(print_list_out("%d\n", kThree) == 2);
    CHECK(fflush(stdout) == 0); /* io: fflush 1 0 0 */
    CHECK(lseek(file, 0, SEEK_END) == 24);
    CHECK(dup2(kept, STDOUT_FILENO) == STDOUT_FILENO);
    CHECK(close(file) == 0); /* io: close 1 0 0 */
}

/* Descriptors that the C library closes, and whose numbers others have then. */
static void numbers_used_again(const char* folder) {
    char name[4096];
    FILE* stream = popen("echo abc", "r");
    int number = fileno(stream);
    CHECK(fread(buffer, 1, 4, stream) == 4 && pclose(stream) == 0);
    snprintf(name, sizeof(name), "%s/again.XXXXXX", folder);
    CHECK(mkstemp(name) == number);
    CHECK(write(number, buffer, 33) == 33); /* io: write 1 0 33 */
    CHECK(close_range((unsigned)number, (unsigned)number, 0) == 0);
    int ends[2];
    CHECK(pipe(ends) == 0 && ends[0] == number);
    CHECK(write(ends[1], buffer, 7) == 7 && read(ends[0], buffer, 7) == 7);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    number = open(folder, O_RDONLY | O_DIRECTORY);
    CHECK(read(number, buffer, 1) == -1 && errno == EISDIR);
    CHECK(closedir(fdopendir(number)) == 0);
    snprintf(name, sizeof(name), "%s/again.XXXXXX", folder);
    CHECK(mkstemp(name) == number);
    CHECK(write(number, buffer, 44) == 44); /* io: write 1 0 44 */
    CHECK(close(number) == 0);              /* io: close 1 0 0 */
}

/* Children are not observed, nor do they harm what the parent knows of its descriptors. */
static void children(const char* path) {
    const int file = open(path, O_RDWR | O_TRUNC); /* io: open 1 0 0 */
    CHECK(write(file, buffer, 10) == 10);          /* io: write 1 0 10 */
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(write(file, buffer, 10) == 10 && close(file) == 0 ? 0 : 1);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    child = vfork();
    if (child == 0) {
        close(file); /* in memory that is shared: io: close 1 0 0 */
        const int null = open("/dev/null", O_WRONLY);
        if (null < 0) _exit(1);
        dup2(null, STDOUT_FILENO);
        execl("/bin/echo", "echo", "from a child", (char*)NULL);
        _exit(2);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(system("exec echo from a shell >/dev/null") == 0);
    CHECK(write(file, buffer, 10) == 10); /* io: write 1 0 10 */
    CHECK(lseek(file, 0, SEEK_END) == 30);
    CHECK(close(file) == 0); /* io: close 1 0 0 */
}

int main(int argc, char** argv) {
    int rank;
    char path[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof(path), "%s/file.%d", argv[1], rank);
    descriptors(path, argv[1]);
    kept_errno(path);
    streams(path);
    to_standard_output(path);
    numbers_used_again(argv[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    children(path);
    MPI_Pcontrol(0);
    int file = open(path, O_WRONLY);
    CHECK(write(file, buffer, 10) == 10);
    MPI_Pcontrol(1);
    CHECK(write(file, buffer, 10) == 10); /* io: write 1 0 10 */
    CHECK(close(file) == 0);              /* io: close 1 0 0 */
    MPI_Finalize();
    file = open(path, O_WRONLY);
    CHECK(write(file, buffer, 10) == 10 && close(file) == 0);
    printf("rank %d is done\n", rank);
    return 0;
}
