"""Call paths of Python programs hold Python functions and lines."""

import glob
import os
import socket

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, main, marked_line, mpirun,
                     profiled, repeated, scratch, skip_unless, source)
from test_timing import perf_works

PYTHON = "/usr/bin/python3"
SHAPES = source("python_paths.py")
HALO = source("python_halo.py")


def python():
    skip_unless(os.path.exists(PYTHON), f"no {PYTHON}")
    probe = execute([PYTHON, "-c", "import sys, mpi4py.MPI; print(sys.version_info[:2])"],
                    env={"PYTHONPATH": ""})
    skip_unless(probe.code == 0, f"{PYTHON} has no mpi4py")
    skip_unless(probe.stdout.strip() == "(3, 11)", f"{PYTHON} is not of version 3.11")
    return PYTHON


def steps(profile, index):
    """The functions on the way to a node, each with the line from which it goes on."""
    found, line = [], None
    while index:
        node = profile.nodes[index]
        if node["kind"] == "proc":
            found.append((node["name"], line))
        else:
            line = node["line"]
        index = node["parent"]
    return found[::-1]


def check_native_frames_gone(profile):
    for node in profile.nodes:
        for word in ("_PyEval", "PyObject_", "cpython-311", "Py_BytesMain", "importlib"):
            check(word not in node["name"] and word not in (node.get("file") or ""),
                  f"{word} in {node}")


@case
def shapes():
    """Functions called from two lines, recursion, generators, methods, nested functions, destructors,
    lambdas, comprehensions, code made by exec, threads: each statement, told apart by its bytes,
    stands where Python's own traceback would show it."""
    profile = profiled([python(), SHAPES], 2)
    check_native_frames_gone(profile)
    line = lambda marker: marked_line(SHAPES, marker)
    top = [("<module>", line("main")), ("main", line("shapes"))]
    say = [("say", line("say"))]
    inside = {
        10: [("shapes", line("twice")), ("twice", line("first"))],
        11: [("shapes", line("twice")), ("twice", line("second"))],
        20: [("shapes", line("recursive")), ("recursive", line("again")), ("recursive", line("end"))],
        30: [("shapes", line("generator")), ("generator", line("next"))],
        40: [("shapes", line("method")), ("Solver.step", line("inner")),
             ("Solver.step.<locals>.inner", line("innermost"))],
        41: [("shapes", line("del")), ("Solver.__del__", line("destructor"))],
        50: [("shapes", line("lambda")), ("shapes.<locals>.<lambda>", line("lambda"))],
        60: [("shapes", line("comprehension")), ("shapes.<locals>.<listcomp>", line("comprehension"))],
    }
    want = {count: top + frames + say for count, frames in inside.items()}
    for number in range(20):
        want[100 + number] = top + [("shapes", line("made")), ("made", line("exec")),
                                    ("<module>", number + 3), (f"made_{number}", number + 2)] + say
    work = [("in_thread.<locals>.work", line("work"))] + say
    places, of_exec = {}, []
    for index, node in enumerate(profile.nodes):
        if node["kind"] != "comm" or node["name"] != "MPI_Bcast" or node["line"] != line("say"):
            continue
        bytes_each = (node["bytes_sent"] + node["bytes_received"]) // node["count"]
        if bytes_each == 200:
            of_exec.append((steps(profile, index)[3][1], node["count"]))
        elif bytes_each == 70:
            check_equal(steps(profile, index)[-2:], work, "path in a thread")
        else:
            check(bytes_each not in places, f"{bytes_each} bytes stand at two places")
            places[bytes_each] = steps(profile, index)
    for count, path in want.items():
        check_equal(places.get(count), path, f"path to the statement of {count} bytes")
    check_equal(sorted(places), sorted(want), "statements")
    check_equal(sorted(of_exec), [(number + 1, 2) for number in range(20)],
                "lines of code that exec() made in one place, and their counts")
    pickled = profile.comm("MPI_Bcast", SHAPES, line("pickled"))
    check_equal([node.count for node in pickled], [4], "MPI_Bcast of a pickled object: size and data")
    check_equal(profile.comm("MPI_Init_thread")[0].line, line("import"), "line of MPI_Init_thread")


def waiting_line(how):
    return marked_line(HALO, "wait_buffers" if how == "buffers" else "wait_pickles")


def check_halo(profile, how, sampled):
    line = lambda marker: marked_line(HALO, marker)
    check_native_frames_gone(profile)
    receives = [index for index, node in enumerate(profile.nodes)
                if node["name"] in ("MPI_Mprobe", "MPI_Recv", "MPI_Sendrecv") and node["sync_ns"] > 3e8]
    check_equal([steps(profile, index) for index in receives],
                [[("<module>", line("main")), ("main", line("exchange")), ("exchange", waiting_line(how))]],
                "where it is waited")
    causes = [cause for cause in profile.json["causes"] if cause["interval"] is not None]
    worst = max(causes, key=lambda cause: cause["time_ns"])
    interval = profile.intervals[worst["interval"]]
    check_equal(worst["peer_rank"], 1, "the rank that makes the other wait")
    booked = steps(profile, interval["booked_on"])
    if not sampled:
        check(interval["in_or_after"] and booked[-1][0] == "exchange", f"cause without samples: {booked}")
        return
    check_equal(booked, [("<module>", line("main")), ("main", line("relax")), ("relax", None)],
                "where it computes")
    here = [node for node in profile.nodes if node["name"] == "relax" and node["kind"] == "proc"]
    check_equal(len(here), 1, "places of relax")
    check(here[0]["time_ns"] > 0.6 * profile.json["computation_ns"], f"computation in relax: {here}")


def halo(how, options=()):
    skip_unless(options or perf_works(), "perf_event_open is not permitted here")
    profile = profiled([python(), HALO, how], 2, list(options))
    check_halo(profile, how, not options)
    verdict = profile.run.stderr
    check(options or "computes in relax" in verdict.replace("\n  ", " "), f"verdict: {verdict}")
    report = execute([DWELL, "report", profile.directory])
    check(f"python_halo.py:{waiting_line(how)}" in report.stdout, report.stdout)


@case
def pickled():
    """Rank 1 is slow in relax(), called from main(): its neighbour waits in exchange()."""
    repeated(halo, "pickled")


@case
def buffers():
    """The same with buffers in place of pickled objects."""
    repeated(halo, "buffers")


@case
def without_samples():
    """The lines are known; whose the computation was is not."""
    repeated(halo, "asleep", ["--sample", "off"])


@case
def without_run():
    """Where no `dwell run` reads the functions, as by LD_PRELOAD alone, in another network namespace or
    where it cannot, there are no samples. One line says so at once, where it is known; a note always."""
    skip_unless(perf_works(), "perf_event_open is not permitted here")
    idle = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    idle.bind(b"\0" + f"dwell-test-{os.getpid()}".encode())
    for name, at_once in (("", 1), ("nobody", 1), (f"dwell-test-{os.getpid()}", 0)):
        out = scratch("alone" + name)
        place = {"DWELL_DRAIN": name} if name else {}
        run = execute(mpirun(2, python(), HALO, "buffers"), 2,
                      env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": out, "DWELL_SAMPLE": "100", **place})
        check_equal(run.stderr.count("no sampling of Python functions"), at_once,
                    "lines" + run.describe())
        profile = Profile(out, run)
        check(any("2 of 2 threads were not sampled" in note for note in profile.json["notes"]),
              f"notes: {profile.json['notes']}")
        check_native_frames_gone(profile)
        check_equal([rank["samples"] for rank in profile.ranks], [0, 0], "samples")


@case
def killed():
    """After a crash the names are in the records."""
    out = scratch("out")
    execute(mpirun(2, DWELL, "run", "-o", out, python(), HALO, "killed"), 2)
    records = out if os.path.isdir(out) else glob.glob(scratch("out*"))[0]
    recovered = execute([DWELL, "recover", "-o", scratch("whole"), records])
    check(os.path.isdir(scratch("whole")), "nothing was recovered" + recovered.describe())
    profile = Profile(scratch("whole"), recovered)
    check_native_frames_gone(profile)
    check(profile.comm("MPI_Barrier", HALO, marked_line(HALO, "last")), "MPI_Barrier before the end")


@case
def other_version():
    """One line says that the interpreter's own frames are shown, and all else goes on."""
    others = [path for path in glob.glob("/usr/bin/python3.[0-9]*") +
              glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
              if execute([path, "-c", "import sys; print(sys.version_info[:2] == (3, 11))"]).stdout ==
              "False\n"]
    skip_unless(others, "no other Python here")
    script = ("import ctypes; mpi = ctypes.CDLL('libmpi.so.40', ctypes.RTLD_GLOBAL); mpi.MPI_Init(None, None); "
              "mpi.MPI_Finalize()")
    for path in others:
        run = execute(mpirun(2, DWELL, "run", "-o", scratch("other"), path, "-c", script), 2)
        check_equal(run.code, 0, "exit code" + run.describe())
        check_equal(run.stderr.count("call paths show the interpreter's own frames"), 1,
                    "lines about it" + run.describe())


if __name__ == "__main__":
    main()
