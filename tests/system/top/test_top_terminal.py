"""`dwell top` on terminals of tmux: keys are sent, screens are looked at."""

import contextlib
import os
import re
import signal
import subprocess
import time

from harness import DWELL, case, check, check_equal, environment, main, marked_line, program, scratch, source
from watching import Terminal, job_of, running, wait_until

SOURCE = source("steps.c")


@contextlib.contextmanager
def watched(width, height, steps=100000, how="", options="", env=None, words=None):
    """A job and a terminal that shows it."""
    with running([program("steps"), str(steps)] + ([how] if how else [])) as job:
        directory = job_of(job)
        typed = words or [DWELL, "top", "--interval", "0.3", options, directory]
        terminal = Terminal(typed, width, height, {"DWELL_RECORD_DIR": job.records, **(env or {})})
        try:
            yield job, terminal
        finally:
            terminal.close()


def check_fits(terminal, width, height):
    lines = terminal.lines()
    check(len(lines) <= height + 1, f"{len(lines)} lines on {height}")
    check(all(len(line) <= width for line in lines), f"a line is longer than {width}:\n{terminal.text()}")


def row_of(terminal, text):
    found = [number for number, line in enumerate(terminal.lines()) if text in line]
    return found[0] if found else None


@case
def screen_80x24():
    """Hierarchy, folding, lines, sorting, filter, rates, ranks, help and end on a small terminal."""
    meet = f"MPI_Allreduce steps.c:{marked_line(SOURCE, 'meet')}"
    with watched(80, 24) as (_, terminal):
        terminal.wait_for("steps: 2 of 2 ranks", "Since the start", meet, "procedure, line")
        check_fits(terminal, 80, 24)
        check(row_of(terminal, "main") < row_of(terminal, meet), "the hierarchy")
        terminal.type("l")
        terminal.wait_for("  line", meet)
        check("- " not in terminal.lines()[row_of(terminal, meet)], "lines are flat")
        terminal.type("t")
        terminal.wait_for("procedure, line")
        terminal.type("Home")
        terminal.type("Left")
        terminal.wait_for("+ ~ steps")
        check(meet not in terminal.text().split("In calls")[0], "folded")
        terminal.type("Right")
        terminal.wait_for("- ~ steps", meet)
        terminal.type("s")
        terminal.wait_for("sort self")
        terminal.type("S")
        terminal.wait_for("sort time")
        terminal.type("/", "p", "a", "s", "s", "x")
        terminal.wait_for("filter: passx", "nothing matches")
        terminal.type("Escape")
        terminal.wait_for(meet)
        terminal.type("/", "S", "e", "n", "d", "Enter")
        terminal.wait_for("filter Send", "MPI_Sendrecv")
        check("MPI_Init" not in terminal.text(), "filtered")
        terminal.type("Escape")
        terminal.wait_without("filter Send")
        terminal.type("r")
        terminal.wait_for("Recorded in the last")
        terminal.type("]")
        terminal.wait_for(", rank 0")
        terminal.type("]")
        terminal.wait_for(", rank 1")
        terminal.type("a")
        terminal.wait_without(", rank 1:")
        terminal.type("p")
        terminal.wait_for("rank      time")
        check(re.search(r"^ +1 ", terminal.text(), re.M), "a row for rank 1")
        terminal.type("h")
        terminal.wait_for("fold and unfold")
        terminal.type("h")
        terminal.wait_without("fold and unfold")
        check_fits(terminal, 80, 24)
        terminal.type("q")
        terminal.wait_for("ended-with-0")


@case
def screen_200x60():
    """A large terminal shows all columns, who is in which call, and the end of the job."""
    with watched(200, 60, steps=500) as (job, terminal):
        terminal.wait_for("received", "calls", "open", "In calls now:", "MPI_Sendrecv")
        check_fits(terminal, 200, 60)
        job.wait(timeout=100)
        terminal.wait_for("ended: these are its final figures")
        text = terminal.text()
        check("In calls now" not in text, "nobody is in a call any more")
        meet = [line for line in terminal.lines() if "MPI_Allreduce" in line][0]
        check(re.search(r"\b1000\b", meet), f"1000 meetings: {meet}")
        time.sleep(1)
        check_equal(terminal.text(), text, "the final figures stay")
        terminal.type("q")
        terminal.wait_for("ended-with-0")


@case
def small_screen():
    """40 x 10: a head, titles and rows, and no line too long."""
    with watched(40, 10) as (_, terminal):
        terminal.wait_for("share", "wait", "MPI_Allreduce")
        check_fits(terminal, 40, 10)
        for key in ("Down", "NPage", "End", "l", "p", "t", "h", "Home"):
            terminal.type(key)
        time.sleep(0.5)
        check_fits(terminal, 40, 10)
        terminal.type("x")
        terminal.type("q")
        terminal.wait_for("ended-with-0")


@case
def resized():
    """The size changes many times while it draws, down to one line; it goes on."""
    with watched(100, 30) as (_, terminal):
        terminal.wait_for("MPI_Allreduce")
        for width, height in ((20, 5), (150, 40), (3, 2), (80, 24), (40, 10), (200, 60)) * 4:
            terminal.resize(width, height)
            time.sleep(0.03)
        terminal.resize(120, 40)
        terminal.wait_for("received", "MPI_Allreduce", "In calls now:")
        check_fits(terminal, 120, 40)
        terminal.type("q")
        terminal.wait_for("ended-with-0")


@case
def unknown_terminal():
    """TERM not set, dumb or not known: one table and a line that says why."""
    with watched(100, 40, words=["true"]) as (job, terminal):
        directory = job_of(job)
        for term, told in (("", "TERM is not set"), ("dumb", "TERM is dumb"),
                           ("no-such-terminal", "no-such-terminal is not known")):
            terminal.type("clear; TERM=" + term + " " + DWELL + " top " + directory +
                          "; echo ended-$((40+2))", "Enter")
            terminal.wait_for(told, "2 of 2 ranks", "ended-42")
        terminal.type("clear; (unset TERM; " + DWELL + " top " + directory + "); echo ended-$((40+3))",
                      "Enter")
        terminal.wait_for("TERM is not set", "ended-43")


@case
def chooses_a_job():
    """Of two jobs one is chosen from a list, and the list comes back."""
    with running([program("steps"), "100000"]) as job:
        job_of(job)
        other = subprocess.Popen(["mpirun", "-n", "1", DWELL, "run", "-q", "-o", scratch("o2"),
                                  program("steps"), "100000"],
                                 env=environment(1, {"DWELL_RECORD_DIR": job.records}),
                                 cwd=scratch(), start_new_session=True)
        try:
            wait_until(lambda: sum(len(names) for _, _, names in os.walk(job.records)
                                   if any(n.startswith("rank.") for n in names)) >= 3, "two jobs")
            terminal = Terminal([DWELL, "top", "--interval", "0.3"], 90, 24,
                                {"DWELL_RECORD_DIR": job.records})
            try:
                terminal.wait_for("enter shows a job", "2/2", "1/1")
                terminal.type("Enter")
                terminal.wait_for("1 of 1 ranks")  # the newest
                terminal.type("j")
                terminal.wait_for("enter shows a job")
                terminal.type("Down", "Enter")
                terminal.wait_for("2 of 2 ranks")
                terminal.type("q")
                terminal.wait_for("ended-with-0")
            finally:
                terminal.close()
        finally:
            os.killpg(other.pid, signal.SIGKILL)
            other.wait()


@case
def plain_ascii():
    """Without UTF-8 only ASCII is drawn."""
    with watched(100, 30, env={"LC_ALL": "C"}) as (_, terminal):
        terminal.wait_for("MPI_Allreduce", "2 of 2 ranks")
        check(terminal.text().isascii(), terminal.text())
        terminal.type("q")
        terminal.wait_for("ended-with-0")


if __name__ == "__main__":
    main()
