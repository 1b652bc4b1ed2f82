"""Programs with one planted fault (planted.c): the verdict names rank, procedure and line, and the
sum over its causes is what the program's own clock shows."""

import os
import re
import shutil

from harness import (DWELL, Profile, case, check, check_equal, check_near, execute, main, marked_line,
                     mpirun, repeated, scratch, skip_unless, source)
from probed_program import WRAPPERS
from test_timing import perf_works

FILE = "planted.c"
# By shape: the procedure at fault, its caller between the MPI calls, and what communicates there.
SHAPES = {"halo": ("relax", "halo", "exchange_halo"),
          "spectral": ("transform_lines", "spectral", "transpose"),
          "farm": ("solve", "work_off", None),
          "checkpoint": ("write_state", "checkpoint", "sum_up")}
LEVELS = ("-O0", "-O2", "-O3")


def built(compiler, level):
    binary = scratch("planted" + level)
    run = execute([compiler, "-g", level, source("programs/" + FILE), "-o", binary], cwd=scratch())
    check_equal(run.code, 0, run.describe())
    return binary


def slow_rank(shape, ranks):
    return 0 if shape == "checkpoint" else ranks // 2


def observe(binary, shape, ranks, how, options):
    """The profile and how long each rank was at the fault."""
    out = scratch("out")
    shutil.rmtree(out, ignore_errors=True)
    run = execute(mpirun(ranks, DWELL, "run", "-o", out, *options, binary, shape, how,
                         str(slow_rank(shape, ranks))), ranks)
    check_equal(run.code, 0, run.describe())
    times = dict(re.findall(r"rank (\d+) was there for ([\d.]+) s", run.stderr))
    check_equal(len(times), ranks, run.describe())
    return Profile(out, run), [float(times[str(rank)]) for rank in range(ranks)]


def waited_s(shape, times, slow):
    """By arithmetic, of all ranks for the slow one: at least and at most. All but the farm are in step
    at the end, so the others wait as long as the slow rank was longer at the fault."""
    others = [time for rank, time in enumerate(times) if rank != slow]
    longer = sum(times[slow] - time for time in others)
    if shape != "farm":
        return longer, longer
    # The last task alone makes all others wait; the short ones before it perhaps the master.
    last = times[slow] - 0.6
    return 0.6 * len(others), 0.6 * len(others) + last


def check_size(profile, shape, times, slow):
    waited = sum(cause["time_ns"] for cause in profile.json["causes"]
                 if cause.get("peer_rank") == slow and cause["interval"] is not None) / 1e9
    least, most = waited_s(shape, times, slow)
    check(0.95 * least - 0.01 <= waited <= 1.05 * most + 0.01,
          f"{shape}: others waited {waited:.3f} s for rank {slow}, by the program's clock {least:.3f} "
          f"to {most:.3f} s")


def verdict(profile):
    report = execute([DWELL, "report", profile.directory, "--width", "200"])
    check_equal(report.code, 0, report.describe())
    return " ".join(profile.run.stderr.split()), " ".join(report.stdout.split())


def check_named(profile, shape, slow, how, exactly):
    """`exactly`: the procedure and the line at fault; else its caller, or what is uncertain and says
    so."""
    fault, caller, exchange = SHAPES[shape]
    line = marked_line(source("programs/" + FILE), "fault " + shape)
    said, report = verdict(profile)
    found = re.search(r"Main cause: (.*?), and others", said)
    check(found, f"{shape}: no main cause in {said}")
    who = f"rank {slow} {'computes' if how == 'spin' else 'does I/O or sleeps'} in "
    if exactly:
        # Without samples the procedure's own line, which is the one before.
        wanted = rf"{fault}(, loop )?( \()?{re.escape(FILE)}:({line - 1}|{line})\b"
    else:
        # What is inlined counts for what it is inlined into.
        wanted = rf"({fault}|(or after )?({caller}|{shape}|main)|or after {exchange}) \("
    check(re.match(who + wanted, found[1]), f"{shape}: {found[0]!r}, not {who + wanted}")
    check(f"rank {slow} in {fault}" in report or not exactly, f"{shape}: {report}")


def all_shapes(compiler, ranks, how, options, exactly, levels=LEVELS):
    for level in levels:
        binary = built(compiler, level)
        for shape in SHAPES:
            slow = slow_rank(shape, ranks)

            def once(shape=shape, slow=slow, binary=binary, level=level):
                profile, times = observe(binary, shape, ranks, how, options)
                check_named(profile, shape, slow, how, exactly)
                check_size(profile, shape, times, slow)
            repeated(once)


def wrapper():
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    return os.path.join(WRAPPERS, "dwell-mpicc")


@case
def plain_without_samples():
    """Four ranks, whatever the processors: the caller, or "in or after" what communicates."""
    all_shapes("mpicc", 4, "sleep", ["--sample", "off"], False)


@case
def plain_with_samples():
    """Two ranks that compute: procedure and line."""
    skip_unless(perf_works(), "perf_event_open is not permitted here")
    all_shapes("mpicc", 2, "spin", ["--sample", "250"], True)


@case
def probed_without_samples():
    """Four ranks: the procedure that computed."""
    all_shapes(wrapper(), 4, "sleep", ["--sample", "off"], True, ("-O0", "-O2"))


@case
def probed_with_samples():
    """Two ranks that compute: procedure and line."""
    skip_unless(perf_works(), "perf_event_open is not permitted here")
    all_shapes(wrapper(), 2, "spin", ["--sample", "250"], True, ("-O2", "-O3"))


if __name__ == "__main__":
    main()
