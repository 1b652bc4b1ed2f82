"""Runs programs with --events and exports what they leave."""

import os
import re
import shutil

from harness import DWELL, check, check_equal, execute, mpirun, scratch, skip_unless, source

WRAPPERS = os.environ.get("SYSTEST_WRAPPERS", ".")
LONG_NAME = "named_at_length_" + "x" * 600
EXCHANGE_RANKS, ROUNDS = 3, 5


def logged(argv, ranks, out="out", options=()):
    """The directory of the profile of a run with events."""
    words = [DWELL, "run", "--events", *options, "-o", scratch(out), *argv]
    run = execute(mpirun(ranks, *words) if ranks > 1 else words, ranks)
    check_equal(run.code, 0, "dwell run --events" + run.describe())
    return scratch(out)


def exchange():
    """events_exchange.c with probes, built and run."""
    command = os.path.join(WRAPPERS, "dwell-mpicc")
    skip_unless(os.path.exists(command), "dwell-mpicc was not built")
    binary = scratch("exchange")
    run = execute([command, "-g", "-O1", f"-DLONG_NAME={LONG_NAME}", source("events_exchange.c"), "-o", binary],
                  env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(run.code, 0, "dwell-mpicc" + run.describe())
    return logged([binary], EXCHANGE_RANKS)


def export(place, form, out, *options, code=0, files=None):
    """The path and what is said. `files`: how many it may have open, until it asks for more."""
    limit = ["prlimit", f"--nofile={files}:"] if files else []
    skip_unless(not limit or shutil.which("prlimit"), "prlimit is not installed")
    run = execute([*limit, DWELL, "export", place, "--to", form, "-o", scratch(out), *options])
    check_equal(run.code, code, f"dwell export --to {form}" + run.describe())
    return scratch(out), run.stderr


def number_before(text, words):
    """The number in the line of a message that goes on like this; 0: there is no such line."""
    found = re.findall(r"(\d+) " + re.escape(words), text)
    check(len(found) <= 1, f"{words!r} more than once: {text}")
    return int(found[0]) if found else 0


def clean(text):
    """Only the file is told of."""
    lines = text.strip().splitlines()
    check(len(lines) == 1 and "wrote " in lines[0], f"more is said: {text}")
