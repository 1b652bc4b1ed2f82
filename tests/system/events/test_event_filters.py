"""Events that are left out, changed and added before they are written: --events-longer and
--events-filter. The programs say what is to be left."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import (DWELL, ROOT, Profile, case, check, check_equal, execute, main, mpirun, program, run_observed,
                     scratch)
from exporting import number_before
from known_logs import call, exported, known_round, names_of, plain, rounds_in

ROUNDS = 40
HEADER = os.path.join(ROOT, "report", "filter")
EXAMPLE = os.path.join(ROOT, "examples", "events_filter.c")

KEEPS = "enum dwell_verdict dwell_event_filter_record(struct dwell_event* e, struct dwell_filter* f) {"


def compiled(text, name="filter"):
    """A filter of C text, or of a file."""
    path = text
    if not os.path.exists(text):
        path = scratch(name + ".c")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("#include <dwell_events.h>\n#include <stdlib.h>\n#include <string.h>\n" + text)
    library = scratch(name + ".so")
    made = execute(["gcc", "-O1", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-shared", "-fPIC", "-I",
                    HEADER, path, "-o", library])
    check_equal(made.code, 0, made.describe())
    return library


def run_around(options, *argv):
    """Around the launcher: one `dwell run` collects from beginning to end, however late a rank starts."""
    run = execute([DWELL, "run", "-o", scratch("out"), "--events", *options, *mpirun(2, *argv)], 2)
    check_equal(run.code, 0, run.describe())
    return run


def filtered(setting):
    """A run of known_events with a filter; its events by thread, and what was said."""
    run = run_around(["--events-filter", setting], program("known_events"), str(ROUNDS))
    threads, said = exported(scratch("out"))
    check("missing" not in said and "lost" not in said, said)
    return threads, run.stderr, said


def said_counts(text):
    found = re.search(r"events: filter \S+ dropped (\d+), changed (\d+), added (\d+) records", text)
    check(found, text)
    return tuple(int(number) for number in found.groups())


@case
def example():
    """examples/events_filter.c: of 40 messages each way the 20 of more than 160 bytes are left, each with a
    mark behind it; calls are as without a filter."""
    threads, stderr, said = filtered(compiled(EXAMPLE) + ":160")
    check_equal(said_counts(stderr), (80, 0, 80), "records dropped, changed, added")
    check("80 records were left out, 0 changed, 80 added" in said, said)
    for rank in (0, 1):
        events = threads[rank, 0]
        calls = [e for e in rounds_in(events) if e != ("i", "large message")]
        check_equal(calls, known_round(rank) * ROUNDS, f"events of rank {rank}")
        messages = [e["name"] for e in events if e["ph"] in "sf"]
        want = [f"{8 * (r + 1)} bytes, tag {r}" for r in range(20, ROUNDS) for _ in range(2)]
        check_equal(messages, want, f"messages of rank {rank}")
        # A receipt is the end of an arrow and an instant.
        events = [e for e in events if not e["name"].startswith("received: ")]
        for before, after in zip(events, events[1:]):
            check_equal(plain(after["name"]) == "large message", before["ph"] in "sf",
                        f"{before} is followed by {after}")
    shown = execute([DWELL, "report", os.path.join(scratch("out"), "events")])
    check_equal(shown.code, 0, shown.describe())
    check("the log is filtered" in shown.stderr, shown.describe())
    Profile(scratch("out"))


@case
def many_at_once():
    """A filter that keeps everything: everything is there, also where one look finds more than a block of the
    log holds, and where threads flush. A filter holds back flushes: what they lose then is said."""
    library = compiled(KEEPS + " return DWELL_KEEP; } DWELL_EVENT_FILTER")
    rounds = 8000
    for options in (["--events-ring", "16384"], ["--events-full", "flush", "--events-ring", "64"]):
        run = run_around(["--events-filter", library, *options], program("known_events"), str(rounds))
        check_equal(said_counts(run.stderr), (0, 0, 0), "records dropped, changed, added")
        threads, said = exported(scratch("out"))
        check("missing" not in said, said)
        if "flush" in options and "records were lost in full rings" in said:
            check(min(len(events) for events in threads.values()) > 1000, "few events")
        else:
            check("lost" not in said, said)
            for rank in (0, 1):
                check_equal(rounds_in(threads[rank, 0]), known_round(rank) * rounds, f"{options}: rank {rank}")
        shutil.rmtree(scratch("out"))


@case
def nesting():
    """Who drops the enter of a block or of a call drops its leave, and of the call its messages."""
    threads, stderr, said = filtered(compiled(KEEPS + """
        if (e->kind == DWELL_EVENT_LEAVE) return DWELL_DROP;  /* no effect */
        if (e->kind != DWELL_EVENT_ENTER) return DWELL_KEEP;
        return strcmp(e->name, "round") == 0 || strcmp(e->name, "MPI_Recv") == 0 ? DWELL_DROP : DWELL_KEEP;
        }
        DWELL_EVENT_FILTER"""))
    check("without" not in said, said)
    # In each round two records of "round" in both ranks, and MPI_Recv with a receive in rank 0; and what
    # the calls tell of their waiting.
    dropped, changed, added = said_counts(stderr)
    check(ROUNDS * (2 + 2 + 3) <= dropped <= ROUNDS * (2 + 2 + 4), f"{dropped} dropped")
    check_equal((changed, added), (0, 0), "changed and added")
    for rank in (0, 1):
        found = [e for e in names_of(threads[rank, 0], "BEi") if e[1] in ("round", "turn", *BODY_CALLS)]
        want = [e for e in known_round(rank) * ROUNDS if e[1] not in ("round", "MPI_Recv")]
        check_equal(found, want, f"events of rank {rank}")
        receives = sum(1 for e in threads[rank, 0] if e["ph"] == "f")
        check_equal(receives, 0 if rank == 0 else ROUNDS, f"receives of rank {rank}")


BODY_CALLS = ("MPI_Send", "MPI_Recv", "MPI_Irecv", "MPI_Wait", "MPI_Bcast")


@case
def changed_and_merged():
    """A filter changes tags and bytes, and makes one mark of all messages of a rank."""
    threads, stderr, _ = filtered(compiled("""
        static uint64_t sum[2];
        DWELL_EVENT_FILTER """ + KEEPS + """
        if (e->kind == DWELL_EVENT_SEND) {
            sum[e->rank] += e->bytes_sent;
            if (e->tag == 39) f->add_mark(f, "all sent", 1, &sum[e->rank]);
            e->tag += 1000;
        }
        if (e->kind == DWELL_EVENT_RECEIVE) { e->tag += 1000; e->bytes_received = 5; }
        e->kind = DWELL_EVENT_IO;  /* no effect */
        return DWELL_KEEP; }"""))
    check_equal(said_counts(stderr), (0, 4 * ROUNDS, 2), "records dropped, changed, added")
    for rank in (0, 1):
        events = threads[rank, 0]
        names = [e["name"] for e in events if e["ph"] == "s"]
        check_equal(names, [f"{8 * (r + 1)} bytes, tag {1000 + r}" for r in range(ROUNDS)], "sends")
        names = [e["name"] for e in events if e["ph"] == "f"]
        check_equal(names, [f"5 bytes, tag {1000 + r}" for r in range(ROUNDS)], "receives")
        check_equal(sum(1 for e in events if plain(e["name"]) == "all sent"), 1, "marks")
    out = scratch("events.picl")
    made = execute([DWELL, "export", scratch("out"), "--to", "picl", "-o", out])
    check_equal(made.code, 0, made.describe())
    with open(out, encoding="utf-8", errors="replace") as stream:
        check(re.search(rf"\b{8 * sum(range(1, ROUNDS + 1))}\b", stream.read()), "no mark has the sum")


@case
def flows():
    """Where every second send is dropped, and no receive, those that are left still meet their receives, and
    the other receives are said to have no other end."""
    library = compiled(KEEPS + """
        return e->kind == DWELL_EVENT_SEND && e->bytes_sent / 8 % 2 == 0 ? DWELL_DROP : DWELL_KEEP; }
        DWELL_EVENT_FILTER""")
    run = run_around(["--events-filter", library], program("slow_instances"), "30", "0")
    check_equal(said_counts(run.stderr), (15, 0, 0), "records dropped, changed, added")
    threads, said = exported(scratch("out"))
    check_equal(number_before(said, "sends and receives have no other end"), 15, "lone receives")
    sent = {e["id"]: e["name"] for e in threads[0, 0] if e["ph"] == "s"}
    received = {e["id"]: e["name"] for e in threads[1, 0] if e["ph"] == "f"}
    check_equal((len(sent), len(received)), (15, 15), "messages")
    for number, name in sent.items():
        check_equal(received.get(number), name, "the receive of a message")


@case
def in_each_rank():
    """The usual way, with a `dwell run` for each rank: one of them collects."""
    run = run_observed([program("known_events"), str(ROUNDS)], 2, scratch("out"),
                       ["--events", "--events-filter", compiled(EXAMPLE) + ":160"])
    check_equal(run.code, 0, run.describe())
    lines = re.findall(r"events: filter \S+ dropped (\d+), changed 0, added (\d+) records", run.stderr)
    # Two lines where rank 1 started long before rank 0, whose `dwell run` then went on.
    check_equal([sum(int(line[i]) for line in lines) for i in (0, 1)], [80, 80], "dropped, added" + run.describe())
    threads, said = exported(scratch("out"))
    check("missing" not in said and "lost" not in said, said)
    for rank in (0, 1):
        calls = [e for e in rounds_in(threads[rank, 0]) if e != ("i", "large message")]
        check_equal(calls, known_round(rank) * ROUNDS, f"events of rank {rank}")


def runs_of_rank(rank, out):
    """The `dwell run` of a rank, with its other processes."""
    listed = subprocess.run(["pgrep", "-f", f"{DWELL} run -o {out}"], capture_output=True, text=True, check=False)
    for pid in map(int, listed.stdout.split()):
        try:
            with open(f"/proc/{pid}/environ", "rb") as stream:
                if f"OMPI_COMM_WORLD_RANK={rank}".encode() in stream.read().split(b"\0"):
                    yield pid
        except OSError:
            pass


@case
def taken_over():
    """The `dwell run` that collects is stopped for a while: another one goes on, in the middle of the rings,
    and gives them back. Nothing is lost, and nothing seems to be."""
    out, count = scratch("out"), 140

    def stop(process):
        time.sleep(0.8)
        for number in (signal.SIGSTOP, signal.SIGCONT):
            for pid in list(runs_of_rank(0, out)):
                os.kill(pid, number)
            time.sleep(3 if number == signal.SIGSTOP else 0)

    library = compiled(KEEPS + " return DWELL_KEEP; } DWELL_EVENT_FILTER")
    run = run_observed([program("slow_instances"), str(count), "200"], 2, out,
                       ["--events", "--events-filter", library], interrupt=stop)
    check_equal(run.code, 0, run.describe())
    threads, said = exported(out)
    check("missing" not in said and "without" not in said, said)
    for rank, name in ((0, "MPI_Send"), (1, "MPI_Recv")):
        found = [e for e in names_of(threads[rank, 0], "BEi") if e[1] in ("work", "step", name)]
        check_equal(found, [("B", "work"), *call(name), ("E", "work"), ("i", "step")] * count, f"events of rank {rank}")
        messages = [int(e["name"].split()[0]) // 8 - 1 for e in threads[rank, 0] if e["ph"] in "sf"]
        check_equal(messages, list(range(count)), f"messages of rank {rank}")
    ends = {}
    for events in threads.values():
        for event in events:
            if event["ph"] in "sf":
                ends.setdefault(event["id"], set()).add(event["name"])
    for names in ends.values():
        check_equal(len(names), 1, f"messages of one number {names}")


@case
def refused():
    """What is no filter is refused in one line, and the program is not started."""
    ran = scratch("ran")
    version = "const unsigned dwell_event_filter_version = 99;"
    for setting, words in (
            (scratch("missing.so"), "No such file"),
            (DWELL, "cannot"),
            (compiled("int nothing;", "empty"), "lacks DWELL_EVENT_FILTER"),
            (compiled("DWELL_EVENT_FILTER", "without"), "lacks the function dwell_event_filter_record"),
            (compiled(f"{KEEPS} return DWELL_KEEP; }} {version}", "newer"), "version 99"),
            (compiled(EXAMPLE, "example") + ":many", "refuses 'many'"),
            (compiled(f"{KEEPS} return DWELL_KEEP; }} DWELL_EVENT_FILTER\n"
                      "__attribute__((constructor)) static void fall(void) { abort(); }", "falls"),
             f"signal {int(signal.SIGABRT)}")):
        run = execute([DWELL, "run", "--events", "--events-filter", setting, "touch", ran])
        check_equal(run.code, 2, run.describe())
        check(words in run.stderr, f"{words}" + run.describe())
        lines = [line for line in run.stderr.splitlines() if line.startswith("dwell:")]
        check_equal(len(lines), 1, "lines" + run.describe())
        check(not os.path.exists(ran), "the program was started" + run.describe())
    for value in ("10", "ms", "10ms:", "0ms", "10ms exchange", "1.5s"):
        run = execute([DWELL, "run", "--events", "--events-longer", value, "touch", ran])
        check_equal(run.code, 2, run.describe())
        check("10ms:exchange" in run.stderr, run.describe())
        check(not os.path.exists(ran), "the program was started" + run.describe())


@case
def a_filter_that_fails():
    """A filter that crashes, or ends its process, does no harm: the program runs on, and from then on all
    events are written."""
    for how, words in (("*(volatile int*)0 = 1", "signal 11"), ("exit(3)", "code 3"), ("_Exit(0)", "has ended")):
        threads, stderr, _ = filtered(compiled("static int seen; DWELL_EVENT_FILTER " + KEEPS + f"""
            if (++seen == 50) {how};
            return DWELL_KEEP; }}"""))
        check(words in stderr and "events behind that are written as they are" in stderr, stderr)
        for rank in (0, 1):
            check_equal(rounds_in(threads[rank, 0]), known_round(rank) * ROUNDS, f"events of rank {rank}")
        Profile(scratch("out"))


def instances(stdout):
    """By rank: what the program says how long each instance took."""
    found = {0: {}, 1: {}}
    for rank, number, ms in re.findall(r"^([01]) (\d+) ([\d.]+)$", stdout, re.M):
        found[int(rank)][int(number)] = float(ms)
    return found


LIMIT_MS = 100
INSTANCES = 16


def run_slow(longer, *options):
    run = run_around(["--events-longer", longer, *options], program("slow_instances"), str(INSTANCES),
                     str(2 * LIMIT_MS))
    threads, said = exported(scratch("out"))
    check("missing" not in said and "without" not in said, said)
    check_equal(sorted(threads), [(0, 0), (1, 0)], "threads" + said + run.describe())
    took = instances(run.stdout)
    long = {rank: [i for i, ms in took[rank].items() if ms > LIMIT_MS] for rank in took}
    check(all(set(range(0, INSTANCES, 4)) <= set(long[rank]) for rank in long), f"{took}")
    # Shorter than it looks to the program, as dwell's own time is not in it.
    uncertain = any(LIMIT_MS < ms < 1.5 * LIMIT_MS for of in took.values() for ms in of.values())
    return run, threads, long, uncertain


@case
def long_instances():
    """Of a site only the instances that take longer than the limit, with all that is in them."""
    run, threads, long, uncertain = run_slow(f"{LIMIT_MS}ms:work")
    if not uncertain:
        short = 2 * INSTANCES - len(long[0]) - len(long[1])
        check(f"{short} instances of work took no longer" in run.stderr, f"{short}" + run.describe())
    for rank, name in ((0, "MPI_Send"), (1, "MPI_Recv")):
        found = names_of(threads[rank, 0], "BEi")
        one = [("B", "work"), *call(name), ("E", "work")]
        check_equal(found, one * (len(found) // len(one)), f"events of rank {rank}")
        messages = [int(e["name"].split()[0]) // 8 - 1 for e in threads[rank, 0] if e["ph"] in "sf"]
        if not uncertain:
            check_equal(messages, long[rank], f"instances of rank {rank}")
        check(set(range(0, INSTANCES, 4)) <= set(messages), f"instances of rank {rank}: {messages}")


@case
def long_ones_of_all():
    """Without a pattern whatever is shorter than the limit is left out, at each depth."""
    run, threads, long, _ = run_slow(f"{LIMIT_MS}ms")
    check("--events-longer left out" in run.stderr, run.describe())
    for rank in (0, 1):
        events = [e for e in threads[rank, 0] if e["ph"] in "BE"]
        open_calls, works = [], 0
        for event in events:
            if event["ph"] == "B":
                open_calls.append(event)
                continue
            begin = open_calls.pop()
            check_equal(event["name"], begin["name"], "ends")
            took_ms = (event["ts"] - begin["ts"]) / 1000
            check(took_ms > 0.999 * LIMIT_MS, f"{begin} took {took_ms} ms")
            works += plain(begin["name"]) == "work"
        check(INSTANCES // 4 <= works <= len(long[rank]), f"{works} of {long[rank]}")


@case
def none_is_long():
    """All of a program was left out: its log is empty, not damaged."""
    run = run_around(["--events-longer", "100s:work"], program("slow_instances"), "4", "1")
    check("8 instances of work took no longer" in run.stderr, run.describe())
    shown = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    check_equal(shown.code, 0, shown.describe())
    profile = json.loads(shown.stdout)
    check_equal(len(profile["nodes"]), 1, "places")
    check(not any("damaged" in note for note in profile["notes"]), f"{profile['notes']}")
    check("events_missing" in profile["flags"], f"{profile['flags']}")


@case
def both():
    """The filter sees what the trigger has passed on."""
    library = compiled("static unsigned works; DWELL_EVENT_FILTER " + KEEPS + """
        if (e->kind == DWELL_EVENT_ENTER && strcmp(e->name, "work") == 0) {
            const uint64_t number = ++works;
            f->add_mark(f, "seen", 1, &number);
        }
        return DWELL_KEEP; }""")
    _, threads, _, _ = run_slow(f"{LIMIT_MS}ms:wor*", "--events-filter", library)
    for rank in (0, 1):
        found = names_of(threads[rank, 0], "BEi")
        works = found.count(("B", "work"))
        check(works >= INSTANCES // 4, f"{found}")
        check_equal(found.count(("i", "seen")), works, "marks")


@case
def open_at_the_end():
    """What is open when the log ends is in it, however short it is: it may be what hangs."""
    out = scratch("out")
    execute(mpirun(2, DWELL, "run", "-o", out, "--events", "--events-longer", "100s:round",
                   program("known_events"), "3000", "abort"), 2)
    threads, _ = exported(out)
    for (rank, _), events in threads.items():
        starts = [e for e in names_of(events, "B") if e[1] == "round"]
        check(len(starts) <= 1, f"{len(starts)} instances in rank {rank}")


if __name__ == "__main__":
    main()
