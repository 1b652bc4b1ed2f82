"""Instructions that dwell executes in an MPI call: a figure without noise, to compare two versions."""

import os
import re
import shutil
import subprocess

from measuring import NotMeasured
from rows import Row, row

CALLS_OF = {"message": 2, "requests": 3, "allreduce": 1, "poll": 1}
MOST_ADDED = 20


@row("instructions")
def instructions(bench):
    """Of each kind of call; with --baseline, beside those of that library."""
    if shutil.which("valgrind") is None:
        return [Row("instructions of a call", "-", "valgrind is not installed")]
    rows = []
    for kind, calls in CALLS_OF.items():
        now = per_round(bench, bench.library, kind) / calls
        if bench.baseline is None:
            rows.append(Row(f"instructions of a call, {kind}", "-", f"{now:.1f}"))
            continue
        before = per_round(bench, bench.baseline, kind) / calls
        rows.append(Row(f"instructions of a call, {kind}", f"at most {MOST_ADDED} more than before",
                        f"{before:.1f} before, {now:.1f} now", now - before <= MOST_ADDED))
    return rows


def per_round(bench, library, kind):
    """What a longer run executes more is of its rounds alone."""
    short, long = (100, 300) if bench.quick else (4000, 12000)
    return (in_dwell(bench, library, kind, long) - in_dwell(bench, library, kind, short)) / (long - short)


def in_dwell(bench, library, kind, rounds):
    where = bench.directory("instructions")
    counts = os.path.join(where, "counts")
    env = dict(os.environ, LD_PRELOAD=library, DWELL_SAMPLE="off", DWELL_QUIET="1",
               DWELL_OUT=os.path.join(where, "out"))
    subprocess.run(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}",
                    bench.program("call_kinds"), kind, str(rounds)], env=env, cwd=where, check=False,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600)
    shown = bench.execute(["callgrind_annotate", "--inclusive=no", "--threshold=100", counts])[0]
    lines = re.findall(r"^ *([\d,]+) .*libdwell\.so", shown, re.M)
    if not lines:
        raise NotMeasured(f"callgrind counted nothing in {os.path.basename(library)}")
    return sum(int(line.replace(",", "")) for line in lines)
