"""Event logs as `dwell export --to chrome` has them, and what known_events.c does."""

import json
import os
import re
import signal
import subprocess
import time

from harness import DWELL, check_equal, execute, program, scratch


def exported(place, code=0):
    """The events of all threads: by (process, thread), in the order of the file; and what was said."""
    out = scratch("events.json")
    run = execute([DWELL, "export", place, "--to", "chrome", "-o", out])
    check_equal(run.code, code, "export" + run.describe())
    with open(out, encoding="utf-8") as stream:
        events = json.load(stream)["traceEvents"]
    threads = {}
    for event in events:
        if event["ph"] != "M" and event.get("cat") != "sample":
            threads.setdefault((event["pid"], event["tid"]), []).append(event)
    names = {event["pid"]: event["args"]["name"] for event in events if event["name"] == "process_name"}
    ranks = {pid: int(re.match(r"rank (\d+)", name)[1]) for pid, name in names.items()}
    return {(ranks[pid], tid): events for (pid, tid), events in threads.items()}, run.stderr


def plain(name):
    """Without the line."""
    return name.rsplit(" ", 1)[0] if re.search(r" \S+:\d+$", name) else name


def apart():
    """Records of this case alone: those of killed jobs are removed with it."""
    os.makedirs(scratch("records"), exist_ok=True)
    return {"DWELL_RECORD_DIR": scratch("records")}


# Instants that viewers get of messages and of the log itself.
OF_THE_LOG = r"received: |sent: |ring flushed: |\d+ records lost|events off"


def names_of(events, phases="BE"):
    return [(event["ph"], plain(event["name"])) for event in events
            if event["ph"] in phases and not re.match(OF_THE_LOG, event["name"])]


def call(name):
    return [("B", name), ("E", name)]


def known_round(rank):
    body = {0: call("MPI_Send") + call("MPI_Recv"),
            1: call("MPI_Irecv") + call("MPI_Wait") + call("MPI_Send")}[rank]
    return [("B", "round"), *body, ("i", "turn"), *call("MPI_Bcast"), ("E", "round")]


def rounds_in(events):
    """The events between the first and the last round."""
    found = names_of(events, "BEi")
    first = found.index(("B", "round"))
    last = len(found) - found[::-1].index(("E", "round"))
    return found[first:last]


def kill_all(seconds):
    def interrupt(process):
        time.sleep(seconds)
        listed = subprocess.run(["ps", "-eo", "pid=,sid="], capture_output=True, text=True, check=True)
        own = [int(pid) for pid, sid in (line.split() for line in listed.stdout.splitlines())
               if int(sid) == process.pid]
        ranks = subprocess.run(["pgrep", "-f", program("known_events")], capture_output=True, text=True,
                               check=False)
        for pid in [*own, *(int(pid) for pid in ranks.stdout.split())]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    return interrupt
