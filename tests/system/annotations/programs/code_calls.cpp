// For -finstrument-functions: procedures so short and frequent that they are only counted.
//
//   leaf: 3000000, from one statement of work, which is entered once
//   fibonacci(27): 2 F(28) - 1 = 635621 entries
//   thrower: 50000, left by an exception; catcher: 50000
#include <cstdio>

volatile long g_sink;

extern "C" {
void leaf() { g_sink = g_sink + 1; }
void work() {
    for (int i = 0; i < 3000000; ++i) leaf();
}
int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
void thrower() { throw 1; }
void catcher() {
    try {
        thrower();
    } catch (int) {
        g_sink = g_sink + 1;
    }
}
}

int main() {
    work();
    for (int i = 0; i < 50000; ++i) catcher();
    std::printf("%ld\n", g_sink + fibonacci(27));
    return 0;
}
