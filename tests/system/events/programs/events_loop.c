// CALLS calls of a procedure, each of which calls another one.
static volatile long sum;

__attribute__((noinline)) static void inner(int i) { sum += i; }
__attribute__((noinline)) static void outer(int i) {
    sum += 1;
    inner(i);
}

int main(void) {
    for (int i = 0; i < CALLS / 2; ++i) outer(i);
    return 0;
}
