// A procedure whose cost depends on its caller: 4 calls of 5 ms from light, 4 of 45 ms from heavy.
// Who shares its time out by counts, as gprof does, gives 100 ms to each.
#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

PROCEDURE work(int ms);
PROCEDURE light(void);
PROCEDURE heavy(void);
int times = 4;

PROCEDURE work(int ms) {
    spin_ms(ms);
    keep();
}

PROCEDURE light(void) {
    for (int i = 0; i < times; i++) work(5);  // from light
    keep();
}

PROCEDURE heavy(void) {
    for (int i = 0; i < times; i++) work(45);  // from heavy
    keep();
}

int main(void) {
    begin_all();
    light();
    heavy();
    end_all();
    return 0;
}
