"""Rows about OpenMP: what its constructs cost more under observation."""

import os
import statistics

from measuring import apart, number_after, ratios
from rows import Row, row, verdict

# Construct, events of the forking thread, nanoseconds to reach in all.
FIGURES = (("region", "an empty parallel region, 2 threads", 300),
           ("loop", "a worksharing loop (2 events)", 2 * 60),
           ("barrier", "a barrier (2 events)", 2 * 60),
           ("task", "an explicit task (3 events)", 3 * 60),
           ("critical", "a critical section (3 events)", 3 * 60))

GCC_FIGURES = tuple((name, "a dynamic loop of 2 chunks and no barrier (4 events)", 4 * 60)
                    if name == "loop" else (name, *rest) for name, *rest in FIGURES)

# Of openmp_work.c, with rounds for about a tenth of a second: of many short pairs most have both
# runs while the processors stay where they are.
WORK = {"stencil": 40, "sort": 6, "solver": 60}
LEAST_PAIRS = 61


def environments(bench):
    """Two threads that wait actively, without and with dwell."""
    plain = {**bench.environment, "OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "active"}
    out = os.path.join(bench.directory("openmp"), "out")
    return plain, {**plain, "LD_PRELOAD": bench.library, "DWELL_QUIET": "1",
                   "DWELL_COMMAND": bench.dwell, "DWELL_OUT": out}


def cost_rows(bench, program, where, figures):
    """Runs with and without dwell: an OpenMP program has no way round it."""
    argv = [bench.program(program), "100" if bench.quick else "4000"]
    environment, observed = environments(bench)
    rows = []
    for way_ns, (plain, watched) in bench.in_places(
            1 if bench.quick else max(7, bench.pairs),
            lambda: bench.execute(argv, environment=environment)[0],
            lambda: bench.execute(argv, environment=observed)[0]):
        for name, what, limit in figures:
            bare = [number_after(f"{name}:", text) for text in plain]
            added = [number_after(f"{name}:", text) - each for text, each in zip(watched, bare)]
            middle = statistics.median(added)
            rows.append(Row(f"{where}: {what}{apart(way_ns)}", f"{limit} ns more",
                            f"{middle:.0f} ns more ({min(added):.0f} to {max(added):.0f} in "
                            f"{len(added)} pairs), {statistics.median(bare):.0f} ns without",
                            middle <= limit))
    return rows


@row("openmp")
def openmp(bench):
    """libomp, which reports."""
    return cost_rows(bench, "openmp_cost", "openmp", FIGURES)


@row("openmp_gcc")
def openmp_gcc(bench):
    """libgomp, whose calls are interposed; a dynamic loop in place of the static one."""
    return cost_rows(bench, "openmp_cost_gcc", "openmp of gcc", GCC_FIGURES)


@row("openmp_programs")
def openmp_programs(bench):
    """A stencil, a sort with tasks, a sparse solver: the time of their work."""
    plain, observed = environments(bench)
    rows = []
    for kind, rounds in WORK.items():
        argv = [bench.program("openmp_work"), kind, "1" if bench.quick else str(rounds)]

        def work(environment):
            return number_after("work_s", bench.execute(argv, environment=environment)[0])
        for way_ns, (bare, watched) in bench.in_places(
                1 if bench.quick else max(LEAST_PAIRS, bench.pairs),
                lambda: work(plain), lambda: work(observed)):
            slower = ratios(watched, bare)
            fastest = min(watched) / min(bare) - 1
            rows.append(Row(f"openmp, {kind}: 2 threads, observed{apart(way_ns)}", "1 %",
                            f"{slower.percent()}, fastest runs {100 * fastest:+.2f} %",
                            verdict(slower, slower.median <= 1.01)))
    return rows
