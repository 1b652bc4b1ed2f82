// OpenMP with known answers. Work is sleeping, so that no time depends on how many processors there
// are. T = 2 threads; argument: what to do, all of it without one.
#include <omp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static void sleep_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

// 10 regions, each a loop of 8 iterations of i ms: thread 0 has those of 1 to 4 ms, thread 1 those
// of 5 to 8: 100 ms and 260 ms of work in all, so thread 0 waits 160 ms and 260 / 180 = 1.44.
static void triangle(void) {
    for (int k = 0; k < 10; k++) {
#pragma omp parallel for schedule(static)  // @triangle
        for (int i = 1; i <= 8; i++) sleep_ms(i);
    }
}

// One region, 2 loops of 20 iterations: dynamic in chunks of 3 that are 7, static in 2 chunks.
static void chunks(void) {
#pragma omp parallel  // @chunks
    {
#pragma omp for schedule(dynamic, 3)  // @dynamic
        for (int i = 0; i < 20; i++) sleep_ms(1);
#pragma omp for schedule(static)  // @static
        for (int i = 0; i < 20; i++) sleep_ms(1);
    }
}

// 5 barriers to which thread 0 comes 20 ms late: thread 1 waits 100 ms.
static void barriers(void) {
#pragma omp parallel  // @barriers
    for (int k = 0; k < 5; k++) {
        if (omp_get_thread_num() == 0) sleep_ms(20);
#pragma omp barrier  // @barrier
    }
}

// 2 x 5 times 4 ms in a critical section; who comes second waits for 4 ms at least once. A lock is
// got 2 x 5 times, too.
static void criticals(omp_lock_t* lock) {
#pragma omp parallel  // @criticals
    for (int k = 0; k < 5; k++) {
#pragma omp critical  // @critical
        sleep_ms(4);
        omp_set_lock(lock);  // @lock
        omp_unset_lock(lock);
    }
}

// 12 tasks of 5 ms and one for each of them inside.
static void tasks(void) {
#pragma omp parallel  // @tasks
#pragma omp single    // @single
    {
        for (int k = 0; k < 12; k++) {
#pragma omp task  // @task
            {
                sleep_ms(5);
#pragma omp task  // @inner_task
                sleep_ms(1);
#pragma omp taskwait  // @taskwait
            }
        }
    }
}

// A group of 4 tasks of 10 ms, at whose end the thread that created them works or waits.
static void group(void) {
#pragma omp parallel  // @group_region
#pragma omp single
    {
#pragma omp taskgroup  // @group
        {
            for (int k = 0; k < 4; k++) {
#pragma omp task  // @group_task
                sleep_ms(10);
            }
            sleep_ms(15);
        }
    }
}

// A region of 2 threads, each of which forks one of 2: 1 and 2 regions, 2 and 4 threads.
static void nested(void) {
    omp_set_max_active_levels(2);
#pragma omp parallel num_threads(2)  // @outer
    {
#pragma omp parallel num_threads(2)  // @inner
        sleep_ms(10);
    }
}

// 3 sections, one single, one masked, an ordered loop of 6 iterations.
static void others(void) {
#pragma omp parallel
    {
#pragma omp sections  // @sections
        {
#pragma omp section
            sleep_ms(2);
#pragma omp section
            sleep_ms(2);
#pragma omp section
            sleep_ms(2);
        }
#pragma omp single  // @one
        sleep_ms(2);
#pragma omp master  // @masked
        sleep_ms(2);
#pragma omp for ordered schedule(static, 1)  // @ordered_loop
        for (int i = 0; i < 6; i++) {
#pragma omp ordered  // @ordered
            sleep_ms(1);
        }
    }
}

// Between two regions 100 ms in which thread 1 is idle.
static void idle(void) {
#pragma omp parallel  // @first
    sleep_ms(1);
    sleep_ms(100);
#pragma omp parallel  // @second
    sleep_ms(1);
}

// Thread 1 comes by so many constructs that a delay in each makes it late at the barrier; without
// delays it is thread 0, by 40 ms.
static void late(void) {
#pragma omp parallel  // @late
    {
        if (omp_get_thread_num() == 0) {
            sleep_ms(40);
        } else {
            for (int k = 0; k < 50; k++) {
#pragma omp critical(own)
                __asm__ volatile("");
            }
        }
#pragma omp barrier  // @late_barrier
    }
}

int main(int argc, char** argv) {
    const char* what = argc > 1 ? argv[1] : "";
    omp_lock_t lock;
    omp_init_lock(&lock);
    omp_set_num_threads(2);
    omp_set_dynamic(0);
    const int all = *what == '\0';
    if (all || strcmp(what, "triangle") == 0) triangle();
    if (all || strcmp(what, "chunks") == 0) chunks();
    if (all || strcmp(what, "barriers") == 0) barriers();
    if (all || strcmp(what, "criticals") == 0) criticals(&lock);
    if (all || strcmp(what, "tasks") == 0) tasks();
    if (all || strcmp(what, "group") == 0) group();
    if (all || strcmp(what, "others") == 0) others();
    if (all || strcmp(what, "nested") == 0) nested();
    if (all || strcmp(what, "idle") == 0) idle();
    if (all || strcmp(what, "late") == 0) late();
    puts("done");
    return 3;
}
