// Where control comes back to from frames that are gone, in places that make it hard. Each `landed`
// tells the site that it comes back in, and how often: see landings() of probing.py.
#include <csetjmp>
#include <cstdio>
#include <stdexcept>

#define NOINLINE __attribute__((noinline))

volatile int three = 3;
volatile int sink = 0;
jmp_buf back;

NOINLINE void thrower(int i) {
    fflush(stdout);
    if (i != 0) throw i;
}

struct Guard {
    ~Guard() { fflush(stdout); }
};

inline void inlined_with_guard(int i) {
    Guard guard;
    thrower(i);
}

// One try in another, both in loops; what is inlined cleans up first. 2 + 1 exceptions.
NOINLINE int nested() {
    int caught = 0;
    for (int i = 0; i < three; ++i) {  // nested outer
        try {
            for (int j = 0; j < three; ++j) {  // nested inner
                try {
                    inlined_with_guard(i == 1 ? j : 0);
                } catch (int number) {
                    if (number == 2) throw std::runtime_error("on");
                    caught += 1;
                }
            }
        } catch (const std::exception&) {
            caught += 10;
        }
    }
    return caught;
}

// Caught where the loop goes on only by way of a continue, and where it ends.
NOINLINE int ways_on() {
    int caught = 0;
    for (int i = 0; i < three; ++i) {  // ways
        try {
            thrower(i);
        } catch (int number) {
            if (number == 2) break;
            caught += 1;
            continue;
        }
        caught += 100;
    }
    return caught;
}

struct Base {
    explicit Base(int i) { thrower(i); }
};
struct Derived : Base {
    NOINLINE explicit Derived(int i) try : Base(i) {
    } catch (int) {
        sink = 1;
    }
};

NOINLINE int constructs() {
    try {
        Derived derived(1);
        return 0;
    } catch (...) {
        return 1;
    }
}

NOINLINE void jumper(int i) {
    fflush(stdout);
    if (i != 0) longjmp(back, i);
}

// setjmp in a loop returns 3 + 2 times.
NOINLINE int jumps() {
    volatile int returned = 0;
    for (volatile int i = 0; i < three; i = i + 1) {  // jumps
        const int number = setjmp(back);
        returned = returned + 1;
        if (number == 0) jumper(i);
    }
    return returned;
}

int main() {
    printf("%d", nested());
    printf(" %d", ways_on());
    printf(" %d", constructs());
    printf(" %d\n", jumps());
    return 0;
}
