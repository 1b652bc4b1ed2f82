// Recursion as in fig. 11 of Li and Zhang, 5 ms for each activation of x, y and z, 1 ms for w.
#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

PROCEDURE x(int n);
PROCEDURE y(int n);
PROCEDURE z(int n);
PROCEDURE w(int n);
int two = 2;

// Directly, by two statements.
PROCEDURE x(int n) {
    spin_ms(5);
    if (n > 2) {
        x(n - 1);
    } else if (n > 0) {
        x(n - 1);
    }
    keep();
}

// Through another one, which is called from outside too.
PROCEDURE y(int n) {
    spin_ms(5);
    if (n > 0) z(n - 1);
    keep();
}

PROCEDURE z(int n) {
    spin_ms(5);
    if (n > 0) y(n - 1);
    keep();
}

// Twice in a loop: w(3) leads to 1 + 2 + 4 + 8 activations, each with the loop begun twice.
PROCEDURE w(int n) {
    spin_ms(1);
    for (int i = 0; i < two; i++) {  // w's loop
        keep();
        if (n > 0) w(n - 1);
    }
    keep();
}

int main(void) {
    begin_all();
    x(4);  // x from outside
    y(4);  // y from outside: y z y z y
    z(1);  // z from outside: z y
    w(3);  // w from outside
    end_all();
    return 0;
}
