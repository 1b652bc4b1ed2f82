#!/usr/bin/env python3
"""Measures what dwell costs and prints one table: what, to reach, measured, reached.

Exit code 1 when something could not be measured, never because a figure was missed.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from measuring import Bench, NotMeasured, machine_state  # noqa: E402
from rows import ROWS, Row  # noqa: E402
import event_rows  # noqa: E402, F401  (adds to ROWS)
import host_rows  # noqa: E402, F401  (likewise)
import metric_rows  # noqa: E402, F401  (likewise)
import openmp_rows  # noqa: E402, F401  (likewise)
import instruction_rows  # noqa: E402, F401  (adds to ROWS)
import probe_rows  # noqa: E402, F401  (likewise)
import python_rows  # noqa: E402, F401  (likewise)
import wait_rows  # noqa: E402, F401  (likewise)

HEADS = ("what", "to reach", "measured", "reached")


def arguments():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", metavar="DIR", default=os.path.join(here, "..", "..", "build"),
                        help="build tree with the library, the command and the benchmark programs")
    parser.add_argument("--quick", action="store_true",
                        help="few repetitions: shows that everything can be measured, nothing more")
    parser.add_argument("--only", metavar="ROW,...", help="of: " + ", ".join(ROWS))
    parser.add_argument("--pairs", metavar="N", type=int, default=11,
                        help="alternating pairs of whole runs (default 11)")
    parser.add_argument("--baseline", metavar="FILE", type=os.path.abspath,
                        help="libdwell.so of another version, for the row `instructions`")
    given = parser.parse_args()
    given.rows = given.only.split(",") if given.only else list(ROWS)
    unknown = [name for name in given.rows if name not in ROWS]
    if unknown:
        parser.error(f"--only: no row is called {unknown[0]}")
    if given.pairs < 1:
        parser.error("--pairs: at least 1")
    if not os.path.exists(os.path.join(given.build, "report", "dwell")):
        parser.error(f"--build: no report/dwell in {given.build}")
    return given


def print_table(rows):
    words = {True: "yes", False: "no", None: ""}
    lines = [HEADS] + [(row.what, row.to_reach, row.measured, words.get(row.reached, row.reached))
                       for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    lines.insert(1, tuple("-" * width for width in (*widths, len(HEADS[3]))))
    for line in lines:
        cells = [cell.ljust(width) for cell, width in zip(line, widths)] + [line[3]]
        print(" | ".join(cells).rstrip(" |"))


def measure(bench, names):
    """The rows, and how many names could not be measured. An interrupt keeps those there are."""
    rows, failures = [], 0
    for name in names:
        begin = time.monotonic()
        try:
            rows += ROWS[name](bench)
        except NotMeasured as reason:
            rows.append(Row(name, "-", f"NOT MEASURED: {reason}"))
            failures += 1
        except KeyboardInterrupt:
            return rows + [Row(name, "-", "NOT MEASURED: interrupted")], failures + 1
        print(f"{name}: {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
    return rows, failures


def main():
    given = arguments()
    scratch = tempfile.mkdtemp(prefix="dwell-bench-")
    try:
        bench = Bench(given.build, scratch, given.quick, given.pairs, given.baseline)
        lines, doubts = machine_state(bench)
        print("\n".join(lines))
        print("distrust   " + ("; ".join(doubts) if doubts else "nothing speaks against the figures"))
        print("intervals  order statistics of the alternating pairs, at least 95 % unless stated\n",
              flush=True)
        rows, failures = measure(bench, given.rows)
        print_table(rows)
        load = os.getloadavg()[0]
        if bench.rounds:
            print(f"\nleft out   {bench.rounds - bench.rounds_in_place} of {bench.rounds} rounds: the "
                  "processors moved meanwhile, or were so far apart too seldom")
        print(f"\nload at the end {load:.2f} over one minute; the benchmark itself makes up to 2")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
