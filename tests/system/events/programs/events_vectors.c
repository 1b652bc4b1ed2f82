// CALLS calls of a procedure with values in vector registers on both sides; prints their sum.
#include <stdio.h>

__attribute__((noinline)) static double leaf(double a, double b) { return a + b / 2; }

int main(void) {
    double sums[4] = {0, 0, 0, 0};
    for (int i = 0; i < CALLS; ++i) {
        const double a = i, b = 2 * i, c = 0.5 * i;
        const double result = leaf(a, b);
        sums[0] += a;
        sums[1] += b;
        sums[2] += c;
        sums[3] += result;
    }
    printf("%.1f %.1f %.1f %.1f\n", sums[0], sums[1], sums[2], sums[3]);
    return 0;
}
