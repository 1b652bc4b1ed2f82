"""Values of metrics and samples in event logs, against the arithmetic of programs/event_metrics.c and the
profile of the run, in each format that has a place for them."""

import json
import re

import epilog_reader
import sddf_reader
import test_otf2
import test_perfetto
from exporting import export, number_before
from harness import (DWELL, Profile, case, check, check_equal, execute, main, marked_line, program, run_observed,
                     scratch, skip_unless, source)

FAULTS, CLOCK = "perf::PAGE-FAULTS", "perf::TASK-CLOCK"
METRICS = [FAULTS, CLOCK]
RANKS, ROUNDS, TOUCHED, BETWEEN = 2, 3, 500, 200
# What is no first touch: pages of the stack, of the C library's tables and of dwell's records.
SLACK = 60
SECONDS = 0.6


def works(what):
    return re.search(rf"^ok +{re.escape(what)} ", execute([DWELL, "info"]).stdout, re.MULTILINE) is not None


def counted(*options, seconds="0"):
    """A run with events and metrics, without samples."""
    skip_unless(works(FAULTS), f"{FAULTS} cannot be counted here")
    run = run_observed([program("event_metrics"), seconds], RANKS, scratch("out"),
                       (*(options or ("--events",)), "--metrics", ",".join(METRICS), "--sample", "off"))
    check_equal(run.code, 0, run.describe())
    profile = Profile(scratch("out"), run)
    check_equal([metric["name"] for metric in profile.json["metrics"]["counted"]], METRICS, "metrics")
    return profile


def totals(profile):
    """What each rank counted in all, by rank: its own counts of all places and threads."""
    return {rank: [sum(row["own"][i] for row in profile["metric_rows"] if row["rank"] == rank)
                   for i in range(len(METRICS))] for rank in range(RANKS)}


def check_blocks(found, what):
    """`found`: for each rank the faults in each block `touch`."""
    for rank in range(RANKS):
        check_equal(len(found[rank]), ROUNDS, f"{what}: blocks of rank {rank}")
        for faults in found[rank]:
            least = (rank + 1) * TOUCHED
            check(least <= faults <= least + SLACK, f"{what}: {faults} faults of {least} pages of rank {rank}")


def events_of_chrome(place, name="trace.json"):
    path, told = export(place, "chrome", name)
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)["traceEvents"], told


@case
def counters_of_chrome():
    """The counters rise in each block by its first touches, between the barriers by those there, and end
    with what the profile has."""
    profile = counted()
    events, _ = events_of_chrome(scratch("out"))
    want = totals(profile.json)
    blocks = {rank: [] for rank in range(RANKS)}
    between = {rank: [] for rank in range(RANKS)}
    for rank in range(RANKS):
        sums, begun, left, inside = dict.fromkeys(METRICS, 0), 0, None, 0
        for event in (event for event in events if event["pid"] == rank):
            if event["ph"] == "C":
                check_equal(event["id"], "0", "the thread of a counter")
                check(event["args"]["value"] >= sums[event["name"]], f"a counter falls: {event}")
                sums[event["name"]] = event["args"]["value"]
                inside += 1
            elif event["ph"] == "B" and event["name"] == "touch":
                begun = sums[FAULTS]
            elif event["ph"] == "E" and event["name"] == "touch":
                blocks[rank].append(sums[FAULTS] - begun)
            elif event["ph"] in "BE" and event["name"].startswith("MPI_Barrier"):
                if event["ph"] == "E":
                    check(inside == len(METRICS), "a barrier ends before the counters that were read there")
                    left = sums[FAULTS]
                elif left is not None:
                    between[rank].append(sums[FAULTS] - left)
            if event["ph"] == "B":
                inside = 0
                left = left if event["name"].startswith("MPI_") else None
        check_equal([sums[name] for name in METRICS], want[rank], f"what rank {rank} counted in all")
        check_equal(len(between[rank]), ROUNDS, "pairs of barriers")
        check(all(BETWEEN <= faults <= BETWEEN + SLACK for faults in between[rank]), between)
    check_blocks(blocks, "Chrome")


@case
def metrics_of_the_report():
    """The counts of each place in `dwell report LOG` are those of the run, and so are the entries that
    were read."""
    run = counted().json
    shown = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    check_equal(shown.code, 0, shown.describe())
    log = json.loads(shown.stdout)
    check_equal([metric["name"] for metric in log["metrics"]["counted"]], METRICS, "metrics")

    def rows(profile):
        found = {}
        for row in profile["metric_rows"]:
            node = profile["nodes"][row["node"]]
            is_root = node.get("parent") is None
            path = []
            while node is not None:
                path.append((node["kind"], node["name"], node.get("line")))
                node = profile["nodes"][node["parent"]] if node.get("parent") is not None else None
            key = (row["rank"], row["thread"], *reversed(path))
            check(key not in found, f"a place twice: {key}")
            found[key] = (row["own"], row["inclusive"], None if is_root else row["entries"],
                          None if is_root else row["time_ns"])
        return found

    want, got = rows(run), rows(log)
    check(len(want) >= 2 * RANKS, f"places with counts: {want}")
    check_equal(got, want, "counts by place")


@case
def counters_of_perfetto():
    """Each thread has a counter track of each metric, with its unit, whose values rise to those of the
    profile."""
    want = totals(counted().json)
    path, _ = export(scratch("out"), "perfetto", "trace.perfetto-trace")
    counters, points = test_perfetto.read_counters(path)
    processes, threads, _ = test_perfetto.read(path)
    ranks = {track: int(re.match(r"rank (\d+)", process["name"])[1]) for track, process in processes.items()}
    of_pid = {process["pid"]: ranks[track] for track, process in processes.items()}
    found = {}
    for track, counter in counters.items():
        rank = of_pid[threads[counter["parent"]]["pid"]]
        values = [point["value"] for point in points if point["on"] == track]
        check(values == sorted(values) and len(values) > ROUNDS, f"values of {counter}: {values}")
        check_equal(counter["unit"], {FAULTS: 2, CLOCK: 1}[counter["name"]], "unit (2: a number, 1: ns)")
        found[rank, counter["name"]] = values[-1]
    check_equal(found, {(rank, name): want[rank][i] for rank in want for i, name in enumerate(METRICS)}, "last values")


@case
def metrics_of_otf2():
    """otf2-print shows the metrics' definitions and values since the start of each thread."""
    want = totals(counted().json)
    trace, _ = test_otf2.archive(scratch("out"))
    members = trace.defined("METRIC_MEMBER")
    check_equal(len(members), len(METRICS), members)
    for number, name in enumerate(METRICS):
        check(f'Name: "{name}"' in members[number] and "ACCUMULATED_START" in members[number] and
              "UINT64" in members[number], members[number])
    for rank, location in enumerate(trace.main_locations()):
        values = [[int(value) for value in re.findall(r"UINT64; (\d+)\)", rest)]
                  for _, _, _, rest in trace.of("METRIC", location=location)]
        check(all(len(one) == len(METRICS) for one in values), trace.of("METRIC", location=location)[:2])
        check(all(a <= b for one, next_one in zip(values, values[1:]) for a, b in zip(one, next_one)), values)
        check_equal(values[-1], want[rank], f"last values of rank {rank}")


@case
def metrics_of_epilog():
    """Each enter and exit has the values, in either byte order; they rise in a block by its touches."""
    want = totals(counted().json)
    for order in ("little", "big"):
        path, _ = export(scratch("out"), "epilog", f"{order}.elg", "--byte-order", order)
        trace = epilog_reader.Epilog(path)
        check_equal(trace.metrics, {i: (name, 0, 0, 0) for i, name in enumerate(METRICS)}, "metrics")
        blocks = {}
        for number, place in trace.locations.items():
            events = trace.of("ENTER", "ENTER_CS", "EXIT", "MPI_COLLEXIT", location=number)
            values = [event["metrics"] for event in events]
            check(all(a <= b for one, next_one in zip(values, values[1:]) for a, b in zip(one, next_one)), values)
            check(all(last <= most for last, most in zip(values[-1], want[place["process"]])), "last values")
            edges = [event["metrics"][0] for event in events if event["region"]["name"] == "touch"]
            blocks[place["process"]] = [end - begin for begin, end in zip(edges[::2], edges[1::2])]
        check_blocks(blocks, order)


@case
def counts_of_sddf():
    """Each reading is a record with a field for each metric; their sums are those of the profile."""
    want = totals(counted().json)
    for form in ("sddf", "sddf-binary"):
        path, _ = export(scratch("out"), form, form)
        file = sddf_reader.read(path)
        for rank in range(RANKS):
            records = file.of("counts", rank=rank)
            check_equal([sum(record[name] for record in records) for name in METRICS], want[rank], f"{form} of {rank}")
    imported = execute([DWELL, "import", scratch("sddf"), "-o", scratch("again.events")])
    check_equal(imported.code, 0, imported.describe())
    check(number_before(imported.stderr, "values of metrics and samples are left out") > RANKS * ROUNDS, imported.stderr)


@case
def wanted_alone():
    """Metrics alone, and calls without metrics."""
    want = totals(counted("--events=metrics").json)
    events, _ = events_of_chrome(scratch("out"))
    check_equal({event["ph"] for event in events} - {"M"}, {"C"}, "kinds of events")
    for rank, values in want.items():
        last = {event["name"]: event["args"]["value"] for event in events if event["ph"] == "C" and event["pid"] == rank}
        check_equal([last[name] for name in METRICS], values, f"last values of rank {rank}")
    counted("--events=mpi,blocks")
    events, _ = events_of_chrome(scratch("out"))
    check_equal({event["ph"] for event in events} - {"M"}, {"B", "E"}, "kinds of events")


def sampled(*options):
    skip_unless(works("sampling"), "the kernel permits no samples here")
    run = run_observed([program("event_metrics"), str(SECONDS)], RANKS, scratch("out"),
                       (*(options or ("--events",)), "--sample", "500"))
    check_equal(run.code, 0, run.describe())
    return Profile(scratch("out"), run).json


def samples_of_chrome(rank, events):
    return [event for event in events if event["pid"] == rank and event.get("cat") == "sample"]


@case
def samples():
    """As many samples as the profile of each rank has, spread over the time in which they were taken, in
    the line that computed; formats without a place for them say how many they leave out."""
    profile = sampled()
    events, told = events_of_chrome(scratch("out"))
    check_equal(number_before(told, "records were lost in full rings"), 0, told)
    line = f"burn event_metrics.c:{marked_line(source('event_metrics.c'), 'burn')}"
    number = 0
    for rank in range(RANKS):
        found = samples_of_chrome(rank, events)
        number += len(found)
        stand_for = sum(event.get("args", {}).get("samples", 1) for event in found)
        check_equal(stand_for, profile["ranks"][rank]["samples"], f"samples of rank {rank}")
        burning = [event["ts"] for event in found if event["name"] == line]
        check(len(burning) >= 0.9 * len(found) >= 10, f"{len(burning)} of {len(found)} in {line}")
        # They are read at the barrier's begin, when the computation has ended.
        begins = [event["ts"] for event in events
                  if event["pid"] == rank and event["ph"] == "B" and event["name"].startswith("MPI_Barrier")]
        ends = [event["ts"] for event in events
                if event["pid"] == rank and event["ph"] == "E" and event["name"].startswith("MPI_Barrier")]
        check(ends[-2] <= burning[0] and burning[-1] <= begins[-1], f"times of samples of rank {rank}")
        check(burning[len(burning) // 2] < begins[-1] - 0.2 * (begins[-1] - ends[-2]),
              f"half of the samples come in the last fifth of the time: rank {rank}")
    for form in ("epilog", "otf2"):
        _, told = export(scratch("out"), form, "without." + form)
        check_equal(number_before(told, "samples are left out"), number, told)
    path, _ = export(scratch("out"), "perfetto", "trace.perfetto-trace")
    instants = [event for event in test_perfetto.read(path, with_samples=True)[2] if event.get("category") == "sample"]
    check_equal(len(instants), number, "instants of Perfetto")
    check(sum(1 for event in instants if event["name"] == "burn") >= 0.9 * number, "instants in burn")
    path, _ = export(scratch("out"), "sddf", "trace.sddf")
    file = sddf_reader.read(path)
    check_equal(len(file.of("sample")), number, "samples of SDDF")
    places = {place["place"] for place in file.of("place", name="burn", kind="sample")}
    check(sum(1 for record in file.of("sample") if record["place"] in places) >= 0.9 * number, "samples in burn")


@case
def samples_of_the_report():
    """`dwell report LOG` has the samples of the run, in the same places."""
    run = sampled()
    shown = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    check_equal(shown.code, 0, shown.describe())
    log = json.loads(shown.stdout)

    def by_place(profile):
        found = {}
        for node in profile["nodes"]:
            if node.get("samples"):
                key = (node["kind"], node["name"], node.get("line"))
                found[key] = found.get(key, 0) + node["samples"]
        return found

    check(by_place(run), "the profile has no samples")
    check_equal(by_place(log), by_place(run), "samples by place")


@case
def samples_alone():
    """Samples alone, without calls; and all but samples."""
    sampled("--events=samples")
    events, _ = events_of_chrome(scratch("out"))
    check_equal({(event["ph"], event.get("cat")) for event in events} - {("M", None)}, {("i", "sample")}, "events")
    sampled("--events=mpi,blocks,metrics")
    events, _ = events_of_chrome(scratch("out"))
    check_equal([event for event in events if event.get("cat") == "sample"], [], "samples")
    check([event for event in events if event["ph"] == "B"], "no calls")


if __name__ == "__main__":
    main()
