"""Event logs: what is in them, in which order, and what becomes of them when something goes wrong. They
are read through `dwell export --to chrome`, whose JSON any parser reads."""

import json
import os
import random
import re
import signal
import subprocess
import time

from exporting import number_before
from harness import (DWELL, LIBRARY, ROOT, Profile, case, check, check_equal, execute, main, mpirun, program,
                     recover, run_observed, scratch, skip_unless, source, thorough)
from known_logs import apart, exported, kill_all, known_round, names_of, rounds_in
from probed_program import WRAPPERS

ROUNDS = 40


@case
def known_order():
    """Each rank's events are the program's, in its order; messages have their bytes and tags, and each
    receive has its send, which comes before it."""
    run = run_observed([program("known_events"), str(ROUNDS)], 2, scratch("out"), ["--events"])
    check_equal(run.code, 0, run.describe())
    threads, said = exported(scratch("out"))
    check("lost" not in said and "missing" not in said and "without" not in said, said)
    check_equal(sorted(threads), [(0, 0), (1, 0)], "threads")
    flows = {}
    for rank in (0, 1):
        events = threads[rank, 0]
        check_equal(rounds_in(events), known_round(rank) * ROUNDS, f"events of rank {rank}")
        messages = [e for e in events if e["ph"] in "sf"]
        check_equal(len(messages), 2 * ROUNDS, f"messages of rank {rank}")
        for i, message in enumerate(messages):
            check_equal(message["name"], f"{8 * (i // 2 + 1)} bytes, tag {i // 2}", "message")
            flows.setdefault(message["id"], []).append(message)
        clocks = [e["ts"] for e in events]
        check(clocks == sorted(clocks), f"times of rank {rank} go back")
    for ends in flows.values():
        check_equal(sorted(e["ph"] for e in ends), ["f", "s"], "ends of a message")
        sent, received = sorted(ends, key=lambda e: e["ph"], reverse=True)
        check(sent["ts"] <= received["ts"], f"received before it was sent: {ends}")


@case
def causal_order():
    """Order by virtual time is a causal order: no message is received before it is sent."""
    messages = thorough(1_000_000, 60_000)
    run = run_observed([program("many_messages"), str(messages)], 2, scratch("out"),
                       ["--events", "--events-ring", "65536", "--memory", "512"], timeout_s=300)
    check_equal(run.code, 0, run.describe())
    check("lost" not in run.stderr, run.describe())
    threads, _ = exported(scratch("out"))
    sent, received = {}, {}
    for events in threads.values():
        for event in events:
            if event["ph"] in "sf":
                (sent if event["ph"] == "s" else received)[event["id"]] = event["ts"]
    check_equal(len(sent), messages, "messages sent")
    check_equal(sorted(sent) == sorted(received), True, "each is received")
    late = sum(1 for number, ts in received.items() if ts < sent[number])
    check_equal(late, 0, "messages received before they were sent")


FIGURES = ("count", "time_ns", "min_ns", "max_ns", "bytes_sent", "bytes_received", "omp_wait_ns",
           "omp_idle_ns", "blocked_ns")


def figures_of(profile):
    """By path: what a log must give as well. Procedures that only samples or lines tell of are left out."""
    found = {}
    nodes = profile["nodes"]
    for node in nodes:
        path, at = [], node
        while at is not None:
            path.append((at["kind"], at.get("name"), at.get("line")))
            at = nodes[at["parent"]] if at.get("parent") is not None else None
        if node["count"] == 0 and (node["kind"] in ("proc", "call") or not any(node.get(figure) for figure in FIGURES)):
            continue
        into = found.setdefault(tuple(reversed(path)), dict.fromkeys(FIGURES, 0))
        for figure in FIGURES:
            into[figure] += node.get(figure, 0)
    return found


def regions_of(profile):
    return sum(node.get("created", 0) for node in profile["nodes"] if node["name"] == "parallel")


def check_same_figures(out):
    with open(os.path.join(out, "profile.json"), encoding="utf-8") as stream:
        run = json.load(stream)
    shown = execute([DWELL, "report", os.path.join(out, "events"), "--format", "json"])
    check_equal(shown.code, 0, shown.describe())
    log = json.loads(shown.stdout)
    check("events_missing" not in log["flags"], f"{log['notes']}")
    want, got = figures_of(run), figures_of(log)
    for path, figures in want.items():
        check_equal(got.get(path), figures, f"figures of {path[-2:]}")
    check_equal(regions_of(log), regions_of(run), "parallel regions")
    for figure in ("computation_ns", "omp_wait_ns", "omp_idle_ns", "io_ns", "total_ns"):
        check_equal(log.get(figure), run.get(figure), figure)
    return want


@case
def same_figures_of_mpi():
    """Counts, bytes, inclusive and exclusive times from the events are those of the run."""
    run = run_observed([program("known_events"), str(ROUNDS)], 2, scratch("out"),
                       ["--events", "--sample", "off"])
    check_equal(run.code, 0, run.describe())
    figures = check_same_figures(scratch("out"))
    sends = sum(f["bytes_sent"] for path, f in figures.items() if path[-1][1] == "MPI_Send")
    check_equal(sends, 2 * 8 * sum(range(1, ROUNDS + 1)), "bytes sent")


def same_figures_with_probes(name, argument):
    """Of a program of these tests that is compiled with probes in all its procedures."""
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    made = execute([os.path.join(WRAPPERS, "dwell-gcc"), "-g", "-O1", "-fopenmp", "-I",
                    os.path.join(ROOT, "runtime", "api"), source(name + ".c"), "-o", scratch(name)],
                   env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(made.code, 0, made.describe())
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--events-ring", "16384", "--io", "on",
                   "--probe-limit", "off", scratch(name), argument])
    check_equal(run.code, 0, run.describe())
    check("lost" not in run.stderr, run.describe())
    return check_same_figures(scratch("out"))


@case
def same_figures_of_probes():
    """The same with recursions, OpenMP through libgomp, tasks in barriers and in tasks, and I/O."""
    figures = same_figures_with_probes("event_regions", scratch("file"))
    written = sum(f["bytes_sent"] for path, f in figures.items() if path[-1][0] == "io")
    check_equal(written, sum(10 + i for i in range(30)), "bytes written")
    calls = sum(f["count"] for path, f in figures.items() if path[-1][:2] == ("proc", "fibonacci"))
    check_equal(calls, 177, "calls of fibonacci(10)")


@case
def same_figures_of_phases():
    """The same with a phase that begins before the loop in which it goes on and ends."""
    figures = same_figures_with_probes("event_phases", "10")
    phases = [f for path, f in figures.items() if path[-1][:2] == ("block", "turn")]
    check_equal(sum(f["count"] for f in phases), 10, "phases")


@case
def same_figures_of_threads():
    """The same where threads come to their first block while dwell measures its own costs."""
    for attempt in range(5):
        out = scratch(f"out{attempt}")
        run = execute([DWELL, "run", "--events", "--sample", "off", "-o", out, program("eager_threads")])
        check_equal(run.code, 0, run.describe())
        check_same_figures(out)


@case
def same_figures_of_pauses():
    """The same with blocks and calls that were not recorded, inside of a block that was."""
    run = run_observed([program("event_control")], 2, scratch("out"), ["--events", "--sample", "off"])
    check_equal(run.code, 0, run.describe())
    figures = check_same_figures(scratch("out"))
    check_equal(sum(f["count"] for path, f in figures.items() if path[-1][:2] == ("block", "step")), 40, "blocks")


@case
def figures_begin_anew():
    """MPI_Pcontrol(2) discards figures, and overhead with them: the times of the log go on as before, and the
    report says that the figures of the log are others."""
    run = run_observed([program("event_control"), "reset"], 1, scratch("out"), ["--events", "--sample", "off"])
    check_equal(run.code, 0, run.describe())
    (events,) = exported(scratch("out"))[0].values()
    marks = {e["name"]: e["ts"] for e in events if e["name"] in ("before", "after")}
    check(0 <= marks["after"] - marks["before"] <= float(run.stdout) + 1000, f"{marks}" + run.describe())
    shown = execute([DWELL, "report", scratch("out/events")])
    check("MPI_Pcontrol(2) began the figures of the run anew" in shown.stderr, shown.stderr)


@case
def kinds_and_ranks():
    """Only events of the wanted kinds, and of the wanted ranks; the statistics have all."""
    run = run_observed([program("known_events"), "10"], 2, scratch("out"),
                       ["--events=blocks", "--events-ranks", "1"])
    check_equal(run.code, 0, run.describe())
    threads, _ = exported(scratch("out"))
    check_equal(sorted(threads), [(1, 0)], "threads")
    check_equal(names_of(threads[1, 0], "BEi"), [("B", "round"), ("i", "turn"), ("E", "round")] * 10, "events")
    profile = Profile(scratch("out"), run)
    check_equal(sum(n["count"] for n in profile.json["nodes"] if n["name"] == "MPI_Bcast"), 20, "broadcasts")


@case
def window_by_api():
    """Only what happened while the program had switched events on."""
    run = run_observed([program("known_events"), "10", "api"], 2, scratch("out"),
                       ["--events", "--events-window", "off"])
    check_equal(run.code, 0, run.describe())
    threads, _ = exported(scratch("out"))
    for rank in (0, 1):
        check_equal(rounds_in(threads[rank, 0]), known_round(rank) * 3, f"events of rank {rank}")


@case
def window_by_time():
    """From second 0.5 to 0.7 of a job that sends all the time, within a tenth of a second; nothing
    of a window that the job does not reach."""
    run = run_observed([program("many_messages"), "2500000"], 2, scratch("out"),
                       ["--events", "--events-window", "0.5-0.7", "--events-ring", "65536", "--memory", "512"])
    check_equal(run.code, 0, run.describe())
    threads, _ = exported(scratch("out"))
    for (rank, _), events in threads.items():
        check(events[-1]["ts"] - events[0]["ts"] <= 300_000, f"{events[0]} to {events[-1]} of rank {rank}")
        check(len(events) > 1000, f"{len(events)} events of rank {rank}")
    run = run_observed([program("known_events"), "20"], 2, scratch("none"),
                       ["--events", "--events-window", "30-40"])
    check(not os.path.exists(scratch("none/events")), "events before the window" + run.describe())


@case
def from_outside():
    """`dwell events` switches the events of a running job on and off; who has none says so."""
    out, records = scratch("out"), apart()

    def switch(process):
        deadline = time.monotonic() + 20
        while execute([DWELL, "events", "on"], env=records).code != 0 and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.3)
        off = execute([DWELL, "events", "off"], env=records)
        check_equal(off.code, 0, off.describe())
        check("events off for 2 ranks" in off.stderr, off.stderr)

    run = run_observed([program("many_messages"), "2500000"], 2, out,
                       ["--events", "--events-window", "off", "--events-ring", "8192"], interrupt=switch,
                       env=records)
    check_equal(run.code, 0, run.describe())
    threads, _ = exported(out)
    counts = [len(events) for events in threads.values()]
    check(len(counts) == 2 and min(counts) > 100, f"events {counts}")


@case
def the_last_after_abort():
    """The newest events of every rank are in the log after one has aborted, up to its last call."""
    out = scratch("out")
    run = run_observed([program("known_events"), "3000", "abort"], 2, out, ["--events=last:500"])
    check(run.code != 0, run.describe())
    threads, _ = exported(out)
    events = rounds_in(threads[1, 0])
    check(len(events) >= 300, f"{len(events)} events of rank 1")
    want = known_round(1) * (len(events) // len(known_round(1)) + 1)
    check_equal(events, want[:len(events)], "the last events of rank 1")
    tags = [e["name"] for e in threads[1, 0] if e["ph"] == "s"]
    check_equal(tags[-1], f"{8 * 3000} bytes, tag 2999", "the last message")


@case
def report_of_the_last():
    """The figures of a log that holds the last calls alone are those of these calls."""
    run = run_observed([program("many_messages"), "3000"], 2, scratch("out"), ["--events=last:100"])
    check_equal(run.code, 0, run.describe())
    shown = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    check_equal(shown.code, 0, shown.describe())
    profile = json.loads(shown.stdout)
    check("overwritten: the flight recorder keeps the newest" in shown.stderr, shown.stderr)
    check("words are missing" not in shown.stderr, shown.stderr)
    check("events_missing" in profile["flags"], f"{profile['flags']}")
    for node in profile["nodes"]:
        if node["name"] in ("MPI_Send", "MPI_Sendrecv"):
            check(0 < node["count"] < 3000, f"{node}")
    threads, said = exported(scratch("out"))
    ends = {}
    for events in threads.values():
        for event in events:
            if event["ph"] in "sf":
                ends.setdefault(event["id"], {})[event["ph"]] = event
    both = [end for end in ends.values() if len(end) == 2]
    check(len(both) > 50, f"{len(both)} messages")
    early = [end for end in both if end["f"]["ts"] < end["s"]["ts"]]
    check(len(early) <= len(both) / 2, f"{len(early)} of {len(both)} messages go back in time{said}")
    check_equal([end for end in both if end["s"]["name"] != end["f"]["name"]], [], "messages of two sizes")


@case
def recovered():
    """After kill -9 of everything the record files still hold the newest events: `dwell recover` writes
    them."""
    records = apart()
    execute(mpirun(2, DWELL, "run", "-o", scratch("out"), "--events=last:500", program("known_events"),
                   "200", "kill"), 2, env=records, interrupt=kill_all(1.5))
    jobs = [place for place, _, files in os.walk(records["DWELL_RECORD_DIR"]) if "rank.0" in files]
    check_equal(len(jobs), 1, f"jobs in {records}")
    execute([DWELL, "recover", jobs[0], "-o", scratch("again")])
    threads, _ = exported(scratch("again"))
    check_equal(sorted(threads), [(0, 0), (1, 0)], "threads")
    for rank in (0, 1):
        tags = [e["name"] for e in threads[rank, 0] if e["ph"] in "sf"]
        check_equal(tags[-1], f"{8 * 200} bytes, tag 199", f"the last message of rank {rank}")


@case
def a_full_ring():
    """What does not fit into a ring is counted: written and lost records together are all there were."""
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    calls = 2_000_000
    text = scratch("calls.c")
    with open(text, "w", encoding="utf-8") as stream:
        stream.write("__attribute__((noinline)) void leaf(void) { __asm__ volatile(\"\"); }\n"
                     f"int main(void) {{ for (int i = 0; i < {calls}; ++i) leaf(); return 0; }}\n")
    binary = scratch("calls")
    made = execute([os.path.join(WRAPPERS, "dwell-gcc"), "-O1", "-g", text, "-o", binary],
                   env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(made.code, 0, made.describe())
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--events-ring", "64", "--probe-limit",
                   "off", binary])
    check_equal(run.code, 0, run.describe())
    lost = int(re.search(r"(\d+) records? found no room", run.stderr)[1])
    check(lost > 0, "the ring was never full")
    threads, said = exported(scratch("out"))
    kept = sum(1 for events in threads.values() for e in names_of(events) if e[1] in ("leaf", "main", "loop"))
    added = sum(int(n) for n in re.findall(r"(\d+) calls without an end", said))
    left_out = sum(int(n) for n in re.findall(r"(\d+) ends without a beginning", said))
    all_there_were = 2 * calls + 4  # main() and its loop
    found = kept - added + left_out + lost
    check(0 <= found - all_there_were <= 1,  # the end of the thread may be lost
          f"{kept} kept, {added} added, {left_out} left out, {lost} lost: {found} of {all_there_were}")
    profile = Profile(scratch("out"), run)
    leaves = [n for n in profile.json["nodes"] if (n["kind"], n["name"]) == ("proc", "leaf")]
    check_equal([n["count"] for n in leaves], [calls], "calls in the statistics")
    shown = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    check(f"{lost} records were lost" in shown.stderr, shown.describe())
    in_log, in_run = ([node["time_ns"] for node in nodes if node["name"] == "leaf"][0]
                      for nodes in (json.loads(shown.stdout)["nodes"], Profile(scratch("out"), run).nodes))
    check(0 < in_log <= in_run, f"time in leaf: {in_log} of the calls in the log, {in_run} of all")


@case
def too_many_events():
    """A place with too many events a second gets statistics instead: the figures of the log are still
    those of the run, and the export says how many calls are only counted."""
    calls_made = 3_000_000
    run = run_observed([program("many_messages"), str(calls_made)], 2, scratch("out"),
                       ["--events", "--events-rate", "10000", "--events-ring", "65536", "--sample", "off"])
    check_equal(run.code, 0, run.describe())
    made = execute([DWELL, "export", scratch("out"), "--to", "epilog", "-o", scratch("trace.elg")])
    check_equal(made.code, 0, made.describe())
    reduced = number_before(made.stderr, "calls of ")
    check(200_000 < reduced < 2 * calls_made, f"{reduced} calls are only counted")
    shown = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    log = json.loads(shown.stdout)
    sends = sum(n["count"] for n in log["nodes"] if n["name"] in ("MPI_Send", "MPI_Sendrecv"))
    check(abs(sends - calls_made) <= 16, f"{sends} sends in the log")  # open when its level changed
    total = Profile(scratch("out"), run).json["total_ns"]
    check(abs(log["total_ns"] - total) < 0.05 * total, f"time in the log: {log['total_ns']} of {total}")
    check("bytes, shortest and longest times are missing" in shown.stderr, shown.describe()[:2000])
    check("events_missing" in log["flags"] and any("only counted" in note for note in log["notes"]),
          f"{log['flags']}, {log['notes']}")


@case
def events_again():
    """A place that was only counted has events again once there are few."""
    run = execute([DWELL, "run", "--events", "--events-rate", "1000:500", "-o", scratch("out"), program("event_pace"),
                   "500", "2500"])
    check_equal(run.code, 0, run.describe())
    made = execute([DWELL, "export", scratch("out"), "--to", "chrome", "-o", scratch("trace.json")])
    check(number_before(made.stderr, "calls of 1 places") > 25_000, made.stderr)
    (events,) = exported(scratch("out"))[0].values()
    late = [e["ts"] / 1e6 for e in events if e["ph"] == "B" and e["name"] == "quick" and e["ts"] > 4e6]
    check(len(late) > 50, f"{len(late)} blocks at the end" + run.describe())


@case
def a_stopped_parent():
    """`dwell run` is stopped for a while: the program runs on, and what was lost is said."""
    out = scratch("out")

    def stop(process):
        time.sleep(0.7)
        parents = subprocess.run(["pgrep", "-f", f"{DWELL} run -o {out}"], capture_output=True, text=True,
                                 check=False).stdout.split()
        for pid in parents:
            os.kill(int(pid), signal.SIGSTOP)
        time.sleep(1)
        for pid in parents:
            os.kill(int(pid), signal.SIGCONT)

    run = run_observed([program("many_messages"), "4000000"], 2, out, ["--events", "--events-ring", "64"],
                       interrupt=stop)
    check_equal(run.code, 0, run.describe())
    check("found no room in a full ring" in run.stderr, run.describe())
    profile = Profile(out, run)
    check_equal(sum(n["bytes_sent"] for n in profile.json["nodes"] if n["kind"] == "comm"), 8 * 4_000_000,
                "bytes sent")
    made = execute([DWELL, "export", out, "--to", "epilog", "-o", scratch("trace.elg")])
    check_equal(made.code, 0, made.describe())


def parts_between_losses(events):
    """Of a thread, where a ring was full."""
    parts = [[]]
    for event in events:
        if event["name"].endswith(" records lost"):
            parts.append([])
        else:
            parts[-1].append(event)
    return [part for part in parts if part]


@case
def random_kills():
    """Killed at any moment: the log opens, and holds for each rank a beginning of what the rank did, apart
    from what is said to be missing."""
    runs = thorough(50, 3)
    for run in range(runs):
        out = scratch(f"out-{run}")
        execute(mpirun(2, DWELL, "run", "-o", out, "--events", program("known_events"), "2000000000"), 2,
                env=apart(), interrupt=kill_all(random.uniform(0.3, 0.9)))
        if not os.path.isdir(os.path.join(out, "events")):
            continue
        threads, said = exported(out)
        check("does not describe" not in said, said)
        for (rank, _), events in threads.items():
            for part in parts_between_losses(events):
                found = names_of(part, "BEi")
                if ("B", "round") not in found:
                    continue
                found = found[found.index(("B", "round")):]
                # Calls that are open at the end are closed by the export.
                whole = len(found) - next((i for i, event in enumerate(reversed(found)) if event[0] != "E"), 0)
                want = known_round(rank) * (whole // len(known_round(rank)) + 1)
                first = next((i for i in range(whole) if found[i] != want[i]), whole)
                check_equal(found[first:whole][:12], want[first:whole][:12],
                            f"events of rank {rank} in run {run} from number {first} of {whole} on" + said)


@case
def on_a_full_disk():
    """The disk fills while the log is written: the program and the statistics are unharmed, the log is
    readable, and one line says that it is not whole. An export that finds no room leaves nothing."""
    skip_unless(os.geteuid() == 0, "only root mounts a small disk")
    disk, out = scratch("disk"), scratch("disk/out")
    os.mkdir(disk)
    script = (f"mount -t tmpfs -o size=1m none {disk} && "
              f"{' '.join(mpirun(2, DWELL, 'run', '-o', out, '--events', program('many_messages'), '1000000'))}; "
              f"code=$?; cp -r {out} {scratch('kept')}; "
              f"for to in picl perfetto; do {DWELL} export {out} --to $to -o {disk}/trace; echo $?; done; "
              f"ls {disk}; exit $code")
    run = execute(["unshare", "-m", "sh", "-c", script], 2)
    check_equal(run.code, 0, run.describe())
    check("No space left on device" in run.stderr, run.describe())
    check_equal(run.stdout.split()[-3:], ["1", "1", "out"], "codes of exports, and what is on the disk")
    threads, said = exported(scratch("kept"))
    check(threads, "nothing was kept")
    check("not closed" in said, said)


@case
def without_dwell_run():
    """Under LD_PRELOAD alone one line says that there are no events; the profile is as always."""
    run = execute(mpirun(2, program("known_events"), "10"), 2,
                  env={"LD_PRELOAD": LIBRARY, "DWELL_EVENTS": "all", "DWELL_OUT": scratch("out")})
    check_equal(run.code, 0, run.describe())
    check_equal(run.stderr.count("events are written by `dwell run`"), 1, "lines" + run.describe())
    Profile(scratch("out"), run)
    check(not os.path.exists(scratch("out/events")), "there are events")


@case
def bad_input():
    """Logs that are none, and words that are none, get one line and an exit code."""
    text = scratch("text.events")
    with open(text, "w", encoding="utf-8") as stream:
        stream.write("no log\n" * 100)
    for arguments, code, words in (
            ([text, "--to", "chrome"], 1, "no event log"),
            ([scratch("missing.events"), "--to", "chrome"], 1, "No such file"),
            ([scratch(), "--to", "chrome"], 0, ""),
            ([text, "--to", "paper"], 2, "paper")):
        if arguments[0] == scratch():
            os.mkdir(scratch("empty"))
            arguments, code, words = [scratch("empty"), "--to", "chrome"], 1, "no event logs"
        run = execute([DWELL, "export", *arguments], cwd=scratch())
        check_equal(run.code, code, run.describe())
        check(words in run.stderr, run.describe())
        check_equal(len(run.stderr.strip().splitlines()), 1, "lines" + run.describe())
    for value in ("last:0", "some", "last:x"):
        run = execute([DWELL, "run", f"--events={value}", "true"])
        check_equal(run.code, 2, run.describe())
        check("last:N" in run.stderr, run.describe())
    run = execute([DWELL, "run", "--events", "--events-window", "5-3", "true"])
    check_equal(run.code, 2, run.describe())
    check("FROM-TO" in run.stderr, run.describe())


if __name__ == "__main__":
    main()
