// Scopes of C++ and exceptions. Killed at its end, as by_hand.c.
//
//   block outer: 10, in each a block thrown (left by an exception) and then a block after
//   thread: its own blocks "in thread", 100
#include "dwell.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

static void throws(int i) {
    DWELL_SCOPE("thrown");
    if (i >= 0) throw i;
}

int main(int argc, char** argv) {
    for (int i = 0; i < 10; ++i) {
        DWELL_SCOPE("outer");
        try {
            throws(i);
        } catch (int) {
        }
        const std::string name = "after";
        const dwell::Scope after(name.c_str());
    }
    std::thread([] {
        for (int i = 0; i < 100; ++i) {
            DWELL_SCOPE("in thread");
        }
    }).join();
    if (argc > 1 && strcmp(argv[1], "kill") == 0) std::raise(SIGKILL);
    return 0;
}
