"""OpenMP of programs built with gcc, seen where they call libgomp: the cases of test_openmp.py with
the same source, and what is particular to libgomp. What a program prints must not change."""

import shutil
import subprocess

import test_openmp
from harness import (DWELL, Profile, case, check, check_equal, execute, main, program, scratch,
                     skip_unless)
from test_openmp import node_at, nodes_at, run

test_openmp.BUILD = "openmp_gcc"
FLAGS = ["-g", "-O2", "-fopenmp"]


@case
def counts():
    """The counts of clang's build, but for masked constructs and locks, which are not seen."""
    profile = run([])
    want = {("parallel", "chunks"): 2, ("parallel", "outer"): 2, ("parallel", "inner"): 4,
            ("barrier", "barrier"): 10, ("critical", "critical"): 10, ("task", "task"): 12,
            ("task", "inner_task"): 12, ("taskwait", "taskwait"): 12}
    got = {key: sum(n["count"] for _, n in nodes_at(profile, *key)) for key in want}
    check_equal(got, want, "counts")
    # gcc gives some of these calls the line of what lies around them.
    for name, count in (("single", 3), ("ordered", 6), ("taskgroup", 1), ("end of taskgroup", 1),
                        ("sections", 2), ("masked", 0), ("lock", 0)):
        check_equal(sum(n["count"] for _, n in nodes_at(profile, name)), count, name)
    (_, dynamic), = nodes_at(profile, "for dynamic")
    check_equal((dynamic["count"], dynamic["iterations"], dynamic["chunks"]), (2, 20, 7),
                "dynamic loop")
    (_, ordered), = nodes_at(profile, "for static")
    check_equal((ordered["count"], ordered["iterations"]), (2, 6), "ordered loop")
    for marker in ("task", "inner_task"):
        _, task = node_at(profile, "task", marker)
        check_equal(task["created"], 12, f"created at @{marker}")
        check_equal(profile.nodes[task["parent"]]["name"], "parallel", "tasks hang under the region")
    regions = sum(n["created"] for _, n in nodes_at(profile, "parallel"))
    check_equal(regions, 10 + 1 + 1 + 1 + 1 + 1 + 1 + 3 + 2 + 1, "regions")
    check(any("libgomp" in note for note in profile.json["notes"]), profile.json["notes"])


def built(name, text, *command):
    """The program or library from `text`; `name` says the language."""
    skip_unless(shutil.which(command[0]), f"{command[0]} is not installed")
    with open(scratch(name), "w", encoding="utf-8") as file:
        file.write(text)
    target = scratch(name + ".out")
    done = subprocess.run([*command, scratch(name), "-o", target], capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)
    return target


def same(argv, name="out", env=None, options=()):
    """The profile of a program that does the same with and without dwell."""
    plain = execute(argv, env=env)
    out = scratch(name)
    done = execute([DWELL, "run", "-o", out, *options, *argv], env=env)
    check_equal((done.code, done.stdout), (plain.code, plain.stdout),
                "exit code and output, with and without" + done.describe())
    profile = Profile(out, done)
    profile.check_conservation()
    test_openmp.check_parts(profile)
    return profile


def totals(profile, name, key="count"):
    return sum(node.get(key, 0) for _, node in nodes_at(profile, name))


FORCES = """
#include <time.h>
static double seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static inline double real(void) { return seconds(CLOCK_MONOTONIC); }
static inline double processor(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
static double x[1000], taken;
static void forces(int n) {
#pragma omp parallel for
    for (int i = 0; i < n; i++) x[i] += i;
}
int main(int argc, char** argv) {
    (void)argv;
    for (int step = 0; step < 10; step++) {
        double begin = real(), used = processor();
        forces(argc * 1000);
        taken += real() - begin + processor() - used;
    }
    return taken < 0;
}
"""


@case
def inlined_before():
    """A region belongs to the procedure whose code it is, not to what was inlined before its call."""
    for compiler, name in (("gcc", "forces.c"), ("g++", "forces.cpp")):
        done = same([built(name, FORCES, compiler, *FLAGS)], "profile of " + name)
        (_, region), = nodes_at(done, "parallel")
        procedure = done.nodes[region["parent"]]
        check_equal((procedure["kind"], procedure["name"].split("(")[0]), ("proc", "forces"),
                    "what the region hangs under")
        check_equal(done.nodes[done.nodes[procedure["parent"]]["parent"]]["name"], "main",
                    "what calls that")


OBJECTS = """
#include <omp.h>
#include <atomic>
#include <cstdio>
#include <stdexcept>
static std::atomic<int> copies, ends, wrong;
struct alignas(64) Object {
    long value[9];
    explicit Object(long v) { for (long& each : value) each = v; }
    Object(const Object& o) { for (int i = 0; i < 9; i++) value[i] = o.value[i]; ++copies; }
    ~Object() { ++ends; value[0] = -1; }
    void check(long v) const {
        if (reinterpret_cast<unsigned long>(this) % 64 != 0) ++wrong;
        for (long each : value) if (each != v) ++wrong;
    }
};
struct Plain { long v[300]; };
static long fib(int n) {
    if (n < 2) return n;
    long a, b;
#pragma omp task shared(a) firstprivate(n) final(n < 4)
    a = fib(n - 1);
#pragma omp task shared(b) firstprivate(n) if(n > 5)
    b = fib(n - 2);
#pragma omp taskwait
    return a + b;
}
int main() {
    int caught = 0, finals = 0;
    long sum = 0, chain[3] = {0, 0, 0}, loop = 0, reduced = 0;
#pragma omp parallel num_threads(2)
    {
        try { throw std::runtime_error("in a region"); }
        catch (const std::exception&) {
#pragma omp atomic
            caught++;
        }
#pragma omp single
        {
            for (int i = 0; i < 400; i++) {
                Object object(i);
                Plain plain;
                for (long& v : plain.v) v = i;
#pragma omp task firstprivate(object, plain, i) if(i % 3 != 0) priority(i % 2)
                {
                    object.check(i);
                    for (long v : plain.v) if (v != i) ++wrong;
                    plain.v[0] = -5;
                    try { if (i % 7 == 0) throw i; }
                    catch (int thrown) {
                        if (thrown != i) ++wrong;
#pragma omp atomic
                        caught++;
                    }
#pragma omp atomic
                    sum += i;
                }
                object.check(i);
                if (plain.v[0] != i) ++wrong;
            }
#pragma omp taskwait
#pragma omp task depend(out: chain[0])
            chain[0] = 5;
#pragma omp task depend(in: chain[0]) depend(out: chain[1])
            chain[1] = chain[0] * 3;
#pragma omp task depend(in: chain[1])
            chain[2] = chain[1] + 1;
#pragma omp task final(1) shared(finals)
            finals = omp_in_final();
            Object around(77);
#pragma omp taskloop firstprivate(around) num_tasks(10) shared(loop)
            for (int i = 0; i < 1000; i++) {
                around.check(77);
#pragma omp atomic
                loop += i;
            }
#pragma omp taskloop grainsize(7) reduction(+: reduced)
            for (unsigned long long i = 100; i > 0; i--) reduced += (long)i;
        }
    }
    long f = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    f = fib(16);
    omp_event_handle_t event;
    int detached = 0;
#pragma omp parallel num_threads(2)
#pragma omp single
    {
#pragma omp task detach(event) shared(detached)
        detached = 1;
        omp_fulfill_event(event);
    }
    int outside = 0;
#pragma omp task firstprivate(sum) shared(outside)
    outside = sum == 79800;
    std::printf("caught %d sum %ld chain %ld loop %ld reduced %ld final %d fib %ld detached %d "
                "outside %d wrong %d balance %d\\n", caught, sum, chain[2], loop, reduced, finals, f,
                detached, outside, wrong.load(), copies.load() + 401 - ends.load());
    // Tasks that are created by 2 threads may be executed at once or not: copies are as many.
    std::printf("copies at least %d\\n", copies.load() >= 400);
    return wrong.load() == 0 ? 5 : 6;
}
"""


@case
def objects():
    """Tasks with objects of their own, aligned ones among them, exceptions, dependences, final and
    detached tasks, taskloops: results as without dwell, no object too many or too few."""
    target = built("objects.cpp", OBJECTS, "g++", "-std=c++17", *FLAGS)
    plain = execute([target])
    check_equal((plain.code, plain.stdout),
                (5, "caught 60 sum 79800 chain 16 loop 499500 reduced 5050 final 1 fib 987 "
                    "detached 1 outside 1 wrong 0 balance 0\ncopies at least 1\n"), "without dwell")
    for attempt in range(3):
        profile = same([target], name=f"out{attempt}")
        created, executed = totals(profile, "task", "created"), totals(profile, "task")
        check_equal(created - executed, 1, "tasks out of sight: the detached one")
        line = next(k for k, text in enumerate(OBJECTS.split("\n"), 1) if "priority(i % 2)" in text)
        mine = [n for _, n in nodes_at(profile, "task") if n["line"] == line]
        check_equal([n["count"] for n in mine], [400], "tasks with objects")
        check_equal(totals(profile, "taskloop"), 2, "taskloops")


CANCELLATION = """
#include <omp.h>
#include <stdio.h>
int main(void) {
    int some = 0, after = 0, tasks = 0, left = 0;
    if (!omp_get_cancellation()) return 9;
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 100000; i++) {
#pragma omp atomic
            some++;
#pragma omp cancel for
        }
#pragma omp atomic
        after++;
#pragma omp sections
        {
#pragma omp section
            {
#pragma omp cancel sections
            }
#pragma omp section
            {
#pragma omp cancellation point sections
            }
        }
#pragma omp single
#pragma omp taskgroup
        for (int i = 0; i < 1000; i++) {
#pragma omp task firstprivate(i) shared(tasks)
            {
#pragma omp atomic
                tasks++;
#pragma omp cancel taskgroup
            }
        }
#pragma omp barrier
        if (omp_get_thread_num() == 0) {
#pragma omp cancel parallel
        }
#pragma omp barrier
#pragma omp atomic
        left++;
    }
    int again = 0;
#pragma omp parallel num_threads(2) reduction(+: again)
    again++;
    printf("%d %d %d %d %d\\n", some <= 4, after, tasks >= 1 && tasks <= 1000, left, again);
    return 0;
}
"""


@case
def cancellation():
    """Canceled loops, sections, groups of tasks and regions end as without dwell."""
    target = built("cancellation.c", CANCELLATION, "gcc", *FLAGS)
    env = {"OMP_CANCELLATION": "true"}
    check_equal(execute([target], env=env).stdout, "1 2 1 0 2\n", "without dwell")
    for attempt in range(3):
        profile = same([target], name=f"out{attempt}", env=env)
        check_equal(totals(profile, "parallel", "created"), 2, "regions")
        check_equal(totals(profile, "for dynamic"), 2, "threads in the loop")


FORTRAN = """program main
  use omp_lib
  implicit none
  integer :: i, tasks
  real(8) :: total
  total = 0
  tasks = 0
  call omp_set_num_threads(2)
  !$omp parallel do schedule(dynamic, 4) reduction(+: total)
  do i = 1, 40
    total = total + i
  end do
  !$omp end parallel do
  !$omp parallel
  !$omp do schedule(guided)
  do i = 1, 50
    !$omp critical
    total = total + 1
    !$omp end critical
  end do
  !$omp end do
  !$omp barrier
  !$omp single
  do i = 1, 6
    !$omp task firstprivate(i) shared(tasks)
    !$omp atomic
    tasks = tasks + i
    !$omp end task
  end do
  !$omp end single
  !$omp end parallel
  print *, int(total), tasks
end program
"""


@case
def fortran():
    """gfortran's programs: a loop in chunks of 4, a guided one with a critical section, tasks."""
    profile = same([built("main.f90", FORTRAN, "gfortran", *FLAGS)])
    want = {"parallel": 4, "for dynamic": 2, "for guided": 2, "critical": 50, "barrier": 2,
            "single": 1, "task": 6}
    # The reduction may be a critical section, too: only those of the loop are counted.
    got = {name: totals(profile, name) for name in want}
    check_equal(got, want, "counts")
    check_equal(totals(profile, "for dynamic", "chunks"), 10, "chunks of 4")
    check_equal(totals(profile, "for dynamic", "iterations"), 40, "iterations")
    check_equal(totals(profile, "for guided", "iterations"), 50, "iterations of the guided loop")
    lines = {n["line"] for _, n in nodes_at(profile, "for guided")}
    check(lines and lines <= {14, 15, 16}, f"the guided loop lies at {lines}")


LOOPS = """
#include <stdio.h>
static long sum;
static void add(long i) {
#pragma omp atomic
    sum += i;
}
int main(void) {
    long from = -7, to = 60, copied = 0;
    int value = 0;
#pragma omp parallel num_threads(2) private(value)
    {
#pragma omp for schedule(dynamic, 5)
        for (long i = 0; i < 99; i += 4) add(i);  // 25
#pragma omp for schedule(guided, 2) nowait
        for (long i = to; i > from; i -= 3) add(i);  // 23
#pragma omp for schedule(dynamic) ordered
        for (unsigned long long i = 1ull << 63; i < (1ull << 63) + 10; i++) {
#pragma omp ordered
            add(1);  // 10
        }
#pragma omp for schedule(dynamic, 3)
        for (unsigned long long i = ~0ull; i > ~0ull - 11; i -= 2) add(2);  // 6
#pragma omp for schedule(runtime)
        for (int i = 0; i < 12; i++) add(i);
#pragma omp single copyprivate(value)
        value = 11;
#pragma omp atomic
        copied += value;
#pragma omp single nowait
        add(3);
#pragma omp barrier
    }
#pragma omp parallel for schedule(guided) num_threads(2)
    for (int i = 10; i >= 1; i--) add(i);
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
        add(100);
#pragma omp section
        add(200);
    }
#pragma omp parallel if(0)
    add(7);
#pragma omp parallel num_threads(1)
#pragma omp critical(named)
    add(8);
    long together = 0;
#pragma omp parallel num_threads(2) reduction(task, +: together)
#pragma omp single
    for (int i = 0; i < 5; i++) {
#pragma omp task in_reduction(+: together)
        together += i;
    }
    printf("%ld %ld %ld\\n", sum, copied, together);
    return 0;
}
"""


@case
def loops_of_kinds():
    """Loops up and down, by steps, of numbers without sign, combined with their region; singles that
    hand on a value; regions of one thread; reductions by tasks. Iterations are exact."""
    for level in ("-O0", "-O2"):
        target = built(f"loops{level}.c", LOOPS, "gcc", "-g", level, "-fopenmp")
        profile = same([target], name="out" + level, env={"OMP_SCHEDULE": "dynamic,5"})
        iterations = {name: totals(profile, name, "iterations")
                      for name in ("for dynamic", "for guided", "for")}
        check_equal(iterations, {"for dynamic": 25 + 10 + 6, "for guided": 23 + 10, "for": 12},
                    f"iterations with {level}")
        chunks = totals(profile, "for dynamic", "chunks") + totals(profile, "for", "chunks")
        check_equal(chunks, 5 + 10 + 2 + 3, "chunks")
        want = {"single": 3, "ordered": 10, "critical": 1, "sections": 2, "task": 5,
                "parallel": 2 + 2 + 2 + 1 + 1 + 2}
        check_equal({name: totals(profile, name) for name in want}, want, f"counts with {level}")
        check_equal(totals(profile, "parallel", "created"), 6, "regions")


WITHOUT_MEMORY = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
int main(void) {
    long pages = 0;
    int done = 0;
    free(malloc(100000));  // for libgomp itself
    FILE* file = fopen("/proc/self/statm", "r");
    if (file == NULL || fscanf(file, "%ld", &pages) != 1) return 9;
    const rlim_t all = 4096 * (rlim_t)pages;
    const struct rlimit limit = {all, all};
    if (setrlimit(RLIMIT_AS, &limit) != 0 || malloc(1 << 24) != NULL) return 8;
    for (int i = 0; i < 100; i++) {
#pragma omp critical
        done++;
    }
    printf("%d\\n", done);
    return 0;
}
"""


@case
def without_memory():
    """A program that has used up its memory when it comes to libgomp runs on, observed or not."""
    target = built("full.c", WITHOUT_MEMORY, "gcc", *FLAGS)
    check_equal(execute([target]).stdout, "100\n", "without dwell")
    done = execute([DWELL, "run", "-o", scratch("out"), target])
    check_equal((done.code, done.stdout), (0, "100\n"), "program" + done.describe())


LIBRARY = """
#include <omp.h>
#include <sys/wait.h>
#include <unistd.h>
int work(void) {
    int status = 0, threads = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        threads += omp_get_thread_num() + 1;
#pragma omp barrier
#pragma omp master
        {
            const pid_t child = fork();
            if (child == 0) {
#pragma omp parallel num_threads(1)
#pragma omp critical
                status = 4;
                _exit(status + threads);
            }
            waitpid(child, &status, 0);
        }
    }
    return WEXITSTATUS(status);
}
"""


@case
def loaded_late():
    """A library that brings libgomp in, for itself alone, and forks inside of a region."""
    library = built("work.c", LIBRARY, "gcc", *FLAGS, "-shared", "-fPIC")
    user = built("user.c", """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    for (int i = 0; i < 3; i++) {
        void* library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
        int (*work)(void) = (int (*)(void))dlsym(library, "work");
        printf("%d\\n", work());
    }
    return 0;
}
""", "gcc", "-g")
    profile = same([user, library])
    check_equal(totals(profile, "parallel", "created"), 3, "regions")
    check_equal(totals(profile, "barrier"), 6, "barriers")


@case
def many_regions():
    """10^5 regions, each with a barrier and a single construct; all are counted."""
    target = built("many.c", """
#include <stdio.h>
int main(void) {
    long sum = 0;
    for (int i = 0; i < 100000; i++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            sum += i;
#pragma omp barrier
        }
    }
    printf("%ld\\n", sum);
    return 0;
}
""", "gcc", *FLAGS)
    profile = same([target])
    check_equal(totals(profile, "parallel", "created"), 100000, "regions")
    check_equal(totals(profile, "parallel"), 200000, "threads in them")
    check_equal(totals(profile, "single"), 100000, "single constructs")
    check_equal(totals(profile, "barrier"), 200000, "barriers")


@case
def threads_come_and_go():
    """Regions of more and of fewer threads, for which libgomp ends and makes threads, and threads of
    the program's own that fork regions and end: nothing is lost, and records are used again."""
    target = built("teams.c", """
#include <pthread.h>
#include <stdio.h>
static int done;
static void region(int threads) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp critical
        done++;
    }
}
static void* own(void* none) {
    for (int i = 0; i < 5; i++) region(2);
    return none;
}
int main(void) {
    for (int k = 0; k < 1500; k++) region(k % 2 == 0 ? 3 : 1 + k % 3);
    for (int k = 0; k < 200; k++) {
        pthread_t thread;
        pthread_create(&thread, NULL, own, NULL);
        pthread_join(thread, NULL);
    }
    printf("%d\\n", done);
    return 0;
}
""", "gcc", *FLAGS, "-pthread")
    profile = same([target], env={"OMP_DYNAMIC": "false", "OMP_THREAD_LIMIT": "16"})
    threads = sum(3 if k % 2 == 0 else 1 + k % 3 for k in range(1500)) + 200 * 5 * 2
    check_equal(totals(profile, "parallel", "created"), 1500 + 200 * 5, "regions")
    check_equal(totals(profile, "parallel"), threads, "threads in them")
    check_equal(totals(profile, "critical"), threads, "critical sections")


if __name__ == "__main__":
    main()
