// GCC makes copies of a procedure that calls itself with a constant. depth(20, 1): 21 entries, of
// which 20 with a loop: once round in the first, three times in the others, 58 in all.
#include <stdio.h>
static __attribute__((noinline)) long depth(int n, int step) {
    long sum = 0;
    if (n > 0) {
        for (int i = 0; i < step; i++) {
            fflush(stdout);
            sum += i;
        }
        sum += n % 2 ? depth(n - 1, 3) : depth(n - 1, 3) + 1;
        fflush(stdout);
    }
    return sum;
}
int main(int argc, char** argv) {
    printf("%ld\n", depth(20, argc));
    return 0;
}
