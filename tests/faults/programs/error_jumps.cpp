// Error handlers that do not return: argv[1] is "longjmp" or "throw"; 2 ranks. 100 sends to a rank
// that does not exist leave through the handler; the 10 exchanges after each ten of them must be
// counted as if nothing had happened: 100 for each rank.
#include <mpi.h>
#include <setjmp.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>

static jmp_buf way_out;
static bool throwing;

static void leave(MPI_Comm*, int*, ...) {
    if (throwing) throw std::runtime_error("from the handler");
    longjmp(way_out, 1);
}

static int fail_once() {
    int data = 1;
    if (throwing) {
        try {
            MPI_Send(&data, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
        } catch (const std::runtime_error&) {
            return 1;
        }
        return 0;
    }
    if (setjmp(way_out) != 0) return 1;
    MPI_Send(&data, 1, MPI_INT, 1000, 0, MPI_COMM_WORLD);
    return 0;
}

int main(int argc, char** argv) {
    int rank, left = 0, in = 0;
    throwing = argc > 1 && std::strcmp(argv[1], "throw") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < 100; i++) {
        left += fail_once();
        if (i % 10 != 9) continue;
        for (int k = 0; k < 10; k++) {
            MPI_Sendrecv(&k, 1, MPI_INT, 1 - rank, 0, &in, 1, MPI_INT, 1 - rank, 0,  // @exchange
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    std::printf("rank %d left %d in %d\n", rank, left, in);
    MPI_Finalize();
    return 0;
}
