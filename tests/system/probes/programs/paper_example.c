// The example program of Li and Zhang (fig. 12), its statements marked with their numbers, on two
// ranks. p3(n) begins the body of loop1 n times, each time that of loop2 3 times; p4 takes 4 ms; p1
// and p2 take 10 and 20 ms of their own; rank 1 comes 40 ms late to e1. With LAST p1 and p2 call p3
// last: optimised, these calls are jumps.
#include <mpi.h>

#include "pass_time.h"

#ifdef LAST
#define AFTER(statement)
#else
#define AFTER(statement) statement
#endif
#define PROCEDURE __attribute__((noinline)) void
#define TO_PARTNER(buffer) buffer, 4, MPI_INT, 1 - world_rank(), 0

PROCEDURE p1(void);
PROCEDURE p2(void);
PROCEDURE p3(int n);
PROCEDURE p4(void);

int first = 2, second = 4, inner = 3;
static int out[4], in[4];

int main(void) {  // L1
    begin_all();
    p1();  // L2
    p2();  // L3
    end_all();
    return 0;
}

PROCEDURE p1(void) {  // L4
    spin_ms(9);
    p3(first);  // L5
    AFTER(spin_ms(1);)
}

PROCEDURE p2(void) {  // L6
    spin_ms(18);
    p3(second);  // L7
    AFTER(spin_ms(2);)
}

PROCEDURE p3(int n) {  // L8
    if (world_rank() == 1) spin_ms(40);
    MPI_Sendrecv(TO_PARTNER(out), TO_PARTNER(in), MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // L9 e1
    p4();                                                                              // L10
    for (int i = 0; i < n; i++) {                                                      // L11 loop1
        MPI_Sendrecv(TO_PARTNER(out), TO_PARTNER(in), MPI_COMM_WORLD, MPI_STATUS_IGNORE);  // L12 e2
        for (int j = 0; j < inner; j++) {  // L13 loop2
            p4();                          // L14
        }
    }
}

PROCEDURE p4(void) {  // L15
    spin_ms(4);
    keep();
}
