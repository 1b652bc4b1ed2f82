// The profiled ranks of the job, and private communication among them with time limits.
// merge_over_mpi.cpp makes the communicator; remote_clocks.cpp and piggyback.cpp also use it.
#ifndef DWELL_RUNTIME_MPI_PROFILED_RANKS_H_
#define DWELL_RUNTIME_MPI_PROFILED_RANKS_H_

#include "runtime/mpi/mpi_api.h"

namespace dwell {

enum PrivateTag : int {
    kMergeTag = 1,
    kResultTag = 2,
    kClockTag = 3,
    kPiggybackTag = 4,
    kWordsTag = 5,
};

struct ProfiledRanks {
    MPI_Comm comm = nullptr;  // of the profiled ranks, in the order of their world ranks
    int place = 0;            // own rank in it
    int count = 1;
    bool partial = false;  // some ranks are not profiled
    int* ranks = nullptr;  // world ranks by place; null: this one alone
};
extern ProfiledRanks g_profiled __attribute__((visibility("hidden")));

// The time limit of private communication that begins now.
uint64_t private_deadline();
// The program is done: from now on the limit is DWELL_END_TIMEOUT, half of it for communication,
// and the rest until end_deadline() for the report.
void limit_end();
uint64_t end_deadline();
// Tests until the request is complete; false, with the request freed, after the limit. 0: no limit.
bool await_request(MPI_Request* request, uint64_t until_ns, MPI_Status* status);
// The same for a collective, which cannot be cancelled: after the limit it stays active, so its
// buffers must live on.
bool await_collective(MPI_Request* request, uint64_t until_ns);
// The sum of nonnegative numbers over all profiled ranks, all of which call it; -1: not all are
// there.
int sum_over_profiled(int number);
// The maximum of each of at most kMostWords words, likewise. False: not all are there.
constexpr int kMostWords = 3;
bool largest_over_profiled(uint64_t* words, int count, uint64_t until_ns);
// Broadcasts from the first rank; zeros, and false, if it does not arrive in time.
bool spread_over_profiled(char* bytes, uint64_t size, uint64_t until_ns);
bool send_bytes(const char* bytes, uint64_t size, int to, int tag, uint64_t until_ns);
// Receives the bytes in whatever parts the sender sends.
bool receive_bytes(char* bytes, uint64_t size, int from, int tag, uint64_t until_ns);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_PROFILED_RANKS_H_
