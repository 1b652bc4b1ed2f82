"""Runs of tests/faults/programs/hung.c, whose ranks say who they are before they hang, and their end."""

import os
import signal
import time

from harness import ROOT, check

HUNG = os.path.join(ROOT, "tests", "faults", "programs", "hung.c")


def words_of_ranks(prefix, ranks, limit_s=30):
    """What each rank of hung.c has left: process number, start, time before it hangs."""
    until = time.monotonic() + limit_s
    names = [f"{prefix}.{rank}" for rank in range(ranks)]
    while not all(os.path.exists(name) for name in names):
        check(time.monotonic() < until, f"no word of all ranks: {names}")
        time.sleep(0.02)
    found = []
    for name in names:
        with open(name, encoding="ascii") as stream:
            pid, born, before = stream.read().split()
        found.append((int(pid), float(born), float(before)))
    return found


class Killed:
    """Kills every rank after some time; `lives` and `hung` are seconds by rank."""

    def __init__(self, prefix, ranks, after_s):
        self.prefix, self.ranks, self.after_s = prefix, ranks, after_s
        self.lives, self.hung = [], []

    def __call__(self, _):
        words = words_of_ranks(self.prefix, self.ranks)
        time.sleep(max(0, max(before for _, _, before in words) + self.after_s - time.time()))
        for pid, born, before in words:
            end = time.time()
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the launcher was faster
            self.lives.append(end - born)
            self.hung.append(end - before)


def clear(prefix, ranks):
    for rank in range(ranks):
        if os.path.exists(f"{prefix}.{rank}"):
            os.remove(f"{prefix}.{rank}")
