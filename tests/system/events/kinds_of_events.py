"""Runs the programs of this folder with event logs, and exports these."""

from harness import DWELL, check_equal, execute, program, run_observed, scratch

RANKS = 3


def kinds_log():
    """The log of event_kinds, with its I/O."""
    run = run_observed([program("event_kinds"), scratch()], RANKS, scratch("out"),
                       ("--events", "--io", "on"))
    check_equal(run.code, 0, run.describe())
    return scratch("out")


def threads_log(*options, blocks=0):
    run = execute([DWELL, "run", *(options or ("--events",)), "-o", scratch("out"), program("event_threads"),
                   str(blocks)], env={"OMP_NUM_THREADS": "2"})
    check_equal(run.code, 0, run.describe())
    return scratch("out")


def export(log, kind, *options):
    """The file, and what the command says."""
    path = scratch("exported." + kind)
    run = execute([DWELL, "export", log, "--to", kind, "-o", path, *options])
    check_equal(run.code, 0, run.describe())
    return path, run.stderr
