// The observed ranks of the job, and private traffic among them that never waits for ever.
// merge_over_mpi.cpp makes the communicator; remote_clocks.cpp and piggyback.cpp use it, too.
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
    MPI_Comm comm = nullptr;  // over the observed ranks, in the order of their world ranks
    int place = 0;            // in it
    int count = 1;
    bool partial = false;  // there are others
    int* ranks = nullptr;  // by place; null: this one alone
};
extern ProfiledRanks g_profiled __attribute__((visibility("hidden")));

// When private traffic that begins now is given up.
uint64_t private_deadline();
// The program is done: from now on dwell has the time limit of DWELL_END_TIMEOUT, half of it for
// the traffic, and what is left until end_deadline() for the report.
void limit_end();
uint64_t end_deadline();
// Tests until the request is complete, or frees it: false. 0: no deadline.
bool await_request(MPI_Request* request, uint64_t until_ns, MPI_Status* status);
// The same of a collective, which cannot be cancelled: given up it is left alone, and what it uses
// must live on.
bool await_collective(MPI_Request* request, uint64_t until_ns);
// The sum over all observed ranks, each of which asks, of numbers that are not negative; -1: not
// all are there.
int sum_over_profiled(int number);
// The largest of each word, likewise; at most kMostWords. False: not all are there.
constexpr int kMostWords = 3;
bool largest_over_profiled(uint64_t* words, int count, uint64_t until_ns);
// What the first place says reaches all; zeros, and false, where it does not in time.
bool spread_over_profiled(char* bytes, uint64_t size, uint64_t until_ns);
bool send_bytes(const char* bytes, uint64_t size, int to, int tag, uint64_t until_ns);
// Takes the bytes as they come, however the sender divides them.
bool receive_bytes(char* bytes, uint64_t size, int from, int tag, uint64_t until_ns);

}  // namespace dwell

#endif  // DWELL_RUNTIME_MPI_PROFILED_RANKS_H_
