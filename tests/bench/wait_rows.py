"""Rows of the wait analysis: virtual time with and without injected delays, cost of small messages."""

import csv
import io
import os
import re
import shutil
import statistics

from measuring import Interval, NotMeasured, apart, ratios
from rows import Row, row

CALL_NS = 35  # about what a recorded call costs; the delays to inject are 10 and 100 times that
# Many short rounds: the processors are to stay where they are for each of them.
SIZES = {"matrix": (100, 4), "stencil": (5000, 20), "master": (5000, 100)}
LEAST_ROUNDS = 84
WORDS = {0: "nothing injected", 10: "10 x cost injected", 100: "100 x cost injected"}
LIMITS = {0: 0.01, 10: 0.03, 100: 0.03}
PAUSED = "matrix"  # the kind that also pauses by itself, so long as the longest delay
WIDEST = 0.03  # of an interval that allows a verdict
MOST_ALONE = 0.05  # of the total: a shorter stage than that is shown without verdict
TOTAL = "total"


def own_seconds(text):
    """By rank and stage, as the program's own time stamps have them; a rank's total among them."""
    found = re.findall(r"^rank (\d+)(?:, (\w+))?: ([\d.]+) s$", text, re.M)
    seconds = {(int(rank), stage or TOTAL): float(number) for rank, stage, number in found}
    if (1, TOTAL) not in seconds:
        raise NotMeasured("stages printed no times")
    return seconds


def virtual_seconds(rows):
    """The same of dwell's virtual times, for the same stretches of the run: stages are phases."""
    seconds = {}
    for line in csv.DictReader(io.StringIO(rows)):
        key, sign = (int(line["rank"]), TOTAL), 0
        if line["kind"] == "program":
            sign = 1
        elif line["name"] in ("MPI_Finalize", "MPI_Pcontrol"):
            sign = -1
        elif "phase" in line["labels"].split():
            key, sign = (key[0], line["name"]), 1
        seconds[key] = seconds.get(key, 0.0) + sign * float(line["time_s"])
    return seconds


def observed_run(bench, argv, variables):
    """Own seconds and virtual ones."""
    out = os.path.join(bench.scratch, "virtual.out")
    command = [bench.mpirun, "-n", "2", bench.dwell, "run", "--quiet", "--sample", "off", "-o", out,
               "--", *argv]
    stdout, _ = bench.execute(command, environment={**bench.environment, **variables})
    rows, _ = bench.execute([bench.dwell, "report", "--per-rank", "--format", "csv", out])
    shutil.rmtree(out)
    return own_seconds(stdout), virtual_seconds(rows)


def paused_run(bench, argv):
    """Own seconds without dwell, less those in which the program pauses."""
    pause_ns = str(max(WORDS) * CALL_NS)
    return own_seconds(bench.execute(
        [bench.mpirun, "-n", "2", *argv],
        environment={**bench.environment, "STAGES_PAUSE_NS": pause_ns})[0])


def paused_row(what, stage, plain, paused):
    rest = ratios([own[stage] for own in paused], [alone[stage] for alone in plain])
    return Row(f"{what}: without dwell, pauses of its own left out", "-",
               rest.percent())


def virtual_row(what, stage, factor, plain, seen, shown_only):
    virtual = ratios([v.get(stage, 0.0) for _, v in seen], [alone[stage] for alone in plain])
    real = statistics.median(own[stage] / alone[stage] for (own, _), alone in zip(seen, plain))
    limit = LIMITS[factor]
    reached = abs(virtual.median - 1) <= limit or virtual.low <= 1 <= virtual.high
    if shown_only:
        reached = None
    elif virtual.coverage < 0.95:
        reached = "too few pairs"
    elif virtual.high - virtual.low >= WIDEST:
        reached = "too noisy"
    return Row(f"{what}: virtual time, {WORDS[factor]}",
               "-" if shown_only else f"{100 * limit:.0f} % or 0 in interval",
               f"{virtual.percent()}; real {100 * (real - 1):+.1f} %", reached)


def stage_rows(kind, where, plain, seen):
    rows = []
    total = statistics.median(alone[(0, TOTAL)] for alone in plain)
    # A stage of both ranks is shown for the first of them.
    stages = [(0, TOTAL)] + sorted(
        (rank, name) for rank, name in plain[0]
        if name != TOTAL and (rank == 0 or (0, name) not in plain[0]))
    for stage in stages:
        what = f"{kind}, rank {stage[0]}, {stage[1]}{where}"
        time_s = statistics.median(alone[stage] for alone in plain)
        for factor, runs in zip(WORDS, seen):
            rows.append(virtual_row(what, stage, factor, plain, runs, time_s < MOST_ALONE * total))
        if kind == PAUSED:
            rows.append(paused_row(what, stage, plain, seen[-1]))
    return rows


@row("virtual")
def virtual_times(bench):
    """Virtual times of the observed run, as a whole and by stage, over those that the program takes
    without dwell: each round has a run of that and one for each delay. A program that pauses by
    itself as long as the longest delay shows what that changes in the rest of it: no virtual clock
    can know."""
    rows = []
    for kind, (full, quick) in SIZES.items():
        argv = [bench.program("stages"), kind, str(quick if bench.quick else full)]
        variants = [lambda: own_seconds(bench.run(argv, 2)[0])]
        for factor in WORDS:
            inject = {"DWELL_INJECT_NS": str(factor * CALL_NS)} if factor else {}
            variants.append(lambda inject=inject: observed_run(bench, argv, inject))
        if kind == PAUSED:
            variants.append(lambda: paused_run(bench, argv))
        for way_ns, (plain, *seen) in bench.in_places(
                1 if bench.quick else max(bench.pairs, LEAST_ROUNDS), *variants, most=1.5):
            rows += stage_rows(kind, apart(way_ns), plain, seen)
    return rows


@row("messages")
def message_costs(bench):
    """A small message between two ranks, wait analysis on against off: half of what a round trip
    takes longer lies on each rank."""
    count = 2000 if bench.quick else 200000
    argv = [bench.program("stages"), "pingpong", str(count)]

    def side_ns(wait):
        options = ["--sample", "off", "--wait", wait]
        return lambda: own_seconds(bench.run(argv, 2, options)[0])[0, TOTAL] / count / 2 * 1e9

    rows = []
    for way_ns, (off, on) in bench.in_places(2 if bench.quick else max(bench.pairs, 21),
                                             side_ns("off"), side_ns("node")):
        added = Interval([a - b for a, b in zip(on, off)])
        reached = added.median <= 150 if added.coverage >= 0.95 else "too few pairs"
        rows.append(Row(f"small message, wait analysis on{apart(way_ns)}", "150 ns a side",
                        f"{added.median:.0f} ns [{added.low:.0f}, {added.high:.0f}]"
                        + added.remark(), reached))
    return rows
