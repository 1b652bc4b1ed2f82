"""Programs with one planted fault (planted*.c, planted_surplus.cpp, planted_python.py): the verdict names rank, procedure
and line, and the sum over its causes is what the program's own clock shows."""

import os
import re
import shutil

from harness import (DWELL, Profile, case, check, check_equal, execute, main,
                     marked_line, mpirun, repeated, scratch, skip_unless, source, thorough)
from probed_program import WRAPPERS
from test_python import python
from test_timing import perf_works

C, THREADS, PYTHON = "planted.c", "planted_threads.c", "planted_python.py"
# By shape: the program, the procedure at fault, its caller between the MPI calls, and what
# communicates there.
SHAPES = {"halo": (C, "relax", "halo", "exchange_halo"),
          "spectral": (C, "transform_lines", "spectral", "transpose"),
          "farm": (C, "solve", "work_off", None),
          "checkpoint": (C, "write_state", "checkpoint", "sum_up"),
          "uneven": (C, "repair", "uneven", "sum_up"),
          "particles": (THREADS, "sort_particles", "particles", "exchange_particles"),
          "threads": (THREADS, "deposit_charge", "threads", "exchange_particles"),
          "regions": (THREADS, "solve_fields", "regions", "exchange_particles"),
          "deposit": (PYTHON, "deposit", "main", "exchange")}
LEVELS = thorough(("-O0", "-O2", "-O3"), ("-O2",))


def of_program(name):
    return [shape for shape, (file, *_) in SHAPES.items() if file == name]


def built(compiler, level, file):
    binary = scratch(file + level)
    if os.path.exists(binary):
        return binary
    run = execute([compiler, "-g", level, "-fopenmp", source(file), "-o", binary],
                  cwd=scratch())
    check_equal(run.code, 0, run.describe())
    return binary


def slow_rank(shape, ranks):
    return 0 if shape == "checkpoint" else ranks // 2


def observe(command, ranks, options, out):
    """The profile and how long each rank was at the fault."""
    shutil.rmtree(out, ignore_errors=True)
    run = execute(mpirun(ranks, DWELL, "run", "-o", out, *options, *command), ranks,
                  env={"OMP_WAIT_POLICY": "passive"})
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
    # On a busy machine some waits have other causes, too.
    check(0.85 * least - 0.01 <= waited <= 1.1 * most + 0.01,
          f"{shape}: others waited {waited:.3f} s for rank {slow}, by the program's clock {least:.3f} "
          f"to {most:.3f} s")


def verdict(profile):
    report = execute([DWELL, "report", profile.directory, "--width", "200"])
    check_equal(report.code, 0, report.describe())
    return " ".join(profile.run.stderr.split()), " ".join(report.stdout.split())


def right_places(shape, exactly, level):
    """What the verdict may name. `exactly`: the procedure and the line at fault; else its caller, or
    what is uncertain and says so."""
    file, fault, caller, exchange = SHAPES[shape]
    line = marked_line(source(file), "fault" if file == PYTHON else "fault " + shape)
    if file == THREADS and shape != "particles":
        # A region is measured. One that ends a procedure in place of a return is its caller's; a
        # sampled line lies in it.
        procedure = fault if level == "-O0" else f"({fault}|{caller})"
        procedure += r"(\._omp_fn\.\d+)?"  # with probes the region's code has a name of its own
        lines = f"{line}|{line + 1}|{line + 2}"
        return rf"{procedure}(, loop )?( \()?{re.escape(file)}:({lines})\b"
    if exactly:
        # Without samples the procedure's own line, which is the one before. A long sentence leaves
        # out the file of a loop.
        return rf"{fault}(, loop |,? ?\(?{re.escape(file)}|, loop {re.escape(file)}):({line - 1}|{line})\b"
    # What is inlined counts for what it is inlined into.
    return rf"({fault}|(or after )?({caller}|{shape}|main)|or after {exchange}) \("


def check_named(profile, shape, slow, how, exactly, level):
    said, report = verdict(profile)
    where = right_places(shape, exactly, level)
    # On a busy machine the ranks that compute wait for processors.
    busy = exactly and how == "spin" and "because ranks have no processor" in said
    name = "Main cause of waiting" if busy else "Main cause"
    pattern = name + r": (.*?)( \(on a processor.*?|; on a processor.*?)?, and others"
    found = re.search(pattern, report if busy else said)
    check(found, f"{shape}: no rank is the main cause\n{said}")
    verb = " does I/O or sleeps" if how == "sleep" else "( computes| has no processor)"
    who, place = found[1].split(" in ", 1)
    check(re.fullmatch(f"rank {slow}{verb}", who), f"{shape}: {who}, not rank {slow}{verb}")
    place = place.replace("(mostly at ", "(").split(", called")[0]
    # The report names the region, and behind it what most samples fell in.
    place = re.sub(r".* \(mostly in (\S+) (\S+:\d+)\)", r"\1 (\2)", place)
    check(re.match(where, place), f"{shape}: in {place}, not in {where}")
    if exactly and SHAPES[shape][0] != THREADS:
        check(f"rank {slow} in {SHAPES[shape][1]}" in report, f"{shape}: {report}")


def all_shapes(file, compiler, ranks, how, options, exactly, levels=LEVELS):
    for level in levels:
        for shape in of_program(file):
            slow = slow_rank(shape, ranks)
            command = [built(compiler, level, file), shape, how, str(slow)]

            def once(shape=shape, slow=slow, command=command, level=level):
                profile, times = observe(command, ranks, options, scratch("out"))
                check_named(profile, shape, slow, how, exactly, level)
                check_size(profile, shape, times, slow)
            repeated(once)


# By place of the surplus: its procedure as the verdict may name it.
SURPLUS = {"caller": r"step", "both": r"both", "inlined": r"correct", "standard": r"tone_map(::\{lambda.*\})?",
           "template": r"add_source(<double>|<…>)?(::\{lambda.*\})?"}


def surplus(compiler, level="-O2"):
    file = "planted_surplus.cpp"
    skip_unless(perf_works(), "no samples here")
    binary = built(compiler, level, file)
    for shape, procedure in SURPLUS.items():
        line = marked_line(source(file), shape)

        def once(shape=shape, procedure=procedure, line=line):
            profile, times = observe([binary, shape], 2, [], scratch("out"))
            report = verdict(profile)[1]
            found = re.search(r"Main cause of waiting: rank 1 computes in (.*?)(, called at .*?)?, and others",
                              report)
            check(found, f"{shape}: rank 1 is not the main cause: {report}")
            # tone_map's loop is one of the standard library: only its procedure is known.
            lines = r"\d+" if shape == "standard" else f"{line - 1}|{line}"
            check(re.fullmatch(rf"(planted::)?{procedure} \({re.escape(file)}:({lines})\)", found[1]),
                  f"{shape}: in {found[1]}, not in {procedure}, line {line}")
            check_size(profile, shape, times, 1)
        repeated(once)


@case
def surplus_plain():
    """What one rank computes beyond the others is named, not what all compute."""
    skip_unless(shutil.which("mpicxx"), "no mpicxx")
    surplus("mpicxx")


@case
def surplus_probed():
    """The same with probes, whose loops hold the inlined code."""
    wrapper()
    surplus(os.path.join(WRAPPERS, "dwell-mpicxx"))


def wrapper():
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    return os.path.join(WRAPPERS, "dwell-mpicc")


def plain_without_samples(file):
    all_shapes(file, "mpicc", 4, "sleep", ["--sample", "off"], False)


def plain_with_samples(file):
    skip_unless(perf_works(), "perf_event_open is not permitted here")
    all_shapes(file, "mpicc", 2, "spin", ["--sample", "250"], True)


def probed_without_samples(file):
    all_shapes(file, wrapper(), 4, "sleep", ["--sample", "off"], True, ("-O0", "-O2"))


def probed_with_samples(file):
    skip_unless(perf_works(), "perf_event_open is not permitted here")
    all_shapes(file, wrapper(), 2, "spin", ["--sample", "250"], True, ("-O2", "-O3"))


@case
def processes_plain_without_samples():
    """Four ranks, whatever the processors: the caller, or "in or after" what communicates."""
    plain_without_samples(C)


@case
def processes_plain_with_samples():
    """Two ranks that compute: procedure and line."""
    plain_with_samples(C)


@case
def processes_probed_without_samples():
    """Four ranks: the procedure that computed."""
    probed_without_samples(C)


@case
def processes_probed_with_samples():
    """Two ranks that compute: procedure and line."""
    probed_with_samples(C)


@case
def threads_plain_without_samples():
    """Four ranks of two threads: regions are known; of serial code the caller, or "in or after"."""
    plain_without_samples(THREADS)


@case
def threads_plain_with_samples():
    """Two ranks of two threads: procedure and line."""
    plain_with_samples(THREADS)


@case
def threads_probed_without_samples():
    """Four ranks of two threads: the procedure that computed, or the region."""
    probed_without_samples(THREADS)


@case
def threads_probed_with_samples():
    """Two ranks of two threads: procedure and line."""
    probed_with_samples(THREADS)


def python_shape(ranks, how, options, exactly):
    slow = slow_rank("deposit", ranks)
    command = [python(), source(PYTHON), how, str(slow)]

    def once():
        profile, times = observe(command, ranks, options, scratch("out"))
        check_named(profile, "deposit", slow, how, exactly, "")
        check_size(profile, "deposit", times, slow)
    repeated(once)


@case
def python_without_samples():
    """Four ranks: "in or after" the function that communicates."""
    python_shape(4, "sleep", ["--sample", "off"], False)


@case
def python_with_samples():
    """Two ranks that compute: function and line."""
    skip_unless(perf_works(), "perf_event_open is not permitted here")
    python_shape(2, "spin", ["--sample", "250"], True)


if __name__ == "__main__":
    main()
