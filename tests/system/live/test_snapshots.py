"""`dwell run --live`: snapshots of a job over two hosts, for `dwell where` and `dwell top`."""

import json
import os
import re
import signal
import subprocess
import time

from hangs import HANGS, RANKS, with_lines
from harness import (DWELL, Failure, Profile, case, check, check_equal, environment, execute, main, mpirun, program,
                     scratch)
from hosts import Hosts

OUT = "out"


def snapshots():
    folder = os.path.join(scratch(OUT), "live")
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def wait_for(condition, what, limit_s=40):
    until = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > until:
            raise Failure(f"{what}; there are {snapshots()}")
        time.sleep(0.1)


def one_line(text):
    return re.sub(r"\s+", " ", text)


def end(process):
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=30)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()[1]


@case
def of_two_hosts():
    """Rank 2, on the second host, waits for a message of rank 0, on the first one; the others wait in a
    collective. Both hosts' ranks are in the snapshots, although nothing moves."""
    hang = HANGS["wrong_branch"]
    with Hosts("left", "right") as hosts:
        start = hosts.mpirun("left:2", "right:1") + ["-n", str(RANKS)]
        job = subprocess.Popen(
            hosts.all[0].enter() + [f"--wdns={os.getcwd()}"] + start +
            [DWELL, "run", "--live", "1", "-o", scratch(OUT), program("hangs"), "wrong_branch"],
            env=environment(RANKS), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            text=True, start_new_session=True)
        try:
            wait_for(lambda: snapshots() == ["left.snapshot", "right.snapshot"], "no snapshots of both hosts")
            text = ""

            def is_right():
                nonlocal text
                run = execute([DWELL, "where", "--width", "150", scratch(OUT)])
                text = run.stdout
                return run.code == 0 and all(re.search(with_lines(expression), one_line(text))
                                             for expression in hang.says)
            wait_for(is_right, "what where says")
            check(re.search(r"3 of 3 ranks on 2 hosts", text) and "As it was: left " in text, text)
            found = json.loads(execute([DWELL, "where", "--json", scratch(OUT)]).stdout)
            check_equal(found["stuck"], [0, 1, 2], "ranks that cannot go on")
            check_equal(sorted(found["snapshot_age_ns"]), ["left", "right"], "hosts")
            run = execute([DWELL, "top", "--once", "--json", "--per-rank", scratch(OUT)])
            check_equal(run.code, 0, "exit code of top" + run.describe())
            top = json.loads(run.stdout.splitlines()[0])
            check_equal([rank["host"] for rank in top["ranks"]], ["left", "left", "right"], "hosts of ranks")
            barrier = [node for node in top["nodes"] if node["name"] == "MPI_Barrier"]
            check_equal(sum(node["count"] for node in barrier), RANKS, f"barriers {barrier}")
        finally:
            messages = end(job)
        check_equal(snapshots(), [], "what is left of the snapshots" + messages)


@case
def ends_as_the_profile():
    """`dwell top` of the snapshots of a running job ends with its profile; then no snapshot is left."""
    out = scratch(OUT)
    job = subprocess.Popen(mpirun(2, DWELL, "run", "-q", "--live", "1", "-o", out, program("occupancy"), "3"),
                           env=environment(2), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        wait_for(snapshots, "no snapshot")
        top = execute([DWELL, "top", "--json", "--interval", "0.2", out])
        job.wait(timeout=40)
    finally:
        messages = end(job)
    check_equal((job.returncode, top.code), (0, 0), f"exit codes {messages}" + top.describe())
    lines = [json.loads(line) for line in top.stdout.splitlines()]
    check(len(lines) > 1 and not lines[0]["final"] and lines[-1]["final"], "readings, then the end" + top.describe())
    profile = Profile(out)
    check_equal(profile.count("MPI_Barrier"), 6, "barriers")
    for name in ("total_ns", "computation_ns", "blocked_ns"):
        check_equal(lines[-1][name], profile.json[name], f"{name} at the end")
    check_equal(snapshots(), [], "what is left of the snapshots")
    check("live" not in os.listdir(out), "the folder is left")


@case
def of_another_version():
    """A file that is no snapshot of this version: one line, and exit 1."""
    folder = os.path.join(scratch(OUT), "live")
    os.makedirs(folder)
    for bytes_ in (b"", b"dlwlsnap" + bytes(100), os.urandom(4096)):
        with open(os.path.join(folder, "left.snapshot"), "wb") as stream:
            stream.write(bytes_)
        for command in (["where"], ["top", "--once"]):
            run = execute([DWELL, *command, scratch(OUT)])
            check_equal((run.code, run.stdout), (1, ""), "exit code" + run.describe())
            check_equal(run.stderr.count("\n"), 1, "lines" + run.describe())
            check("can be read by this version of dwell" in run.stderr, "the reason" + run.describe())


if __name__ == "__main__":
    main()
