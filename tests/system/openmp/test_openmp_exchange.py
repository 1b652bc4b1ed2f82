"""`dwell run --omp ompt`: programs of gcc on libomp in the place of libgomp, where that is possible.
The source and the right answers are those of test_openmp.py."""

import os
import shutil

import test_openmp
from harness import (DWELL, Profile, case, check, check_equal, execute, main, mpirun, program,
                     scratch, skip_unless)
from test_openmp import node_at, nodes_at, run
from test_openmp_gcc import built

test_openmp.BUILD = "openmp_gcc"
EXCHANGE = ("--omp", "ompt")
LIBOMP = "libomp.so.5"


def skip_without_libomp():
    listed = execute(["ldconfig", "-p"])
    skip_unless(LIBOMP in listed.stdout, f"{LIBOMP} is not installed")


def stays(program_run, *words):
    """The program ran on libgomp, and one line says why."""
    lines = [line for line in program_run.stderr.splitlines() if "not exchanged" in line]
    check_equal(len(lines), 1, "lines that say so" + program_run.describe())
    check(all(word in lines[0] for word in words), f"{words} not in: {lines[0]}")


@case
def counts():
    """As on libgomp, and locks beside: each construct once, at the same lines."""
    skip_without_libomp()
    profile = run([], *EXCHANGE)
    want = {("parallel", "chunks"): 2, ("parallel", "outer"): 2, ("parallel", "inner"): 4,
            ("barrier", "barrier"): 10, ("critical", "critical"): 10, ("task", "task"): 12,
            ("task", "inner_task"): 12, ("taskwait", "taskwait"): 12}
    got = {key: sum(n["count"] for _, n in nodes_at(profile, *key)) for key in want}
    check_equal(got, want, "counts")
    for name, count in (("single", 3), ("ordered", 6), ("taskgroup", 1), ("lock", 10)):
        check_equal(sum(n["count"] for _, n in nodes_at(profile, name)), count, name)
    for marker in ("task", "inner_task"):
        _, task = node_at(profile, "task", marker)
        check_equal(task["created"], 12, f"created at @{marker}")
    regions = sum(n["created"] for _, n in nodes_at(profile, "parallel"))
    check_equal(regions, 10 + 1 + 1 + 1 + 1 + 1 + 1 + 3 + 2 + 1, "regions")
    told = [note for note in profile.json["notes"] if "in the place of libgomp" in note]
    check_equal(len(told), 1, f"notes that say so in {profile.json['notes']}")
    check_equal([rank["flags"] for rank in profile.ranks if "libgomp" in rank["flags"]], [],
                "ranks seen through libgomp as well")


WITHIN = """#include <stdio.h>
static int total;
int main(void) {
    for (int r = 0; r < 3; r++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp single
            {
#pragma omp parallel num_threads(2)
                {
#pragma omp atomic
                    total++;
#pragma omp barrier
                }
#pragma omp taskloop num_tasks(4)
                for (int i = 0; i < 8; i++) {
#pragma omp atomic
                    total++;
                }
            }
#pragma omp for schedule(dynamic, 1) nowait
            for (int i = 0; i < 4; i++) {
#pragma omp atomic
                total++;
            }
        }
    }
    printf("%d\\n", total);
}
"""


@case
def within_a_single():
    """A region and tasks in a single construct, three times: it goes on behind them, and ends before
    its barrier."""
    skip_without_libomp()
    binary = built("within.c", WITHIN, "gcc", "-g", "-O1", "-fopenmp")
    done = execute([DWELL, "run", "-o", scratch("out"), *EXCHANGE, binary],
                   env={"OMP_MAX_ACTIVE_LEVELS": "2"})
    check_equal((done.code, done.stdout), (0, f"{3 * (2 + 8 + 4)}\n"), "program" + done.describe())
    profile = Profile(scratch("out"), done)
    profile.check_conservation()
    test_openmp.check_parts(profile)
    (_, single), = nodes_at(profile, "single")
    check_equal(single["count"], 3, "single")
    inside = {profile.nodes[k]["name"] for k in single["children"]}
    check_equal(inside, {"parallel", "taskgroup"}, "in the single construct")
    regions = sorted(n["created"] for _, n in nodes_at(profile, "parallel"))
    check_equal(regions, [3, 3], "regions")
    (_, task), = nodes_at(profile, "task")
    check_equal((task["count"], task["created"]), (12, 12), "tasks")
    (_, barrier), = nodes_at(profile, "barrier")
    check_equal(barrier["count"], 12 // 2, "barrier of the inner region")
    behind = sum(n["count"] for _, n in nodes_at(profile, "implicit barrier"))
    check_equal(behind, 3 * 2 * 3, "barriers behind the single and the two regions")


SEVERAL = """#include <stdio.h>
int main(void) {
    int total = 0;
#pragma omp parallel num_threads(2)
    {
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            total++;
        }
#pragma omp for schedule(guided, 3)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            total++;
        }
#pragma omp sections
        {
#pragma omp section
#pragma omp atomic
            total++;
#pragma omp section
#pragma omp atomic
            total++;
        }
#pragma omp critical
        total++;
#pragma omp for schedule(dynamic, 3)
        for (int i = 0; i < 100; i++) {
#pragma omp atomic
            total++;
        }
    }
    printf("%d\\n", total);
}
"""


@case
def several_constructs():
    """One region with three loops and sections: both threads come to each, to the barrier behind it,
    and stay in the region until its end. With libomp 14, and with 19 where that is there."""
    skip_without_libomp()
    binary = built("several.c", SEVERAL, "gcc", "-g", "-O1", "-fopenmp")
    newer = os.environ.get("SYSTEST_NEWER_LIBOMP", "")
    libraries = [""] + ([newer] if os.path.exists(os.path.join(newer, LIBOMP)) else [])
    for number, library in enumerate(libraries):
        out = scratch(f"out{number}")
        done = execute([DWELL, "run", "-o", out, *EXCHANGE, binary], env={"LD_LIBRARY_PATH": library})
        check_equal((done.code, done.stdout), (0, f"{3 * 100 + 2 + 2}\n"),
                    "program" + done.describe())
        profile = Profile(out, done)
        profile.check_conservation()
        test_openmp.check_parts(profile)
        constructs = [node for node in profile.nodes
                      if node["kind"] == "omp" and node["name"] not in ("parallel", "idle")]
        around = {profile.nodes[node["parent"]]["name"] for node in constructs}
        check_equal(around, {"parallel"}, f"what constructs lie in, libomp {library or 14}")
        barriers = sum(node["count"] for node in constructs if node["name"] == "implicit barrier")
        check_equal(barriers, 2 * (4 + 1), "threads at the barriers of four constructs and the region")
        # libomp tells sections of gcc's as a loop over their numbers.
        loops = [node for node in constructs if node["name"].startswith("for")]
        check_equal([node["count"] for node in loops], [2] * 4, "threads in loops and sections")
        check_equal(len({node["line"] for node in loops}), 4, "their lines")
        check_equal(sum(node["iterations"] for node in loops), 3 * 100 + 2, "iterations")
        check_equal([node["count"] for node in constructs if node["name"] == "critical"], [2],
                    "the critical section")


COMBINED = """#include <stdio.h>
static int total;
int main(void) {
#pragma omp parallel for schedule(dynamic, 3) num_threads(2)
    for (int i = 0; i < 100; i++) {
#pragma omp atomic
        total++;
    }
#pragma omp parallel sections num_threads(2)
    {
#pragma omp section
#pragma omp atomic
        total++;
#pragma omp section
#pragma omp atomic
        total++;
    }
    printf("%d\\n", total);
#pragma omp parallel for schedule(guided) num_threads(2)
    for (int i = 0; i < 1000; i++) {
#pragma omp cancel for
    }
}
"""


@case
def combined():
    """Regions that are a loop, one of which is cancelled, or sections: both threads are in the same
    one, though the first begins it before it comes to the code of the region."""
    skip_without_libomp()
    binary = built("combined.c", COMBINED, "gcc", "-g", "-O1", "-fopenmp")
    out = scratch("out")
    done = execute([DWELL, "run", "-o", out, *EXCHANGE, binary], env={"OMP_CANCELLATION": "true"})
    check_equal((done.code, done.stdout), (0, "102\n"), "program" + done.describe())
    profile = Profile(out, done)
    profile.check_conservation()
    lines = COMBINED.split("\n")
    at = [number for number, line in enumerate(lines, 1) if "omp parallel" in line]
    loops = sorted((n["line"], n["count"], n["parent"]) for n in profile.nodes
                   if n["kind"] == "omp" and n["name"].startswith("for"))
    regions = {n["line"]: index for index, n in nodes_at(profile, "parallel")}
    check_equal(loops, [(line, 2, regions.get(line)) for line in at], "loops and their regions")


COPIED = """#include <stdio.h>
#include <time.h>
int main(void) {
    int sum = 0;
    const struct timespec some = {0, 5000000};
#pragma omp parallel num_threads(2) reduction(+:sum)
    for (int i = 1; i <= 3; i++) {
        int value;
#pragma omp single copyprivate(value)
        {
            value = i;
            nanosleep(&some, NULL);
        }
        sum += value;
    }
    printf("%d\\n", sum);
}
"""


@case
def copied_single():
    """`single copyprivate` three times: on the thread that executes it, with its 5 ms, and barriers
    behind it, not in it. As on libgomp, but that libomp has two barriers."""
    skip_without_libomp()
    binary = built("copied.c", COPIED, "gcc", "-g", "-O1", "-fopenmp")
    for options, barriers in ((EXCHANGE, 2 * 3 * 2), ((), 2 * 3)):
        out = scratch("out" + str(barriers))
        done = execute([DWELL, "run", "-o", out, *options, binary])
        check_equal((done.code, done.stdout), (0, "12\n"), "program" + done.describe())
        profile = Profile(out, done)
        profile.check_conservation()
        test_openmp.check_parts(profile)
        (_, single), = nodes_at(profile, "single")
        check_equal((single["count"], single["children"]), (3, []), f"single with {options}")
        test_openmp.check_slept(single["time_ns"], 15, "in the construct")
        region = [node["name"] for _, node in nodes_at(profile, "parallel")]
        check_equal(region, ["parallel"], "regions")
        told = [node for _, node in nodes_at(profile, "implicit barrier")
                if (node["file"], node["line"]) == (single["file"], single["line"])]
        check_equal(sum(node["count"] for node in told), barriers, f"barriers with {options}")


@case
def function_missing():
    """libomp 14 to 19 do not define omp_set_num_threads_8_, which 8-byte integers call."""
    skip_without_libomp()
    binary = built("eight.f90", """
program eight
  use omp_lib
  integer(8) :: threads = 2
  integer :: sum = 0
  call omp_set_num_threads(threads)
  !$omp parallel reduction(+:sum)
  sum = sum + 1
  !$omp end parallel
  print *, sum
end program
""", "gfortran", "-g", "-fopenmp")
    done = execute([DWELL, "run", "-o", scratch("out"), *EXCHANGE, binary])
    check_equal((done.code, done.stdout.strip()), (0, "2"), "program" + done.describe())
    stays(done, "omp_set_num_threads_8_@OMP_1.0", binary)
    flags = Profile(scratch("out"), done).ranks[0]["flags"]
    check("libgomp" in flags and "omp_exchanged" not in flags, f"flags {flags}")


@case
def nothing_told():
    """Where libomp would tell dwell nothing the program stays on libgomp, and its constructs are seen:
    OMP_TOOL=disabled, and a program with a tool of its own."""
    skip_without_libomp()
    tool = built("tool.c", test_openmp.TOOL, "gcc", "-g", "-rdynamic", "-fopenmp")
    for name, argv, env, word in (("off", [program("openmp_gcc"), "tasks"],
                                   {"OMP_TOOL": "disabled"}, "OMP_TOOL=disabled"),
                                  ("own", [tool], {}, "another tool")):
        done = execute([DWELL, "run", "-o", scratch(name), *EXCHANGE, *argv], env=env)
        check_equal(done.code, 3, "exit code" + done.describe())
        stays(done, word)
        profile = Profile(scratch(name), done)
        check("libgomp" in profile.ranks[0]["flags"], f"flags {profile.ranks[0]['flags']}")
        check(nodes_at(profile, "parallel"), "no region is seen")


@case
def nothing_to_exchange():
    """A program without libgomp, a script, a file of neither kind: as without the option, and a line
    names it. A program that does not exist or may not be executed: one line says that, no other."""
    done = execute([DWELL, "run", "-o", scratch("out"), *EXCHANGE, program("plain"), "4"])
    check_equal((done.code, done.stdout), (4, "plain\n"), "program" + done.describe())
    stays(done, "libgomp.so.1")
    script = scratch("script")
    with open(script, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho ran >> " + scratch("ran") + "\nexit 5\n")
    os.chmod(script, 0o755)
    done = execute([DWELL, "run", "-o", scratch("out2"), *EXCHANGE, script])
    with open(scratch("ran"), encoding="utf-8") as file:
        check_equal((done.code, file.read()), (5, "ran\n"), "script" + done.describe())
    stays(done, "libgomp.so.1")
    text = scratch("text")
    with open(text, "w", encoding="utf-8") as file:
        file.write("exit 6\n")
    os.chmod(text, 0o755)
    done = execute([DWELL, "run", "-o", scratch("out3"), *EXCHANGE, text])
    check_equal(done.code, 6, "neither program nor script" + done.describe())
    stays(done, text, "libgomp.so.1")
    done = execute([DWELL, "run", *EXCHANGE, scratch("none")])
    check_equal((done.code, done.stderr), (127, f"dwell: {scratch('none')}: not found\n"),
                "not found" + done.describe())
    os.chmod(text, 0o644)
    done = execute([DWELL, "run", *EXCHANGE, text])
    check_equal((done.code, done.stderr), (126, f"dwell: {text}: Permission denied\n"),
                "not executable" + done.describe())


@case
def before_the_launcher():
    """The launcher's program is not known: nothing is started, and the line says how to do it."""
    skip_unless(shutil.which("mpirun"), "mpirun is not installed")
    done = execute([DWELL, "run", *EXCHANGE, *mpirun(2), "touch", scratch("started")])
    check_equal((done.code, done.stdout), (2, ""), "exit code" + done.describe())
    check("dwell run --omp ompt PROGRAM" in done.stderr, "not said" + done.describe())
    check(not os.path.exists(scratch("started")), "started")


if __name__ == "__main__":
    main()
