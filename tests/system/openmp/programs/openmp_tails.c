// Regions that end in a construct, which compilers call in place of a return at -O2: the runtime is
// told then that it called itself. T = 2 threads; counts are arithmetic, and no time matters but in
// teams() and reducing_teams(). No procedure ends in a region, which would stand at the call of
// that procedure then. Argument: what to do, all but these two without one. OMP_CANCELLATION=true
// is needed.
#include <omp.h>
#include <string.h>
#include <time.h>

static volatile int sink;

static void sleep_ms(double ms) {
    struct timespec left = {(time_t)(ms / 1000), (long)(ms * 1e6) % 1000000000};
    while (nanosleep(&left, &left) != 0) {
    }
}

// 10 regions that end in a single: 10 of these, 20 times its barrier, 20 times the region's.
static void singles(void) {
    for (int k = 0; k < 10; k++) {
#pragma omp parallel  // @singles
        {
            sink = k;
#pragma omp single  // @single
            sink = k;
        }
    }
    sink = 0;
}

// clang-format takes a block behind a pragma in a block for the end of both.
// clang-format off
// 3 regions of each kind.
static void waits(void) {
    for (int k = 0; k < 3; k++) {
#pragma omp parallel  // @barriers
        {
            sink = k;
#pragma omp barrier
        }
#pragma omp parallel  // @taskwaits
        {
#pragma omp task  // @task
            sink = k;
#pragma omp taskwait
        }
#pragma omp parallel  // @groups
        {
#pragma omp taskgroup  // @group
            {
#pragma omp task  // @group_task
                sink = k;
            }
        }
#pragma omp parallel  // @tasks
        {
            sink = k;
#pragma omp task
            sink = k;
        }
    }
    sink = 0;
}
// clang-format on

// 2 regions of 2 threads, each of which forks one of 2 threads.
static void nested(void) {
    omp_set_max_active_levels(2);
    for (int k = 0; k < 2; k++) {
#pragma omp parallel  // @outer
        {
#pragma omp parallel  // @inner
            sink = k;
        }
    }
    omp_set_max_active_levels(1);
}

// 3 regions of 2 threads that begin nested ones, which each of them executes alone.
static void alone(void) {
    for (int k = 0; k < 3; k++) {
#pragma omp parallel  // @around
        {
#pragma omp parallel  // @alone
            {
#pragma omp barrier
            }
        }
    }
    sink = 0;
}

// 50 tasks, more than libomp creates without dealing out that work.
static void taskloop(void) {
#pragma omp parallel  // @deal
#pragma omp single
#pragma omp taskloop grainsize(10)  // @taskloop
    for (int i = 0; i < 500; i++) sink = i;
    sink = 0;
}

// A loop that is cancelled on both threads, a region that is, and 2 that are none. libomp fails by
// itself at a second cancelled loop.
static void cancelled(void) {
#pragma omp parallel  // @cancelled
    {
#pragma omp for schedule(dynamic)  // @dynamic
        for (int i = 0; i < 1000; i++) {
#pragma omp cancel for
        }
#pragma omp barrier  // @behind
    }
#pragma omp parallel  // @given_up
    {
#pragma omp cancel parallel
        sink = 1;
    }
    for (int k = 0; k < 2; k++) {
#pragma omp parallel  // @after
        sink = k;
    }
    sink = 0;
}

// 2 leagues of 2 teams, in which one thread each begins a region: the first one waits 40 ms for the
// second one each time.
static void teams(void) {
    for (int k = 0; k < 2; k++) {
#pragma omp teams num_teams(2) thread_limit(1)  // @teams
        {
            sink = k;
#pragma omp parallel num_threads(1)  // @of_team
            sleep_ms(omp_get_team_num() == 0 ? 0 : 40);
            sink = k;
        }
    }
    sink = 0;
}

// 2 leagues of 2 teams: the first one waits 40 ms for the second one each time, where they reduce.
static void reducing_teams(void) {
    int teams = 0;
    for (int k = 0; k < 2; k++) {
#pragma omp teams num_teams(2) thread_limit(1) reduction(+ : teams)  // @reducing
        {
            teams++;
            sleep_ms(omp_get_team_num() == 0 ? 0 : 40);
        }
    }
    sink = teams;
}

int main(int argc, char** argv) {
    omp_set_dynamic(0);
    omp_set_num_threads(2);
    const char* const what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "singles") || !*what) singles();
    if (!strcmp(what, "waits") || !*what) waits();
    if (!strcmp(what, "nested") || !*what) nested();
    if (!strcmp(what, "alone") || !*what) alone();
    if (!strcmp(what, "taskloop") || !*what) taskloop();
    if (!strcmp(what, "cancelled") || !*what) cancelled();
    if (!strcmp(what, "teams")) teams();
    if (!strcmp(what, "reducing teams")) reducing_teams();
    return 0;
}
