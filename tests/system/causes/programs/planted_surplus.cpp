// All ranks compute as long in `smooth`; rank 1 computes 10 ms more in each of 40 steps, at the
// marked line. argv[1] says where that stands: in the caller of `smooth`, in one procedure with the
// loops of `smooth`, in a procedure that the compiler inlines into main's loop, below an algorithm
// of the standard library, or in a lambda that a template calls.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace planted {

using Field = std::vector<double>;

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

__attribute__((noinline)) void smooth(Field& field, int times) {
    for (int pass = 0; pass < times; ++pass) {
        for (size_t i = 1; i < field.size(); ++i) field[i] = 0.5 * (field[i] + field[i - 1]);
    }
}

__attribute__((noinline)) double step(Field& field, int smoothings, int more) {
    smooth(field, smoothings);
    double sum = 0;
    for (int pass = 0; pass < more; ++pass) {
        for (size_t i = 1; i < field.size(); ++i)
            sum = 0.5 * (sum + field[i] * field[i - 1]);  // @caller
    }
    return sum;
}

__attribute__((noinline)) double both(Field& field, int smoothings, int more) {
    for (int pass = 0; pass < smoothings; ++pass) {
        for (size_t i = 1; i < field.size(); ++i) field[i] = 0.5 * (field[i] + field[i - 1]);
    }
    double sum = 0;
    for (int pass = 0; pass < more; ++pass) {
        for (size_t i = 1; i < field.size(); ++i)
            sum = 0.5 * (sum + field[i] * field[i - 1]);  // @both
    }
    return sum;
}

static double correct(Field& field, int more) {
    double sum = 0;
    for (int pass = 0; pass < more; ++pass) {
        for (size_t i = 1; i < field.size(); ++i)
            sum = 0.5 * (sum + field[i] * field[i - 1]);  // @inlined
    }
    return sum;
}

__attribute__((noinline)) double tone_map(Field& field, int more) {
    double last = 0;
    for (int pass = 0; pass < more; ++pass) {
        std::transform(field.begin(), field.end(), field.begin(), [&](double value) {
            return last = 0.5 * (last + value);  // @standard
        });
    }
    return last;
}

template <class Cell>
static void for_each_cell(Field& field, int more, Cell cell) {
    for (int pass = 0; pass < more; ++pass) {
        for (size_t i = 1; i < field.size(); ++i) cell(field[i]);
    }
}

template <class Number>
static Number add_source(Field& field, int more) {
    Number last = 0;
    for_each_cell(field, more,
                  [&](double& value) { last = value = std::sqrt(last + value); });  // @template
    return last;
}

}  // namespace planted

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const char* shape = argc > 1 ? argv[1] : "";
    planted::Field field(20000, 1.0);
    double begin = planted::seconds(), first = 0, all = 0;
    planted::smooth(field, 1000);
    const int smoothings = static_cast<int>(1000 * 0.015 / (planted::seconds() - begin)) + 1;
    double longer = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 40; ++i) {
        const int more = rank == 1 ? smoothings * 2 / 3 : 0;
        const bool calls = std::strcmp(shape, "caller") == 0;
        const bool in_one = std::strcmp(shape, "both") == 0;
        if (!calls && !in_one) planted::smooth(field, smoothings);
        begin = planted::seconds();
        if (calls) {
            first += planted::step(field, smoothings, more);
        } else if (in_one) {
            first += planted::both(field, smoothings, more);
        } else if (std::strcmp(shape, "inlined") == 0) {
            first += planted::correct(field, more);
        } else if (std::strcmp(shape, "standard") == 0) {
            first += planted::tone_map(field, more);
        } else {
            first += planted::add_source<double>(field, more);
        }
        longer += planted::seconds() - begin;
        MPI_Allreduce(&first, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    std::fprintf(stderr, "rank %d was there for %.6f s (%g)\n", rank, longer, all);
    MPI_Finalize();
    return 0;
}
