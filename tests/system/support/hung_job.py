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


def has_ended(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] in "ZX"
    except OSError:
        return True


class Killed:
    """Kills every rank after some time; `lives` and `hung` are seconds by rank, up to the signal, and `late`
    what the process took to end: on busy processors it first has to get one."""

    def __init__(self, prefix, ranks, after_s):
        self.prefix, self.ranks, self.after_s = prefix, ranks, after_s
        self.lives, self.hung, self.late = [], [], []

    def __call__(self, _):
        words = words_of_ranks(self.prefix, self.ranks)
        time.sleep(max(0, max(before for _, _, before in words) + self.after_s - time.time()))
        ends = {}
        for pid, born, before in words:
            end = time.time()
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the launcher was faster
            self.lives.append(end - born)
            self.hung.append(end - before)
            ends[pid] = end
        gone = {}
        while len(gone) < len(ends) and time.time() < max(ends.values()) + 5:
            for pid in ends.keys() - gone.keys():
                if has_ended(pid):
                    gone[pid] = time.time()
            time.sleep(0.002)
        self.late = [gone.get(pid, ends[pid]) - ends[pid] for pid, _, _ in words]


def clear(prefix, ranks):
    for rank in range(ranks):
        if os.path.exists(f"{prefix}.{rank}"):
            os.remove(f"{prefix}.{rank}")
