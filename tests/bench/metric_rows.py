"""Rows about metrics: what reading them costs programs, with the default set."""

import os
import shutil

import inputs
from measuring import NotMeasured, number_after, ratios
from openmp_rows import LEAST_PAIRS, WORK, environments
from rows import Row, row, verdict

LIMIT = 1.01


def metric_rows(name, plain, off, on):
    """Against the run without dwell, and, for what is due to metrics alone, against that with it."""
    whole, more = ratios(on, plain), ratios(on, off)
    return [Row(f"{name}: metrics on, default set", "1 %", whole.percent(),
                verdict(whole, whole.median <= LIMIT or whole.low <= 1)),
            Row(f"{name}: metrics on against off", "-", more.percent())]


def lammps_rows(bench):
    path = shutil.which("lmp")
    if path is None:
        raise NotMeasured("lmp is not installed (Debian: lammps)")
    where = bench.directory("metrics")
    with open(os.path.join(where, "in.melt"), "w", encoding="utf-8") as stream:
        stream.write(inputs.lammps_melt(10, 100 if bench.quick else 1000, 100))
    argv = [path, "-in", "in.melt", "-log", "none"]

    def loop_time(options):
        return number_after("Loop time of", bench.run(argv, 2, options, where)[0])

    return metric_rows("LAMMPS melt", *bench.alternate(
        2 if bench.quick else 2 * bench.pairs, lambda: loop_time(None), lambda: loop_time([]),
        lambda: loop_time(["--metrics", "default"])))


@row("metrics")
def metrics(bench):
    """The program's own timers: opening PAPI, some 20 ms, lies in MPI_Init."""
    plain, observed = environments(bench)
    counted = {**observed, "DWELL_METRICS": "default"}
    argv = [bench.program("openmp_work"), "solver", "1" if bench.quick else str(WORK["solver"])]

    def work(environment):
        return number_after("work_s", bench.execute(argv, environment=environment)[0])

    rows = metric_rows("openmp, solver, 2 threads", *bench.alternate(
        1 if bench.quick else max(LEAST_PAIRS, bench.pairs), lambda: work(plain),
        lambda: work(observed), lambda: work(counted)))
    return lammps_rows(bench) + rows
