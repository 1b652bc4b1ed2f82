// What source probes make of C. The answers stand beside the code and are found by counting;
// probing.py says how they are written. Iterations: how often a loop's body is begun.
#define _GNU_SOURCE
#include <alloca.h>
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static double table[100];
static int calls;

//! 1 0 main
//! 1 5 main/runs
//! 5 50 main/runs/fill/rows
//! 5 0 main/runs/fill
static void fill(int n) {                    //= proc fill +
    for (int i = 0; i < n; i++) {            //= loop rows in fill +
        for (int j = 0; j < n; j++)          //= loop columns in rows inner
            table[i * n + j] = sqrt(i) + j;  //= call sqrt in columns
    }
}

// Too small: calls only itself.
static int fib(int n) {                          //= proc fib small
    return n < 2 ? n : fib(n - 1) + fib(n - 2);  //= call fib in fib; call fib in fib
}

// Small: what it calls is in sight and small; a failed check never returns.
static int checked(int n) {  //= proc checked small
    if (n < 0) abort();      //= call abort in checked
    return fib(n) + 1;       //= call fib in checked
}

// Not small: short, but calls a procedure with a loop.
//! 1 10 main/driver/walk/steps
//! 1 0 main/driver
//! 1 0 main/driver/walk
static int walk(const char* text) {  //= proc walk +
    int n = 0;
    while (text[n] != '.') {  //= loop steps in walk +
        n++;
    }
    return n;
}
static int driver(const char* text) {  //= proc driver +
    return walk(text) + 1;             //= call walk in driver
}

// Leads to longjmp out of a loop in its third trip: the way to a call that does not return is no
// part of the loop, which is left; the procedure is not, and main's next probe notices.
//! 1 0 main/jumps
//! 1 0 main/jumps/jumper
//! 1 3 main/jumps/jumper/trips
static jmp_buf place;
static void jumper(int n) {             //= proc jumper +
    for (int i = 0; i < 5; i++) {       //= loop trips in jumper +
        if (i == n) longjmp(place, 1);  //= call longjmp in jumper
        fflush(stdout);                 //= call fflush in trips
    }
}
static int jumps(void) {          //= proc jumps +
    if (setjmp(place)) return 1;  //= call _setjmp in jumps
    jumper(2);                    //= call jumper in jumps
    return 0;
}

// One edge leaves two loops: both are left, the inner one first. i * j == 6 first at i = 2, j = 3:
// the inner body is begun 4 + 4 + 4 times.
//! 1 0 main/search
//! 1 3 main/search/outer
//! 3 12 main/search/outer/deep
static int search(int product) {       //= proc search +
    for (int i = 0; i < 4; i++) {      //= loop outer in search +
        for (int j = 0; j < 4; j++) {  //= loop deep in outer +
            fflush(stdout);            //= call fflush in deep
            if (i * j == product) return 10 * i + j;
        }
    }
    return 0;
}

// Tests last: as many iterations as trips. Two ways out by break.
//! 1 0 main/several
//! 1 7 main/several/dowhile
//! 1 3 main/several/breaks
static int several(int n) {  //= proc several +
    int k = 0;
    do {                 // the compiler keeps the place of its first statement only
        calls++;         //= loop dowhile in several +
        fflush(stdout);  //= call fflush in dowhile
    } while (++k < n);
    while (k) {  //= loop breaks in several +
        if (k == 100) break;
        if (k == n - 2) break;
        k--;
        fflush(stdout);  //= call fflush in breaks
    }
    return k;
}

// The frame changes: memory from the stack, aligned variables.
//! 1 0 main/frames
//! 1 20 main/frames/bytes
typedef double Four __attribute__((vector_size(32)));
static int frames(int n) {  //= proc frames +
    Four sum __attribute__((aligned(64))) = {0};
    char* bytes = alloca((size_t)n);
    for (int i = 0; i < n; i++) {  //= loop bytes in frames +
        bytes[i] = (char)i;
        sum += (Four){i, 1, 2, 3};
        fflush(stdout);  //= call fflush in bytes
    }
    return bytes[n - 1] + (int)sum[0];
}

//! 1 0 main/forks
//! 1 0 vforked child
//! 1 0 vforked parent
static int forks(void) {  //= proc forks +
    int status = 0;
    pid_t child = vfork();       //= call vfork in forks
    if (child == 0) _exit(3);    //= call _exit in forks
    waitpid(child, &status, 0);  //= call waitpid in forks
    return WEXITSTATUS(status);
}

// Nested functions get their frame in the register that a probe uses.
//! 1 0 main/host
//! 2 0 main/host/guest
//! 2 7 main/host/guest/sums
static int host(int n) {  //= proc host +
    int sum = n;
    int guest(int k) {                 //= proc guest in host +
        for (int i = 0; i < k; i++) {  //= loop sums in guest +
            sum += i;
            fflush(stdout);  //= call fflush in sums
        }
        return sum;
    }
    return guest(3) + guest(4);  //= call guest in host; call guest in host
}

static int chosen(int x) { return x + 1; }  //= proc chosen small
static int (*choose(void))(int) {           //= proc choose off
    return chosen;
}
int picked(int x) __attribute__((ifunc("choose")));
__attribute__((naked)) void bare(void) { asm("ret"); }
__attribute__((no_instrument_function)) static void quiet(void) {  //= proc quiet off
    for (int i = 0; i < 3; i++) fflush(stdout);  //= loop still in quiet off; call fflush in still
}

static int indirect(int (*f)(int), int x) {  //= proc indirect +
    return f(x);                             //= call in indirect
}
//! 1 0 main/indirect
int MPI_Mine(int x) { return x; }  //= proc MPI_Mine small
//! 1 0 main/talks
static int talks(int x) {  //= proc talks +
    return MPI_Mine(x);    //= comm MPI_Mine in talks
}

int main(void) {                                 //= proc main +
    for (int run = 0; run < 5; run++) fill(10);  //= loop runs in main +; call fill in runs
    int answers[] = {fib(15),
                     checked(3),
                     driver("0123456789."),
                     jumps(),
                     search(6),
                     several(7),
                     frames(20),
                     forks(),
                     host(2),
                     picked(1),
                     indirect(chosen, 4),
                     talks(5)};
    quiet();
    bare();
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++) {  //= loop prints in main +
        printf("%d\n", answers[i]);
    }
    printf("%g %d\n", table[99], calls);
    return 0;
}
