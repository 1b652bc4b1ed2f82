/* Hangs of three ranks, each in a way of its own: argv[1] names it. Where its ranks then are, and
   whom they wait for, stands in hangs.py; the markers are there. Nothing ends by itself. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, value, sum;
static double data[100000];

static void meet(void) {
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); /* @meet */
}

static void wrong_branch(void) {
    if (rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @branch */
    }
    meet();
}

static void missing_send(void) {
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @missing */
    }
    meet();
}

static void wrong_tag(void) {
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @tag */
    } else if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    }
    meet();
}

static void wrong_communicator(void) {
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    if (rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1, 7, other, MPI_STATUS_IGNORE); /* @communicator */
    } else if (rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_WORLD);
    }
    meet();
}

static void facing_receives(void) {
    if (rank < 2) {
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @facing */
        MPI_Send(&value, 1, MPI_INT, 1 - rank, 3, MPI_COMM_WORLD);
    }
    meet();
}

static void kept_window(void) {
    MPI_Win window;
    MPI_Win_create(data, sizeof data, sizeof data[0], MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* @holds */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 2) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* @wants */
        MPI_Put(data, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, window);
        MPI_Win_unlock(0, window); /* @wants_late */
    }
    meet();
}

static void left_early(void) {
    int left = (rank + 2) % 3, right = (rank + 1) % 3;
    for (int i = 0; i < (rank == 1 ? 99 : 100); ++i) {
        MPI_Send(&value, 1, MPI_INT, right, 1, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @ring */
    }
    meet();
}

static void finalize(void) {
    if (rank == 1) MPI_Ssend(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD); /* @unfinished */
}

static void endless(void) {
    volatile double x = 1;
    if (rank == 1) {
        while (x > 0) x = x * 0.5 + 1; /* @endless */
    }
    meet();
}

static void file(const char* fifo) {
    char byte;
    if (rank == 2) {
        int input = open(fifo, O_RDWR);
        if (read(input, &byte, 1) != 1) abort(); /* @file */
    }
    meet();
}

/* Two of four requests are complete, two never are. */
static void requests(void) {
    MPI_Request request[4];
    int in[4];
    if (rank == 1) MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (rank == 2) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < 4; ++i) {
            MPI_Irecv(&in[i], 1, MPI_INT, 1 + i % 2, i, MPI_COMM_WORLD, &request[i]);
        }
        MPI_Waitall(4, request, MPI_STATUSES_IGNORE); /* @waitall */
    }
    meet();
}

/* Of two messages that are missing when the wait begins, one comes later. */
static void one_of_two(void) {
    MPI_Request request[2];
    int in[2];
    if (rank == 0) {
        for (int i = 0; i < 2; ++i) {
            MPI_Irecv(&in[i], 1, MPI_INT, 1 + i, i, MPI_COMM_WORLD, &request[i]);
        }
        MPI_Send(&value, 1, MPI_INT, 2, 2, MPI_COMM_WORLD);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE); /* @one_of_two */
    } else if (rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(300000);
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
    }
    meet();
}

static void tag_of_a_request(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(data, 100000, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD, &request);
    } else if (rank == 1) {
        MPI_Isend(data, 100000, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD, &request);
    }
    if (rank < 2) MPI_Wait(&request, MPI_STATUS_IGNORE); /* @request */
    meet();
}

static void nonblocking(void) {
    MPI_Request request;
    if (rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @instead_of_it */
    }
    MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE); /* @nonblocking */
}

/* Rank 0 asks for its message without end. */
static void polls(void) {
    MPI_Request request;
    int done = 0;
    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &request);
        while (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE); /* @polls */
    }
    meet();
}

static void wrong_root(void) {
    MPI_Bcast(data, 100000, MPI_DOUBLE, rank == 1 ? 1 : 0, MPI_COMM_WORLD); /* @root */
    meet();
}

/* An operation of the program, which calls MPI itself. */
static void add(void* in, void* out, int* count, MPI_Datatype* type) {
    int sent = 1, received;
    (void)type;
    MPI_Sendrecv(&sent, 1, MPI_INT, 0, 1, &received, 1, MPI_INT, 0, 1, MPI_COMM_SELF,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < *count; ++i) ((int*)out)[i] += ((int*)in)[i];
}

/* Rank 1 has added what rank 0 sent it, and waits for rank 2. */
static void operation(void) {
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    if (rank == 2) {
        MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* @instead */
    }
    MPI_Allreduce(&value, &sum, 1, MPI_INT, op, MPI_COMM_WORLD); /* @operation */
}

static void mismatch(void) {
    if (rank == 1) {
        MPI_Barrier(MPI_COMM_WORLD); /* @mismatch */
    } else if (rank == 0) {
        MPI_Bcast(data, 100000, MPI_DOUBLE, 1, MPI_COMM_WORLD); /* @bcast */
    }
    meet();
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    const char* hang = argc > 1 ? argv[1] : "";
    if (strcmp(hang, "wrong_branch") == 0) wrong_branch();
    if (strcmp(hang, "missing_send") == 0) missing_send();
    if (strcmp(hang, "wrong_tag") == 0) wrong_tag();
    if (strcmp(hang, "wrong_communicator") == 0) wrong_communicator();
    if (strcmp(hang, "facing_receives") == 0) facing_receives();
    if (strcmp(hang, "kept_window") == 0) kept_window();
    if (strcmp(hang, "left_early") == 0) left_early();
    if (strcmp(hang, "finalize") == 0) finalize();
    if (strcmp(hang, "endless") == 0) endless();
    if (strcmp(hang, "file") == 0) file(argv[2]);
    if (strcmp(hang, "requests") == 0) requests();
    if (strcmp(hang, "one_of_two") == 0) one_of_two();
    if (strcmp(hang, "tag_of_a_request") == 0) tag_of_a_request();
    if (strcmp(hang, "nonblocking") == 0) nonblocking();
    if (strcmp(hang, "polls") == 0) polls();
    if (strcmp(hang, "wrong_root") == 0) wrong_root();
    if (strcmp(hang, "operation") == 0) operation();
    if (strcmp(hang, "mismatch") == 0) mismatch();
    MPI_Finalize(); /* @finalize */
    return 0;
}
