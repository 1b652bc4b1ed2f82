// Procedures that do not return as usual: by longjmp, from a thread by pthread_exit, by exit; and
// one that ends in a jump. What is called later stands under its caller all the same.
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pass_time.h"

#define PROCEDURE __attribute__((noinline)) void

static jmp_buf back;
int times = 3;

PROCEDURE jumper(void) {
    spin_ms(5);
    longjmp(back, 1);
}

PROCEDURE between(void) {
    for (int i = 0; i < times; i++) {
        keep();
        if (i == 1) jumper();
    }
    keep();
}

PROCEDURE after_jump(void) {
    spin_ms(10);
    keep();
}

PROCEDURE jumps(void) {
    if (setjmp(back) == 0) between();
    after_jump();
    keep();
}

// The third round calls dives again, at last it jumps: 4 entries, in each 3 rounds begun.
PROCEDURE dives(int n) {
    for (int i = 0; i < times + 1; i++) {
        keep();
        if (i == 2 && n == 0) longjmp(back, 1);
        if (i == 2) dives(n - 1);
    }
    keep();
}

PROCEDURE dived(void) {
    if (setjmp(back) == 0) dives(3);
    keep();
}

// The child ends the loop too; its rounds are no one's.
PROCEDURE forks(void) {
    for (int i = 0; i < times; i++) {
        keep();
        if (i == 0 && fork() == 0) times = 1000;
    }
    if (times == 1000) _exit(0);
    wait(NULL);
    keep();
}

PROCEDURE last(void) {
    spin_ms(10);
    keep();
}

PROCEDURE calls_last(void) {
    spin_ms(5);
    last();
}

PROCEDURE after_last(void) {
    spin_ms(5);
    keep();
}

PROCEDURE ends_thread(void) {
    spin_ms(5);
    pthread_exit(NULL);
}

static void* first_thread(void* unused) {
    ends_thread();
    return unused;
}

PROCEDURE in_thread(void) {
    spin_ms(5);
    keep();
}

static void* second_thread(void* unused) {
    in_thread();
    return unused;
}

PROCEDURE run_thread(void* (*body)(void*)) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    pthread_join(thread, NULL);
}

static void at_exit(void) {
    spin_ms(5);
    end_all();
}

PROCEDURE leaving(void) {
    spin_ms(10);
    puts("leaving");
    for (int i = 0; i < times; i++) {
        keep();
        if (i == 1) exit(3);
    }
}

int main(void) {
    begin_all();
    atexit(at_exit);
    jumps();
    dived();
    forks();
    calls_last();
    after_last();
    run_thread(first_thread);
    run_thread(second_thread);
    leaving();
    return 0;
}
