/* 20 times: rank 2 rests argv[2] ms and sends to rank 1, which rests argv[3] ms after that and then
   receives from rank 0, which rests argv[4] ms before it sends: rank 0 waits for rank 1 because of
   both, and because of rank 2 alone if rank 1 would have been there without that. argv[1] says how
   the message goes to rank 1: one that waits for its receiver synchronously (ssend), by its size,
   received at once (large), by a request (started), by one after which rank 1 rests once more
   before it waits (posted), from any source (any) or by a persistent request (persistent), or one
   that lies where it is until its receiver comes (kept); such a one after a message by which rank 0
   hears already why rank 1 is late (told); and a large one or such a one before a message that rank
   1 sends argv[3] ms later (answered, read). */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kTimes = 20, kMost = 20000 };
static char data[kMost];

static void rest_ms(int ms) {
    const struct timespec time = {0, ms * 1000000L};
    if (ms > 0) nanosleep(&time, NULL);
}

static void hear(void) {
    MPI_Recv(data, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @heard
}

static int hears_after(const char* how) {
    return strcmp(how, "answered") == 0 || strcmp(how, "read") == 0;
}

static void give(const char* how, int bytes) {
    if (strcmp(how, "told") == 0) hear();
    if (strcmp(how, "ssend") == 0) {
        MPI_Ssend(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);  // @ssend
    } else {
        MPI_Send(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);  // @send
    }
    if (hears_after(how)) hear();
}

static void take(const char* how, int bytes, int own, MPI_Request* persistent) {
    const int source = strcmp(how, "any") == 0 ? MPI_ANY_SOURCE : 0;
    MPI_Request request;
    rest_ms(own);
    if (strcmp(how, "persistent") == 0) {
        MPI_Start(persistent);
        MPI_Wait(persistent, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "started") == 0 || strcmp(how, "any") == 0) {
        MPI_Irecv(data, bytes, MPI_CHAR, source, 1, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "posted") == 0) {
        MPI_Irecv(data, bytes, MPI_CHAR, source, 1, MPI_COMM_WORLD, &request);
        rest_ms(own);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, bytes, MPI_CHAR, source, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char** argv) {
    int rank;
    MPI_Request persistent;
    MPI_Init(&argc, &argv);
    if (argc < 5) return 2;
    const char* how = argv[1];
    const int others = atoi(argv[2]), own = atoi(argv[3]), sender = atoi(argv[4]);
    const int is_kept =
        strcmp(how, "kept") == 0 || strcmp(how, "told") == 0 || strcmp(how, "read") == 0;
    const int bytes = is_kept ? 1000 : strcmp(how, "ssend") == 0 ? 8 : kMost;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Recv_init(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &persistent);
    for (int i = 0; i < kTimes; ++i) {
        MPI_Barrier(MPI_COMM_WORLD);  // @level
        if (rank == 0) {
            rest_ms(sender);
            give(how, bytes);
        } else if (rank == 1) {
            MPI_Recv(data, 1, MPI_CHAR, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // @waited
            if (strcmp(how, "told") == 0) MPI_Send(data, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
            take(how, bytes, own, &persistent);
            if (hears_after(how)) {
                rest_ms(own);
                MPI_Send(data, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
            }
        } else {
            rest_ms(others);
            MPI_Send(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);  // @computed
        }
    }
    MPI_Request_free(&persistent);
    MPI_Finalize();
    return 0;
}
