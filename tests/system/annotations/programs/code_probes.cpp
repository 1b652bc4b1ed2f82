// For -finstrument-functions, at any level of optimisation: what is inlined is told too.
//
//   work: 30, from three statements of main, 10 each; in it leaf: 30
//   fibonacci(10): 177 entries, one of them timed
//   thrower: 10, left by an exception; catcher: 10
//   before_main: 1
//   in a thread: leaf 5
#include <csignal>
#include <cstring>
#include <thread>

volatile int g_sink;

extern "C" {
void leaf() { g_sink = g_sink + 1; }
void work() {
    leaf();
    g_sink = g_sink + 1;
}
int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
void thrower() { throw 1; }
void catcher() {
    try {
        thrower();
    } catch (int) {
    }
}
void in_thread() {
    for (int i = 0; i < 5; ++i) leaf();
}
int before_main() { return 1; }
}

static int g_before = before_main();

int main(int argc, char** argv) {
    for (int i = 0; i < 10; ++i) {
        work();
        work();
        work();
        catcher();
    }
    g_sink = fibonacci(10) + g_before;
    std::thread(in_thread).join();
    if (argc > 1 && strcmp(argv[1], "kill") == 0) std::raise(SIGKILL);
    return 0;
}
