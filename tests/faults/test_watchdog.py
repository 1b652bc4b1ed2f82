"""dwell run --watchdog: says once where every rank is when nothing moves, and only then."""

import os
import signal
import time

from harness import (DWELL, Profile, case, check, check_equal, execute, kept_records, main, marked_line,
                     mpirun, program, recover, scratch)
from hung_job import HUNG, Killed, clear, words_of_ranks

SAID = "nothing has moved for"


def watched(how, ranks, seconds, interrupt=None, around=False):
    """hung.c under the watchdog; the run."""
    run = [DWELL, "run", "-o", scratch("out"), "--watchdog", str(seconds)]
    words = [program("hung"), how, scratch("word")]
    argv = [*run, *mpirun(ranks, *words)] if around else mpirun(ranks, *run, *words)
    return execute(argv, ranks, cwd=scratch(), interrupt=interrupt)


@case
def hang():
    """A deadlock is told within the time, once for all ranks of the host, and stands in the recovered report;
    the program is not touched."""
    ranks = 4
    for around in (False, True):
        clear(scratch("word"), ranks)
        run = watched("recv", ranks, 2, Killed(scratch("word"), ranks, 6), around)
        check_equal(run.stderr.count(SAID), 1, "messages" + run.describe())
        text = " ".join(run.stderr.split())
        line = marked_line(HUNG, "recv")
        check(f"rank 2 waits for rank 0 in MPI_Recv hung.c:{line}" in text, "where" + run.describe())
        profile = recover(kept_records(run), scratch(f"made{around}"))
        check(SAID in profile.json["watchdog"], "in the recovered profile")
        with open(scratch(f"made{around}/report.txt"), encoding="utf-8") as report:
            check("Report of the watchdog" in report.read(), "in the recovered report")


@case
def computation():
    """One rank computes for 5 s, while others wait for it: no message, though nobody ends a call."""
    run = watched("compute", 2, 1)
    check_equal((run.code, run.stderr.count(SAID)), (0, 0), "message" + run.describe())
    check("watchdog" not in Profile(scratch("out"), run).json, "in the profile")


@case
def polls():
    """A rank tests for 5 s for a message that nobody sends: polls that find nothing are no progress. The
    message stands in the report of the run, which ends well."""
    run = watched("polls", 2, 2)
    check_equal((run.code, run.stderr.count(SAID)), (0, 1), "message" + run.describe())
    lines = [f"hung.c:{marked_line(HUNG, marker)}" for marker in ("test", "last")]
    text = " ".join(run.stderr.split())
    check(f"Nobody can go on: rank 0 waits for rank 1 in MPI_Test {lines[0]}; rank 1 waits for rank 0 in "
          f"MPI_Barrier {lines[1]}." in text, "who waits for whom" + run.describe())
    check("waits for 1 request: receive from rank 1, tag 7" in text, "request" + run.describe())
    check(SAID in Profile(scratch("out"), run).json["watchdog"], "in the profile")


@case
def stopped():
    """A rank is stopped by SIGSTOP, the lowest of its host or another: told, and all goes on after SIGCONT."""
    for rank in (1, 0):
        stop_rank(rank)


def stop_rank(rank):
    clear(scratch("word"), 2)
    if os.path.exists(scratch("word")):
        os.remove(scratch("word"))

    def stop(_):
        pid = words_of_ranks(scratch("word"), 2)[rank][0]
        time.sleep(0.5)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(5)
        os.kill(pid, signal.SIGCONT)
        with open(scratch("word"), "w", encoding="ascii"):
            pass

    run = watched("loop", 2, 2, stop)
    check_equal((run.code, run.stderr.count(SAID)), (0, 1), "message" + run.describe())
    check("stopped" in run.stderr, "not said to be stopped" + run.describe())


@case
def off():
    """Without the option nothing is said; wrong values start nothing."""
    run = execute(mpirun(2, DWELL, "run", "-o", scratch("out"), program("hung"), "polls", scratch("word")), 2)
    check_equal((run.code, run.stderr.count(SAID)), (0, 0), "message" + run.describe())
    for wrong in ("0", "-1", "x", ""):
        run = execute([DWELL, "run", "--watchdog", wrong, program("hung"), "polls", scratch("word")])
        check_equal(run.code, 2, f"exit code for {wrong!r}" + run.describe())


if __name__ == "__main__":
    main()
