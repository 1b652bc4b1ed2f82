"""OpenMP as runtimes report it (OMPT). The right answers stand in programs/openmp.c and
programs/openmp_mpi.c; limits are wide where other processes may take the processor."""

import os
import re
import shutil
import subprocess

from harness import (DWELL, Profile, case, check, check_equal, check_near, execute, main,
                     marked_line, mpirun, profiled, program, repeated, scratch, skip_unless, source)

SOURCE = source("openmp.c")
# What the programs are called: test_openmp_gcc.py runs these cases with gcc's, test_openmp_newer.py
# on another runtime.
BUILD = "openmp"
# Whether tries for a lock that succeed are told as locks.
TRIES_ARE_LOCKS = True


def run(what, *options, name="out", env=None):
    """The profile of one part of the program, whose conservation is checked."""
    out = scratch(name)
    done = execute([DWELL, "run", "-o", out, *options, program(BUILD), *what], env=env)
    check_equal((done.code, done.stdout), (3, "done\n"), "exit code and output" + done.describe())
    profile = Profile(out, done)
    profile.check_conservation()
    check_parts(profile)
    return profile


def check_parts(profile):
    """No node is shorter than what it holds; waiting and idle time are in the totals."""
    for node in profile.nodes:
        inside = sum(profile.nodes[k]["time_ns"] for k in node["children"])
        check(node["time_ns"] >= inside, f"{node['name']} holds more than it lasts: {node}")
        if node["kind"] != "comm":
            check_equal(node["computation_ns"], node["time_ns"] - inside, f"own time of {node}")
        waits = node.get("omp_wait_ns", 0) + node.get("omp_idle_ns", 0)
        check(waits <= node["time_ns"], f"{node['name']} waits longer than it lasts: {node}")
    root = profile.nodes[0]
    for key in ("omp_wait_ns", "omp_idle_ns"):
        check_equal(root.get(key, 0), profile.json[key], f"{key} of the program")


def check_slept(ns, want_ms, what):
    """Sleeps last as long as they should, or longer where other processes have the processor."""
    check(0.9 * want_ms <= ns / 1e6 <= 3 * want_ms + 20,
          f"{what}: got {ns / 1e6:.1f} ms, want {want_ms} or somewhat more")


def nodes_at(profile, name, marker=None, file=SOURCE):
    line = marked_line(file, marker) if marker else None
    return [(index, node) for index, node in enumerate(profile.nodes)
            if node["kind"] == "omp" and node["name"] == name
            and (line is None or node["line"] == line)]


def node_at(profile, name, marker=None, file=SOURCE):
    found = nodes_at(profile, name, marker, file)
    check_equal(len(found), 1, f"nodes {name} at @{marker}; there are "
                f"{[(n['name'], n['line']) for n in profile.nodes if n['kind'] == 'omp']}")
    return found[0]


def by_thread(profile, index, key):
    """{thread: figure} of a node, one rank."""
    return {row["thread"]: row.get(key, 0) for row in profile.rows if row["node"] == index}


def by_rank_and_thread(profile, index):
    return {(row["rank"], row["thread"]): row["time_ns"] for row in profile.rows
            if row["node"] == index}


@case
def triangle():
    """Work, waiting and imbalance of a static loop with a triangular load, in 10 regions."""
    profile = run(["triangle"])
    index, region = node_at(profile, "parallel", "triangle")
    check_equal((region["created"], region["count"]), (10, 20), "regions and threads in them")
    check_equal(profile.path(index)[1:], ["main", "triangle", "triangle", "parallel"],
                "path: main, its call, the procedure, the region")
    time, wait = by_thread(profile, index, "time_ns"), by_thread(profile, index, "omp_wait_ns")
    check_equal(sorted(time), [0, 1], "threads")
    work = {thread: time[thread] - wait[thread] for thread in time}
    check_slept(work[0], 100, "work of thread 0")
    check_slept(work[1], 260, "work of thread 1")
    # Thread 1 may begin late where processors are shared: it is idle then, thread 0 waits longer.
    idle = sum(row.get("omp_idle_ns", 0) for row in profile.rows if row["thread"] == 1)
    longer, waited = work[1] - work[0], wait[0] - wait[1]
    check(longer - 2e7 <= waited <= 1.15 * longer + 2e7 + idle,
          f"thread 1 works {longer} ns longer and idles {idle}, thread 0 waits {waited} ns longer")
    check(wait[1] < 60e6, f"thread 1 waits {wait[1] / 1e6} ms")
    if BUILD == "openmp":  # gcc's static loops are not seen
        loop_index, loop = nodes_at(profile, "for")[0] if nodes_at(profile, "for") else \
            nodes_at(profile, "for static")[0]
        check_equal((loop["count"], loop["iterations"]), (20, 80), "loop")
        check_equal(loop["parent"], index, "the loop lies in the region")
        loop_time = by_thread(profile, loop_index, "time_ns")
        check_slept(loop_time[0], 100, "thread 0 in the loop")
        check_slept(loop_time[1], 260, "thread 1 in the loop")
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as text:
        report = text.read()
    shown = re.search(r"openmp\.c:\d+  parallel +thread (\d): .* work, ([\d.]+)x mean", report)
    check(shown is not None, "the region is not in the report:\n" + report)
    check_equal(shown.group(1), "1", "the thread that works most")
    mean = sum(work.values()) / 2
    check_near(float(shown.group(2)), work[1] / mean, 0.01, 0.01, "imbalance, 1.44 without load")
    for word in ("OpenMP wait", "OpenMP idle"):
        check(word in report, f"no {word!r} in the report:\n" + report)


@case
def counts():
    """Regions, loops, barriers, criticals, locks, tasks and all others, in one run."""
    profile = run([])
    want = {("parallel", "chunks"): 2, ("parallel", "outer"): 2, ("parallel", "inner"): 4,
            ("barrier", "barrier"): 10, ("critical", "critical"): 10, ("lock", "lock"): 10,
            ("single", "single"): 1, ("task", "task"): 12, ("task", "inner_task"): 12,
            ("taskwait", "taskwait"): 12, ("sections", "sections"): 2, ("single", "one"): 1,
            ("masked", "masked"): 1, ("ordered", "ordered"): 6}
    got = {key: sum(n["count"] for _, n in nodes_at(profile, *key)) for key in want}
    check_equal(got, want, "counts")
    for marker in ("task", "inner_task"):
        _, task = node_at(profile, "task", marker)
        check_equal(task["created"], 12, f"created at @{marker}")
        check_equal(profile.nodes[task["parent"]]["name"], "parallel", "tasks hang under the region")
    rows = profile.csv("--per-rank")
    threads = {row["thread"] for row in rows if row["kind"] == "omp" and row["name"] == "barrier"}
    check_equal(threads, {"0", "1"}, "threads in the rows of the CSV")
    with open(os.path.join(profile.directory, "stats.picl"), encoding="utf-8") as text:
        line = marked_line(SOURCE, "triangle")
        check(re.search(rf"omp parallel@\S*openmp\.c:{line}\b", text.read()),
              "the region has no label in stats.picl")


@case
def waiting():
    """Waiting at barriers and for critical sections; idle time between regions."""
    def attempt():
        profile = run(["barriers"])
        index, _ = node_at(profile, "barrier", "barrier")
        wait = by_thread(profile, index, "omp_wait_ns")
        check_slept(by_thread(profile, index, "time_ns")[1], 100, "thread 1 at the barriers")
        # libgomp's threads sleep where processors are shared: who wakes late is late next time.
        least = 90 if BUILD == "openmp" else 40
        check(wait[1] >= least * 1e6, f"thread 1 waits {wait[1] / 1e6} ms at the barriers")
        check(wait[0] < 50e6, f"thread 0, who comes last, waits {wait[0] / 1e6} ms")
        profile = run(["criticals"], name="criticals")
        _, critical = node_at(profile, "critical", "critical")
        check_slept(critical["time_ns"] - critical["omp_wait_ns"], 40, "in the critical section")
        check(critical["omp_wait_ns"] > 3e6, f"waited {critical['omp_wait_ns'] / 1e6} ms for it")
        profile = run(["idle"], name="idle")
        index, idle = node_at(profile, "idle")
        check_slept(idle["omp_idle_ns"], 100, "idle time")
        check_equal(sorted(by_thread(profile, index, "time_ns")), [1], "who is idle")
    repeated(attempt)


@case
def tasks():
    """Time in tasks, none of it counted twice, and waiting for them."""
    profile = run(["tasks"])
    _, outer = node_at(profile, "task", "task")
    _, inner = node_at(profile, "task", "inner_task")
    _, region = node_at(profile, "parallel", "tasks")
    check_slept(inner["time_ns"], 12, "inner tasks")
    check_slept(outer["time_ns"] - sum(profile.nodes[k]["time_ns"] for k in outer["children"]), 60,
                "outer tasks without their waiting")
    check(region["time_ns"] >= outer["time_ns"] + inner["time_ns"], "tasks take more than the region")
    check(outer["omp_start_ns"] > 20e6, f"12 tasks of 5 ms began after {outer['omp_start_ns']} ns")


@case
def group():
    """A group of tasks: its own work, its tasks, and the waiting at its end."""
    profile = run(["group"])
    index, group = node_at(profile, "taskgroup", "group" if BUILD == "openmp" else None)
    _, task = node_at(profile, "task", "group_task")
    check_equal((group["count"], task["count"]), (1, 4), "groups and tasks")
    check_slept(task["time_ns"], 40, "tasks of the group")
    ends = [node for _, node in nodes_at(profile, "end of taskgroup")]
    check_equal([(n["count"], n["parent"]) for n in ends], [(1, index)], "the end of the group")
    check_slept(group["time_ns"] - ends[0]["time_ns"], 15, "work in the group, without its tasks")
    check_equal(ends[0]["omp_wait_ns"], ends[0]["time_ns"], "waiting at the end of the group")


@case
def nested():
    """Regions in regions hang in them, on every thread."""
    profile = run(["nested"])
    index, outer = node_at(profile, "parallel", "outer")
    inner_index, inner = node_at(profile, "parallel", "inner")
    check_equal((outer["created"], outer["count"]), (1, 2), "outer region")
    check_equal((inner["created"], inner["count"]), (2, 4), "inner regions")
    check_equal(inner["parent"], index, "where the inner region hangs")
    check_equal(len(by_thread(profile, inner_index, "time_ns")), 4, "threads of the inner regions")
    check_slept(inner["time_ns"], 40, "inner regions")


@case
def hybrid():
    """Two ranks of two threads: MPI inside and outside of regions; waiting of both kinds."""
    profile = profiled([program(BUILD + "_mpi")], 2)
    check_parts(profile)
    file = source("openmp_mpi.c")
    index, region = node_at(profile, "parallel", "step", file)
    check_equal((region["created"], region["count"]), (40, 80), "regions of both ranks")
    exchange = profile.at(file, "exchange", "MPI_Sendrecv")
    check_equal((exchange.count, exchange.sent), (40, 320), "messages from inside the regions")
    check_equal(exchange.path[-4:], ["parallel", "exchange", "exchange", "MPI_Sendrecv"],
                "where they hang: region, call, procedure, statement")
    total = profile.at(file, "sum", "MPI_Allreduce")
    check_equal(total.count, 40, "allreduces")
    # Thread 0 of rank 1 works 4 ms less than the other one, and comes later by what it waits in MPI:
    # of a step |4 - x| + x ms, whatever x is on a busy machine.
    waited = [row.get("omp_wait_ns", 0) for row in profile.rows
              if row["node"] == index and row["rank"] == 1]
    in_mpi = [row["time_ns"] for row in profile.rows
              if profile.nodes[row["node"]]["name"] == "MPI_Sendrecv" and row["rank"] == 1]
    check(sum(waited) + sum(in_mpi) > 20 * 3.6e6, f"rank 1 waits {waited} and {in_mpi} ns")


@case
def idle_workers():
    """Threads that call MPI in regions and are idle in between: their idle time is no computation,
    and what it takes to observe them is none of their first region's time."""
    # Who sleeps is sampled by chance.
    profile = profiled([program(BUILD + "_idle")], 2, ["--sample", "off"])
    check_parts(profile)
    file = source("openmp_idle.c")
    exchange = profile.at(file, "exchange", "MPI_Sendrecv")
    check_equal(exchange.count, 80, "messages from inside the regions")
    index = next(i for i, node in enumerate(profile.nodes)
                 if node["kind"] == "proc" and node["name"] == "main")
    own = {(row["rank"], row["thread"]): row.get("computation_ns", 0) for row in profile.rows
           if row["node"] == index}
    idle_index, _ = node_at(profile, "idle")
    for rank in (0, 1):
        check_slept(by_rank_and_thread(profile, idle_index)[rank, 1], 133, "idle time of a worker")
        check_slept(own[rank, 0], 140, "outside of regions, thread 0")
        check(own[rank, 0] > 138e6, f"of thread 0's 140 ms outside of regions {own[rank, 0]} ns")
        check(own.get((rank, 1), 0) < 15e6, f"a worker computes outside of regions: {own}")
    first = [i for i in profile.intervals if i["from"] is None and
             profile.nodes[i["to"]]["name"] == "MPI_Sendrecv"]
    check_equal([i["count"] for i in first], [2], "ways to the workers' first calls")
    check_slept(first[0]["time_ns"], 4, "work of both before their first call")
    region_index, _ = node_at(profile, "parallel", "step", file)
    for thread, ns in by_rank_and_thread(profile, region_index).items():
        check(ns >= 98e6, f"{thread} works 100 ms in regions, got {ns}")


@case
def intrusion():
    """A thread that dwell delays makes others wait in the real run, not in the virtual one."""
    def attempt():
        profile = run(["late"], env={"DWELL_INJECT_NS": "2000000"})
        check(profile.ranks[0]["real_ns"] > 150e6, "the delays were not made")
        index, _ = node_at(profile, "barrier", "late_barrier")
        wait = by_thread(profile, index, "omp_wait_ns")
        check(wait[0] < 15e6, f"thread 0 waits {wait[0] / 1e6} ms for what is dwell's own")
        check_slept(wait[1], 40, "thread 1 waits for thread 0")
        _, region = node_at(profile, "parallel", "late")
        check_slept(region["time_ns"], 80, "the region on both threads")
    repeated(attempt)


@case
def locks():
    """Locks count where they are got, and tries that fail leave nothing, whatever comes after."""
    check_locks()
    # Who comes late to a lock on a busy machine need not wait for it.
    repeated(lambda: check_slept(check_locks(), 20, "waiting for the lock"))


def check_locks():
    """The time that the two threads waited for their lock."""
    out = scratch("out")
    done = execute([DWELL, "run", "-o", out, program("openmp_locks")])
    check_equal((done.code, done.stdout), (0, "1021 8\n"), "program" + done.describe())
    profile = Profile(out, done)
    profile.check_conservation()
    check_parts(profile)
    file = source("openmp_locks.c")
    want = {("lock", "taken"): 1, ("lock", "shared"): 20, ("nest lock", "nest"): 1,
            ("nest lock", "again"): 1, ("lock", "in_vain"): 0, ("lock", "in_vain_inside"): 0}
    if TRIES_ARE_LOCKS:
        want |= {("lock", "tried"): 5, ("nest lock", "tried_again"): 1}
    got = {key: sum(n["count"] for _, n in nodes_at(profile, *key, file)) for key in want}
    check_equal(got, want, "counts")
    told = [n for n in profile.nodes if n["name"] in ("lock", "nest lock")]
    check_equal(sum(n["count"] for n in told), sum(want.values()), "locks")
    check_equal([n["children"] for n in told], [[]] * len(told), "what lies in locks")
    check_equal([n.get("omp_wait_ns", 0) for n in told], [n["time_ns"] for n in told], "waiting")
    index, region = node_at(profile, "parallel", "region", file)
    check_equal((region["created"], region["count"]), (10, 20), "regions")
    check_equal(profile.path(index)[1:], ["main", "parallel"], "where they hang")
    _, shared = node_at(profile, "lock", "shared", file)
    check_equal(shared["parent"], index, "where the lock of the region hangs")
    return shared["omp_wait_ns"]


@case
def switched_off():
    """With --omp off the program is one without anything to observe; bad values are told."""
    out = scratch("out")
    done = execute([DWELL, "run", "-o", out, "--omp", "off", program("openmp"), "chunks"])
    check_equal((done.code, done.stdout), (3, "done\n"), "exit code and output" + done.describe())
    check(not any(n["kind"] == "omp" for n in Profile(out, done).nodes), "OpenMP was observed")
    bad = execute([DWELL, "run", "--omp", "perhaps", program("openmp")])
    check_equal(bad.code, 2, "exit code" + bad.describe())
    check("--omp: 'perhaps' should be on, ompt or off" in bad.stderr, bad.describe())


EXIT_SOURCE = """
#include <omp.h>
#include <stdlib.h>
#include <time.h>
static void spin(double s) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const double end = t.tv_sec + 1e-9 * t.tv_nsec + s;
    do clock_gettime(CLOCK_MONOTONIC, &t);
    while (t.tv_sec + 1e-9 * t.tv_nsec < end);
}
int main(int argc, char** argv) {
    const int who = atoi(argv[argc - 1]);
#pragma omp parallel num_threads(2)
    {
#pragma omp barrier
        if (omp_get_thread_num() == who) {
            spin(0.05);
            exit(9);
        }
        spin(5);
    }
    return 0;
}
"""


@case
def exit_in_region():
    """exit() by any thread of a region: the region lasts until then on all of them, and dwell's
    start-up is intrusion."""
    for who in (0, 1):
        user = compiled("exits", EXIT_SOURCE, "gcc" if "gcc" in BUILD else "clang", "-fopenmp")
        out = scratch(f"out{who}")
        done = execute([DWELL, "run", "-o", out, user, str(who)])
        check_equal(done.code, 9, "exit code" + done.describe())
        profile = Profile(out, done)
        profile.check_conservation()
        check_parts(profile)
        (index, _), = nodes_at(profile, "parallel")
        times = by_thread(profile, index, "time_ns")
        check_equal(len(times), 2, f"threads with the region: {times}")
        check(min(times.values()) >= 45e6, f"each is in the region for 50 ms at least: {times}")
        rank, = profile.json["ranks"]
        check_equal(rank["threads_cut"], 0, "threads in the middle of a probe")
        check(rank["intrusion_ns"] >= 100_000, f"dwell's start-up takes longer: {rank}")


LIBRARY_SOURCE = """
#include <sys/wait.h>
#include <unistd.h>
int work(void) {
    int status = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp master
        {
            const pid_t child = fork();
            if (child == 0) _exit(7);
            waitpid(child, &status, 0);
        }
    }
    return WEXITSTATUS(status);
}
"""
USER_SOURCE = """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    void* library = dlopen(argv[argc - 1], RTLD_NOW | RTLD_LOCAL);
    int (*work)(void) = (int (*)(void))dlsym(library, "work");
    for (int i = 0; i < 3; i++) printf("%d\\n", work());
    return 0;
}
"""


def compiled(name, text, *command):
    with open(scratch(name + ".c"), "w", encoding="utf-8") as file:
        file.write(text)
    done = subprocess.run([*command, "-g", scratch(name + ".c"), "-o", scratch(name)],
                          capture_output=True, text=True)
    check_equal(done.returncode, 0, done.stderr)
    return scratch(name)


TOOL = """
#include <stdio.h>
static int begin(void* lookup, int device, void* data) {
    (void)lookup, (void)device, (void)data;
    puts("tool");
    return 1;
}
static void end(void* data) { (void)data; }
static struct {  // ompt_start_tool_result_t
    int (*begin)(void*, int, void*);
    void (*end)(void*);
    unsigned long long data;
} tool = {begin, end, 0};
void* ompt_start_tool(unsigned version, const char* runtime) {
    (void)version, (void)runtime;
    return &tool;
}
int main(void) {
    int sum = 0;
#pragma omp parallel num_threads(2) reduction(+:sum)
    sum++;
    printf("%d\\n", sum);
    return 3;
}
"""


def unseen(done, out, flag, words):
    """The profile has one note of libomp, its flag, and no construct."""
    profile = Profile(out, done)
    told = [note for note in profile.json["notes"] if "libomp" in note]
    check(len(told) == 1 and all(word in told[0] for word in words), f"notes {told}")
    check_equal([rank["flags"].count(flag) for rank in profile.ranks], [1] * len(profile.ranks),
                "flags")
    check_equal([n for n in profile.nodes if n["kind"] == "omp"], [], "constructs")


@case
def tool_off():
    """OMP_TOOL=disabled: a note says why nothing is seen, without MPI and with it; not with --omp off,
    nor where there is no libomp, nor with OMP_TOOL=enabled."""
    off = {"OMP_TOOL": "Disabled"}
    done = execute([DWELL, "run", "-o", scratch("off"), program("openmp"), "tasks"], env=off)
    check_equal((done.code, done.stdout), (3, "done\n"), "program" + done.describe())
    unseen(done, scratch("off"), "omp_tool_off", ["OMP_TOOL"])
    if shutil.which("mpirun"):
        done = execute([*mpirun(2), DWELL, "run", "-o", scratch("mpi"), program("openmp_mpi")], 2,
                       env=off)
        unseen(done, scratch("mpi"), "omp_tool_off", ["OMP_TOOL"])
    for name, what, options, env in (("unwanted", "openmp", ("--omp", "off"), off),
                                     ("without", "plain", (), off),
                                     ("on", "openmp", (), {"OMP_TOOL": "enabled"})):
        out = scratch(name)
        done = execute([DWELL, "run", "-o", out, *options, program(what), "4"], env=env)
        notes = Profile(out, done).json["notes"]
        check_equal([note for note in notes if "OMP_TOOL" in note], [], f"notes of {name}")


@case
def tool_of_the_program():
    """A program that is a tool of OMPT itself is told, and a note says that dwell is not."""
    with open(scratch("tool.c"), "w", encoding="utf-8") as file:
        file.write(TOOL)
    built = execute(["clang", "-g", "-fopenmp", scratch("tool.c"), "-o", scratch("tool")])
    skip_unless(built.code == 0, "clang builds no tool: " + built.stderr[-300:])
    done = execute([DWELL, "run", "-o", scratch("out"), scratch("tool")])
    check_equal((done.code, done.stdout), (3, "tool\n2\n"), "program" + done.describe())
    unseen(done, scratch("out"), "omp_other_tool", ["another tool"])


@case
def loaded_late():
    """A library that brings OpenMP in while the program runs, and forks inside of a region."""
    skip_unless(shutil.which("clang"), "clang is not installed")
    program("openmp")
    library = compiled("work", LIBRARY_SOURCE, "clang", "-fopenmp", "-shared", "-fPIC")
    user = compiled("user", USER_SOURCE, "cc", "-ldl")
    out = scratch("out")
    done = execute([DWELL, "run", "-o", out, user, library])
    check_equal((done.code, done.stdout), (0, "7\n7\n7\n"), "what it does" + done.describe())
    profile = Profile(out, done)
    profile.check_conservation()
    check_equal([n["created"] for _, n in nodes_at(profile, "parallel")], [3], "regions")


if __name__ == "__main__":
    main()
