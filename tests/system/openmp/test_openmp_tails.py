"""Constructs that compilers call in place of a return, at -O2, and others whose end or place libomp
does not tell. The right answers stand in programs/openmp_tails.c; built by clang and by gcc, the
counts are the same."""

import os
from collections import Counter

from harness import (DWELL, Profile, case, check, check_equal, execute, main, mpirun, profiled,
                     program, scratch, skip_unless, source)
from test_openmp import by_thread, check_parts, compiled, node_at, nodes_at
from test_openmp_exchange import EXCHANGE, skip_without_libomp

NEWER = os.environ.get("SYSTEST_NEWER_LIBOMP", "")
FILE = source("openmp_tails.c")
# (regions, threads in them) of each parallel construct, 2 threads if nothing else is said.
REGIONS = {"singles": (10, 20), "barriers": (3, 6), "taskwaits": (3, 6), "groups": (3, 6),
           "tasks": (3, 6), "outer": (2, 4), "inner": (4, 8), "around": (3, 6), "alone": (6, 6),
           "deal": (1, 2), "cancelled": (1, 2), "given_up": (1, 2), "after": (2, 4)}
# Those that both compilers have a call for.
COUNTS = {"single": 10 + 1, "task": 3 * 2 * 3 + 50, "taskwait": 3 * 2,
          "barrier": 3 * 2 + 3 * 2 + 2}


def run(build, *arguments, options=(), env=None, cancels=True):
    """The profile, where nothing but idle time lies outside of main, and everything has a line."""
    done = execute([DWELL, "run", "-o", scratch("out"), *options, program(build), *arguments],
                   env={"OMP_CANCELLATION": "true" if cancels else "false", **(env or {})})
    check_equal((done.code, done.stdout), (0, ""), "program" + done.describe())
    profile = Profile(scratch("out"), done)
    profile.check_conservation()
    check_parts(profile)
    at_root = [n["name"] for n in profile.nodes if n["kind"] != "program" and n["parent"] == 0]
    check_equal(sorted(set(at_root) - {"idle"}), ["main"], "what lies at the root")
    lost = [n["name"] for n in profile.nodes
            if n["kind"] == "omp" and n["name"] != "idle" and not n["line"]]
    check_equal(lost, [], "constructs without a line")
    return profile


def check_counts(profile):
    """The sums over all lines, and that what comes after a cancelled loop is not in it."""
    totals = Counter()
    for node in profile.nodes:
        if node["kind"] == "omp":
            totals[node["name"]] += node["count"]
            totals[node["name"] + " created"] += node.get("created", 0)
    want = dict(COUNTS)
    want["parallel created"] = sum(regions for regions, _ in REGIONS.values())
    want["parallel"] = sum(threads for _, threads in REGIONS.values())
    want["task created"] = want["task"]
    check_equal({key: totals[key] for key in want}, want, "counts")
    around = [profile.nodes[node["parent"]]["name"] for node in profile.nodes
              if node["name"] in ("parallel", "barrier", "implicit barrier")]
    check("for" not in " ".join(around), f"what regions and barriers lie in: {set(around)}")
    inner = [(profile.nodes[node["parent"]]["name"], node["created"], node["count"])
             for node in profile.nodes if node["name"] == "parallel" and
             profile.nodes[node["parent"]]["name"] == "parallel"]
    check_equal(sorted(inner), [("parallel", 4, 8), ("parallel", 6, 6)], "regions in regions")


def check_places(profile):
    """What clang's program calls in place of a return stands at the construct before it, if a barrier
    follows that, or at the region; the region's own barrier at the region."""
    for marker in ("singles", "barriers", "taskwaits", "groups", "tasks", "cancelled", "after"):
        found = nodes_at(profile, "parallel", marker, FILE)
        check_equal([(n["created"], n["count"]) for _, n in found], [REGIONS[marker]],
                    f"regions at @{marker}")
        last = nodes_at(profile, "implicit barrier", marker, FILE)
        check_equal([(n["count"], n["parent"]) for _, n in last],
                    [(REGIONS[marker][1], found[0][0])], f"barriers of the regions at @{marker}")
    want = {("implicit barrier", "single"): 20, ("single", "single"): 10,
            ("barrier", "barriers"): 6, ("taskwait", "taskwaits"): 6, ("taskgroup", "group"): 6,
            ("end of taskgroup", "group"): 6, ("task", "tasks"): 6, ("task", "task"): 6,
            ("task", "group_task"): 6, ("barrier", "behind"): 2, ("task", "taskloop"): 50,
            ("implicit barrier", "dynamic"): 2}
    got = {key: sum(n["count"] for _, n in nodes_at(profile, *key, FILE)) for key in want}
    check_equal(got, want, "counts by line")
    loops = nodes_at(profile, "for", "dynamic", FILE) + nodes_at(profile, "for dynamic", "dynamic",
                                                                 FILE)
    check_equal([n["count"] for _, n in loops], [2], "the cancelled loop")
    outer = [n for _, n in nodes_at(profile, "parallel", "outer", FILE)]
    check_equal(sorted((n["created"], n["count"]) for n in outer), [(2, 4), (4, 8)],
                "the regions that end in a region, and those")


def check_teams(profile, by_line):
    """2 leagues of 2 teams, whose regions lie in them; who waits for the other team does not work."""
    leagues = nodes_at(profile, "teams")
    check_equal([(n["created"], n["count"]) for _, n in leagues], [(2, 4)], "leagues and teams")
    index, league = leagues[0]
    if by_line:
        check_equal(index, node_at(profile, "teams", "teams", FILE)[0], "its line")
    inner = [(n["created"], n["count"], n["parent"]) for _, n in nodes_at(profile, "parallel")]
    check_equal(inner, [(4, 4, index)], "regions of the teams")
    barriers = [(k, n) for k, n in nodes_at(profile, "implicit barrier") if n["parent"] == index]
    check_equal([n["count"] for _, n in barriers], [4], "the end of the leagues")
    wait = by_thread(profile, barriers[0][0], "omp_wait_ns")
    check(max(wait.values()) > 60e6, f"threads wait {wait} ns for the slower team, of 80 ms")
    check(league["omp_wait_ns"] < 0.8 * league["time_ns"], "work of the teams is no waiting")


def check_reducing(profile):
    """2 leagues of 2 teams that meet where they reduce, and at the end."""
    index, league = node_at(profile, "teams", "reducing", FILE)
    check_equal((league["created"], league["count"]), (2, 4), "leagues and teams")
    barriers = [(k, n) for k, n in nodes_at(profile, "implicit barrier") if n["parent"] == index]
    check_equal([n["count"] for _, n in barriers], [4, 4], "the reductions and the leagues' ends")
    wait = Counter()
    for k, _ in barriers:
        wait.update(by_thread(profile, k, "omp_wait_ns"))
    check(max(wait.values()) > 60e6, f"threads wait {dict(wait)} ns for the slower team, of 80 ms")
    check(league["omp_wait_ns"] < 0.8 * league["time_ns"], "work of the teams is no waiting")


@case
def libomp():
    profile = run("openmp_tails")
    check_counts(profile)
    check_places(profile)


@case
def libomp_without_cancellation():
    """The same, but that the loop runs to its end, and no region is given up."""
    profile = run("openmp_tails", cancels=False)
    check_counts(profile)
    check_places(profile)


@case
def newer_libomp():
    skip_unless(os.path.exists(os.path.join(NEWER, "libomp.so.5")), "libomp 19 is not there")
    env = {"LD_LIBRARY_PATH": NEWER}
    profile = run("openmp_tails", env=env)
    check_counts(profile)
    check_places(profile)
    _, tasks = node_at(profile, "task", "taskloop", FILE)
    check_equal((tasks["iterations"], tasks["chunks"]), (500, 50), "iterations of the tasks")
    check_teams(run("openmp_tails", "teams", env=env), True)
    check_reducing(run("openmp_tails", "reducing teams", env=env))


@case
def teams():
    check_teams(run("openmp_tails", "teams"), True)
    check_reducing(run("openmp_tails", "reducing teams"))


@case
def libgomp():
    """The counts of gcc's program are those of clang's."""
    check_counts(run("openmp_gcc_tails"))


@case
def exchanged():
    """On libomp, too; a league has no line of its own there, but its call has."""
    skip_without_libomp()
    check_counts(run("openmp_gcc_tails", options=EXCHANGE))
    done = execute([DWELL, "run", "-o", scratch("teams"), *EXCHANGE, program("openmp_gcc_tails"),
                    "teams"])
    profile = Profile(scratch("teams"), done)
    profile.check_conservation()
    check_parts(profile)
    check_teams(profile, False)


ENDS = source("openmp_end_tails.c")


def check_ends(build, env=None):
    """Regions that atexit() handlers and a destructor function end with have nodes of their own."""
    out = scratch(build)
    done = execute([DWELL, "run", "-o", out, program(build)], env=env)
    profile = Profile(out, done)
    profile.check_conservation()
    check_parts(profile)
    for marker in ("main", "first", "second", "last"):
        regions = nodes_at(profile, "parallel", marker, ENDS)
        check_equal([(n["created"], n["count"]) for _, n in regions], [(1, 2)],
                    f"regions at @{marker}")
        barriers = nodes_at(profile, "implicit barrier", marker, ENDS)
        check_equal([(n["parent"], n["count"]) for _, n in barriers], [(regions[0][0], 2)],
                    f"barriers of the region at @{marker}")
        if marker != "main":
            check_equal(regions[0][1]["parent"], 0, f"what the region at @{marker} lies in")
    check_equal(profile.nodes[0]["count"], 0, "count of the program")


@case
def at_the_end():
    check_ends("openmp_end_tails")


@case
def at_the_end_on_newer_libomp():
    skip_unless(os.path.exists(os.path.join(NEWER, "libomp.so.5")), "libomp 19 is not there")
    check_ends("openmp_end_tails", {"LD_LIBRARY_PATH": NEWER})


def check_cancellable(env=None):
    file = source("openmp_cancel_barriers.c")
    out = scratch("out")
    done = execute([DWELL, "run", "-o", out, program("openmp_cancel_barriers")],
                   env={"OMP_CANCELLATION": "true", **(env or {})})
    profile = Profile(out, done)
    check_parts(profile)
    region, _ = node_at(profile, "parallel", "region", file)
    for marker in ("first", "second"):
        _, barrier = node_at(profile, "barrier", marker, file)
        check_equal((barrier["count"], barrier["parent"]), (10, region), f"barriers at @{marker}")
    check_equal(len(nodes_at(profile, "barrier")), 2, "lines of barriers")


@case
def cancellable():
    """Barriers of a region that may be cancelled stand at their own lines."""
    check_cancellable()


@case
def cancellable_on_newer_libomp():
    skip_unless(os.path.exists(os.path.join(NEWER, "libomp.so.5")), "libomp 19 is not there")
    check_cancellable({"LD_LIBRARY_PATH": NEWER})


MPI = source("openmp_mpi_tails.c")


def check_mpi(profile, single, task, alone, last, called):
    """Barriers of MPI stand at these lines, directly in their construct or in what that calls."""
    check_parts(profile)
    around = {single: "single", task: "task", alone: "parallel",
              last: "last" if called else "parallel"}
    for marker, parent in around.items():
        node = profile.at(MPI, marker, "MPI_Barrier")
        check_equal((node.count, node.path[-2]), (10, parent), f"barriers at @{marker}")
    check_equal(profile.count("MPI_Barrier"), 40, "all barriers")
    check_equal(profile.at(MPI, last, "MPI_Barrier").path.count("main"), 1, "main on the path")


@case
def mpi_on_libomp():
    """Of a jump out of a region nothing is known but the region: clang's single and masked constructs
    and tasks end with a call of their own."""
    profile = profiled([program("openmp_mpi_tails")], 2)
    check_mpi(profile, "single", "task", "alone_region", "last_region", False)


@case
def mpi_on_libgomp():
    """The code itself tells which jump it ends with."""
    profile = profiled([program("openmp_gcc_mpi_tails")], 2)
    check_mpi(profile, "single", "task", "alone", "last", True)


@case
def mpi_exchanged():
    """The same, where libomp runs the code."""
    skip_without_libomp()
    out = scratch("out")
    done = execute([*mpirun(2), DWELL, "run", "-o", out, *EXCHANGE,
                    program("openmp_gcc_mpi_tails")], ranks=2)
    check_mpi(Profile(out, done), "single", "task", "alone", "last", True)


@case
def taken_places():
    """Each end of a critical section takes the place of what libomp's first thread begins at the time:
    all constructs have their counts and their own lines nevertheless."""
    rounds, iterations = 4000, 10
    critical = """
#pragma omp critical
        for (int work = 0; work < 300; work++) sink = shared++;"""
    user = compiled("taken", f"""
#include <omp.h>
static int shared;
static volatile int sink;
int main(void) {{
    omp_lock_t lock;
    omp_init_lock(&lock);
#pragma omp parallel num_threads(2)
    for (int round = 0; round < {rounds}; round++) {{{critical}
#pragma omp for ordered schedule(dynamic, 1)
        for (int i = 0; i < {iterations}; i++) {{
#pragma omp ordered
            sink = i;
        }}{critical}
        omp_set_lock(&lock);
        omp_unset_lock(&lock);{critical}
#pragma omp parallel num_threads(1)
        sink = 1;{critical}
#pragma omp single
        sink = 2;
    }}
    return 0;
}}
""", "clang", "-O2", "-fopenmp")
    done = execute([DWELL, "run", "-o", scratch("out"), user])
    check_equal(done.code, 0, "exit code" + done.describe())
    profile = Profile(scratch("out"), done)
    check_parts(profile)
    for name, counts in (("for", [2 * rounds]), ("ordered", [rounds * iterations]),
                         ("lock", [2 * rounds]), ("single", [rounds]),
                         ("critical", 4 * [2 * rounds]), ("parallel", [2, 2 * rounds]),
                         ("implicit barrier", [2, 2 * rounds, 2 * rounds])):
        found = [node for _, node in nodes_at(profile, name)]
        check_equal(sorted(node["count"] for node in found), counts, name)
        check(all(node["line"] for node in found), f"{name} without a line")


if __name__ == "__main__":
    main()
