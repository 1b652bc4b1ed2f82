// Procedures and loops left by an exception or a jump, caught by code that goes on without entering
// anything: their time ends where it was caught, what passes then is the catcher's.
#include <setjmp.h>

#include <cstdlib>
#include <stdexcept>

#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

int times = 3;
int last = 2;
jmp_buf back;

PROCEDURE thrower() {
    spin_ms(20);
    if (times != 0) throw std::runtime_error("thrown");
    keep();
}

PROCEDURE catcher() {
    try {
        thrower();
    } catch (const std::exception&) {
        spin_ms(20);
    }
    keep();
}

struct Guard {
    ~Guard() { spin_ms(5); }
};

PROCEDURE passed_by() {
    Guard guard;
    thrower();
    keep();
}

// The wrong handler is passed, too.
PROCEDURE passed_by_twice() {
    try {
        passed_by();
    } catch (const std::logic_error&) {
        keep();
    }
}

PROCEDURE far_catcher() {
    try {
        passed_by_twice();
    } catch (...) {
        spin_ms(20);
    }
    keep();
}

int compare(const void*, const void*) {
    spin_ms(10);
    if (times != 0) throw 1;
    return 0;
}

PROCEDURE across_foreign() {
    int numbers[] = {3, 2, 1};
    try {
        std::qsort(numbers, 3, sizeof *numbers, compare);
    } catch (int) {
        spin_ms(20);
    }
    keep();
}

PROCEDURE part(int i) {
    spin_ms(2);
    if (i == 1) throw i;
    keep();
}

// The exception ends the inner loop in its second round, each time; the outer one goes on.
PROCEDURE loops() {
    for (int i = 0; i < times; ++i) {  // outer
        try {
            for (int j = 0; j < times; ++j) {  // inner
                part(j);
                keep();
            }
        } catch (int) {
            spin_ms(10);
        }
    }
    keep();
}

PROCEDURE jumper() {
    for (int i = 0; i < times; ++i) {
        spin_ms(5);
        if (i == last) longjmp(back, 1);
    }
    keep();
}

PROCEDURE jumped_to() {
    if (setjmp(back) == 0) jumper();
    spin_ms(20);
    keep();
}

int main() {
    begin_all();
    catcher();
    far_catcher();
    across_foreign();
    loops();
    jumped_to();
    end_all();
    return 0;
}
