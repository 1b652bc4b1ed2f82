"""No figure of a profile is negative or larger than what contains it (DESIGN 5.5): profile.json, the
CSV, stats.picl. Reads the files as their documents describe them and shares no code with dwell."""

import csv
import io
import json
import os
import sys
from decimal import Decimal

# profile.json: what may be below 0.
_SIGNED = {"clock_offset_ns", "clock_drift_ns", "coordinates", "exit_code"}
_SUMMED = ("time_ns", "sync_ns", "blocked_ns", "bytes_sent", "bytes_received", "count", "failed",
           "omp_wait_ns", "omp_idle_ns")
# Of a node those of its rows together, exactly: of any node, and of what wrappers measure.
_COUNTED = ("count", "failed")
_MEASURED = _COUNTED + ("time_ns", "blocked_ns", "sync_ns")
# A cause may be larger than its computation by what waits are due to the last computation without a
# look at others, each, and by what dwell itself did in a first call between its two time stamps.
_SHORT_WAIT_NS, _FIRST_CALL_NS = 2_000, 5_000_000
_TRACING = -901
_ALL = -1


class Sums:
    """Collects what does not hold."""

    def __init__(self):
        self.errors = []

    def below(self, part, whole, what):
        if part > whole:
            self.errors.append(f"{what}: {part} exceeds {whole}")

    def equal(self, one, other, what):
        if one != other:
            self.errors.append(f"{what}: {one} is not {other}")


def _no_negatives(value, where, sums):
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in _SIGNED:
                _no_negatives(part, f"{where}.{key}", sums)
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _no_negatives(part, f"{where}[{index}]", sums)
    elif isinstance(value, (int, float)) and value < 0:
        sums.errors.append(f"profile.json{where} is {value}")


def _children(nodes):
    below = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        if index != 0:
            below[node["parent"]].append(index)
    return below


def _own_figures(figures, where, sums):
    """Parts of one node, or of one thread's share of it."""
    def get(key):
        return figures.get(key, 0)
    sums.below(get("sync_ns"), get("blocked_ns"), f"{where}: sync_ns, blocked_ns")
    sums.below(get("blocked_ns"), get("time_ns"), f"{where}: blocked_ns, time_ns")
    sums.below(get("late_sender_ns") + get("late_receiver_ns"), get("sync_ns"),
               f"{where}: late senders and receivers, sync_ns")
    sums.below(get("passed_on_ns"), get("sync_ns"), f"{where}: passed_on_ns, sync_ns")
    sums.below(get("omp_wait_ns") + get("omp_idle_ns"), get("time_ns"),
               f"{where}: waiting of OpenMP, time_ns")
    sums.below(sum(figures.get("event_ns") or [0]), get("time_ns"), f"{where}: event_ns, time_ns")
    sums.below(figures.get("min_ns", 0), get("max_ns"), f"{where}: min_ns, max_ns")
    sums.below(get("untimed"), get("count"), f"{where}: untimed, count")


def _tree(figures, below, kinds, where, sums):
    """`figures` by node: inclusive ones are at least the children's together."""
    for index, children in enumerate(below):
        total = figures.get(index, {}).get("time_ns", 0)
        parts = sum(figures.get(child, {}).get("time_ns", 0) for child in children)
        sums.below(parts, total, f"{where} node {index} ({kinds[index]}): time of its children")


def check_json(profile, sums):
    _no_negatives({key: profile[key] for key in profile if key != "dwell_profile"}, "", sums)
    nodes, rows = profile["nodes"], profile["rows"]
    below = _children(nodes)
    kinds = [f"{node['kind']} {node['name']}" for node in nodes]
    for index, node in enumerate(nodes):
        where = f"node {index} ({kinds[index]})"
        _own_figures(node, where, sums)
        sums.below(node.get("rank_max_ns", 0), node["time_ns"], f"{where}: rank_max_ns, time_ns")
        sums.below(node.get("rank_min_ns", 0), node.get("rank_max_ns", 0), f"{where}: rank_min_ns")
        sums.below(node["computation_ns"], node["time_ns"], f"{where}: computation_ns, time_ns")
    _tree(dict(enumerate(nodes)), below, kinds, "", sums)
    sums.below(nodes[0]["time_ns"] if nodes else 0, profile["total_ns"], "the program, total_ns")

    threads, together = {}, {}
    for row in rows:
        threads.setdefault((row["rank"], row["thread"]), {})[row["node"]] = row
        both = together.setdefault(row["node"], {})
        for key in _SUMMED:
            both[key] = both.get(key, 0) + row.get(key, 0)
        _own_figures(row, f"rank {row['rank']} thread {row['thread']} node {row['node']}", sums)
    for (rank, thread), figures in threads.items():
        _tree(figures, below, kinds, f"rank {rank} thread {thread}", sums)
    for index, both in together.items():
        of_rows = f"node {index} ({kinds[index]})"
        for key in _MEASURED if nodes[index]["kind"] == "comm" else _COUNTED:
            sums.equal(both[key], nodes[index].get(key, 0), f"{of_rows}: {key} of rows")

    _axis(profile, sums)
    _partners(profile, kinds, sums)
    _causes(profile, kinds, sums)
    for rank in profile["ranks"]:
        where = f"rank {rank['rank']}"
        sums.below(rank["intrusion_ns"], rank["real_ns"], f"{where}: intrusion_ns, real_ns")
        if rank["state"] == "finalized":  # else real time ends with the last call
            sums.below(rank.get("usage_ns", 0), rank["real_ns"], f"{where}: usage_ns, real_ns")


# The parts of the time in bins, and as totals.
_AXIS = {"computation_ns": "computation_ns", "transfer_ns": "transfer_ns", "waiting_ns": "blocked_ns",
         "omp_wait_ns": "omp_wait_ns", "omp_idle_ns": "omp_idle_ns", "io_ns": "io_ns"}


def axis_sums(profile):
    """The sum over all bins of the run over time, by part."""
    return {part: sum(bin.get(part, [0])[0] for bin in profile["time_bins"])
            for part in (*_AXIS, "bytes_sent")}


def _only_probed_ns(profile):
    """Computation of threads of which only probes tell: the run over time lacks it, and a note says so."""
    kinds = [node["kind"] for node in profile["nodes"]]
    figures, others = {}, set()
    for row in profile["rows"]:
        thread = (row["rank"], row["thread"])
        figures[thread] = figures.get(thread, 0) + row.get("computation_ns", 0)
        if kinds[row["node"]] in ("comm", "omp", "io") or row["thread"] == 0:
            others.add(thread)
    return sum(ns for thread, ns in figures.items() if thread not in others)


def _axis(profile, sums):
    """The bins hold what the totals hold, but for what becomes a nanosecond in each node and bin, and for a
    part of dwell's own cost, which is known later; rows are in their bin."""
    if not profile.get("time_bins"):
        return
    got = axis_sums(profile)
    rounded = (len(profile["nodes"]) + 256) * sum(max(1, rank["threads"]) for rank in profile["ranks"])
    want = {part: profile[total] for part, total in _AXIS.items()}
    if profile["blocked_ns"] != profile["sync_ns"]:  # what is estimated is waiting on one side only
        for figures in (got, want):
            figures["transfer_ns"] += figures["waiting_ns"]
            figures["waiting_ns"] = 0
    cost_ns = sum(rank["intrusion_ns"] for rank in profile["ranks"])
    slack_ns = max(rounded, 2e-3 * profile["total_ns"], 1e6, cost_ns)
    # Where the end of a process is unknown, its totals have its calls and regions alone.
    ended = all(rank["state"] != "running" or {"end_seen", "end_guessed"} & set(rank["flags"])
                for rank in profile["ranks"])
    for part, total_ns in want.items():
        if part == "computation_ns" and not ended:
            continue
        lacking_ns = _only_probed_ns(profile) if part == "computation_ns" else 0
        if not total_ns - lacking_ns - slack_ns <= got[part] <= total_ns + slack_ns:
            sums.errors.append(f"run over time: {part} is {got[part]} and not {total_ns}")
    got = axis_sums(profile)
    rows = {}
    for row in profile["time_bin_rows"]:
        rows.setdefault(row["bin"], []).append(row)
    for bin in profile["time_bins"]:
        for part in got if bin["bin"] in rows else ():
            values = [row.get(part, 0) for row in rows[bin["bin"]]]
            want = [sum(values), min(values), max(values)]
            sums.equal(bin.get(part, [0, 0, 0]), want, f"run over time, bin {bin['bin']}: {part} of rows")


def _partners(profile, kinds, sums):
    nodes = profile["nodes"]
    peers, waits = {}, {}
    rows = {}
    for row in profile["rows"]:
        key = (row["node"], row["rank"])
        rows[key] = rows.get(key, 0) + row.get("time_ns", 0)
    for peer in profile["peers"]:
        key = (peer["node"], peer["rank"])
        peers[key] = peers.get(key, 0) + peer.get("time_ns", 0)
        sums.below(peer.get("sync_ns", 0), peer.get("time_ns", 0), f"peer {peer}: sync_ns")
    for key, time_ns in peers.items():
        if profile["rows"]:
            sums.below(time_ns, rows.get(key, 0), f"partners of rank {key[1]} at node {key[0]} ({kinds[key[0]]})")
    for partner in profile["partners"]:
        waits[partner["node"]] = waits.get(partner["node"], 0) + partner["time_ns"]
    for node, time_ns in waits.items():
        sums.below(time_ns, nodes[node]["sync_ns"], f"who was waited for at node {node} ({kinds[node]})")
    for entry in profile["partners"] + profile["causes"]:
        sums.below(entry.get("max_ns", 0), entry["time_ns"], f"{entry}: max_ns")
        sums.below(entry.get("passed_on_ns", 0), entry["time_ns"], f"{entry}: passed_on_ns")
    # The waiting time of each node and thread loses less than a nanosecond when ticks become that.
    lost = len(nodes) * sum(max(1, rank.get("threads", 1)) for rank in profile["ranks"])
    sums.below(sum(cause["time_ns"] for cause in profile["causes"]),
               nodes[0]["sync_ns"] + lost if nodes else 0, "causes of waiting, all of it")


def _has_whole_intervals(profile):
    """Whether all that a rank did between two MPI calls is in the interval, and nothing else tells of
    causes: what probes, OpenMP or I/O statements measure, or a rank that ended early did, is not. On
    several hosts the times of some waits are estimated, and threads share one account of causes."""
    measured = any("probed" in node["labels"] or node["kind"] in ("omp", "io") for node in profile["nodes"])
    ranks = profile["ranks"]
    plain = all(rank["state"] == "finalized" and rank.get("threads", 1) == 1 and not rank.get("paused_ns")
                for rank in ranks)
    return not measured and plain and len({rank["host"] for rank in ranks}) == 1


def _causes(profile, kinds, sums):
    """No rank waits longer for a computation than that took (docs/causes.md)."""
    if not _has_whole_intervals(profile):
        return
    due = {}
    for cause in profile["causes"]:
        if cause["interval"] is not None:
            waits, time_ns = due.get(cause["interval"], (0, 0))
            due[cause["interval"]] = (waits + cause["count"], time_ns + cause["time_ns"])
    for index, (waits, time_ns) in due.items():
        interval = profile["intervals"][index]
        waiters = min(waits, max(1, profile["world_size"] - 1))
        way = " to ".join("the start" if interval[end] is None else kinds[interval[end]] for end in ("from", "to"))
        sums.below(time_ns, waiters * (interval["time_ns"] + _FIRST_CALL_NS) + waits * _SHORT_WAIT_NS,
                   f"waiting of {waiters} for the computation from {way}, its time")


def errors_in_csv(text):
    """Of merged rows: a path's time holds that of the paths below it."""
    sums = Sums()
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    times, parts = {}, {}
    for row in rows:
        for key, value in row.items():
            if key.endswith("_s") and value and Decimal(value) < 0 or key == "count" and int(value) < 0:
                sums.errors.append(f"CSV {row['path']}: {key} is {value}")
        time_s = Decimal(row["time_s"])
        times[row["path"]] = times.get(row["path"], 0) + time_s
        for key in ("self_s", "sync_s", "transfer_s", "io_s", "omp_wait_s", "omp_idle_s"):
            sums.below(Decimal(row[key] or 0), time_s, f"CSV {row['path']}: {key}, time_s")
        if "/" in row["path"]:
            above = row["path"].rsplit("/", 1)[0]
            parts[above] = parts.get(above, 0) + time_s
    for path, part in parts.items():
        sums.below(part, times[path], f"CSV {path}: time of what is below it")
    return sums.errors


class Picl:
    """Statistics records: {(processor, record, event): {event of the pair: value}}."""

    def __init__(self, text):
        self.pairs, self.clocks, self.tracing, self.labels = {}, [], {}, {}
        self.subset = None
        for line in text.splitlines():
            record, event, clock, processor, _, fields, *rest = line.split(" ", 6)
            key = (int(processor), int(record), int(event))
            self.clocks.append(Decimal(clock))
            if key[1:] == (-3, _TRACING) or key[1:] == (-4, _TRACING):
                self.tracing[key[:2]] = Decimal(clock)
            elif key[1] == -5:
                self.labels[key[2]] = rest[0].split(" ", 1)[1] if " " in rest[0] else ""
            elif key[1] == -201:
                self.subset = [int(number) for number in rest[0].split()][1:]
            elif key[1] in (-101, -102, -103):
                values = rest[0].split('"')[2].split()
                assert len(values) == 2 * int(fields), f"{line[:60]}: {len(values) / 2} pairs"
                at = self.pairs.setdefault(key, {})
                for name, value in zip(values[::2], values[1::2]):
                    assert int(name) not in at, f"{line[:60]}: {name} twice"
                    at[int(name)] = Decimal(value)
        assert self.clocks == sorted(self.clocks), "records are not in the order of their clocks"

    def processors(self):
        return sorted({key[0] for key in self.pairs})

    def of(self, processor, record, event):
        return self.pairs.get((processor, record, event), {})


def check_picl(text, profile, sums):
    try:
        picl = Picl(text)
    except (AssertionError, ValueError, IndexError) as problem:
        sums.errors.append(f"stats.picl cannot be read: {problem}")
        return
    below = _children(profile["nodes"])
    threads = {rank["rank"]: max(rank["threads"], rank.get("threads_served", 0), 1)
               for rank in profile["ranks"]}
    for (processor, record, event), pairs in picl.pairs.items():
        for name, value in pairs.items():
            undefined = record == -102 and event == _ALL and name >= 0 and value == -1
            if value < 0 and not undefined:
                sums.errors.append(f"stats.picl {processor} {record} {event}: {name} is {value}")
    for processor in picl.processors():
        who = f"stats.picl processor {processor}"
        all_s = picl.of(processor, -101, _ALL)
        lived = all_s.get(_TRACING, 0)
        for event, value in all_s.items():
            sums.below(value, lived, f"{who}: time of {event} {picl.labels.get(event, '')}, of -901")
        system = {event: value for event, value in all_s.items() if event < 0 and event != _TRACING}
        sums.below(sum(system.values()), lived, f"{who}: system events together, -901")
        if processor >= 0:
            entered, left = picl.tracing[processor, -3], picl.tracing[processor, -4]
            sums.below(lived, (left - entered) * threads.get(processor, 1), f"{who}: -901, its life")
        # Event n is node n + 1; the program's own record is that of event -1.
        for record in (-101, -102, -103):
            for index, children in enumerate(below):
                _picl_node(picl, processor, record, index, children, who, lived, sums)
        _picl_rows(all_s, processor, profile, who, sums)


def _picl_node(picl, processor, record, index, children, who, lived, sums):
    def inside(node):
        pairs = picl.of(processor, record, node - 1)
        return {event: value for event, value in pairs.items() if event < 0 and event != _TRACING}
    whole = inside(index)
    where = f"{who}: {record} of {index - 1} {picl.labels.get(index - 1, '')}"
    if record == -101:
        times = picl.of(processor, -101, _ALL)
        time_s = times.get(index - 1, 0) if index != 0 else lived
        sums.below(sum(whole.values()), time_s, f"{where}: events in it")
        sums.below(sum(times.get(child - 1, 0) for child in children), time_s, f"{where}: sites in it")
    parts = {}
    for child in children:
        for event, value in inside(child).items():
            parts[event] = parts.get(event, 0) + value
    for event, value in parts.items():
        sums.below(value, whole.get(event, 0), f"{where}: {event} in the sites below it")


def _picl_rows(all_s, processor, profile, who, sums):
    """A site's time is the sum over the threads of profile.json."""
    times = {}
    for row in profile["rows"]:
        if row["rank"] == processor:
            times[row["node"]] = times.get(row["node"], 0) + row.get("time_ns", 0)
    for node, time_ns in times.items():
        if node != 0:
            sums.equal(all_s.get(node - 1, 0), Decimal(time_ns) / 10**9, f"{who}: time of site {node - 1}")


def errors_in(directory):
    """What does not hold in profile.json and stats.picl of `directory`, one line each."""
    sums = Sums()
    with open(os.path.join(directory, "profile.json"), encoding="utf-8") as stream:
        profile = json.load(stream)
    check_json(profile, sums)
    with open(os.path.join(directory, "stats.picl"), encoding="ascii") as stream:
        check_picl(stream.read(), profile, sums)
    return sums.errors


if __name__ == "__main__":
    found = [error for directory in sys.argv[1:] for error in errors_in(directory)]
    print("\n".join(found))
    sys.exit(1 if found else 0)
