// Heat in a square plate: Jacobi iteration on a grid of SIZE x SIZE, cut into strips of rows.
//
//   jacobi [SIZE [ITERATIONS]]      default 1200 1200: 2 to 3 seconds on two processors
//
// Rank 0 gets 30 % more rows than the others, so it computes 1.3 times as long: the others wait for
// it, at MPI_Waitall when they are its neighbours, at MPI_Allreduce otherwise. With P ranks of
// I iterations a run makes 2 * (P - 1) * I messages of 8 * SIZE bytes (two for each inner border)
// and I / 10 reductions of 8 bytes on each rank.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

constexpr int kIterationsPerCheck = 10;

struct Strip {
    int columns;
    int rows;  // without the two border rows
    int above;
    int below;
    std::vector<double> now;
    std::vector<double> next;

    double* row(int index) { return now.data() + static_cast<size_t>(index) * columns; }
};

int rows_of_rank(int size, int ranks, int rank) {
    const double share = size / (ranks + 0.3);
    const int usual = static_cast<int>(share);
    return rank == 0 ? size - usual * (ranks - 1) : usual;
}

Strip make_strip(int size, int ranks, int rank) {
    Strip strip;
    strip.columns = size;
    strip.rows = rows_of_rank(size, ranks, rank);
    strip.above = rank == 0 ? MPI_PROC_NULL : rank - 1;
    strip.below = rank == ranks - 1 ? MPI_PROC_NULL : rank + 1;
    const size_t cells = static_cast<size_t>(strip.rows + 2) * strip.columns;
    strip.now.assign(cells, 0.0);
    if (rank == 0) {
        for (int column = 0; column < size; ++column) strip.row(0)[column] = 100.0;  // hot edge
    }
    strip.next = strip.now;
    return strip;
}

void exchange_borders(Strip& strip) {
    MPI_Request requests[4];
    int used = 0;
    const int columns = strip.columns;
    if (strip.above != MPI_PROC_NULL) {
        MPI_Irecv(strip.row(0), columns, MPI_DOUBLE, strip.above, 1, MPI_COMM_WORLD,
                  &requests[used++]);
        MPI_Isend(strip.row(1), columns, MPI_DOUBLE, strip.above, 2, MPI_COMM_WORLD,
                  &requests[used++]);
    }
    if (strip.below != MPI_PROC_NULL) {
        MPI_Irecv(strip.row(strip.rows + 1), columns, MPI_DOUBLE, strip.below, 2, MPI_COMM_WORLD,
                  &requests[used++]);
        MPI_Isend(strip.row(strip.rows), columns, MPI_DOUBLE, strip.below, 1, MPI_COMM_WORLD,
                  &requests[used++]);
    }
    MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
}

double relax(Strip& strip) {
    const int columns = strip.columns;
    double change = 0.0;
    for (int row = 1; row <= strip.rows; ++row) {
        const double* here = strip.row(row);
        double* out = strip.next.data() + static_cast<size_t>(row) * columns;
        for (int column = 1; column < columns - 1; ++column) {
            const double value = 0.25 * (here[column - 1] + here[column + 1] +
                                         here[column - columns] + here[column + columns]);
            change += std::fabs(value - here[column]);
            out[column] = value;
        }
    }
    std::swap(strip.now, strip.next);
    return change;
}

double total_change(double change) {
    double total = 0.0;
    MPI_Allreduce(&change, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int size = argc > 1 ? std::atoi(argv[1]) : 1200;
    const int iterations = argc > 2 ? std::atoi(argv[2]) : 1200;
    if (size < 3 || iterations < 1 || size / (ranks + 1) < 1) {
        if (rank == 0) std::fprintf(stderr, "usage: jacobi [SIZE [ITERATIONS]]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }

    Strip strip = make_strip(size, ranks, rank);
    double change = 0.0;
    for (int iteration = 1; iteration <= iterations; ++iteration) {
        exchange_borders(strip);
        const double own_change = relax(strip);
        if (iteration % kIterationsPerCheck == 0) change = total_change(own_change);
    }
    if (rank == 0) std::printf("%d iterations, last change %.6f\n", iterations, change);
    MPI_Finalize();
    return 0;
}
