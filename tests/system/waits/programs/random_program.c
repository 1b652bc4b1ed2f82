/* A program made from a seed: messages in all modes and collectives, in an order that cannot
 * deadlock as long as MPI buffers some hundred messages of 4 bytes. Its results must not depend on
 * who watches.
 *
 * usage: mpirun -n 2..8 random_program SEED ROUNDS      prints a checksum for each rank
 *
 * All ranks draw the same random numbers, so each knows what the others do. A round is a list of
 * messages between drawn ranks, then a collective, a probe or a change of communicators. Receives
 * are posted before a rank sends anything that could wait, or in an order in which every message's
 * sender comes before its receiver does. Wildcards get their own tags, so that only one sender or
 * one tag of several can match; what they bring is summed, in any order. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 12, kBytes = 20000 };
static uint64_t state;
static uint64_t checksum = 1469598103934665603ull;
static int rank, size;

static uint32_t draw(uint32_t below) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(state >> 33) % below;
}

static uint64_t hash_of(const void* data, size_t bytes) {
    const unsigned char* at = data;
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < bytes; ++i) hash = (hash ^ at[i]) * 1099511628211ull;
    return hash;
}
/* Whatever order the parts come in. */
static void add(uint64_t part) { checksum += part * 0x9e3779b97f4a7c15ull; }
static void mix(uint64_t part) { checksum = (checksum ^ part) * 1099511628211ull; }

struct message {
    int from, to, tag, bytes, mode, how;
};
static struct message messages[kMost];
static char out[kMost][kBytes], in[kMost][kBytes];

static void fill(int which, uint32_t salt) {
    for (int i = 0; i < messages[which].bytes; ++i)
        out[which][i] = (char)(salt * 31 + i * 7 + which);
}

static void take(int which, const MPI_Status* status) {
    int bytes = -1;
    MPI_Get_count(status, MPI_BYTE, &bytes);
    add(hash_of(in[which], (size_t)bytes) + (uint64_t)status->MPI_SOURCE * 1009 +
        (uint64_t)status->MPI_TAG * 31 + (uint64_t)bytes);
}

/* Every receive is posted, then everything is sent, then all is waited for. */
static void exchange_nonblocking(MPI_Comm comm, int count, int me) {
    MPI_Request requests[2 * kMost];
    MPI_Status status;
    int which[2 * kMost], open = 0;
    for (int m = 0; m < count; ++m) {
        if (messages[m].to != me) continue;
        const int source = messages[m].how == 1 ? MPI_ANY_SOURCE : messages[m].from;
        const int tag = messages[m].how == 2 ? MPI_ANY_TAG : messages[m].tag;
        which[open] = m;
        if (messages[m].mode == 4) {
            MPI_Recv_init(in[m], kBytes, MPI_BYTE, source, tag, comm, &requests[open]);
            MPI_Start(&requests[open]);
        } else {
            MPI_Irecv(in[m], kBytes, MPI_BYTE, source, tag, comm, &requests[open]);
        }
        ++open;
    }
    MPI_Barrier(comm); /* ready sends */
    const int receives = open;
    for (int m = 0; m < count; ++m) {
        const struct message* it = &messages[m];
        if (it->from != me) continue;
        MPI_Request* request = &requests[open];
        switch (it->mode) {
            case 0:
                MPI_Isend(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm, request);
                break;
            case 1:
                MPI_Issend(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm, request);
                break;
            case 2:
                MPI_Ibsend(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm, request);
                break;
            case 3:
                MPI_Irsend(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm, request);
                break;
            default:
                MPI_Send_init(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm, request);
                MPI_Start(request);
        }
        which[open++] = m;
    }
    MPI_Request copies[2 * kMost];
    memcpy(copies, requests, sizeof(copies));
    const uint32_t way = (uint32_t)(messages[0].tag % 5);
    if (way == 0) {
        MPI_Status statuses[2 * kMost];
        MPI_Waitall(open, requests, statuses);
        for (int i = 0; i < receives; ++i) take(which[i], &statuses[i]);
    } else if (way == 4) {
        for (int i = open - 1; i >= 0; --i) {
            MPI_Wait(&requests[i], &status);
            if (i < receives) take(which[i], &status);
        }
    } else {
        for (int left = open; left > 0;) {
            int done = 0, indices[2 * kMost];
            MPI_Status statuses[2 * kMost];
            if (way == 1) {
                MPI_Waitany(open, requests, indices, statuses);
                done = 1;
            } else if (way == 2) {
                MPI_Waitsome(open, requests, &done, indices, statuses);
            } else {
                MPI_Testsome(open, requests, &done, indices, statuses);
            }
            for (int i = 0; i < done; ++i) {
                if (indices[i] < receives) take(which[indices[i]], &statuses[i]);
                /* A persistent one stays, inactive. */
            }
            left -= done;
        }
    }
    for (int i = 0; i < open; ++i) {
        if (messages[which[i]].mode == 4 && copies[i] != MPI_REQUEST_NULL) {
            MPI_Request_free(&copies[i]);
        }
    }
}

/* One message after the other, in the same order everywhere: no cycle of waiting. */
static void exchange_blocking(MPI_Comm comm, int count, int me) {
    MPI_Status status;
    for (int m = 0; m < count; ++m) {
        const struct message* it = &messages[m];
        const int source = it->how == 1 ? MPI_ANY_SOURCE : it->from;
        const int tag = it->how == 2 ? MPI_ANY_TAG : it->tag;
        if (it->from == it->to) {
            if (it->from != me) continue;
            MPI_Sendrecv(out[m], it->bytes, MPI_BYTE, me, it->tag, in[m], kBytes, MPI_BYTE, source,
                         tag, comm, &status);
            take(m, &status);
        } else if (it->from == me) {
            switch (it->mode) {
                case 1:
                    MPI_Ssend(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm);
                    break;
                case 2:
                    MPI_Bsend(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm);
                    break;
                default:
                    MPI_Send(out[m], it->bytes, MPI_BYTE, it->to, it->tag, comm);
            }
        } else if (it->to == me) {
            if (it->mode == 3) {
                int flag = 0;
                while (!flag) MPI_Iprobe(source, tag, comm, &flag, &status);
                MPI_Recv(in[m], kBytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm, &status);
            } else if (it->mode == 4) {
                MPI_Message message;
                MPI_Mprobe(source, tag, comm, &message, &status);
                MPI_Mrecv(in[m], kBytes, MPI_BYTE, &message, &status);
            } else {
                if (it->bytes % 3 == 0) MPI_Probe(source, tag, comm, &status);
                MPI_Recv(in[m], kBytes, MPI_BYTE, source, tag, comm, &status);
            }
            take(m, &status);
        }
    }
}

/* All ranks in a ring at once. */
static void shift(MPI_Comm comm, int me, int members, int bytes, int replace) {
    MPI_Status status;
    const int to = (me + 1) % members, from = (me + members - 1) % members;
    messages[0].bytes = bytes;
    fill(0, (uint32_t)me);
    if (replace) {
        memcpy(in[0], out[0], (size_t)bytes);
        MPI_Sendrecv_replace(in[0], bytes, MPI_BYTE, to, 77, from, 77, comm, &status);
    } else {
        MPI_Sendrecv(out[0], bytes, MPI_BYTE, to, 77, in[0], kBytes, MPI_BYTE, from, 77, comm,
                     &status);
    }
    take(0, &status);
    MPI_Sendrecv(out[0], 10, MPI_BYTE, me == 0 ? MPI_PROC_NULL : to, 78, in[0], kBytes, MPI_BYTE,
                 me == 1 % members ? MPI_PROC_NULL : from, 78, comm, &status);
    MPI_Status none;
    MPI_Recv(in[0], kBytes, MPI_BYTE, MPI_PROC_NULL, 1, comm, &none);
    mix((uint64_t)none.MPI_SOURCE + 10);
}

/* Many to one with any source; the sum of what came is known whatever order it came in. */
static void gather_any(MPI_Comm comm, int me, int members, int root, int each) {
    if (me != root) {
        for (int i = 0; i < each; ++i) {
            const int value = me * 1000 + i;
            MPI_Send(&value, 1, MPI_INT, root, 5, comm);
        }
        return;
    }
    MPI_Status status;
    uint64_t sum = 0;
    for (int i = 0; i < each * (members - 1); ++i) {
        int value = 0;
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, i % 2 ? MPI_ANY_TAG : 5, comm, &status);
        sum += (uint64_t)value * 17 + (uint64_t)status.MPI_SOURCE;
    }
    mix(sum);
}

enum { kPosted = 5, kPostedWays = 12 };
static int values[kPosted];
static uint64_t posted_sum;

static void take_posted(int which, const MPI_Status* status) {
    posted_sum +=
        (uint64_t)values[which] * 17 + (uint64_t)status->MPI_SOURCE * 3 + (uint64_t)status->MPI_TAG;
}

/* One posted receive of any source. */
static void receive_posted(MPI_Comm comm, int way) {
    MPI_Request request;
    MPI_Status status;
    int flag = 0;
    if (way == 2) {
        MPI_Recv_init(values, 1, MPI_INT, MPI_ANY_SOURCE, 6, comm, &request);
        MPI_Start(&request);
    } else {
        MPI_Irecv(values, 1, MPI_INT, MPI_ANY_SOURCE, way == 1 ? MPI_ANY_TAG : 6, comm, &request);
    }
    if (way == 3) {
        while (!flag) MPI_Test(&request, &flag, &status);
    } else if (way == 4) {
        while (!flag) MPI_Testall(1, &request, &flag, &status);
    } else if (way == 5) {
        while (!flag) MPI_Request_get_status(request, &flag, &status);
        MPI_Wait(&request, &status);
    } else {
        MPI_Wait(&request, &status);
    }
    take_posted(0, &status);
    if (way == 2) MPI_Request_free(&request);
    mix(request == MPI_REQUEST_NULL);
}

/* Several at once. */
static void receive_several(MPI_Comm comm, int count, int way) {
    MPI_Request requests[kPosted];
    for (int i = 0; i < count; ++i) {
        MPI_Irecv(&values[i], 1, MPI_INT, MPI_ANY_SOURCE, 6, comm, &requests[i]);
    }
    if (way == 6) {
        MPI_Status statuses[kPosted];
        MPI_Waitall(count, requests, statuses);
        for (int i = 0; i < count; ++i) take_posted(i, &statuses[i]);
    }
    for (int left = way == 6 ? 0 : count; left > 0;) {
        int done = 0, flag = 0, indices[kPosted];
        MPI_Status statuses[kPosted];
        if (way == 7) {
            MPI_Waitany(count, requests, indices, statuses);
            done = 1;
        } else if (way == 8) {
            MPI_Testany(count, requests, indices, &flag, statuses);
            done = flag;
        } else if (way == 9) {
            MPI_Waitsome(count, requests, &done, indices, statuses);
        } else if (way == 10) {
            MPI_Testsome(count, requests, &done, indices, statuses);
        } else {
            indices[0] = left - 1; /* from the last one on */
            MPI_Wait(&requests[left - 1], statuses);
            done = 1;
        }
        for (int i = 0; i < done; ++i) take_posted(indices[i], &statuses[i]);
        left -= done;
    }
    for (int i = 0; i < count; ++i) mix(requests[i] == MPI_REQUEST_NULL);
}

/* Many to one again, with receives of any source that are posted first. */
static void gather_posted(MPI_Comm comm, int me, int members, int root, int each, int way) {
    if (me != root) {
        for (int i = 0; i < each; ++i) {
            const int value = me * 1000 + i;
            if (i % 2) {
                MPI_Ssend(&value, 1, MPI_INT, root, 6, comm);
            } else {
                MPI_Send(&value, 1, MPI_INT, root, 6, comm);
            }
        }
        return;
    }
    posted_sum = 0;
    for (int left = each * (members - 1); left > 0;) {
        const int count = way < 6 ? 1 : left < kPosted ? left : kPosted;
        if (way < 6) {
            receive_posted(comm, way);
        } else {
            receive_several(comm, count, way);
        }
        left -= count;
    }
    mix(posted_sum);
}

/* Everybody posts a receive of any source and then sends what waits for its receiver, so it may not
 * matter that nobody has waited for it yet; and takes one of another tag in between. */
static void shift_posted(MPI_Comm comm, int me, int members, int bytes) {
    MPI_Request requests[2];
    MPI_Status status;
    const int to = (me + 1) % members, from = (me + members - 1) % members;
    int index = 0;
    messages[0].bytes = bytes;
    fill(0, (uint32_t)me);
    MPI_Irecv(in[0], kBytes, MPI_BYTE, MPI_ANY_SOURCE, 79, comm, &requests[0]);
    if (members > 1) MPI_Ssend(out[0], bytes, MPI_BYTE, to, 79, comm);
    if (members == 1) MPI_Isend(out[0], bytes, MPI_BYTE, to, 79, comm, &requests[1]);
    MPI_Wait(&requests[0], &status);
    take(0, &status);
    if (members == 1) {
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        return;
    }
    MPI_Irecv(in[1], kBytes, MPI_BYTE, from, 80, comm, &requests[1]);
    MPI_Irecv(in[0], kBytes, MPI_BYTE, MPI_ANY_SOURCE, 81, comm, &requests[0]);
    MPI_Send(out[0], 10, MPI_BYTE, to, 80, comm);
    MPI_Send(out[0], bytes / 8, MPI_BYTE, to, 81, comm);
    for (int i = 0; i < 2; ++i) {
        MPI_Waitany(2, requests, &index, &status);
        take(index, &status);
    }
    MPI_Irecv(in[0], kBytes, MPI_BYTE, MPI_ANY_SOURCE, 82, comm, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], &status);
    MPI_Test_cancelled(&status, &index);
    mix((uint64_t)index);
}

/* Sends run ahead of their receiver, further than anyone keeps notes of. */
static void run_ahead(MPI_Comm comm, int me, int members, int count) {
    MPI_Status status;
    for (int i = 0; i < count && me == 0; ++i) {
        MPI_Send(&i, 1, MPI_INT, members - 1, 100 + i % 3, comm);
    }
    if (members > 1) MPI_Barrier(comm);
    for (int tag = 2; tag >= 0 && me == members - 1 && members > 1; --tag) {
        for (int i = tag; i < count; i += 3) {
            int value = -1;
            MPI_Recv(&value, 1, MPI_INT, 0, 100 + tag, comm, &status);
            mix((uint64_t)value);
        }
    }
    if (members == 1) {
        int value = -1;
        for (int i = 0; i < count; ++i) MPI_Recv(&value, 1, MPI_INT, 0, 100 + i % 3, comm, &status);
    }
}

static void cancel_receives(MPI_Comm comm) {
    MPI_Request requests[3];
    MPI_Status status;
    int cancelled = 0;
    for (int i = 0; i < 3; ++i) {
        MPI_Irecv(in[i], kBytes, MPI_BYTE, i == 0 ? MPI_ANY_SOURCE : 0, 999, comm, &requests[i]);
    }
    for (int i = 0; i < 3; ++i) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &cancelled);
        mix((uint64_t)cancelled);
    }
}

static void collective(MPI_Comm comm, int me, int members, uint32_t which, int root) {
    int64_t mine[8], theirs[64];
    MPI_Request request;
    for (int i = 0; i < 8; ++i) mine[i] = (me + 1) * 100 + i;
    memset(theirs, 0, sizeof(theirs));
    switch (which) {
        case 0:
            MPI_Barrier(comm);
            break;
        case 1:
            MPI_Bcast(mine, 8, MPI_INT64_T, root, comm);
            memcpy(theirs, mine, 64);
            break;
        case 2:
            MPI_Reduce(mine, theirs, 8, MPI_INT64_T, MPI_SUM, root, comm);
            break;
        case 3:
            MPI_Allreduce(mine, theirs, 8, MPI_INT64_T, MPI_SUM, comm);
            break;
        case 4:
            MPI_Gather(mine, 2, MPI_INT64_T, theirs, 2, MPI_INT64_T, root, comm);
            break;
        case 5:
            MPI_Allgather(mine, 2, MPI_INT64_T, theirs, 2, MPI_INT64_T, comm);
            break;
        case 6:
            MPI_Alltoall(mine, 1, MPI_INT64_T, theirs, 1, MPI_INT64_T, comm);
            break;
        case 7:
            MPI_Scan(mine, theirs, 8, MPI_INT64_T, MPI_SUM, comm);
            break;
        case 8:
            MPI_Ibarrier(comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 9:
            MPI_Iallreduce(mine, theirs, 8, MPI_INT64_T, MPI_MAX, comm, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            break;
        case 10:
            MPI_Scatter(mine, 1, MPI_INT64_T, theirs, 1, MPI_INT64_T, root, comm);
            break;
        default:
            MPI_Exscan(mine, theirs, 8, MPI_INT64_T, MPI_SUM, comm);
    }
    if (which == 11 && me == 0) return; /* not defined there */
    mix(hash_of(theirs, sizeof(theirs)));
    (void)members;
}

static void draw_messages(int members, int count, uint32_t salt) {
    for (int m = 0; m < count; ++m) {
        const uint32_t sizes[] = {0, 1, 8, 100, 4096, 4097, kBytes};
        messages[m].from = (int)draw((uint32_t)members);
        messages[m].to = (int)draw((uint32_t)members);
        messages[m].tag = 1000 + (int)salt * 40 + m * 3; /* of no other round */
        messages[m].bytes = (int)sizes[draw(7)];
        messages[m].mode = (int)draw(5);
        messages[m].how = (int)draw(3);
        fill(m, salt);
    }
    /* A receive of any tag could take another message of its sender. */
    for (int m = 0; m < count; ++m) {
        for (int other = 0; other < count && messages[m].how == 2; ++other) {
            if (other != m && messages[other].from == messages[m].from &&
                messages[other].to == messages[m].to) {
                messages[m].how = 0;
            }
        }
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = strtoull(argc > 1 ? argv[1] : "1", NULL, 10) * 2654435761ull + 1;
    const int rounds = argc > 2 ? atoi(argv[2]) : 50;
    const int room = 64 * (kBytes + MPI_BSEND_OVERHEAD);
    void* buffer = malloc((size_t)room);
    MPI_Buffer_attach(buffer, room);
    MPI_Comm comm = MPI_COMM_WORLD;
    for (int round = 0; round < rounds; ++round) {
        int me, members;
        MPI_Comm_rank(comm, &me);
        MPI_Comm_size(comm, &members);
        const uint64_t common = state;
        const int root = (int)draw((uint32_t)members);
        const int count = 1 + (int)draw(kMost);
        const uint32_t what = draw(15);
        draw_messages(members, count, (uint32_t)round);
        const uint32_t next = draw(8), operation = draw(12), bytes = draw(kBytes);
        if (what < 3) exchange_nonblocking(comm, count, me);
        if (what >= 3 && what < 6) exchange_blocking(comm, count, me);
        if (what == 6) shift(comm, me, members, (int)bytes, round % 2);
        if (what == 7) gather_any(comm, me, members, root, count);
        if (what == 8) run_ahead(comm, me, members, 3 * (count + 20));
        if (what == 9) cancel_receives(comm);
        if (what == 10 || what == 11) collective(comm, me, members, operation, root);
        if (what == 12 || what == 13) {
            gather_posted(comm, me, members, root, count, (int)(bytes % kPostedWays));
        }
        if (what == 14) shift_posted(comm, me, members, (int)bytes);
        if (what == 7 || what == 12 || what == 13)
            MPI_Barrier(comm); /* no message of the next round is taken for one of this */
        if (next == 0 && comm == MPI_COMM_WORLD) {
            if (operation % 2) {
                MPI_Comm_dup(MPI_COMM_WORLD, &comm);
            } else {
                MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &comm);
            }
        } else if (next < 3 && comm != MPI_COMM_WORLD) {
            MPI_Comm_free(&comm);
            comm = MPI_COMM_WORLD;
        }
        /* Parts of the world may have drawn differently often. */
        state = common * 6364136223846793005ull + (uint64_t)round;
    }
    if (comm != MPI_COMM_WORLD) MPI_Comm_free(&comm);
    void* detached;
    int detached_bytes;
    MPI_Buffer_detach(&detached, &detached_bytes);
    free(buffer);
    char line[64], lines[8 * 64];
    snprintf(line, sizeof(line), "rank %d: %016llx\n", rank, (unsigned long long)checksum);
    MPI_Gather(line, 64, MPI_CHAR, lines, 64, MPI_CHAR, 0, MPI_COMM_WORLD);
    for (int r = 0; r < size && rank == 0; ++r) fputs(lines + 64 * r, stdout);
    MPI_Finalize();
    return 0;
}
