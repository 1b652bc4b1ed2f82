// Procedures left by exceptions: 4 of 6 calls of thrower throw; middle's local object dies on the
// way; what is called from the handler and after it stands under the procedure that caught.
#include <cstdio>
#include <stdexcept>

#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

int times = 6;

PROCEDURE thrower(int i) {
    spin_ms(2);
    if (i >= 2) throw std::runtime_error("thrown");
    keep();
}

struct Local {
    __attribute__((noinline)) ~Local() {
        spin_ms(1);
        keep();
    }
};

PROCEDURE middle(int i) {
    Local local;
    thrower(i);
    keep();
}

PROCEDURE handled() {
    spin_ms(3);
    keep();
}

PROCEDURE sibling() {
    spin_ms(1);
    keep();
}

PROCEDURE catcher() {
    for (int i = 0; i < times; ++i) {  // loop
        try {
            middle(i);
        } catch (const std::exception&) {
            handled();
        }
        sibling();
    }
    keep();
}

PROCEDURE rethrows() {
    try {
        thrower(2);
    } catch (...) {
        handled();
        throw;
    }
}

int main() {
    begin_all();
    catcher();
    try {
        rethrows();
    } catch (const std::runtime_error& error) {
        std::puts(error.what());
        handled();
    }
    sibling();
    end_all();
    return 0;
}
