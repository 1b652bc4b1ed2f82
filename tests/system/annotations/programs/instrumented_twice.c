// For dwell-gcc -finstrument-functions: main calls work 3 times from one statement, which calls
// small 4 times each. That is too small for dwell's own probes.
volatile long g_sum;

__attribute__((noinline)) void small(int n) { g_sum += n; }

__attribute__((noinline)) void work(int n) {
    for (int i = 0; i < n; ++i) g_sum += i;
    for (int i = 0; i < 4; ++i) small(i);
}

int main(void) {
    for (int k = 0; k < 3; ++k) work(100000);
    return g_sum == 0;
}
