"""What a rank does when its ring is full (--events-full), and what it did last (--events=last:N)."""

import hashlib
import os
import re
import shutil
import signal
import time

import epilog_reader
from exporting import number_before
from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, kept_records, main, mpirun,
                     program, run_observed, scratch, skip_unless, source)
from known_logs import apart, call, exported, kill_all, known_round, names_of, rounds_in
from picl_reader import Trace
from probed_program import WRAPPERS

CALLS = 200_000
FLUSH = -912
LOST = "records were lost in full rings"
ALONE = {"LD_PRELOAD": LIBRARY, "DWELL_EVENTS": "all", "DWELL_EVENTS_FULL": "flush", "DWELL_EVENTS_RING": "64"}


def probed(name, *options):
    """The program of this source, with probes."""
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    binary = scratch(name.removesuffix(".c"))
    made = execute([os.path.join(WRAPPERS, "dwell-gcc"), "-O2", "-g", *options, source(name), "-o", binary],
                   env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(made.code, 0, made.describe())
    return binary


def leaves():
    """events_vectors.c with probes, and what it prints without dwell."""
    binary = probed("events_vectors.c", f"-DCALLS={CALLS}")
    half = CALLS * (CALLS - 1) / 2
    return binary, f"{half:.1f} {2 * half:.1f} {half / 2:.1f} {2 * half:.1f}\n"


def order_of_leaves():
    """All events of that program, in their order."""
    return [("B", "main"), ("B", "loop"), *call("leaf") * CALLS, ("E", "loop"), ("E", "main")]


def beginning(found, want, said):
    """The calls that the export closed at the end of the log are taken off."""
    added = number_before(said, "calls without an end")
    found = found[:len(found) - added]
    check_equal(found, want[:len(found)], "a prefix of what the program does")
    return len(found)


@case
def stop():
    """The log of a thread is the beginning of what it did; written and lost records are all there were."""
    binary, prints = leaves()
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--events-ring", "64", "--events-full",
                   "stop", "--probe-limit", "off", binary])
    check_equal((run.code, run.stdout), (0, prints), run.describe())
    lost = number_before(run.stderr, "records found no room in a full ring")
    check(lost > 0, "the ring was never full" + run.describe())
    threads, said = exported(scratch("out"))
    (events,) = threads.values()
    kept = beginning(names_of(events), order_of_leaves(), said)
    check_equal(number_before(said, LOST), lost, "records lost, by the log")
    check(0 <= kept + lost - len(order_of_leaves()) <= 1, f"{kept} kept, {lost} lost")  # the thread's end


@case
def calls_around_gaps():
    """Where records are lost each call that is shown is one call of the program, and none is too deep.
    Each enter and leave is in the log or counted as lost."""
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--events-ring", "64", program("deep_calls")])
    check_equal(run.code, 0, run.describe())
    check(number_before(run.stderr, "records found no room in a full ring") > 0, run.describe())
    threads, said = exported(scratch("out"))
    (events,) = threads.values()
    numbers, deepest, gaps = [], 0, 0
    for event in events:
        if event["ph"] == "B":
            numbers.append(set())
            deepest = max(deepest, len(numbers))
        elif event["ph"] == "E":
            of_call = numbers.pop()
            check(len(of_call) < 2, f"markers of {of_call} in one call" + said)
        elif "number" not in event["name"]:
            gaps += 1
        elif numbers:
            numbers[-1].add(event["args"]["volume"])
    check(gaps > 1, f"{gaps} gaps" + said)
    depth, blocks = map(int, run.stdout.split())
    check(0 < deepest <= depth, f"depth {deepest}" + run.describe())
    begun = sum(event["ph"] == "B" for event in events)
    without_leave = number_before(said, "calls without an end")
    lost = number_before(said, "enters and leaves")
    check_equal(2 * begun - without_leave + lost, 2 * blocks, "enters and leaves" + said)


@case
def too_deep():
    """Each entry that is not in the log, because too many were open, is counted."""
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--probe-limit", "off",
                   probed("deep_recursion.c", "-fno-optimize-sibling-calls")])
    check_equal(run.code, 0, run.describe())
    threads, said = exported(scratch("out"))
    (events,) = threads.values()
    begun = [name for phase, name in names_of(events) if phase == "B" and name != "main"]
    counted = number_before(said, "entries of procedures, loops and blocks were only counted")
    check(0 < begun.count("deep") < 3000, f"{begun.count('deep')} entries" + said)
    check_equal(len(begun) + counted, 2 * 3000, "procedures and loops" + said)


@case
def stop_of_ranks():
    """The same for each of two ranks, each with a `dwell run` of its own: both may take the events of both
    ranks, and what was lost is said once."""
    run = run_observed([program("known_events"), "6000"], 2, scratch("out"),
                       ["--events", "--events-ring", "64", "--events-full", "stop"])
    check_equal(run.code, 0, run.describe())
    threads, said = exported(scratch("out"))
    for rank in (0, 1):
        found = names_of(threads[rank, 0], "BEi")
        found = found[found.index(("B", "round")):]
        while found and found[-1][0] == "E":
            found.pop()  # of the program, or of the export
        check(len(found) > 100, f"{len(found)} events")
        want = known_round(rank) * (len(found) // len(known_round(rank)) + 1)
        check(len(found) < 6000 * len(known_round(rank)), "the ring was never full")
        check_equal(found, want[:len(found)], f"events of rank {rank}")
    told = sum(int(n) for n in re.findall(r"(\d+) records found no room", run.stderr))
    check_equal(told, number_before(said, LOST), "records lost, in all lines" + run.describe())


@case
def overwrite():
    """The newest records are there, up to the program's end, each in its order."""
    binary, prints = leaves()
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--events-ring", "64", "--events-full",
                   "overwrite", "--probe-limit", "off", binary])
    check_equal((run.code, run.stdout), (0, prints), run.describe())
    threads, said = exported(scratch("out"))
    (events,) = threads.values()
    found = names_of(events)
    check(len(found) > 7000, f"{len(found)} of 8192 records")
    # Ends whose beginnings were overwritten are left out: those of main and its loop, too.
    want = call("leaf") * (len(found) // 2)
    check_equal(found[-len(want):], want, "the newest events")
    check(number_before(said, "words of older events were overwritten") > 2 * CALLS - 10_000, said)
    check("missing" not in said and "behind a gap" not in said, said)


def kill_when_quiet(process):
    """Once the ranks have written nothing for three seconds."""
    before, since = {}, time.monotonic()
    deadline = since + 90
    while time.monotonic() < min(deadline, since + 3):
        time.sleep(0.2)
        now = {}
        for place, _, files in os.walk(scratch("records")):
            for name in files:
                with open(os.path.join(place, name), "rb") as stream:
                    now[name] = hashlib.md5(stream.read()).digest()
        if now != before or len(now) < 2:
            before, since = now, time.monotonic()
    kill_all(0)(process)


def flushed(argv, ranks=1, **how):
    """A run without `dwell run`: where its records are, and the run."""
    run = execute(mpirun(ranks, *argv) if ranks > 1 else argv, ranks,
                  env={**ALONE, **apart(), "DWELL_OUT": scratch("out"), "DWELL_PROBE_LIMIT": "off"}, **how)
    return run


def recovered(run):
    place = kept_records(run)
    made = execute([DWELL, "recover", place, "-o", scratch("again")])
    check_equal(made.code, 0, made.describe())
    return made


@case
def flush():
    """Without `dwell run` a thread flushes itself: all events are there, and no register of the program has
    changed. Each flush is in the exports (-912 with its bytes in PICL, dump records in EPILOG,
    BUFFER_FLUSH in OTF2)."""
    binary, prints = leaves()
    run = flushed([binary])
    check_equal((run.code, run.stdout), (0, prints), run.describe())
    Profile(scratch("out"), run)
    recovered(run)
    threads, said = exported(scratch("again"))
    (events,) = threads.values()
    check_equal(names_of(events), order_of_leaves(), "events")
    check("lost" not in said and "missing" not in said, said)
    made = execute([DWELL, "export", scratch("again"), "--to", "picl", "-o", scratch("trace.picl")])
    check_equal(made.code, 0, made.describe())
    flushes = [span for span in Trace(scratch("trace.picl"), 1).of(0, FLUSH)]
    check(len(flushes) >= 2 * CALLS // 8192, f"{len(flushes)} flushes")
    for span in flushes:
        check_equal((span.entry, len(span.exit), span.end), ([], 1, span.begin), "a flush")
        check(7000 * 8 < span.exit[0] <= 24 + 8192 * 8, f"{span.exit} bytes")
    made = execute([DWELL, "export", scratch("again"), "--to", "epilog", "-o", scratch("trace.elg")])
    check_equal(made.code, 0, made.describe())
    trace = epilog_reader.Epilog(scratch("trace.elg"))
    kinds = [event["type"] for event in trace.of("ENTER_DUMP", "EXIT_DUMP")]
    check_equal(kinds, ["ENTER_DUMP", "EXIT_DUMP"] * len(flushes), "dumps")
    if shutil.which("otf2-print"):
        made = execute([DWELL, "export", scratch("again"), "--to", "otf2", "-o", scratch("archive")])
        check_equal(made.code, 0, made.describe())
        shown = execute(["otf2-print", scratch("archive/traces.otf2")])
        check_equal(shown.stdout.count("BUFFER_FLUSH"), len(flushes), "flushes of OTF2")


@case
def flush_of_ranks():
    """The same for two ranks with messages; one line names the command that writes the log."""
    rounds = 4000
    run = flushed([program("known_events"), str(rounds)], 2)
    check_equal(run.code, 0, run.describe())
    recovered(run)
    threads, said = exported(scratch("again"))
    for rank in (0, 1):
        check_equal(rounds_in(threads[rank, 0]), known_round(rank) * rounds, f"events of rank {rank}")
    check("lost" not in said and "missing" not in said, said)


@case
def flush_of_threads():
    """Threads that flush at the same time do not get into each other's way."""
    blocks = 100_000
    run = flushed([program("flush_threads"), str(blocks)])
    check_equal(run.code, 0, run.describe())
    recovered(run)
    threads, said = exported(scratch("again"))
    check_equal(len(threads), 4, "threads")
    for events in threads.values():
        check_equal(names_of(events), call("part") * blocks, "events of a thread")
    check("lost" not in said and "missing" not in said, said)


@case
def flush_beside_a_parent():
    """With `dwell run`, what the parent does not take in time is flushed, whoever comes first: no record is
    missing that is not counted, because a thread found the lock taken for too long."""
    binary, prints = leaves()
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", "--events-ring", "64", "--events-full",
                   "flush", "--probe-limit", "off", binary], env=apart())
    check_equal((run.code, run.stdout), (0, prints), run.describe())
    threads, said = exported(scratch("out"))
    (events,) = threads.values()
    lost = number_before(said, LOST)
    if lost == 0:
        check_equal(names_of(events), order_of_leaves(), "events")
    kept = len(names_of(events)) - number_before(said, "calls without an end")
    kept += number_before(said, "ends without a beginning")
    check(0 <= kept + lost - len(order_of_leaves()) <= 1, f"{kept} kept, {lost} lost")
    check("missing" not in said, said)
    left = [name for _, _, names in os.walk(scratch("records")) for name in names]
    check_equal(left, [], "files left in the record directory")


@case
def flush_on_a_full_disk():
    """The record directory is full: flushes fail, what is lost is counted, the program is unharmed."""
    skip_unless(os.geteuid() == 0, "only root mounts a small disk")
    binary, prints = leaves()
    disk = scratch("disk")
    os.mkdir(disk)
    script = (f"mount -t tmpfs -o size=4m none {disk} && LD_PRELOAD={LIBRARY} {binary} && "
              f"{DWELL} recover {disk}/dwell-* -o {scratch('again')}")
    run = execute(["unshare", "-m", "sh", "-c", f"ulimit -c 0; {script}"],
                  env={"DWELL_OUT": scratch("out"), "DWELL_PROBE_LIMIT": "off", "DWELL_RECORD_DIR": disk,
                       **{name: value for name, value in ALONE.items() if name != "LD_PRELOAD"}})
    check_equal((run.code, run.stdout), (0, prints), run.describe())
    threads, said = exported(scratch("again"))
    (events,) = threads.values()
    kept = len(names_of(events)) - number_before(said, "calls without an end")
    kept += number_before(said, "ends without a beginning")
    lost = number_before(said, LOST)
    check(lost > 0 and kept > 50_000, f"{kept} kept, {lost} lost" + run.describe())
    check(0 <= kept + lost - len(order_of_leaves()) <= 1, f"{kept} kept, {lost} lost")
    check_equal(number_before(run.stderr, "records found no room in a full ring"), lost, "what recover says")


@case
def flush_and_kill():
    """After kill -9 `dwell recover` has all up to the end; a file that is cut loses its last block alone, and
    that is said."""
    run = flushed([program("known_events"), "4000", "kill"], 2, interrupt=kill_when_quiet)
    records = scratch("records")
    (place,) = [where for where, _, files in os.walk(records) if "rank.0" in files]
    spilled = os.path.join(place, "events.rank.1")
    check(os.path.getsize(spilled) > 10 * 65536, "flushed" + run.describe())
    os.truncate(spilled, os.path.getsize(spilled) - 5)
    made = execute([DWELL, "recover", place, "-o", scratch("again")])
    check("at the end of flushed events are not whole" in made.stderr, made.describe())
    threads, said = exported(scratch("again"))
    found = {rank: rounds_in(threads[rank, 0]) for rank in (0, 1)}
    check_equal(found[0], known_round(0) * 4000, "events of rank 0")
    check(number_before(said, "words are missing in the logs") > 7000, said)
    missing = 4000 * len(known_round(1)) - len(found[1])
    check(0 < missing < 8192, f"{missing} events are missing")


def report_of(place):
    with open(os.path.join(place, "report.txt"), encoding="utf-8") as stream:
        return stream.read().splitlines()


def last_of(lines, rank):
    """The events in the section of a rank: (before the end, what)."""
    at = [i for i, line in enumerate(lines) if line.strip() == f"Last events of rank {rank}"]
    check_equal(len(at), 1, f"sections of rank {rank} in\n" + "\n".join(lines[:60]))
    found = []
    for line in lines[at[0] + 1:]:
        match = re.fullmatch(r"\s+(0|-[\d.]+ (?:s|ms|us|ns)|not left)  (.*)", line)
        if not match:
            break
        found.append(match.groups())
    return found


@case
def last_in_the_report():
    """After an abort the report of `dwell recover` says what each rank did last, as the program does it."""
    rounds = 3000
    run = run_observed([program("known_events"), str(rounds), "abort"], 2, scratch("out"),
                       ["--events=last:500"], env=apart())
    check(run.code != 0, run.describe())
    made = execute([DWELL, "recover", kept_records(run), "-o", scratch("out")])
    check_equal(made.code, 0, made.describe())
    lines = report_of(scratch("out"))
    begin = next(i for i, line in enumerate(lines) if "Last events" in line)
    end = next(i for i, line in enumerate(lines) if "All events: " in line)
    check(max(len(line) for line in lines[begin + 1:end + 1]) <= 80, "wider than 80 columns")
    last = last_of(lines, 1)
    file = source("known_events.c")
    with open(file, encoding="utf-8") as stream:
        text = stream.read().splitlines()
    line_of = {word: next(i for i, line in enumerate(text, 1) if word in line)
               for word in ('MPI_Send(data, count, MPI_DOUBLE, 0', "MPI_Bcast", 'dwell_block_begin("round")')}
    send, bcast, block = (f"known_events.c:{line}" for line in line_of.values())
    want = [f"enter MPI_Send {send}", f"send to rank 0, tag {rounds - 1}, {8 * rounds} bytes",
            f"leave MPI_Send {send}"]
    texts = [what for _, what in last]
    begin = texts.index(want[0])
    check_equal(texts[begin:begin + 3], want, "the last message")
    check(texts.index(f"enter MPI_Bcast {bcast}") < texts.index(f"leave MPI_Bcast {bcast}"), f"{texts}")
    check(any(what.startswith("leave round") for what in texts), f"{texts} {block}")
    check(any("dwell export" in line for line in lines), "how to see all")
    shown = execute([DWELL, "report", scratch("out")])
    check("Last events of rank 1" in shown.stdout, "dwell report" + shown.describe())


@case
def last_after_a_kill():
    """The same after kill -9 of everything, without `dwell run`. Of six ranks, which all hang, four are shown
    and the others counted."""
    env = {**apart(), "LD_PRELOAD": LIBRARY, "DWELL_EVENTS": "last:500"}
    execute(mpirun(6, program("known_events"), "5"), 6, env=env, interrupt=kill_when_quiet)
    (place,) = [where for where, _, files in os.walk(scratch("records")) if "rank.0" in files]
    made = execute([DWELL, "recover", place, "-o", scratch("again")])
    lines = report_of(scratch("again"))
    shown = [line.split()[-1] for line in lines if line.strip().startswith("Last events of rank")]
    check_equal(len(set(shown)), 4, f"ranks {shown}" + made.describe())
    check(any("2 more ranks did not reach their end" in line for line in lines), "\n".join(lines))
    for rank in shown:
        texts = [what for _, what in last_of(lines, rank)]
        check(any(what.startswith(("enter round", "not left", "leave MPI_Init")) for what in texts), f"{texts}")


@case
def dump_of_the_watchdog():
    """When the watchdog speaks the newest events are in the log, while the job still runs."""
    out, env = scratch("out"), apart()
    found = []

    def look(process):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and not found:
            time.sleep(0.2)
            if not os.path.isdir(os.path.join(out, "events")):
                continue
            seen = execute([DWELL, "export", out, "--to", "chrome", "-o", scratch("now.json")])
            with open(scratch("now.json"), encoding="utf-8") as stream:
                found.extend(re.findall(r"2400 bytes, tag 299", stream.read()) if seen.code == 0 else [])
        os.killpg(process.pid, signal.SIGTERM)

    run = run_observed([program("known_events"), "300", "kill"], 2, out, ["--events=last:500", "--watchdog", "2"],
                       env=env, interrupt=look)
    check(found, "no dump" + run.describe())
    check("dwell watchdog" in run.stderr, run.describe())


@case
def bad_words():
    """A word that is none gets one line."""
    run = execute([DWELL, "run", "--events-full", "wait", "true"])
    check_equal(run.code, 2, run.describe())
    check("drop" in run.stderr and "flush" in run.stderr, run.describe())


if __name__ == "__main__":
    main()
