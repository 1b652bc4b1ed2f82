// As whose_computation.c, in C++ with objects that go away and an exception that is caught in the
// loop.
#include <mpi.h>
#include <time.h>

#include <cerrno>
#include <stdexcept>
#include <vector>

namespace {

int rank = 0;

// It has no probes.
__attribute__((noinline, no_instrument_function)) void pass(long ns) {
    timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += rank == 1 ? ns : 0;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) == EINTR) {
    }
}

class Grid {
  public:
    __attribute__((noinline)) void compute() {
        for (int i = 0; i < 4; ++i) pass(5000000);
    }
    __attribute__((noinline)) void exchange(int step) {
        std::vector<double> halo(4, step);
        MPI_Sendrecv(halo.data(), 1, MPI_DOUBLE, 1 - rank, 0, halo.data() + 1, 1, MPI_DOUBLE,
                     1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        sum_ += halo[1];
        if (step == 7) throw std::runtime_error("the seventh");
    }
    __attribute__((noinline)) void halo() {
        for (int step = 0; step < 10; ++step) {
            try {
                compute();
                exchange(step);
            } catch (const std::runtime_error&) {
                sum_ += 1;
            }
        }
    }

  private:
    double sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    Grid grid;
    grid.halo();
    MPI_Finalize();
    return 0;
}
