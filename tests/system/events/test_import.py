"""Traces become event logs: the sample of ORNL/TM-12125, and what dwell itself exports."""

import json
import os

import sddf_reader
from exporting import export
from kinds_of_events import kinds_log
from harness import DWELL, case, check, check_equal, check_near, execute, main, scratch

# Table 20, without the numbers of the program's lines; lines that the table breaks are whole.
SAMPLE = """\
-3 -901 -0.715036 6 0 0
-2 -904 -0.715024 6 0 3 2 1 1 1
-3 -902 -0.715017 6 0 1 2 2
-4 -902 -0.713847 6 0 0
-3 -11 -0.713833 6 0 0
-4 -11 -0.713735 6 0 0
-3 -903 -0.713724 6 0 0
-4 -903 -0.008091 6 0 0
-3 -401 -0.008079 6 0 0
-4 -401 0.000005 6 0 0
-3 0 0.000016 6 0 2 2 0 0
-3 -52 0.000128 6 0 1 2 0
-4 -52 0.000516 6 0 3 2 8 0 0
-4 0 0.000539 6 0 2 2 0 0
0 0 0.000635 6 0 1 5 0.000124
-3 1 0.000711 6 0 2 2 0 0
-3 -52 0.000818 6 0 1 2 1
-4 -52 0.001643 6 0 3 2 8 1 5
-3 -21 0.001665 6 0 3 2 8 1 7
-4 -21 0.001711 6 0 0
-4 1 0.001724 6 0 2 2 0 0
0 1 0.001971 6 0 1 5 0.000410
-2 -12 0.001979 6 0 0
-4 -901 0.001982 6 0 0
-101 -1 0.001982 6 0 7 "%d%lf" -11 0.000098 -21 0.000046 -52 0.001212 -401 0.008083 -901 0.717018 -902 0.001170 -903 0.705632
-102 -1 0.001982 6 0 9 "%d%d" -11 1 -12 1 -21 1 -52 2 -401 1 -901 1 -902 1 -903 1 -904 1
-103 -1 0.001982 6 0 3 "%d%d" -21 8 -52 16 -901 428
-101 -1 0.001982 6 0 2 "%d%lf" 0 0.000523 1 0.001013
-102 -1 0.001982 6 0 2 "%d%d" 0 1 1 1
-101 0 0.001982 6 0 1 "%d%lf" -52 0.000387
-102 0 0.001982 6 0 1 "%d%d" -52 1
-103 0 0.001982 6 0 1 "%d%d" -52 8
-101 1 0.001982 6 0 2 "%d%lf" -21 0.000046 -52 0.000825
-102 1 0.001982 6 0 2 "%d%d" -21 1 -52 1
-103 1 0.001982 6 0 2 "%d%d" -21 8 -52 8
"""

# What the report says of it (appendix A and Table 19), in microseconds since the call of tracenode,
# which was at -0.715036 s: processor 6 of 8 sets its tracing levels, profiles two user events, opens
# communication, names its trace file and synchronizes clocks. In user event 0 it receives 8 bytes
# that processor 0 broadcasts with type 0. In user event 1 it receives 8 bytes of type 1 from its
# left neighbour in the ring, and sends them on to its right one.
MEANING = [
    (12, "mark", "tracelevel"),
    (19, "enter", "traceevents"), (1189, "leave", "traceevents"),
    (1203, "enter", "open0"), (1301, "leave", "open0"),
    (1312, "enter", "tracefiles"), (706945, "leave", "tracefiles"),
    (706957, "enter", "clocksync0"), (715041, "leave", "clocksync0"),
    (715052, "enter", "event 0"),
    (715164, "enter", "MPI_Recv"),
    (715552, "receive", {"source": 0, "tag": 0, "bytes": 8}), (715552, "leave", "MPI_Recv"),
    (715575, "leave", "event 0"),
    (715671, "mark", "record 0 of event 0"),
    (715747, "enter", "event 1"),
    (715854, "enter", "MPI_Recv"),
    (716679, "receive", {"source": 5, "tag": 1, "bytes": 8}), (716679, "leave", "MPI_Recv"),
    (716701, "enter", "MPI_Send"), (716701, "send", {"destination": 7, "tag": 1, "bytes": 8}),
    (716747, "leave", "MPI_Send"),
    (716760, "leave", "event 1"),
    (717007, "mark", "record 0 of event 1"),
    (717015, "mark", "close0"),
]


def write(name, text):
    path = scratch(name)
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    return path


def imported(trace, out="imported.events", code=0):
    run = execute([DWELL, "import", trace, "-o", scratch(out)])
    check_equal(run.code, code, "dwell import" + run.describe())
    return scratch(out), run.stderr


def events_of(log):
    """What an independent reader of the exported log finds, in microseconds."""
    path, _ = export(log, "sddf", "of-import.sddf")
    file = sddf_reader.read(path)
    places = {place["place"]: place["name"] for place in file.of("place")}
    found = []
    for name, record in file.records:
        if "seconds" not in record:
            continue
        at = round(record["seconds"] * 1e6)
        if name in ("enter", "leave"):
            found.append((at, name, places[record["place"]]))
        elif name.startswith("marker "):
            found.append((at, "mark", name[len("marker "):]))
        else:
            keys = [key for key in ("source", "destination", "tag", "bytes") if key in record]
            found.append((at, name, {key: record[key] for key in keys}))
    return file, found


@case
def sample():
    """Which processor does what, when, with how many bytes, to whom."""
    log, said = imported(write("trace", SAMPLE))
    check("11 statistics records" in said, f"statistics are told of: {said}")
    file, found = events_of(log)
    check_equal(found, MEANING, "the meaning of the sample")
    check_equal([process["rank"] for process in file.of("process")], [6], "processors")
    check_equal({record["rank"] for name, record in file.records if "seconds" in record}, {6},
                "where events were")


@case
def figures():
    """The report of the log has the times, counts and bytes that the sample's own statistics have."""
    log, _ = imported(write("trace", SAMPLE))
    run = execute([DWELL, "report", log, "--format", "json"])
    check_equal(run.code, 0, "dwell report" + run.describe())
    profile = json.loads(run.stdout)
    sums = {}
    for node in profile["nodes"]:
        at = sums.setdefault(node["name"] if node["kind"] != "comm" else node["call"], [0, 0, 0, 0])
        for i, key in enumerate(("time_ns", "count", "bytes_sent", "bytes_received")):
            at[i] += node[key]
    calls = sorted(sums[call] for call in sums if isinstance(call, int))
    check_equal(calls, [[46000, 1, 8, 0], [1213000, 2, 0, 16]], "messages")
    for name, time_us in (("traceevents", 1170), ("tracefiles", 705633), ("open0", 98),
                          ("clocksync0", 8084), ("event 0", 523), ("event 1", 1013)):
        check_equal(sums[name][:2], [time_us * 1000, 1], f"time and count of {name}")
    check_equal(profile["world_size"], 8, "processors")
    check_equal(profile["total_ns"], 717018000, "time between tracenode and traceexit")
    check_equal([rank["flags"] for rank in profile["ranks"]], [[]], "what is wrong with the records")


@case
def long_pauses():
    """A clock that begins late, and stands still for longer than a log's word can say."""
    log, _ = imported(write("trace", "-3 7 1000000.000000001 0 -1 0\n-4 7 1000500.25 0 -1 0\n"))
    _, found = events_of(log)
    check_equal(found, [(10**12, "enter", "event 7"), (10**12 + 500250000, "leave", "event 7")], "times")


@case
def descriptors():
    """Labels, control strings, aliases, marks with data, overlapping and unfinished events."""
    log, said = imported(write("trace", """\
-5 3 0 -1 -1 9 0 two words
-6 -1 0 -1 -1 1 "%d%s" 9 "%d%d%d%d"
-3 3 1.0 1 0 0
-3 -27 1.1 1 0 1 9 100 4 0 0
-4 -27 1.2 1 0 1 "%d" 17
-3 4 1.3 1 0 0
-4 3 1.4 1 0 0
-4 4 1.5 1 0 0
-3 -30 1.6 1 0 1 2 17
-4 -30 1.7 1 0 0
-2 -52 1.8 1 0 4 2 -1 5000000000 6 0
-2 5 1.9 1 0 1 2 77
-3 6 2.0 1 0 0
"""))
    check("exits without an entry" in said and "overlap" in said and "have no exit" in said,
          f"what is told: {said}")
    file, found = events_of(log)
    check_equal(found, [
        (1000000, "enter", "two words"),
        (1100000, "enter", "MPI_Isend"), (1100000, "send", {"destination": 0, "tag": 4, "bytes": 100}),
        (1200000, "request start", {}), (1200000, "leave", "MPI_Isend"),
        (1300000, "enter", "event 4"), (1400000, "leave", "event 4"), (1400000, "leave", "two words"),
        (1600000, "enter", "MPI_Wait"), (1700000, "request end", {}), (1700000, "leave", "MPI_Wait"),
        (1800000, "enter", "MPI_Recv"),
        (1800000, "receive", {"source": 0, "tag": 6, "bytes": 5000000000}),
        (1800000, "leave", "MPI_Recv"),
        (1900000, "mark", "event 5"),
        (2000000, "enter", "event 6"), (2000000, "leave", "event 6")], "events")
    check_equal([record["volume"] for record in file.of("marker event 5")], [77], "a volume")


@case
def damaged():
    """One line with its number, and no log."""
    lines = SAMPLE.splitlines()
    for number, line in ((3, "-3 -902 -0.715017 6 0 1 2"), (5, "-3 -11 yesterday 6 0 0"),
                         (11, "-3 0"), (13, "-4 -52 0.000516 6 0 3 2 8 0 0 0"),
                         (19, "-3 -21 0.001665 six 0 3 2 8 1 7"), (20, "-4 -21 0.0001 6 0 0"),
                         (25, '-101 -1 0.001982 6 0 7 "%d%lf -11'), (30, "\x01\x02\x03")):
        trace = write("trace", "\n".join(lines[:number - 1] + [line] + lines[number:]) + "\n")
        if os.path.exists(scratch("damaged.events")):
            os.remove(scratch("damaged.events"))
        _, said = imported(trace, "damaged.events", code=1)
        check_equal(len(said.strip().splitlines()), 1, f"lines of error: {said}")
        check(f"{trace}:{number}: " in said, f"line {number} of: {said}")
        check(not os.path.exists(scratch("damaged.events")), "a log of a damaged trace")
    _, said = imported(write("trace", ""), "damaged.events", code=1)
    check("no events" in said, said)
    check_equal([name for name in os.listdir(scratch()) if name.startswith(".damaged")], [],
                "files left behind")


def comparable(path):
    """Events of a file with the names of places, for each thread."""
    file = sddf_reader.read(path)
    places = {place["place"]: place for place in file.of("place")}
    threads = {}
    for name, record in file.records:
        if "seconds" not in record:
            continue
        record = dict(record)
        record["at"] = round(record.pop("seconds") * 1e9)
        if "place" in record:
            place = places[record.pop("place")]
            record["at place"] = (place["name"], place["file"], place["line"])
        threads.setdefault((record["rank"], record.pop("thread")), []).append((name, record))
    return threads


def round_trip(form):
    kinds = kinds_log()
    original, _ = export(kinds, "sddf", "original.sddf")
    trace, _ = export(kinds, form, "trace.sddf")
    log, said = imported(trace)
    again, _ = export(log, "sddf", "again.sddf")
    first, second = comparable(original), comparable(again)
    check_equal(sorted(first), sorted(second), "threads")
    for thread, events in first.items():
        check_equal(len(second[thread]), len(events), f"events of {thread}")
        for (name, record), (name_again, record_again) in zip(events, second[thread]):
            check_near(record_again.pop("at"), record.pop("at"), 0, 1, "a time")
            check_equal((name_again, record_again), (name, record), f"an event of {thread}")
    return trace, said


@case
def own_sddf():
    """An export, imported and exported again, has the same events."""
    trace, _ = round_trip("sddf")
    with open(trace, encoding="ascii") as file:
        lines = file.read().splitlines()
    number = next(i for i, line in enumerate(lines) if line.startswith('"send"'))
    for line in (lines[number].replace("}", ""), lines[number].replace(",", ";", 1),
                 '"sent"' + lines[number][6:], lines[number][:20]):
        _, said = imported(write("damaged.sddf", "\n".join([*lines[:number], line])), "no.events", 1)
        check(f"damaged.sddf:{number + 1}: " in said, f"line {number + 1} of: {said}")


@case
def own_binary_sddf():
    """The same of the binary form; one that is cut off is refused."""
    trace, _ = round_trip("sddf-binary")
    with open(trace, "rb") as file:
        content = file.read()
    with open(scratch("cut.sddf"), "wb") as file:
        file.write(content[:-5])
    _, said = imported(scratch("cut.sddf"), "no.events", 1)
    check("cut off" in said, said)


LEFT_OUT = """\
-5 -1 0.0 0 0 5 "%c" first
-5 -1 0.0 1 0 6 "%c" second
-201 -1 0.0 -1 -1 3 "%d" -2 0 1
-201 -1 0.0 -1 -1 3 "%d" 7 0 1
-202 -1 0.0 -1 -1 3 "%d" -3 0 1
-203 -1 0.0 -1 -1 3 "%d" -4 -21 -52
-203 -1 0.0 -1 -1 2 "%d" -5 -21
-3 0 0.5 0 0 0
-4 0 1.5 0 0 0
"""


@case
def left_out():
    """What a log has no place for is counted, each kind in a line."""
    path = scratch("left_out.picl")
    with open(path, "w", encoding="ascii") as stream:
        stream.write(LEFT_OUT)
    _, said = imported(path)
    for line in ("2 labels of processors and processes are left out",
                 "1 subsets of processors without a number of their own are left out",
                 "1 subsets of processes are left out", "2 subsets of event types are left out"):
        check(f"dwell: {line}\n" in said, f"{line!r} is not said: {said}")


@case
def statistics_alone():
    """A trace without events makes no log."""
    trace = write("trace", "-3 -901 0.0 0 0 0\n-4 -901 1.0 0 0 0\n")
    made = execute([DWELL, "import", trace, "-o", scratch("none.events")])
    check_equal(made.code, 1, made.describe())
    check("the trace has no events" in made.stderr and not os.path.exists(scratch("none.events")), made.describe())


@case
def not_into_a_device():
    """What is no file stays what it is."""
    os.mkfifo(scratch("pipe"))
    made = execute([DWELL, "import", write("trace", "-3 7 0.0 0 0 0\n-4 7 1.0 0 0 0\n"), "-o", scratch("pipe")])
    check_equal(made.code, 1, made.describe())
    check("this is no file" in made.stderr and not os.path.isfile(scratch("pipe")), made.describe())


@case
def persistent_requests():
    """MPI_Start has the message where it sends, and none where it receives."""
    log, said = imported(write("trace", """\
-3 -86 0.001 0 0 4 2 16 5 1 0
-3 -86 0.001 1 0 0
-4 -86 0.002 0 0 1 2 7
-4 -86 0.002 1 0 1 2 8
"""))
    check("left out" not in said, f"what is told: {said}")
    file, found = events_of(log)
    check_equal([event[1:] for event in found if event[1] == "send"],
                [("send", {"destination": 1, "tag": 5, "bytes": 16})], "messages")
    check_equal(len(file.of("request start")), 2, "requests")


@case
def own_picl():
    """dwell's own PICL has the messages of the log it was made from."""
    kinds = kinds_log()
    trace, _ = export(kinds, "picl", "kinds.picl")
    log, _ = imported(trace)
    original, _ = export(kinds, "sddf", "original.sddf")
    again, _ = export(log, "sddf", "again.sddf")
    for kind, partner in (("send", "destination"), ("receive", "source")):
        messages = [sorted((record["rank"], record[partner], record["tag"], record["bytes"])
                           for record in sddf_reader.read(path).of(kind))
                    for path in (original, again)]
        check_equal(messages[1], messages[0], kind)


if __name__ == "__main__":
    main()
