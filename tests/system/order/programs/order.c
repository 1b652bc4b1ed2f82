/* Choices between messages whose order is known: they are sent a gap or more apart, by ranks that
 * sleep in between. Each message says when it was sent, so the order is known also where a machine
 * that others use made somebody sleep longer. Prints how many messages were chosen, how many came
 * after a later one, and how many were sent too close to another one to tell.
 *
 * usage: mpirun -n 4 order HOW[,HOW...] RECEIVES [GAP_MS]      HOW: see ways[], or polls, workers,
 * circle, tree, rest, late; one line for each */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kTasks = 9, kMostRanks = 64 };
static double close_ms = 1;
static double gap_ms = 20;
static int rank, size, received, wrong, close_ones;

static void compute(double ms) {
    const long ns = (long)(ms * 1e6);
    struct timespec left = {ns / 1000000000, ns % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

static double clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static double now_ms(void) { return clock_ms(CLOCK_MONOTONIC); }

/* How long this rank has had no processor, since some moment: the difference of two of these. */
static double away_ms(void) { return now_ms() - clock_ms(CLOCK_THREAD_CPUTIME_ID); }

/* One after the other, from the same start. Of messages that had all come when a call began that
 * completes one of several requests, MPI takes the first request, which is `place`: where a rank
 * was kept from its processor that may be another order than that of the sending. */
static const double untold_ms = -1; /* when a message was sent that nobody can tell of */
static double latest_ms;
static int latest_place;
static void begin_check(void) { latest_ms = -1; }
static void check(double sent_ms, int place) {
    ++received;
    if (sent_ms == untold_ms) {
        ++close_ones;
        return;
    }
    if (sent_ms < latest_ms - close_ms && place <= latest_place) {
        ++wrong;
        fprintf(stderr, "message %d: %.3f ms before one of place %d, itself at %d\n", received,
                latest_ms - sent_ms, latest_place, place);
    }
    if (sent_ms > latest_ms - close_ms && sent_ms < latest_ms + close_ms) ++close_ones;
    if (sent_ms < latest_ms) return;
    latest_ms = sent_ms;
    latest_place = place;
}

static int receive_any(const char* how, int tag, double* value) {
    MPI_Status status;
    if (strcmp(how, "probe") == 0) {
        MPI_Probe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
    } else if (strcmp(how, "iprobe") == 0) {
        for (int flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status);
    } else if (strcmp(how, "mprobe") == 0) {
        MPI_Message message;
        MPI_Mprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(value, 1, MPI_DOUBLE, &message, &status);
        return status.MPI_SOURCE;
    } else {
        MPI_Recv(value, 1, MPI_DOUBLE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &status);
        return status.MPI_SOURCE;
    }
    MPI_Recv(value, 1, MPI_DOUBLE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, &status);
    return status.MPI_SOURCE;
}

static void blocking(const char* how) {
    double sent = 0;
    for (int k = 1; k < size; ++k) {
        receive_any(how, 3, &sent);
        check(sent, 0);
    }
}

/* One posted receive of any source after the other. */
static void posted(const char* how) {
    for (int k = 1; k < size; ++k) {
        MPI_Request request;
        double sent = 0;
        int flag = 0;
        MPI_Irecv(&sent, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
        if (strcmp(how, "wait") == 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
        while (strcmp(how, "test") == 0 && !flag) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (request != MPI_REQUEST_NULL) MPI_Abort(MPI_COMM_WORLD, 3);
        check(sent, 0);
    }
}

static void persistent(const char* how) {
    MPI_Request request;
    double sent = 0;
    (void)how;
    MPI_Recv_init(&sent, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &request);
    for (int k = 1; k < size; ++k) {
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(sent, 0);
    }
    MPI_Request_free(&request);
}

/* All of them posted first: the n-th gets the n-th message. */
static void posted_all(const char* how) {
    MPI_Request requests[kMostRanks];
    double sent[kMostRanks];
    (void)how;
    for (int k = 1; k < size; ++k) {
        MPI_Irecv(&sent[k], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[k - 1]);
    }
    MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
    for (int k = 1; k < size; ++k) check(sent[k], 0);
}

/* A receive from each, and whichever completes first. */
static void several(const char* how) {
    MPI_Request requests[kMostRanks];
    double sent[kMostRanks];
    for (int k = 1; k < size; ++k) {
        MPI_Irecv(&sent[k - 1], 1, MPI_DOUBLE, k, 3, MPI_COMM_WORLD, &requests[k - 1]);
    }
    for (int left = size - 1; left > 0;) {
        int done = 0, flag = 0, indices[kMostRanks];
        MPI_Status statuses[kMostRanks];
        if (strcmp(how, "waitany") == 0) {
            MPI_Waitany(size - 1, requests, indices, statuses);
            done = 1;
        } else if (strcmp(how, "testany") == 0) {
            MPI_Testany(size - 1, requests, indices, &flag, statuses);
            done = flag;
        } else if (strcmp(how, "waitsome") == 0) {
            MPI_Waitsome(size - 1, requests, &done, indices, statuses);
        } else {
            MPI_Testsome(size - 1, requests, &done, indices, statuses);
        }
        for (int i = 0; i < done; ++i) {
            if (statuses[i].MPI_SOURCE != indices[i] + 1) MPI_Abort(MPI_COMM_WORLD, 4);
            check(sent[indices[i]], indices[i]);
        }
        left -= done;
    }
}

static const struct {
    const char* name;
    void (*receive)(const char*);
} ways[] = {{"recv", blocking},    {"probe", blocking},     {"mprobe", blocking},
            {"iprobe", blocking},  {"wait", posted},        {"test", posted},
            {"start", persistent}, {"waitall", posted_all}, {"waitany", several},
            {"testany", several},  {"waitsome", several},   {"testsome", several}};

/* In each round rank k sends k gaps after all have met, so 0 hears 1, 2, 3 ... */
static void rounds(const char* how, int receives) {
    unsigned way = 0;
    while (strcmp(ways[way].name, how) != 0) {
        if (++way == sizeof(ways) / sizeof(*ways)) MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int left = receives; left > 0; left -= size - 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) {
            compute(rank * gap_ms);
            const double sent = now_ms();
            MPI_Send(&sent, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
        } else {
            begin_check();
            ways[way].receive(how);
        }
    }
}

/* The same where each polls in vain before it sends. Rank 1 has a processor for itself: one that is
 * delayed there takes nothing from the others. A poll may give the processor away; who gets it back
 * late, from another program, sends late. */
static void polls(int receives) {
    cpu_set_t all, own;
    sched_getaffinity(0, sizeof(all), &all);
    int last = CPU_SETSIZE - 1;
    while (!CPU_ISSET(last, &all)) --last;
    own = all;
    if (rank == 1) CPU_ZERO(&own);
    CPU_CLR(last, &own);
    if (rank == 1) CPU_SET(last, &own);
    if (CPU_COUNT(&own) != 0) sched_setaffinity(0, sizeof(own), &own);
    for (int left = receives; left > 0; left -= size - 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) {
            int flag = 0;
            compute(rank * gap_ms);
            double sent = now_ms();
            const double away = away_ms();
            for (int poll = 0; poll < 20; ++poll) {
                MPI_Iprobe(0, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            }
            if (away_ms() - away > close_ms) sent = untold_ms;
            MPI_Send(&sent, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
        } else {
            begin_check();
            blocking("recv");
        }
    }
    sched_setaffinity(0, sizeof(all), &all);
}

/* How long a task takes: a worker's first one so long that workers never finish at one time. They
 * meet again after a few, before what each sleeps too long adds up to a gap. */
static double task_ms(int worker, int task) {
    const double cycle = gap_ms * (size - 1);
    return task < size - 1 ? worker * gap_ms : cycle * (1 + task * 7 % 3);
}

/* Rank 0 gives each worker another task when its result comes, which says how long it took. */
static void workers(int receives) {
    double began_ms[kMostRanks], took_ms = 0;
    close_ms = gap_ms / 2; /* what lies between two tasks is not measured */
    for (int done = 0; done < receives; done += kTasks) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank != 0) {
            for (;;) {
                int task = -1;
                MPI_Recv(&task, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                if (task < 0) break;
                const double began = now_ms();
                compute(task_ms(rank, task));
                took_ms = now_ms() - began;
                MPI_Send(&took_ms, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
            }
            continue;
        }
        int next = 0, stop = -1;
        for (int worker = 1; worker < size; ++worker, ++next) {
            MPI_Send(&next, 1, MPI_INT, worker, 1, MPI_COMM_WORLD);
            began_ms[worker] = 0;
        }
        begin_check();
        for (int k = 0; k < kTasks; ++k) {
            const int source = receive_any("recv", 2, &took_ms);
            const double ended_ms = began_ms[source] + took_ms;
            check(ended_ms, 0);
            if (next < kTasks) {
                began_ms[source] = ended_ms > latest_ms ? ended_ms : latest_ms;
                MPI_Send(&next, 1, MPI_INT, source, 1, MPI_COMM_WORLD);
                ++next;
            } else {
                MPI_Send(&stop, 1, MPI_INT, source, 1, MPI_COMM_WORLD);
            }
        }
    }
}

/* 1 receives from 0 or 3; 3 waits for 2 and 2 for 1, both since long before 0 sends. Who waits
 * until 3 can send no earlier message waits for ever (Li and Zhang, figure 4). */
static void expect(int source, int expected) {
    ++received;
    if (source != expected) ++wrong;
}

static void circle(int receives) {
    double value = 0;
    for (int left = receives; left > 0; left -= 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            compute(30);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
        } else if (rank == 1) {
            expect(receive_any("recv", 4, &value), 0);
            MPI_Send(&value, 1, MPI_DOUBLE, 2, 5, MPI_COMM_WORLD);
            expect(receive_any("recv", 4, &value), 3);
        } else if (rank == 2) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_DOUBLE, 3, 6, MPI_COMM_WORLD);
        } else if (rank == 3) {
            MPI_Recv(&value, 1, MPI_DOUBLE, 2, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD);
        }
    }
}

/* 3 receives from any, and 0 waits in a scatter of 1, which MPI hands on through 3. Who waits until
 * 0 can send no earlier message waits for ever. */
static void tree(int receives) {
    double value = 0, all[kMostRanks] = {0};
    for (int left = receives; left > 0; --left) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 2) {
            compute(20);
            MPI_Send(&value, 1, MPI_DOUBLE, 3, 8, MPI_COMM_WORLD);
        } else if (rank == 3) {
            expect(receive_any("recv", 8, &value), 2);
        }
        MPI_Scatter(all, 1, MPI_DOUBLE, &value, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
    }
}

/* 0 sends 1 a buffered message, too long for MPI to send all of it before 1 says that it receives
 * it. 1 answers at once, so 0 hears it before 2, who sends five gaps after all have met. Who waits
 * for 1 to send, and lets MPI not work on what itself has sent, waits for ever. (Delays of two gaps
 * in each call make 0 so late that 2's message has come before; the probes let MPI look at it. The
 * delay between its call that sends and the next one is in the time that 1's message takes.) */
static void rest(int receives) {
    enum { kBytes = 10000 };
    static char attached[kBytes + MPI_BSEND_OVERHEAD], bytes[kBytes];
    double value = 0;
    int flag = 0, size_there = 0;
    void* there;
    MPI_Buffer_attach(attached, sizeof(attached));
    for (int left = receives; left > 0; left -= 3) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            for (int probe = 0; probe < 3; ++probe) {
                MPI_Iprobe(0, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            }
            MPI_Bsend(bytes, kBytes, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
            expect(receive_any("recv", 10, &value), 1);
            expect(receive_any("recv", 10, &value), 2);
        } else if (rank == 1) {
            MPI_Recv(bytes, kBytes, MPI_BYTE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            ++received; /* a choice of dwell's, though nobody else sends */
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 10, MPI_COMM_WORLD);
        } else if (rank == 2) {
            compute(5 * gap_ms);
            MPI_Send(&value, 1, MPI_DOUBLE, 0, 10, MPI_COMM_WORLD);
        }
    }
    MPI_Buffer_detach(&there, &size_there);
}

/* 0 sends one gap after all have met, and 1 receives two gaps after that: it does not wait. What is
 * done to 0 in its five calls before makes it late (Li and Zhang, figure 1). */
static void late(int receives) {
    double value = 0;
    for (int left = receives; left > 0; --left) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            int flag = 0;
            for (int probe = 0; probe < 5; ++probe) {
                MPI_Iprobe(1, 9, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
                compute(gap_ms / 5);
            }
            MPI_Send(&value, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
        } else if (rank == 1) {
            compute(3 * gap_ms);
            MPI_Recv(&value, 1, MPI_DOUBLE, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

static void run(const char* how, int receives) {
    received = wrong = close_ones = 0;
    if (strcmp(how, "polls") == 0) {
        polls(receives);
    } else if (strcmp(how, "workers") == 0) {
        workers(receives);
    } else if (strcmp(how, "circle") == 0) {
        circle(receives);
    } else if (strcmp(how, "tree") == 0) {
        tree(receives);
    } else if (strcmp(how, "rest") == 0) {
        rest(receives);
    } else if (strcmp(how, "late") == 0) {
        late(receives);
    } else {
        rounds(how, receives);
    }
    if (received != 0) {
        printf("%s: %d receives, %d out of order, %d too close to tell\n", how, received, wrong,
               close_ones);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    if (argc > 3) gap_ms = atof(argv[3]);
    for (const char* how = strtok(argv[1], ","); how != NULL; how = strtok(NULL, ",")) {
        run(how, atoi(argv[2]));
    }
    MPI_Finalize();
    return 0;
}
