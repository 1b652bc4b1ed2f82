/* What wrong_arguments.py's programs have in common: the objects that calls are made with, and what
 * is written down of each call: class of the error, error handlers that it reached, and what it
 * left in its output arguments. All ranks make the same calls in the same order.
 *
 * usage: PROGRAM FILE [LEFT OUT...]    writes FILE.<rank>; FILE.<rank>.at holds the call at work */
#define _GNU_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kMany = 64, kSentinel = 4711, kReturned = 0, kHandled = 1, kFatal = 2, kPaused = 3 };

static int g_mode, g_rank, g_size, g_next, g_previous;
static FILE* g_log;
static volatile int* g_at;
static char g_heard[1024];
static char* g_left_out[1024];

/* Open MPI gives an error handler the name of the function as the third argument. */
static void hear(const char* object, const int* error, va_list more) {
    int class = -1;
    MPI_Error_class(*error, &class);
    const char* name = va_arg(more, const char*);
    const size_t used = strlen(g_heard);
    snprintf(g_heard + used, sizeof(g_heard) - used, " %s/%d/%s", object, class,
             name != NULL ? name : "");
}
static const char* name_of_comm(MPI_Comm comm);
static void hear_comm(MPI_Comm* comm, int* error, ...) {
    va_list more;
    va_start(more, error);
    hear(name_of_comm(*comm), error, more);
    va_end(more);
}
static void hear_win(MPI_Win* win, int* error, ...) {
    (void)win;
    va_list more;
    va_start(more, error);
    hear("win", error, more);
    va_end(more);
}
static void hear_file(MPI_File* file, int* error, ...) {
    va_list more;
    va_start(more, error);
    hear(*file == MPI_FILE_NULL ? "no file" : "file", error, more);
    va_end(more);
}

/* MPI_ERRORS_ARE_FATAL ends the job with these two, which the program's own stand before: so one
 * run is enough for all calls. What it would print is written down. */
int orte_show_help(const char* file, const char* topic, _Bool header, ...) {
    (void)file;
    (void)header;
    const size_t used = strlen(g_heard);
    const char* text = "";
    if (strstr(topic, "fatal") != NULL) {
        va_list more;
        va_start(more, header);
        (void)va_arg(more, const char*); /* node and pid */
        (void)va_arg(more, const char*); /* "in" */
        text = va_arg(more, const char*);
        va_end(more);
    }
    snprintf(g_heard + used, sizeof(g_heard) - used, " %s/%s", topic, text);
    return 0;
}
int ompi_mpi_abort(void* comm, int code) {
    (void)comm;
    const size_t used = strlen(g_heard);
    snprintf(g_heard + used, sizeof(g_heard) - used, " end/%d", code);
    return 0;
}

static MPI_Comm g_step, g_comm, g_inter, g_cart, g_freed_comm;
static MPI_Datatype g_uncommitted, g_freed_type, g_pair;
static MPI_Group g_group, g_freed_group;
static MPI_Win g_win, g_idle_win;
static MPI_File g_file;
static MPI_Request g_keeps_comm, g_keeps_type;
static MPI_Errhandler g_hear_comm, g_hear_win, g_hear_file;
static int g_out[kMany], g_in[kMany], g_area[kMany];
static int g_ones[kMany], g_noughts[kMany], g_minus[kMany], g_steps[kMany], g_ranges[kMany][3];
static MPI_Aint g_addresses[kMany];
static MPI_Datatype g_ints[kMany], g_no_types[kMany];
static char* g_words[kMany];
static int g_is_root; /* of the remote group, or its root */

static const char* name_of_comm(MPI_Comm comm) {
    return comm == MPI_COMM_WORLD ? "world" : comm == MPI_COMM_SELF ? "self" : "comm";
}

static void handle_errors(int mode) {
    g_mode = mode;
    MPI_Errhandler comm = g_hear_comm, win = g_hear_win, file = g_hear_file;
    if (mode == kReturned || mode == kPaused) comm = win = file = MPI_ERRORS_RETURN;
    if (mode == kFatal) comm = win = file = MPI_ERRORS_ARE_FATAL;
    MPI_Comm comms[] = {MPI_COMM_WORLD, MPI_COMM_SELF, g_comm, g_inter, g_cart};
    for (size_t i = 0; i < sizeof(comms) / sizeof(comms[0]); ++i) {
        if (comms[i] != MPI_COMM_NULL) MPI_Comm_set_errhandler(comms[i], comm);
    }
    MPI_Win_set_errhandler(g_win, win);
    MPI_Win_set_errhandler(g_idle_win, win);
    MPI_File_set_errhandler(MPI_FILE_NULL, file);
    MPI_File_set_errhandler(g_file, file);
}

static void set_up(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &g_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &g_size);
    g_next = (g_rank + 1) % g_size;
    g_previous = (g_rank + g_size - 1) % g_size;
    char path[1000];
    snprintf(path, sizeof(path), "%s.%d", argv[1], g_rank);
    g_log = fopen(path, "w");
    snprintf(path, sizeof(path), "%s.%d.at", argv[1], g_rank);
    const int at = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (g_log == NULL || at < 0 || ftruncate(at, sizeof(int)) != 0) exit(3);
    g_at = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED, at, 0);
    for (int i = 2; i < argc && i < 1000; ++i) g_left_out[i - 2] = argv[i];

    MPI_Comm_create_errhandler(hear_comm, &g_hear_comm);
    MPI_Win_create_errhandler(hear_win, &g_hear_win);
    MPI_File_create_errhandler(hear_file, &g_hear_file);
    for (int i = 0; i < kMany; ++i) {
        g_ones[i] = 1;
        g_minus[i] = -1;
        g_steps[i] = i;
        g_addresses[i] = 4 * i;
        g_ints[i] = MPI_INT;
        g_no_types[i] = MPI_DATATYPE_NULL;
        g_words[i] = NULL;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &g_step);
    MPI_Comm_dup(MPI_COMM_WORLD, &g_comm);
    MPI_Group everybody;
    MPI_Comm_group(MPI_COMM_WORLD, &everybody);
    g_group = everybody;
    g_inter = MPI_COMM_NULL;
    if (g_size > 1) { /* rank 1 and the others */
        MPI_Comm side;
        MPI_Comm_split(MPI_COMM_WORLD, g_rank == 1, g_rank, &side);
        MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, g_rank == 1 ? 0 : 1, 5, &g_inter);
        MPI_Comm_free(&side);
        g_is_root = g_rank == 0 ? MPI_ROOT : g_rank == 1 ? 0 : MPI_PROC_NULL;
    }
    const int sizes[] = {g_size}, periods[] = {1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, sizes, periods, 0, &g_cart);
    MPI_Type_contiguous(2, MPI_INT, &g_uncommitted);
    MPI_Type_contiguous(2, MPI_INT, &g_pair);
    MPI_Type_commit(&g_pair);

    /* Freed while something else keeps them, so that what MPI says of them does not depend on what
     * lies in their place now. */
    MPI_Comm freed;
    MPI_Comm_dup(MPI_COMM_WORLD, &freed);
    MPI_Irecv(g_in, 1, MPI_INT, g_rank, 77, freed, &g_keeps_comm);
    g_freed_comm = freed;
    MPI_Comm_free(&freed);
    MPI_Datatype type;
    MPI_Type_contiguous(1, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Recv_init(g_in, 1, type, g_rank, 78, MPI_COMM_WORLD, &g_keeps_type);
    g_freed_type = type;
    MPI_Type_free(&type);
    MPI_Group group;
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    g_freed_group = group;
    MPI_Group_free(&group);

    MPI_Win_create(g_area, sizeof(g_area), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &g_win);
    MPI_Win_create(g_area, sizeof(g_area), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &g_idle_win);
    MPI_Win_lock_all(0, g_win);
    snprintf(path, sizeof(path), "%s.data.%d", argv[1], g_rank);
    MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &g_file);
    static const int zeroes[16 * kMany];
    MPI_File_write_at(g_file, 0, zeroes, 16 * kMany, MPI_INT, MPI_STATUS_IGNORE);
    fprintf(g_log, "set up %d %d\n", g_rank, g_size);
}

static void tear_down(void) {
    handle_errors(kReturned);
    MPI_Cancel(&g_keeps_comm);
    MPI_Wait(&g_keeps_comm, MPI_STATUS_IGNORE);
    MPI_Request_free(&g_keeps_type);
    MPI_Win_unlock_all(g_win);
    MPI_Win_free(&g_win);
    MPI_Win_free(&g_idle_win);
    MPI_File_close(&g_file);
    MPI_Group_free(&g_group);
    /* What the calls before have left in the way of others would show here. */
    int sum = 0;
    MPI_Comm comms[] = {MPI_COMM_WORLD, g_comm, g_cart};
    for (int i = 0; i < 3; ++i) {
        int got = 0;
        MPI_Allreduce(&g_ones[0], &got, 1, MPI_INT, MPI_SUM, comms[i]);
        sum += got;
        MPI_Sendrecv(&g_rank, 1, MPI_INT, g_next, 3, &got, 1, MPI_INT, g_previous, 3, comms[i],
                     MPI_STATUS_IGNORE);
        sum += 100 * got;
    }
    fprintf(g_log, "at the end %d\n", sum);
    fclose(g_log);
    MPI_Finalize();
}

static int g_number;
static int wanted(int number) {
    char text[24];
    snprintf(text, sizeof(text), "%d", number);
    for (char** left_out = g_left_out; *left_out != NULL; ++left_out) {
        if (strcmp(*left_out, text) == 0) return 0;
    }
    if (number % 64 == 0)
        MPI_Barrier(g_step); /* no rank is far ahead of one that does not return */
    g_number = number;
    *g_at = number;
    return 1;
}

static void fill(void) {
    for (int i = 0; i < kMany; ++i) {
        g_out[i] = 1000 * g_rank + i;
        g_in[i] = -i;
    }
}
static void begin(void) {
    g_heard[0] = 0;
    if (g_mode == kPaused) MPI_Pcontrol(0);
}
static void end(int result, const char* text) {
    if (g_mode == kPaused) MPI_Pcontrol(1);
    int class = result;
    if (result != MPI_SUCCESS) MPI_Error_class(result, &class);
    fprintf(g_log, "%d %d %s: %d%s", g_number, g_mode, text, class, g_heard);
}
static void finish(void) {
    unsigned sum = 0;
    for (int i = 0; i < kMany; ++i) sum = 31 * sum + (unsigned)g_in[i];
    fprintf(g_log, " in=%08x\n", sum);
    fflush(g_log);
}
static void show_int(const char* name, int value) { fprintf(g_log, " %s=%d", name, value); }
static void show_status(const char* name, const MPI_Status* status) {
    fprintf(g_log, " %s=%d,%d,%d,%zu,%d", name, status->MPI_SOURCE, status->MPI_TAG,
            status->MPI_ERROR, (size_t)status->_ucount, status->_cancelled);
}
/* A handle that a call left: none, or one that it made. */
static int show_handle(const char* name, int untouched, int null) {
    fprintf(g_log, " %s=%s", name, untouched ? "untouched" : null ? "null" : "made");
    return !untouched && !null;
}
