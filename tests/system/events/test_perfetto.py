"""Perfetto's traces, read by perfetto_reader.cpp, which is written from Perfetto's public definition."""

import json
import os
from collections import Counter

from exporting import clean, export, logged
from kinds_of_events import kinds_log, threads_log
from harness import case, check, check_equal, check_near, execute, main, program, skip_unless

READER = os.environ.get("SYSTEST_PERFETTO_READER", "")
ROUNDS = 40
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def packets_of(path):
    skip_unless(os.path.exists(READER), "perfetto_reader was not built")
    run = execute([READER, path])
    check_equal(run.code, 0, "what the reader says" + run.describe()[:2000])
    return [json.loads(line) for line in run.stdout.splitlines()]


def read_counters(path):
    """Tracks of counters, and their points, in the order of the file."""
    counters, points = {}, []
    for packet in packets_of(path):
        if "unit" in packet:
            check(packet["track"] not in counters, "a track of a counter twice")
            counters[packet["track"]] = packet
        elif packet.get("type") == COUNTER:
            check(packet["on"] in counters, f"a point before its track: {packet}")
            points.append(packet)
    return counters, points


def read(path, with_samples=False):
    """Processes and threads by track, and the events without points of counters, in the order of the file."""
    processes, threads, events = {}, {}, []
    for packet in packets_of(path):
        if "unit" in packet or packet.get("type") == COUNTER:
            continue
        if packet.get("category") == "sample" and not with_samples:
            continue
        if "process" in packet:
            check(packet["track"] not in processes, "a track of a process twice")
            processes[packet["track"]] = packet["process"]
        elif "thread" in packet:
            check(packet["track"] not in threads, "a track of a thread twice")
            check(packet["parent"] in processes, "a thread before its process")
            check_equal(packet["thread"]["pid"], processes[packet["parent"]]["pid"], "process of a thread")
            threads[packet["track"]] = packet["thread"]
        else:
            check(packet["on"] in threads, f"an event before its track: {packet}")
            events.append(packet)
    check_equal(len({p["pid"] for p in processes.values()}), len(processes), "ids of processes")
    check_equal(len({t["tid"] for t in threads.values()}), len(threads), "ids of threads")
    return processes, threads, events


def nested(events):
    """The events of a track as (type, name), ends with the names of their beginnings; times never go
    back."""
    found, open_names, last = [], [], 0
    for event in events:
        check(event["ts"] >= last, f"the time goes back from {last}: {event}")
        last = event["ts"]
        if event["type"] == END:
            check(open_names, f"an end without a beginning: {event}")
            found.append((END, open_names.pop()))
        else:
            check(event["type"] in (BEGIN, INSTANT), f"type of {event}")
            found.append((event["type"], event["name"]))
            if event["type"] == BEGIN:
                open_names.append(event["name"])
    check_equal(open_names, [], "slices without an end")
    return found


def without_waiting(found):
    return [event for event in found if event[1] != "waiting"]


def messages(events):
    """Each flow has one beginning and then one end, as a reader sees them that sorts by time. By their
    tracks: the arguments of both ends, in the order of the ends."""
    begun, found = {}, {}
    for event in sorted(events, key=lambda e: e["ts"]):
        check(not set(event["flows"]) & set(event["ends"]), f"a flow ends where it begins: {event}")
        for flow in event["flows"]:
            check(flow not in begun, f"a flow begins twice: {event}")
            begun[flow] = event
        for flow in event["ends"]:
            check(begun.get(flow), f"a flow ends before it begins, or twice: {event}")
            # Readers take what begins first for the source.
            check(event["type"] != END, f"a flow ends with a slice, whose beginning counts: {event}")
            source, begun[flow] = begun[flow], None
            found.setdefault((source["on"], event["on"]), []).append((source, event))
    check_equal([flow for flow, event in begun.items() if event], [], "flows without an end")
    return found


def known_round(rank):
    calls = {0: ("MPI_Send", "MPI_Recv"), 1: ("MPI_Irecv", "MPI_Wait", "MPI_Send")}[rank]
    received = {"MPI_Recv", "MPI_Wait"}
    found = [(BEGIN, "round")]
    for name in calls:
        found += [(BEGIN, name), *([(INSTANT, "message received")] if name in received else []), (END, name)]
    return found + [(INSTANT, "turn"), (BEGIN, "MPI_Bcast"), (END, "MPI_Bcast"), (END, "round")]


@case
def known_trace():
    """The slices of each rank are the program's calls in its order, and each message is a flow from its
    send to its receipt, with bytes and tag."""
    path, said = export(logged([program("known_events"), str(ROUNDS)], 2), "perfetto", "trace")
    clean(said)
    processes, threads, events = read(path)
    check_equal((len(processes), len(threads)), (2, 2), "processes and threads")
    ranks = {}
    for track, thread in threads.items():
        process, = [p for p in processes.values() if p["pid"] == thread["pid"]]
        check(process["name"].startswith(("rank 0 known_events", "rank 1 known_events")), process["name"])
        ranks[track] = int(process["name"].split()[1])
    check_equal(sorted(ranks.values()), [0, 1], "ranks")
    track_of = {rank: track for track, rank in ranks.items()}
    for rank, track in track_of.items():
        found = without_waiting(nested([e for e in events if e["on"] == track]))
        first = found.index((BEGIN, "round"))
        last = len(found) - found[::-1].index((END, "round"))
        length = len(known_round(rank))
        check_equal(last - first, length * ROUNDS, f"events of rank {rank}")
        for n in range(first, last, length):
            check_equal(found[n:n + length], known_round(rank), f"events of rank {rank} from {n} on")
        outside = Counter(name for kind, name in found if kind == BEGIN)
        want = Counter({name: ROUNDS for kind, name in known_round(rank) if kind == BEGIN})
        check_equal(outside, want + Counter(("MPI_Init", "MPI_Finalize")), f"slices of rank {rank}")
    categories = {e["name"]: e.get("category") for e in events if e["type"] == BEGIN}
    check_equal((categories["round"], categories["MPI_Send"]), ("block", "mpi"), "categories")
    check(all(e["args"]["at"].startswith("known_events.c:") for e in events
              if e["type"] == BEGIN and e["name"].startswith("MPI_")), "a call without its line")
    flows = messages(events)
    check_equal(sorted((ranks[a], ranks[b]) for a, b in flows), [(0, 1), (1, 0)], "who sends to whom")
    for (sender, receiver), found in flows.items():
        check_equal(len(found), ROUNDS, "messages")
        for n, (source, end) in enumerate(found):
            check_equal(source["name"], "MPI_Send", "what sends")
            check_equal({k: source["args"][k] for k in ("to rank", "bytes sent", "tag")},
                        {"to rank": ranks[receiver], "bytes sent": 8 * (n + 1), "tag": n}, "message sent")
            check_equal(end["args"], {"from rank": ranks[sender], "bytes received": 8 * (n + 1), "tag": n},
                        "message received")
    broadcasts = [e["args"] for e in events if e.get("name") == "MPI_Bcast"]
    check_equal({args["root"] for args in broadcasts}, {1}, "roots of broadcasts")


@case
def waiting():
    """Waiting is a slice at the beginning of the call that waited. Together these are the waiting time that
    the profile has."""
    log = logged([program("known_events"), str(ROUNDS)], 2)
    _, threads, events = read(export(log, "perfetto", "trace")[0])
    waited = 0
    for track in threads:
        open_slices = []
        for event in (e for e in events if e["on"] == track):
            if event["type"] == BEGIN:
                if event["name"] == "waiting":
                    check_equal(event["ts"], open_slices[-1]["ts"], f"beginning of waiting in {open_slices[-1]}")
                    check(open_slices[-1]["name"].startswith("MPI_"), f"waiting in {open_slices[-1]}")
                open_slices.append(event)
            elif event["type"] == END:
                begun = open_slices.pop()
                waited += event["ts"] - begun["ts"] if begun["name"] == "waiting" else 0
    with open(os.path.join(log, "profile.json"), encoding="utf-8") as stream:
        want = sum(node.get("sync_ns", 0) for node in json.load(stream)["nodes"]
                   if node["kind"] == "comm")
    check(want > 0, "a run in which nobody waits")
    check_near(waited, want, 0, 4 * 5 * ROUNDS, "waiting time")  # each is rounded to a nanosecond


@case
def kinds():
    """Messages of requests and of MPI_Sendrecv have both ends, whoever was late; files, collectives and
    markers have their bytes and roots."""
    path, _ = export(kinds_log(), "perfetto", "trace")
    processes, threads, events = read(path)
    ranks = {track: int(next(p for p in processes.values() if p["pid"] == thread["pid"])["name"].split()[1])
             for track, thread in threads.items()}
    check_equal(sorted(ranks.values()), [0, 1, 2], "ranks")
    for track in threads:
        nested([e for e in events if e["on"] == track])
    found = {(ranks[a], ranks[b]): [(source["name"], end["args"]["bytes received"], end["args"]["tag"])
                                    for source, end in ends] for (a, b), ends in messages(events).items()}
    around = Counter([("MPI_Isend", 300 + i, 20 + i) for i in range(3)] + [("MPI_Sendrecv", 50, 30)])
    check_equal({pair: Counter(ends) for pair, ends in found.items()},
                {(0, 1): around + Counter([("MPI_Send", 100, 11), ("MPI_Send", 200, 12)]), (1, 2): around,
                 (2, 0): around}, "messages")
    for rank in range(3):
        own = [e for e in events if ranks[e["on"]] == rank]
        broadcast, = [e["args"] for e in own if e.get("name") == "MPI_Bcast"]
        check_equal({word: broadcast[word] for word in ("root", "bytes sent", "bytes received")},
                    {"root": 2, "bytes sent": 77 * (rank == 2), "bytes received": 77 * (rank != 2)},
                    f"broadcast of rank {rank}")
        written = sum(e["args"].get("bytes written", 0) for e in own)
        check_equal(written, 5000, f"bytes that rank {rank} writes")
        check_equal(sum(e["args"].get("bytes read", 0) for e in own), 3000, f"bytes that rank {rank} reads")
        check_equal(Counter(e["name"] for e in own if e["type"] == INSTANT and "message" not in e["name"]),
                    Counter({"checkpoint": 2, "huge": 1}), f"markers of rank {rank}")


@case
def two_threads():
    """Each thread of a process has a track of its own with its three blocks."""
    path, _ = export(threads_log(), "perfetto", "trace")
    processes, threads, events = read(path)
    check_equal(len(processes), 1, "processes")
    parts = Counter()
    for track in threads:
        parts[track] = nested([e for e in events if e["on"] == track]).count((BEGIN, "part"))
    check_equal(sorted(n for n in parts.values() if n), [3, 3], "blocks of the threads")


if __name__ == "__main__":
    main()
