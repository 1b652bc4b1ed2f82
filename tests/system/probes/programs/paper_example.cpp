// paper_example.c as C++ has it: methods, one of them a template, and a loop over a vector.
#include <mpi.h>

#include <vector>

#include "pass_time.h"

#ifdef LAST
#define AFTER(statement)
#else
#define AFTER(statement) statement
#endif
#define PROCEDURE __attribute__((noinline)) void
#define TO_PARTNER(buffer) buffer.data(), 4, MPI_INT, 1 - world_rank(), 0

int first = 2, second = 4, inner = 3;

namespace paper {

struct Example {
    std::vector<int> out = std::vector<int>(4), in = std::vector<int>(4);

    PROCEDURE p1();
    PROCEDURE p2();
    template <typename Number>
    PROCEDURE p3(Number n);
    PROCEDURE p4();
};

template <typename Number>
void Example::p3(Number n) {  // L8
    std::vector<int> times(static_cast<size_t>(n), inner);
    if (world_rank() == 1) spin_ms(40);
    MPI_Sendrecv(TO_PARTNER(out), TO_PARTNER(in), MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // L9 e1
    p4();                                                                              // L10
    for (int inner_times : times) {                                                    // L11 loop1
        MPI_Sendrecv(TO_PARTNER(out), TO_PARTNER(in), MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // L12 e2
        for (int j = 0; j < inner_times; ++j) {  // L13 loop2
            p4();                                // L14
        }
    }
}

void Example::p1() {  // L4
    spin_ms(9);
    p3(first);  // L5
    AFTER(spin_ms(1);)
}

void Example::p2() {  // L6
    spin_ms(18);
    p3(second);  // L7
    AFTER(spin_ms(2);)
}

void Example::p4() {  // L15
    spin_ms(4);
    keep();
}

}  // namespace paper

int main() {  // L1
    begin_all();
    paper::Example example;
    example.p1();  // L2
    example.p2();  // L3
    end_all();
    return 0;
}
