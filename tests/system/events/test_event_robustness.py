"""Event logs of programs and parents that behave badly, and logs with what no run leaves. What is missing is
said, nothing else is changed, and every export takes what is left."""

import glob
import json
import os
import re
import signal
import time

import edit_log
import log_words
from exporting import export, number_before
from harness import DWELL, Profile, case, check, check_equal, execute, main, mpirun, program, scratch
from log_words import MARK, RECEIVE, SEND, THREAD, control, kind, more, word_of
from test_epilog import read
from test_event_logs import ROUNDS, apart, exported, known_round, names_of, rounds_in

FORMATS = {"perfetto": "p", "chrome": "json", "picl": "picl", "sddf": "sddf", "sddf-binary": "b.sddf", "midi": "mid",
           "epilog": "elg", "otf2": "otf2"}


def hard(what_for, times=1, ranks=1, options=(), code=0, out="out"):
    words = [DWELL, "run", "--events", "-o", scratch(out), *options, program("hard_events"), what_for, str(times)]
    run = execute(mpirun(ranks, *words) if ranks > 1 else words, ranks, env=apart())
    if code is not None:
        check_equal(run.code, code, run.describe())
    return run


def known(out="known"):
    """The log of a run of known_events."""
    run = execute(mpirun(2, DWELL, "run", "-o", scratch(out), "--events", program("known_events"), str(ROUNDS)), 2)
    check_equal(run.code, 0, run.describe())
    return scratch(out)


def in_all_formats(place, wanted=(), without=()):
    """Each export succeeds and says what is wanted."""
    for form, suffix in FORMATS.items():
        if form in without:
            continue
        path, said = export(place, form, f"{os.path.basename(place)}.{suffix}")
        check(os.path.exists(path), f"no {form}")
        for words in wanted:
            check(words in said, f"{form} does not say {words!r}: {said}")


@case
def a_killed_parent():
    """`dwell run` is killed in the middle, and so is what it started itself. A program below goes on to its end,
    the log opens with a beginning of what it did, and the statistics are of all of it."""
    records, out, code = apart(), scratch("out"), scratch("code")
    messages = 1_500_000
    script = f"({program('many_messages')} {messages}; echo $? > {code}.new; mv {code}.new {code}) & wait"

    def kill(process):
        deadline = time.monotonic() + 30
        def is_long(log):
            return os.path.getsize(log) > 100_000
        while time.monotonic() < deadline and not any(map(is_long, glob.glob(os.path.join(out, "events", "*")))):
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)

    run = execute([DWELL, "run", "-o", out, "--events", "sh", "-c", script], env=records, interrupt=kill)
    check_equal(run.code, -signal.SIGKILL, run.describe())
    deadline = time.monotonic() + 60
    while not os.path.exists(code) and time.monotonic() < deadline:
        time.sleep(0.05)
    with open(code, encoding="utf-8") as stream:
        check_equal(stream.read().strip(), "0", "exit code of the program")
    threads, said = exported(out)
    check("not closed" in said, said)
    calls = [name for phase, name in names_of(threads[0, 0]) if phase == "B" and name != "MPI_Init"]
    check(calls, "nothing was kept")
    calls = [name for name in calls if name in ("MPI_Send", "MPI_Recv", "MPI_Sendrecv")]
    turn = (["MPI_Send", "MPI_Recv", "MPI_Sendrecv"], ["MPI_Sendrecv", "MPI_Send", "MPI_Recv"])[messages % 2]
    check_equal(calls[:3000], (turn * 1000)[:len(calls)], "calls")
    check(len(calls) < 3 * messages // 2, "nothing is missing: the parent was killed too late")
    left = [place for place, _, files in os.walk(records["DWELL_RECORD_DIR"]) if "rank.0" in files]
    check(not left, f"records are left in {left}")
    with open(os.path.join(out, "profile.json"), encoding="utf-8") as stream:
        nodes = json.load(stream)["nodes"]
    check_equal(sum(node["bytes_sent"] for node in nodes if node["kind"] == "comm"), 8 * messages, "bytes sent")


def shown_threads(place):
    """The events of each thread; of several processes of a rank, which share a number, too."""
    path, _ = export(place, "chrome", "shown.json")
    with open(path, encoding="utf-8") as stream:
        events = [event for event in json.load(stream)["traceEvents"] if event["ph"] != "M"]
    keys = sorted({(event["pid"], event["tid"]) for event in events})
    return [[event for event in events if (event["pid"], event["tid"]) == key] for key in keys]


@case
def forks_and_execs():
    """A child's events are not in the ring of its parent. A program that the child starts has a profile and
    events of its own. Both end as they would without dwell, and without waiting."""
    plain = execute([program("hard_events"), "forks", "6"])
    run = hard("forks", 6)
    check_equal(run.stdout, plain.stdout, "output")
    check_equal(run.stdout.split("\n")[3], "child 3: 5", "the fourth line")
    check(run.elapsed_s < plain.elapsed_s + 15, f"{run.elapsed_s} s, {plain.elapsed_s} s without dwell")
    found = {}
    for place in sorted(os.listdir(scratch())):
        if os.path.exists(scratch(place) + "/events"):
            found[place] = [names_of(events, "BEi") for events in shown_threads(scratch(place))]
    parents = [events for logs in found.values() for events in logs if ("B", "round") in events]
    check_equal(len(parents), 1, f"logs of the parent in {found.keys()}")
    events = parents[0][parents[0].index(("B", "round")):]
    last = len(events) - events[::-1].index(("E", "round"))
    check_equal(events[:last], [("B", "round"), ("i", "before"), ("i", "after"), ("E", "round")] * 6, "events")
    others = [event for logs in found.values() for events in logs for event in events if "in" in event[1].split()]
    check_equal(others, [("B", "in new program"), ("E", "in new program")] * 3, "events of children")


@case
def short_threads():
    """10 000 threads, eight at a time, need few rings; each record is behind the one that names its thread."""
    count = 10_000
    hard("threads", count)
    rings = log_words.rings(scratch("out"))
    check(len(rings) <= 32, f"{len(rings)} rings")
    seen = 0
    for words in rings.values():
        thread = None
        for i, word in enumerate(words):
            if control(word, THREAD):
                thread = words[i + 1] >> 4
            elif kind(word) == MARK:
                check_equal(words[i + 1] >> 4, thread, "the thread of a marker")
                seen += 1
    check_equal(seen, count, "markers")
    in_all_formats(scratch("out"))


@case
def no_room_for_rings():
    """Threads that find no room for a ring are counted; the others have their events, and all are in the
    statistics."""
    run = hard("threads", 64, options=["--events-ring", "65536", "--memory", "16"])
    threads, _ = exported(scratch("out"))
    marks = sum(1 for events in threads.values() for event in events if event["ph"] == "i")
    profile = Profile(scratch("out"), run)
    check_equal(sum(node["count"] for node in profile.json["nodes"] if node["name"] == "id"), 64, "in the statistics")
    without = re.search(r"(\d+) threads? had no room for a ring", run.stderr)
    check_equal(marks + (int(without[1]) if without else 0), 64, "markers and threads without a ring" + run.describe())


@case
def a_clock_that_steps():
    """The time of day jumps by hours: the times of the log go on."""
    hard("clock", 50)
    threads, _ = exported(scratch("out"))
    events = threads[0, 0]
    times = [event["ts"] for event in events]
    check_equal(times, sorted(times), "order of times")
    check(times[-1] - times[0] < 60_000_000, f"{times[0]} to {times[-1]} µs")
    check_equal(sum(1 for event in names_of(events) if event == ("B", "round")), 50, "rounds")
    path, _ = export(scratch("out"), "otf2", "clock.otf2")
    check(os.path.exists(path), "no archive")


@case
def communicators_used_again():
    """Of three ranks two make communicators, send in them and free them: each message is in its own."""
    rounds = 120
    hard("comms", rounds, 3)
    trace = read(export(scratch("out"), "epilog", "trace.elg")[0])
    ranks = {location: place["process"] for location, place in trace.locations.items()}
    sent = {event["tag"]: event for event in trace.of("MPI_SEND")}
    check_equal(sorted(sent), list(range(2 * rounds)), "tags")
    for tag, event in sent.items():
        pair = sorted({0, 1, 2} - {tag // 2 % 3})
        check_equal(sorted(trace.comms[event["cid"]]), pair, f"members of the communicator of message {tag}")
        check_equal(ranks[event["dlid"]], pair[0], f"receiver of message {tag}")
    check_equal(len({event["cid"] for event in sent.values()}), 2 * rounds, "communicators of messages")


@case
def open_at_a_crash():
    """Rank 1 ends by a signal inside of two blocks, while rank 0 is in two blocks and a receive: each export
    closes the four blocks at the last event and counts them."""
    for how in ("abort", "kill"):
        run = hard(how, ranks=2, code=None, out=how)
        check(run.code != 0, run.describe())
        threads, said = exported(scratch(how))
        check_equal(number_before(said, "calls without an end"), 4, said)
        for rank in (0, 1):
            events = threads[rank, 0]
            check_equal(names_of(events)[-2:], [("E", "inner"), ("E", "outer")], f"ends of rank {rank}")
            check_equal(events[-1]["ts"], events[-2]["ts"], "times of ends")
        in_all_formats(scratch(how), ["4 calls without an end are closed"])


@case
def large_figures():
    """A message of more than 2^31 bytes with the largest tag is the same in each format that can say it, and
    refused by name in EPILOG."""
    size, tag = 2**33 + 5, 2**31 - 1

    def change(words):
        for i, word in enumerate(words):
            if kind(word) in (SEND, RECEIVE):
                words[i + 1] = more(size)
                words[i + 2] = more(words[i + 2] >> 4 | tag)
        return words

    place = log_words.changed(known(), scratch("large"), change)
    check("damaged" not in exported(place)[1], "the log is damaged")
    in_all_formats(place, without=("epilog",))
    path, told = export(place, "epilog", "large.elg", code=1)
    check(f"{size} bytes" in told and "4294967295" in told and not os.path.exists(path), told)
    for name in ("large.json", "large.sddf", "large.picl"):
        with open(scratch(name), encoding="utf-8") as stream:
            text = stream.read()
        check(text.count(str(size)) >= 2 * ROUNDS and text.count(str(tag)) >= 2 * ROUNDS, f"figures in {name}")
    shown = execute(["otf2-print", scratch("large.otf2/traces.otf2")])
    check(shown.stdout.count(f"Length: {size}") >= 2 * ROUNDS, shown.stdout[-2000:])


@case
def large_groups():
    """MPI_COMM_WORLD with 5003 members in formats whose own tests do not have it."""
    edit_log.with_world_of(known(), scratch("world/events"), 5003)
    in_all_formats(scratch("world"), without=("otf2", "epilog"))


@case
def unknown_records():
    """Kinds of records that only another version knows are left out and counted."""
    unknown = [word_of(14, 77), more(1), more(2), word_of(13, 4000), more(3)]

    def change(words):
        return words + unknown

    place = log_words.changed(known(), scratch("newer"), change)
    blocks = len(log_words.rings(place))
    threads, said = exported(place)
    check_equal(number_before(said, "records of kinds that this version does not know"), 2 * blocks, said)
    check("damaged" not in said, said)
    for rank in (0, 1):
        check_equal(rounds_in(threads[rank, 0]), known_round(rank) * ROUNDS, f"events of rank {rank}")
    in_all_formats(place, ["does not know"])


@case
def a_damaged_block():
    """A byte in the middle of a log changes: what that part held is missing and counted, the rest is there."""
    place = known()
    path = log_words.logs_in(place)[0]
    with open(path, "rb") as stream:
        whole = stream.read()
    ends = log_words.chunk_ends(path)
    os.makedirs(scratch("damaged/events"))
    for begin, end in zip(ends, ends[1:]):
        changed = bytearray(whole)
        changed[(begin + end) // 2] ^= 0x10
        with open(scratch("damaged/events/log.events"), "wb") as stream:
            stream.write(changed)
        _, said = exported(scratch("damaged"))
        check_equal(number_before(said, "bytes of a log are damaged or cut off"), end - begin, said)
        if begin == ends[3]:
            in_all_formats(scratch("damaged"), ["damaged"])


@case
def cut_anywhere():
    """A log that ends at any byte opens, or is refused in one line; no export fails in another way."""
    path = log_words.logs_in(known())[0]
    with open(path, "rb") as stream:
        whole = stream.read()
    ends = log_words.chunk_ends(path)
    interesting = {0, 1, 143, 144, len(whole) - 1} | {end + by for end in ends[:-1] for by in (-1, 0, 1, 39, 41)}
    for size in sorted(interesting):
        with open(scratch("cut.events"), "wb") as stream:
            stream.write(whole[:size])
        run = execute([DWELL, "export", scratch("cut.events"), "--to", "chrome", "-o", scratch("cut.json")])
        check_equal(run.code, 0 if size >= 144 else 1, f"{size} bytes" + run.describe())
        check("not closed" in run.stderr if size >= 144 else "no event log" in run.stderr, run.stderr)
        shown = execute([DWELL, "report", scratch("cut.events")])
        check_equal(shown.code, run.code, f"{size} bytes" + shown.describe())
        check("not closed" in shown.stderr if size >= 144 else "no event log" in shown.stderr, shown.stderr)


if __name__ == "__main__":
    main()
