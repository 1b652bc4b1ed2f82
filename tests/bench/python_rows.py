"""Rows about Python: what a call of MPI costs more where its functions are read."""

import os

from measuring import Interval, NotMeasured, number_after
from rows import Row, below, row

PYTHON = "/usr/bin/python3"
SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_cost.py")
LIMIT_NS = 300
DEPTHS = (3, 10, 50)


@row("python")
def python(bench):
    """All that dwell adds to a call, the reading of the functions among it."""
    try:
        bench.execute([PYTHON, "-c", "import mpi4py.MPI"])
    except NotMeasured as reason:
        raise NotMeasured(f"{PYTHON} has no mpi4py") from reason
    argv = [PYTHON, SCRIPT, *map(str, DEPTHS)]

    def cost(options):
        text = bench.run(argv, 1, options)[0]
        return [number_after(f"{depth} functions:", text) for depth in DEPTHS]

    plain, observed = bench.alternate(1 if bench.quick else bench.pairs, lambda: cost(None),
                                      lambda: cost(["--sample", "off"]))
    rows = []
    for place, depth in enumerate(DEPTHS):
        added = Interval([on[place] - off[place] for on, off in zip(observed, plain)])
        limit = f"{LIMIT_NS} ns" if depth == 10 else "-"
        rows.append(Row(f"mpi4py, Allreduce, {depth} functions deep", limit,
                        f"{added.median:.0f} ns", below(added, LIMIT_NS) if depth == 10 else None))
    return rows
