// coroutines N ROUNDS: N coroutines of one procedure on stacks of their own, each naps ROUNDS times
// for 5 ms, in turns.
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

enum { kMost = 100, kBytes = 64 * 1024 };
static ucontext_t home, coroutine[kMost];
static char stack[kMost][kBytes];
static int rounds;

static void nap(void) { usleep(5000); }
static void body(int number) {
    for (int i = 0; i < rounds; i++) {
        nap();
        swapcontext(&coroutine[number], &home);
    }
}

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    const int number = atoi(argv[1]);
    rounds = atoi(argv[2]);
    for (int i = 0; i < number; i++) {
        getcontext(&coroutine[i]);
        coroutine[i].uc_stack.ss_sp = stack[i];
        coroutine[i].uc_stack.ss_size = kBytes;
        coroutine[i].uc_link = &home;
        makecontext(&coroutine[i], (void (*)(void))body, 1, i);
    }
    for (int round = 0; round <= rounds; round++) {
        for (int i = 0; i < number; i++) swapcontext(&home, &coroutine[i]);
    }
    return 0;
}
