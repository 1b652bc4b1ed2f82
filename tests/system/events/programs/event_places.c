// Procedures and loops with known numbers of entries, to be compiled with probes: solve() 10 times,
// with 3 calls of relax() in its loop; again() calls itself to a depth of 4; jump() is left by a
// jump. The phase "moved" begins in the block "around", and ends with a call of relax() behind it.
#include <setjmp.h>

#include "dwell.h"

#define NOINLINE __attribute__((noinline))

static volatile double value;

NOINLINE static void relax(void) { value = value * 0.5 + 1; }

NOINLINE static void solve(void) {
    for (int i = 0; i < 3; ++i) relax();  // the loop of solve()
}

NOINLINE static void again(int depth) {
    value += depth;
    if (depth != 0) again(depth - 1);
    value -= depth;
}

NOINLINE static void other(void) { value += 1; }

static jmp_buf back;

NOINLINE static void jump(void) {
    value += 1;
    longjmp(back, 1);
}

int main(void) {
    for (int step = 0; step < 10; ++step) {
        other();
        solve();
    }
    dwell_block_begin("deep");
    again(3);
    dwell_block_end("deep");
    dwell_block_begin("around");
    dwell_phase_begin("moved", 1);
    dwell_block_end("around");
    relax();
    dwell_phase_end();
    if (setjmp(back) == 0) jump();
    other();
    return 0;
}
