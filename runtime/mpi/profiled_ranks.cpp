// Private communication: waiting with a time limit, and sums and maxima by messages.
#include "runtime/mpi/profiled_ranks.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

namespace dwell {

ProfiledRanks g_profiled;

namespace {

uint64_t limit_ns() { return uint64_t{g_process.options.end_timeout_s} * 1'000'000'000u; }

uint64_t g_merge_until_ns = 0;
uint64_t g_end_ns = 0;

constexpr uint64_t kMaxPart = 1u << 30;  // bytes of one message: counts are int

int part_of(uint64_t bytes) { return static_cast<int>(bytes < kMaxPart ? bytes : kMaxPart); }

// Sleeps between tests after a while, so that ranks which share a core make progress.
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

void limit_end() {
    const uint64_t now = monotonic_ns();
    g_merge_until_ns = now + limit_ns() / 2;
    g_end_ns = now + limit_ns();
}

uint64_t private_deadline() {
    return g_merge_until_ns != 0 ? g_merge_until_ns : monotonic_ns() + limit_ns();
}

uint64_t end_deadline() { return g_end_ns; }

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

bool send_bytes(const char* bytes, uint64_t size, int to, int tag, uint64_t until_ns) {
    for (uint64_t done = 0; done < size;) {
        const int part = part_of(size - done);
        MPI_Request request = nullptr;
        if (g_mpi.Isend(bytes + done, part, g_mpi.byte, to, tag, g_profiled.comm, &request) !=
                MPI_SUCCESS ||
            !await_request(&request, until_ns, MPI_STATUS_IGNORE)) {
            return false;
        }
        done += static_cast<uint64_t>(part);
    }
    return true;
}

bool receive_bytes(char* bytes, uint64_t size, int from, int tag, uint64_t until_ns) {
    for (uint64_t done = 0; done < size;) {
        MPI_Request request = nullptr;
        MPI_Status status;
        int received = 0;
        if (g_mpi.Irecv(bytes + done, part_of(size - done), g_mpi.byte, from, tag, g_profiled.comm,
                        &request) != MPI_SUCCESS ||
            !await_request(&request, until_ns, &status) ||
            g_mpi.Get_count(&status, g_mpi.byte, &received) != MPI_SUCCESS || received <= 0) {
            return false;
        }
        done += static_cast<uint64_t>(received);
    }
    return true;
}

bool spread_over_profiled(char* bytes, uint64_t size, uint64_t until_ns) {
    int step = 1;
    while (step < g_profiled.count && (g_profiled.place & step) == 0) step *= 2;
    const bool sent_stamp =
        g_profiled.place == 0 ||
        receive_bytes(bytes, size, g_profiled.place - step, kResultTag, until_ns);
    if (!sent_stamp) memset(bytes, 0, size);
    for (step /= 2; step >= 1; step /= 2) {
        const int to = g_profiled.place + step;
        if (to < g_profiled.count) send_bytes(bytes, size, to, kResultTag, until_ns);
    }
    return sent_stamp;
}

namespace {

// Not an MPI collective: after the first nonblocking collective on a communicator, Open MPI 4.1
// polls for them in every waiting call (some 60 ns for a message between two ranks), which most
// programs would not have without dwell.
template <typename Add>
bool combine_over_profiled(uint64_t* words, int count, uint64_t until_ns, Add add) {
    struct Parts {
        uint64_t words[kMostWords];
        uint64_t complete;
    };
    Parts parts{};
    for (int i = 0; i < count; ++i) parts.words[i] = words[i];
    parts.complete = 1;
    auto* const bytes = reinterpret_cast<char*>(&parts);
    for (int step = 1; step < g_profiled.count; step *= 2) {
        if ((g_profiled.place & step) != 0) {
            send_bytes(bytes, sizeof(parts), g_profiled.place - step, kWordsTag, until_ns);
            break;
        }
        const int from = g_profiled.place + step;
        if (from >= g_profiled.count) continue;
        Parts other{};
        const bool came = receive_bytes(reinterpret_cast<char*>(&other), sizeof(other), from,
                                        kWordsTag, until_ns);
        if (!came || other.complete == 0) parts.complete = 0;
        for (int i = 0; i < count; ++i) parts.words[i] = add(parts.words[i], other.words[i]);
    }
    if (!spread_over_profiled(bytes, sizeof(parts), until_ns) || parts.complete == 0) return false;
    for (int i = 0; i < count; ++i) words[i] = parts.words[i];
    return true;
}

}  // namespace

int sum_over_profiled(int number) {
    auto sum = static_cast<uint64_t>(number);
    const auto add = [](uint64_t a, uint64_t b) { return a + b; };
    return combine_over_profiled(&sum, 1, private_deadline(), add) ? static_cast<int>(sum) : -1;
}

bool largest_over_profiled(uint64_t* words, int count, uint64_t until_ns) {
    const auto larger = [](uint64_t a, uint64_t b) { return a < b ? b : a; };
    return combine_over_profiled(words, count, until_ns, larger);
}

}  // namespace dwell
