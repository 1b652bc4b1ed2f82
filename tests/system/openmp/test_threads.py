"""Threads that programs make themselves, and processes and runtimes that come in between: short
threads and their names, forks around regions of OpenMP, OpenMP that comes after MPI_Init."""

import os

from harness import (DWELL, ROOT, case, check, check_equal, execute, main, profiled, repeated,
                     scratch)
from test_openmp import nodes_at
from test_openmp_gcc import built, same, totals

WRAPPERS = os.environ.get("SYSTEST_WRAPPERS", ".")
FLAGS = ("-g", "-O2", "-fopenmp")


@case
def short_threads():
    """10^5 threads, four at a time: every entry is counted, and they leave few records."""
    target = built("short.c", """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
enum { kAtATime = 4, kRounds = 25000 };
static volatile long sums[kAtATime];
__attribute__((noinline)) static void work(int slot) {
    for (int i = 0; i < 10; i++) sums[slot] += i;
}
static void* body(void* slot) {
    char name[16];
    snprintf(name, sizeof(name), "pool-%d", (int)(long)slot);
    pthread_setname_np(pthread_self(), name);
    work((int)(long)slot);
    return NULL;
}
int main(void) {
    for (int round = 0; round < kRounds; round++) {
        pthread_t threads[kAtATime];
        for (long i = 0; i < kAtATime; i++) pthread_create(&threads[i], NULL, body, (void*)i);
        for (int i = 0; i < kAtATime; i++) pthread_join(threads[i], NULL);
    }
    long sum = 0;
    for (int i = 0; i < kAtATime; i++) sum += sums[i];
    printf("%ld\\n", sum);
    return 0;
}
""", os.path.join(WRAPPERS, "dwell-gcc"), "-g", "-O2", "-pthread")
    profile = same([target], options=("--probe-limit", "off"))
    check_equal([n["count"] for n in profile.nodes if n["name"] == "work" and n["kind"] == "proc"],
                [100000], "entries of work")
    threads = profile.json["threads"]
    check_equal(sum(t["served"] for t in threads), 100001, "threads that records have served")
    # A thread is joined a little before its record is free.
    check(len(threads) <= 40, f"{len(threads)} records")
    check_equal(sorted({t["name"].rstrip("0123*") for t in threads}), ["pool-", "short.c.out"],
                "names")
    check(any(t["served"] > 1000 for t in threads), "records are not used again")


FIRST_TOGETHER = """
#include <pthread.h>
#include <stdio.h>
#include "dwell.h"
enum { kThreads = 4, kRounds = 100 };
static pthread_barrier_t met;
static volatile long sums[kThreads];
__attribute__((noinline)) static void work(long slot) {
    for (int i = 0; i < 10; i++) sums[slot] += i;
}
static void* body(void* slot) {
    pthread_barrier_wait(&met);
    for (int round = 0; round < kRounds; round++) {
        STEP
    }
    return NULL;
}
int main(void) {
    pthread_t threads[kThreads];
    pthread_barrier_init(&met, NULL, kThreads);
    for (long i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, body, (void*)i);
    for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
"""


def check_first_together(name, step, compiler, count, *options):
    """Four threads whose first steps are the first that dwell hears of: all of them count."""
    target = built(name, FIRST_TOGETHER.replace("STEP", step), compiler, "-g", "-O1", "-pthread",
                   "-I", os.path.join(ROOT, "runtime", "api"), *options)
    for _ in range(10):
        profile = same([target], options=("--probe-limit", "off"))
        check_equal(profile.run.stdout, "done\n", "output" + profile.run.describe())
        check_equal(count(profile), 400, "of four threads, 100 times each")


@case
def first_together_in_procedures():
    """The process begins to be observed in four procedures at once."""
    check_first_together("first_procedures.c", "work((long)slot);",
                         os.path.join(WRAPPERS, "dwell-gcc"),
                         lambda p: sum(n["count"] for n in p.nodes
                                       if n["name"] == "work" and n["kind"] == "proc"))


@case
def first_together_in_blocks():
    """The process begins to be observed in four blocks at once."""
    check_first_together("first_blocks.c",
                         'dwell_block_begin("step"); work((long)slot); dwell_block_end("step");',
                         "gcc", lambda p: sum(n["count"] for n in p.nodes if n["name"] == "step"))


@case
def first_together_in_regions():
    """The process begins to be observed in four regions of libgomp at once."""
    check_first_together("first_regions.c", """
#pragma omp parallel num_threads(2)
        if (omp_get_thread_num() == 0) work((long)slot);""",
                         "gcc", lambda p: totals(p, "parallel", "created"), "-fopenmp",
                         "-include", "omp.h")


@case
def names():
    """Names that threads get at once, late, from others, or not at all."""
    target = built("names.c", """
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t met;
static int rank;
static void* body(void* number) {
    char name[16];
    snprintf(name, sizeof(name), "io %d.%d", rank, (int)(long)number);
    int size;
    if ((long)number == 1) pthread_setname_np(pthread_self(), name);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if ((long)number == 2) pthread_setname_np(pthread_self(), name);
    MPI_Request request;
    MPI_Ibarrier(MPI_COMM_SELF, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&met);
    pthread_barrier_wait(&met);
    if ((long)number == 4) pthread_barrier_wait(&met);
    return NULL;
}
int main(int argc, char** argv) {
    int level;
    pthread_t threads[5];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_barrier_init(&met, NULL, 5);
    for (long i = 1; i <= 4; i++) pthread_create(&threads[i], NULL, body, (void*)i);
    pthread_barrier_wait(&met);
    pthread_setname_np(threads[4], "from outside");
    pthread_barrier_wait(&met);
    for (int i = 1; i <= 3; i++) pthread_join(threads[i], NULL);
    MPI_Finalize();
    printf("%d\\n", level == MPI_THREAD_MULTIPLE);
    return 0;
}
""", "mpicc", "-g", "-O1", "-pthread")
    profile = profiled([target], 2)
    for rank in range(2):
        found = sorted(t["name"] for t in profile.json["threads"] if t["rank"] == rank)
        check_equal(found, sorted(["names.c.out", f"io {rank}.1", f"io {rank}.2", "names.c.out",
                                   "from outside"]), f"names on rank {rank}")
    report = execute([DWELL, "report", "--per-rank", profile.directory])
    check("from outside" in report.stdout, "the report names them" + report.describe())


FORKS = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static int status_of(int how) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        if (how == 0) _exit(1);
        if (how == 1) exit(2);
        execl("/bin/sh", "sh", "-c", "exit 4", (char*)0);
        _exit(100);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
int main(void) {
    int sum = 0;
    for (int i = 0; i < 9; i++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp barrier
#pragma omp master
            sum += status_of(i % 3);
#pragma omp barrier
        }
        sum += status_of(i % 3);
    }
    printf("%d\\n", sum);
    return 0;
}
"""


def check_forks(compiler):
    """Children made inside of regions and between them, which end in three ways: the program does
    what it did, and the parent's regions alone are counted."""
    profile = same([built("forks.c", FORKS, compiler, *FLAGS)])
    check_equal(profile.run.stdout, f"{2 * 3 * (1 + 2 + 4)}\n", "what the children said")
    check_equal(totals(profile, "parallel", "created"), 9, "regions")
    check_equal(totals(profile, "parallel"), 18, "threads in them")
    check_equal(totals(profile, "barrier"), 36, "barriers")


@case
def outside_of_regions():
    """Without probes nothing in the tree speaks of them: serial time lies outside of regions."""
    profile = same([built("serial.c", """
#include <omp.h>
#include <stdio.h>
static volatile double sink;
static void burn(double s) { for (double t = omp_get_wtime(); omp_get_wtime() - t < s;) sink += 1; }
int main(void) {
#pragma omp parallel num_threads(2)
    burn(0.01);
    burn(0.1);
    puts("done");
    return 0;
}
""", "gcc", *FLAGS)])
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as file:
        text = file.read()
    check("is outside of regions" in text and "timed probes" not in text, text)


LIVES = """
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
enum { kThreads = 2 };
static volatile double sink;
static double clock_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
static double burn(double s) {
    const double from = clock_of(CLOCK_MONOTONIC);
    while (clock_of(CLOCK_MONOTONIC) - from < s) sink += 1;
    return clock_of(CLOCK_MONOTONIC) - from;
}
static void region(void) {
#pragma omp parallel num_threads(2)
    burn(0.005);
}
static double outside[kThreads + 1];
static void* forks(void* slot) {
    const int number = (int)(long)slot;
    burn(0.04);
    double all = clock_of(CLOCK_THREAD_CPUTIME_ID);  // until it is seen, what it computes
    for (int i = 0; i < 3; i++) {
        region();
        all += burn(0.05);
    }
    outside[number] = all;
    return NULL;
}
#ifdef WITH_MPI
static void* talks(void* slot) {
    double all = burn(0.04);
    all = clock_of(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 3; i++) {
        int x = i;
        MPI_Sendrecv_replace(&x, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
        all += burn(0.05);
    }
    outside[kThreads] = all;
    return slot;
}
#endif
int main(int argc, char** argv) {
    pthread_t threads[kThreads + 1];
    int made = 0;
#ifdef WITH_MPI
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#endif
    region();
    for (; made < kThreads; made++) pthread_create(&threads[made], NULL, forks, (void*)(long)made);
#ifdef WITH_MPI
    pthread_create(&threads[made++], NULL, talks, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    for (int i = 0; i < made; i++) pthread_join(threads[i], NULL);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    FILE* file = fopen(argv[argc - 1], "w");
    for (int i = 0; i < made; i++) fprintf(file, "%.9f\\n", outside[i]);
    return fclose(file);
}
"""


def check_lives(compiler, *flags, ranks=0):
    """What a thread of the program's own does before its first region or MPI call, between them and
    after the last one is its computation; what the runtime's threads do is not."""
    name = f"{compiler}{ranks}"
    target = built(f"lives_{name}.c", LIVES, compiler, *FLAGS, "-pthread", *flags)
    told = scratch("told_" + name)
    profile = (profiled([target, told], ranks, name=name) if ranks else
               same([target, told], name=name))
    with open(told, encoding="utf-8") as file:
        outside = [1e9 * float(line) for line in file]
    own = {}
    for row in profile.rows:
        if profile.nodes[row["node"]]["kind"] not in ("omp", "comm"):
            own[row["thread"]] = own.get(row["thread"], 0) + row.get("computation_ns", 0)
    del own[0]
    shown = sorted(ns for ns in own.values() if ns > 15e6)
    check_equal(len(shown), len(outside), f"threads of the program: {own}, {outside}")
    ways = [i for i in profile.intervals if i["from"] is None and i["to"] == 0]
    threads = len(outside) + (0 if ranks else 1)  # without MPI the first one, too
    check_equal([i["count"] for i in ways], [threads], "ways from no MPI call to none")
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as file:
        check("start → lives" not in file.read(), "that is no way from one MPI line to the next")
    for ns, truth in zip(shown, sorted(outside)):
        check(abs(ns - truth) < 4e6 + 0.02 * truth, f"outside of regions {ns / 1e6} ms, {truth / 1e6} by itself")


@case
def lives_with_libgomp():
    """Threads of the program's own that fork regions of libgomp's."""
    repeated(check_lives, "gcc")


@case
def lives_with_libomp():
    """Threads of the program's own that fork regions of libomp's."""
    repeated(check_lives, "clang")


@case
def lives_with_mpi():
    """The same beside MPI, and a thread that calls MPI alone."""
    repeated(lambda: check_lives("mpicc", "-DWITH_MPI", ranks=1))


@case
def first_thread_comes_second():
    """Another thread forks the first region: without MPI the process's time is the first thread's all
    the same, and the other one has its own."""
    text = """
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static void burn(double s) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double end = t.tv_sec + 1e-9 * t.tv_nsec + s;
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while (t.tv_sec + 1e-9 * t.tv_nsec < end);
}
static void region(void) {
#pragma omp parallel num_threads(1)
    burn(0.005);
}
static void* body(void* none) {
    region();
    usleep(150000);  // until the first thread has come
    return none;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, body, NULL);
    usleep(20000);
    burn(0.1);
    region();
    burn(0.05);
    return pthread_join(thread, NULL);
}
"""
    for compiler in ("gcc", "clang"):
        profile = same([built(f"second_{compiler}.c", text, compiler, *FLAGS, "-pthread")],
                       name=compiler)
        rank, = profile.ranks
        lives = {row["thread"]: row["time_ns"] for row in profile.rows if row["node"] == 0}
        check_equal(len(lives), 2, "threads")
        main_ns, other_ns = max(lives.values()), min(lives.values())
        whole_ns = rank["real_ns"] - rank["intrusion_ns"]
        check(abs(main_ns - whole_ns) < 1000, f"of {whole_ns} ns the first thread has {main_ns}")
        check(whole_ns > 175e6, f"it lasts 175 ms at least: {whole_ns}")
        check(150e6 < other_ns < main_ns, f"155 ms of the other one, got {other_ns}")
        check(not any("add up" in note for note in profile.json["notes"]), profile.json["notes"])


PENDING = """
#include <pthread.h>
#include <stdio.h>
#ifdef WITH_MPI
#include <mpi.h>
#endif
enum { kThreads = 20 };
static int in_regions, others;
static pthread_barrier_t both;
static void* body(void* none) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_barrier_wait(&both);
    pthread_barrier_wait(&both);
    pthread_setcancelstate(before, NULL);
#ifdef WITH_MPI
    int one = 1, two = 0;
    MPI_Sendrecv(&one, 1, MPI_INT, 0, 1, &two, 1, MPI_INT, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    in_regions += two;
    MPI_Barrier(MPI_COMM_SELF);
    others++;
#else
#pragma omp parallel num_threads(2)
    {
#pragma omp atomic
        in_regions++;
    }
#pragma omp critical
    others++;
#endif
    pthread_testcancel();
    puts("not reached");
    return none;
}
int main(int argc, char** argv) {
    int cancelled = 0;
#ifdef WITH_MPI
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#endif
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < kThreads; i++) {
        pthread_t thread;
        void* result;
        pthread_create(&thread, NULL, body, NULL);
        pthread_barrier_wait(&both);
        pthread_cancel(thread);
        pthread_barrier_wait(&both);
        pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d %d %d\\n", cancelled, in_regions, others);
#ifdef WITH_MPI
    MPI_Finalize();
#endif
    return 0;
}
"""


@case
def cancellation_is_pending():
    """A thread that is to be cancelled finishes its first region, which is no cancellation point, and
    the process's first one too; the same holds for MPI calls."""
    profile = same([built("pending.c", PENDING, "gcc", *FLAGS, "-pthread")])
    check_equal(profile.run.stdout, "20 40 20\n", "threads, in regions, critical sections")
    check_equal(totals(profile, "parallel", "created"), 20, "regions")
    target = built("pending_mpi.c", PENDING, "mpicc", "-DWITH_MPI", "-pthread")
    profile = profiled([target], 1, name="mpi")
    check_equal(profile.run.stdout, "20 20 20\n", "threads, messages, barriers")
    check_equal(sum(n["count"] for n in profile.nodes if n["name"] == "MPI_Sendrecv"), 20, "calls")


@case
def forks_with_libgomp():
    """Forks around and inside of regions that libgomp serves."""
    check_forks("gcc")


@case
def forks_with_libomp():
    """Forks around and inside of regions that libomp serves."""
    check_forks("clang")


def check_after_mpi_init(compiler):
    library = built("late.c", """
int late(int rank) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+ : sum)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 10; i++) sum += i + rank;
    }
    return sum;
}
""", compiler, *FLAGS, "-shared", "-fPIC")
    user = built("user.c", """
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
    int rank, sum = 0, all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    void* library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    int (*late)(int) = (int (*)(int))dlsym(library, "late");
    for (int i = 0; i < 3; i++) {
        sum += late(rank);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Reduce(&sum, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d\\n", all);
    MPI_Finalize();
    return 0;
}
""", "mpicc", "-g", "-O1")
    profile = profiled([user, library], 2)
    check_equal(profile.run.stdout, f"{3 * (45 + 45 + 10)}\n", "sum")
    check_equal(totals(profile, "parallel", "created"), 6, "regions")
    check_equal(totals(profile, "parallel"), 12, "threads in them")
    loops = sum(n.get("iterations", 0) for n in profile.nodes if n["name"].startswith("for"))
    check_equal(loops, 60, "iterations")
    barriers = [n for n in profile.nodes if n["name"] == "MPI_Barrier"]
    check_equal(sum(n["count"] for n in barriers), 8, "barriers of MPI")


@case
def libgomp_after_mpi_init():
    """A library that brings libgomp in when MPI runs already."""
    check_after_mpi_init("gcc")


@case
def libomp_after_mpi_init():
    """A library that brings libomp in when MPI runs already."""
    check_after_mpi_init("clang")


@case
def omp_starter_ends():
    """Three threads, one after the other, each with a region of its own; the first of them starts
    libomp. Critical sections do not crash once it has ended, and what they show is the waiting."""
    target = built("starters.c", """
#include <pthread.h>
#include <stdio.h>
static long count;
static void* body(void* none) {
#pragma omp parallel num_threads(2)
    {
#pragma omp critical
        count++;
    }
    return none;
}
int main(void) {
    pthread_t thread;
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, body, NULL);
        pthread_join(thread, NULL);
    }
    printf("%ld\\n", count);
    return 5;
}
""", "clang", *FLAGS, "-pthread")
    newer = os.environ.get("SYSTEST_NEWER_LIBOMP", "")
    libraries = [""] + ([newer] if os.path.exists(os.path.join(newer, "libomp.so.5")) else [])
    for number, library in enumerate(libraries):
        profile = same([target], name=f"out{number}", env={"LD_LIBRARY_PATH": library})
        check_equal(profile.run.stdout, f"{3 * 2}\n", "output")
        criticals = [node for _, node in nodes_at(profile, "critical")]
        check_equal(sum(node["count"] for node in criticals), 3 * 2, "critical sections")
        for node in criticals:
            check_equal(node.get("omp_wait_ns", 0), node["time_ns"], "their time is waiting")
        check("omp_no_holds" in profile.ranks[0]["flags"], profile.ranks[0]["flags"])
        check(any("are held" in note for note in profile.json["notes"]), profile.json["notes"])


if __name__ == "__main__":
    main()
