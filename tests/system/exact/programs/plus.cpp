// C++: names are demangled, inlined frames are shown, a lambda and a template are procedures of
// their own. 2 ranks; each line below is reached 6 times by each rank. In eight threads, one after
// the other, the destructor of a thread_local object makes one call more.
#include <mpi.h>

#include <cstdio>
#include <thread>
#include <vector>

namespace app {

template <typename T>
__attribute__((noinline)) T ring(T value, int to) {
    T got{};
    //@ MPI_Sendrecv count=12 sent=96 received=96 peers={(0,1):(12,48,48),(1,0):(12,48,48)}
    MPI_Sendrecv(&value, sizeof value, MPI_BYTE, to, 0, &got, sizeof got, MPI_BYTE, to, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return got + 1;
}

struct Solver {
    int to;
    double sum = 0;
    inline __attribute__((always_inline)) void exchange(double* in) {
        //@ MPI_Sendrecv count=12 sent=96 received=96
        MPI_Sendrecv(&sum, 1, MPI_DOUBLE, to, 1, in, 1, MPI_DOUBLE, to, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    __attribute__((noinline)) void step() {
        double in = 0;
        exchange(&in);
        sum += in + 1;
    }
};

struct Farewell {
    bool armed = false;
    ~Farewell() {
        int flag = 0;
        if (!armed) return;
        //@ MPI_Iprobe count=16
        MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
};
thread_local Farewell farewell;

}  // namespace app

int main(int argc, char** argv) {
    int rank = 0, provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    app::Solver solver{1 - rank};
    double sum = 0;
    for (int i = 0; i < 6; i++) {
        sum += app::ring<double>(i, 1 - rank);
        solver.step();
        auto shout = [&](int what) {
            //@ MPI_Bcast count=12 sent=24 received=24
            MPI_Bcast(&what, 1, MPI_INT, 0, MPI_COMM_WORLD);
            return what;
        };
        sum += shout(i);
    }
    for (int i = 0; i < 8; i++) std::thread([] { app::farewell.armed = true; }).join();
    std::printf("rank %d sum %g %g\n", rank, sum, solver.sum);
    MPI_Finalize();
    return 0;
}
