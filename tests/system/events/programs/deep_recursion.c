/* A recursion, deeper than open entries are kept: 3000 procedures, each with a loop. */
enum { kDepth = 3000, kSteps = 10 };
static volatile int sum;

__attribute__((noinline)) static int deep(int left) {
    for (int i = 0; i < kSteps; ++i) sum = sum + 1;
    return left == 1 ? sum : deep(left - 1) + sum % 2;
}

int main(void) { return deep(kDepth) != kDepth * kSteps; }
