"""Rows of jobs over several hosts: two made on this machine, over TCP (tests/system/support/hosts.py)."""

import os
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system", "support"))
import harness  # noqa: E402
from hosts import Hosts  # noqa: E402
from measuring import NotMeasured, apart, number_after, ratios
from rows import Row, row

WHAT = ("round trip", "barrier", "allreduce")
MODES = {"default": [], "--wait full": ["--wait", "full"]}
LIMIT = 1.03
WIDEST = 0.05  # of an interval that allows a verdict


def one_run(bench, hosts, options):
    """What host_cost found, with dwell unless `options` is None."""
    out = os.path.join(bench.scratch, "hosts.out")
    argv = hosts.mpirun("left:1", "right:1") + ["-n", "2"]
    if options is not None:
        argv += [bench.dwell, "run", "--quiet", "--sample", "off", "-o", out, *options, "--"]
    run = hosts.run(argv + [bench.program("host_cost"), "5" if bench.quick else "100"],
                    cwd=bench.scratch, timeout_s=300)
    if run.code != 0:
        raise NotMeasured("host_cost failed" + run.describe())
    shutil.rmtree(out, ignore_errors=True)
    return {what: number_after(what + ":", run.stdout) for what in WHAT}


def rows_of(bench, hosts):
    variants = [lambda options=options: one_run(bench, hosts, options)
                for options in (None, *MODES.values())]
    rows = []
    for way_ns, (plain, *seen) in bench.in_places(2 if bench.quick else bench.pairs, *variants):
        for mode, runs in zip(MODES, seen):
            for what in WHAT:
                ratio = ratios([r[what] for r in runs], [r[what] for r in plain])
                reached = ratio.median <= LIMIT or ratio.low <= 1
                if ratio.coverage < 0.95:
                    reached = "too few pairs"
                elif ratio.high - ratio.low > WIDEST:
                    reached = "too noisy"
                rows.append(Row(f"{what} between hosts, {mode}{apart(way_ns)}", "3 %",
                                ratio.percent(), reached))
    return rows


@row("hosts")
def between_hosts(bench):
    """Small messages and collectives of two ranks on two hosts, with dwell over without."""
    harness._scratch = bench.directory("hosts")
    try:
        with Hosts("left", "right") as hosts:
            return rows_of(bench, hosts)
    except harness.Skip as reason:
        return [Row("between hosts", "3 %", f"not measured: {reason}")]
