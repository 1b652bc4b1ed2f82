#include "runtime/observed.h"

#include <sched.h>
#include <unistd.h>

namespace dwell {

Observed g_observed;

namespace {

constexpr uint64_t kMaxPart = 1u << 30;  // bytes of one message: counts are int

int part_of(uint64_t bytes) { return static_cast<int>(bytes < kMaxPart ? bytes : kMaxPart); }

// After a while it sleeps between tests, so that ranks which share a core get on.
bool await_until(MPI_Request* request, uint64_t until_ns, MPI_Status* status) {
    for (uint64_t tests = 0;; ++tests) {
        int flag = 0;
        if (g_mpi.Test(request, &flag, status) != MPI_SUCCESS) return false;
        if (flag != 0) return true;
        if (until_ns != 0 && monotonic_ns() > until_ns) return false;
        if (tests < 1000) {
            sched_yield();
        } else {
            usleep(50);
        }
    }
}

}  // namespace

uint64_t private_deadline() {
    return monotonic_ns() +
           static_cast<uint64_t>(g_process.options.merge_timeout_s) * 1'000'000'000u;
}

bool await_collective(MPI_Request* request, uint64_t until_ns) {
    return await_until(request, until_ns, MPI_STATUS_IGNORE);
}

bool await_request(MPI_Request* request, uint64_t until_ns, MPI_Status* status) {
    if (await_until(request, until_ns, status)) return true;
    if (*request != nullptr && *request != g_mpi.request_null) {
        g_mpi.Cancel(request);
        g_mpi.Request_free(request);
    }
    return false;
}

int sum_over_observed(int number) {
    static int mine = 0;
    static int all = 0;
    mine = number;
    MPI_Request request = nullptr;
    const bool summed = g_mpi.Iallreduce(&mine, &all, 1, g_mpi.integer, g_mpi.sum, g_observed.comm,
                                         &request) == MPI_SUCCESS &&
                        await_collective(&request, private_deadline());
    return summed ? all : -1;
}

bool largest_over_observed(uint64_t* words, int count, uint64_t until_ns) {
    static uint64_t mine[kMostWords];
    static uint64_t all[kMostWords];
    for (int i = 0; i < count; ++i) mine[i] = words[i];
    MPI_Request request = nullptr;
    if (g_mpi.Iallreduce(mine, all, count, g_mpi.unsigned64, g_mpi.max, g_observed.comm,
                         &request) != MPI_SUCCESS ||
        !await_collective(&request, until_ns)) {
        return false;
    }
    for (int i = 0; i < count; ++i) words[i] = all[i];
    return true;
}

bool send_bytes(const char* bytes, uint64_t size, int to, int tag) {
    const uint64_t until = private_deadline();
    for (uint64_t done = 0; done < size;) {
        const int part = part_of(size - done);
        MPI_Request request = nullptr;
        if (g_mpi.Isend(bytes + done, part, g_mpi.byte, to, tag, g_observed.comm, &request) !=
                MPI_SUCCESS ||
            !await_request(&request, until, MPI_STATUS_IGNORE)) {
            return false;
        }
        done += static_cast<uint64_t>(part);
    }
    return true;
}

bool receive_bytes(char* bytes, uint64_t size, int from, int tag) {
    const uint64_t until = private_deadline();
    for (uint64_t done = 0; done < size;) {
        MPI_Request request = nullptr;
        MPI_Status status;
        int received = 0;
        if (g_mpi.Irecv(bytes + done, part_of(size - done), g_mpi.byte, from, tag, g_observed.comm,
                        &request) != MPI_SUCCESS ||
            !await_request(&request, until, &status) ||
            g_mpi.Get_count(&status, g_mpi.byte, &received) != MPI_SUCCESS || received <= 0) {
            return false;
        }
        done += static_cast<uint64_t>(received);
    }
    return true;
}

}  // namespace dwell
