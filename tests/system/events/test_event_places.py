"""The choice of events by place: windows that are entries of a phase, block, procedure, loop or MPI statement,
levels, and profiles that say which sites have events. What the logs must hold follows from the programs."""

import json
import os

from harness import DWELL, LIBRARY, ROOT, Profile, case, check, check_equal, execute, main, mpirun, program, \
    run_observed, scratch, skip_unless, source
from kinds_of_events import export
from picl_reader import Trace
from probed_program import WRAPPERS, line_of
from test_event_logs import exported, names_of

STEPS = 10


def call(name, *within):
    return [("B", name), *within, ("E", name)]


def message(rank):
    return call("MPI_Send" if rank == 0 else "MPI_Recv")


def summing():
    return call("sum", *call("MPI_Allreduce"))


def step(rank):
    return call("step", *message(rank), *summing())


def known(events):
    """What event_windows.c does between MPI_Comm_rank and MPI_Finalize."""
    return [event for event in names_of(events) if event[1] not in ("MPI_Init", "MPI_Comm_rank", "MPI_Finalize")]


def windowed(window, out="out", program_name="event_windows", events="--events"):
    run = run_observed([program(program_name)], 2, scratch(out), [events, "--events-window", window])
    check_equal(run.code, 0, run.describe())
    return exported(scratch(out))[0]


@case
def phases():
    """Whole phases, without what is between them; a message is whole."""
    for rank, events in ((rank, events) for (rank, _), events in windowed("phase:st*").items()):
        check_equal(names_of(events), step(rank) * STEPS, f"events of rank {rank}")
        tags = [e["name"] for e in events if e["ph"] in "sf"]
        check_equal(tags, [f"8 bytes, tag {i}" for i in range(STEPS)], f"messages of rank {rank}")
    log = execute([DWELL, "report", scratch("out/events"), "--format", "json"])
    profile = json.loads(log.stdout)
    phases_ns = sum(n["time_ns"] for n in profile["nodes"] if n["name"] == "step")
    active_ns = profile["total_ns"] - profile["paused_ns"]
    check(phases_ns <= active_ns < 1.5 * phases_ns, f"{active_ns} ns, phases {phases_ns} ns" + log.describe())


@case
def blocks():
    for (rank, _), events in windowed("block:sum").items():
        check_equal(names_of(events), summing() * STEPS, f"events of rank {rank}")
    run = run_observed([program("event_windows")], 2, scratch("none"),
                       ["--events", "--events-window", "block:step"])  # step is a phase
    check("did not begin" in run.stderr, run.describe())


@case
def entries_of_calls():
    """The n-th entry of a block or call from its begin to its end; ranges."""
    for rank, events in ((rank, events) for (rank, _), events in windowed("entry:step:3-4").items()):
        check_equal(names_of(events), step(rank) * 2, f"events of rank {rank}")
        tags = [e["name"] for e in events if e["ph"] in "sf"]
        check_equal(tags, ["8 bytes, tag 2", "8 bytes, tag 3"], f"messages of rank {rank}")
    for events in windowed("entry:MPI_Allreduce:10", "calls").values():
        check_equal(names_of(events), call("MPI_Allreduce"), "one call")
    threads = windowed("entry:MPI_Send:9-", "sends")
    check_equal([rank for rank, _ in threads], [0], "ranks that send")
    check_equal(names_of(threads[0, 0]), call("MPI_Send") * 2, "the last two")
    tags = [e["name"] for e in threads[0, 0] if e["ph"] in "si" and e["name"] != "events off"]
    check_equal(tags, ["sent: 8 bytes, tag 8", "sent: 8 bytes, tag 9"], "tags")


def probed():
    compiler = os.path.join(WRAPPERS, "dwell-gcc")
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    binary = scratch("places")
    made = execute([compiler, "-O1", "-g", "-fno-optimize-sibling-calls", f"-I{header()}", source("event_places.c"), "-o", binary],
                   env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(made.code, 0, made.describe())
    return binary


def header():
    here = os.path.dirname(os.path.abspath(__file__))
    return os.path.join(here, "..", "..", "..", "runtime", "api")


def run_places(binary, *options, out="out"):
    run = execute([DWELL, "run", "-o", scratch(out), "--events", "--probe-limit", "off", *options, binary])
    check_equal(run.code, 0, run.describe())
    Profile(scratch(out), run)
    return run


def places(binary, *options, out="out"):
    run_places(binary, *options, out=out)
    threads, _ = exported(scratch(out))
    return names_of(next(iter(threads.values())))


def loop(*within):
    return call("loop", *within)


def solving():
    return call("solve", *loop(*(call("relax") * 3)))


@case
def entries_of_procedures():
    """The enter is the first event, its leave the last; recursion counts each entry."""
    binary = probed()
    check_equal(places(binary, "--events-window", "entry:solve:3-4"), solving() * 2, "third and fourth")
    check_equal(places(binary, "--events-window", "entry:relax:30", out="last"), call("relax"), "the last relax()")
    check_equal(places(binary, "--events-window", "entry:again:3", out="deep"), call("again", *call("again")),
                "the third of four")
    check_equal(places(binary, "--events-window", "entry:again:1-", out="all"),
                [("B", "again")] * 4 + [("E", "again")] * 4, "all four")
    check_equal(places(binary, "--events-window", "block:deep", out="block"),
                call("deep", *([("B", "again")] * 4 + [("E", "again")] * 4)), "in the block")


@case
def left_by_a_jump():
    """A window ends when its entry was left without a leave."""
    check_equal(places(probed(), "--events-window", "entry:jump:1"), call("jump"), "jump() alone")


@case
def moved():
    """A phase that goes on below another node keeps its window until it ends."""
    found = places(probed(), "--events-window", "phase:moved")
    check_equal([event for event in found if event[1] != "around"],
                call("moved") + call("moved", *call("relax")), "both parts of the phase")


@case
def many_entries():
    """The n-th of many short entries is still the n-th, also where the procedure around a loop is too short to be
    timed each time."""
    binary, calls = scratch("many"), 400_000
    with open(scratch("many.c"), "w", encoding="utf-8") as stream:
        stream.write("__attribute__((noinline)) void inner(int i) { __asm__ volatile(\"\" : : \"r\"(i)); }\n"
                     "__attribute__((noinline)) void leaf(int i) {\n"
                     "    for (int k = 0; k < 2; ++k)\n"
                     "        if (i == 299999) inner(i);\n"
                     "    __asm__ volatile(\"\");\n"
                     "}\n"
                     f"int main(void) {{ for (int i = 0; i < {calls}; ++i) leaf(i); return 0; }}\n")
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    made = execute([os.path.join(WRAPPERS, "dwell-gcc"), "-O1", "-g", scratch("many.c"), "-o", binary],
                   env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(made.code, 0, made.describe())
    inner = call("inner") * 2
    for place, wanted in (("leaf", call("leaf", *inner)), ("many.c:3", loop(*inner))):
        out = scratch("out-" + place)
        run = execute([DWELL, "run", "-o", out, "--events", "--events-window", f"entry:{place}:300000", binary])
        check_equal(run.code, 0, run.describe())
        threads, _ = exported(out)
        found = names_of(next(iter(threads.values())))
        if place == "leaf":  # its loop may be reduced to counting
            found = [event for event in found if event[1] != "loop"]
        check_equal(found, wanted, f"entry 300000 of {place}")
        nodes = Profile(out, run).json["nodes"]
        if place == "leaf":
            count = sum(n["count"] for n in nodes if (n["kind"], n["name"]) == ("proc", "leaf"))
        else:
            count = sum(n["count"] for n in nodes if n["kind"] == "loop") - 1  # that of main()
        check_equal(count, calls, f"entries of {place} in the profile")


@case
def entries_of_loops():
    """A loop by its file and line."""
    line = line_of("event_places.c", "the loop of solve()")
    found = places(probed(), "--events-window", f"entry:event_places.c:{line}:10")
    check_equal(found, loop(*(call("relax") * 3)), "the tenth entry")


@case
def threads_follow():
    """Other threads have events while the first one is in the phase, and no others."""
    run = run_observed([program("window_threads")], 1, scratch("out"),
                       ["--events", "--events-window", "phase:middle"])
    check_equal(run.code, 0, run.describe())
    threads, _ = exported(scratch("out"))
    check_equal(names_of(threads[0, 0]), call("middle"), "the first thread")
    check_equal(names_of(threads[0, 1]), call("MPI_Barrier") * 100, "the second thread")


@case
def threads_end():
    """Other threads end with a window that is open for a moment only: each is in its block once more at most,
    as it waits for the others then."""
    for attempt in range(4):
        out = scratch(f"out{attempt}")
        run = execute([DWELL, "run", "--events", "--events-window", "entry:leaf:7", "-o", out,
                       program("window_team")])
        check_equal(run.code, 0, run.describe())
        threads, said = exported(out)
        begun = [sum(event == ("B", "leaf") for event in names_of(events)) for events in threads.values()]
        check(1 <= sum(begun) <= 5, f"{begun} blocks of each thread" + said)


@case
def rare_places():
    """Programs without MPI look for the beginning and end of a window of time in each block and marker,
    and often enough in procedures that are rare."""
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    made = execute([os.path.join(WRAPPERS, "dwell-gcc"), "-g", "-O1", "-I", os.path.join(ROOT, "runtime", "api"),
                    source("event_pace.c"), "-o", scratch("probed")], env={"DWELL_CC_ALL": "1"}, cwd=scratch())
    check_equal(made.code, 0, made.describe())
    for binary, name in ((program("event_pace"), "quick"), (scratch("probed"), "tick")):
        run = execute([DWELL, "run", "--events", "--events-window", "0.5-1", "-o", scratch(name), binary, "200"])
        check_equal(run.code, 0, run.describe())
        (events,) = exported(scratch(name))[0].values()
        times = [e["ts"] / 1e6 for e in events if e["ph"] == "B" and e["name"].split()[0] == name]
        check(len(times) > 5 and 0.4 < times[0] and times[-1] < 1.8, f"{name}: {times}" + run.describe())


@case
def regions_end():
    """A thread is late to tell that a region has ended, or never does, if events are off then: the region
    seems to go on neither then nor until it has events again. PICL says that events are off, and no more."""
    run = execute([DWELL, "run", "--events", "-o", scratch("out"), program("window_regions")])
    check_equal(run.code, 0, run.describe())
    for events in exported(scratch("out"))[0].values():
        begun = []
        for event in events:
            if event["ph"] == "B":
                begun.append(event)
            elif event["ph"] == "E":
                begin = begun.pop()
                is_long = event["ts"] - begin["ts"] > 0.9e6
                check(not is_long or begin["name"].split()[0] in ("around", "idle"), f"{begin} to {event}")
        check_equal(begun, [], "open at the end")
    trace = Trace(export(scratch("out"), "picl")[0], 1)
    check_equal([mark.data for mark in trace.marks[0] if mark.event == -904],
                [[0, 0, 0], [1, 1, 1], [0, 0, 0]], "what is traced")


@case
def open_across():
    """What is open when events end and when they begin again is one call only where it is the same; what
    begins while they are off is not in the log."""
    within = call("short", *call("innermost")) + call("whole") + call("twice")
    for out, options, wanted in (
            ("all", [], call("around", *within)),
            ("sites", ["--events-sites", profile_of("off block name=around")], within)):
        run = execute([DWELL, "run", "--events", "--events-window", "off", *options, "-o", scratch(out),
                       program("events_across")])
        check_equal(run.code, 0, run.describe())
        threads, said = exported(scratch(out))
        (events,) = threads.values()
        check_equal(names_of(events), wanted, out + said)
        times = {}
        for event in events:
            if event["ph"] in "BE":
                name = event["name"].split()[0]
                times[name] = event["ts"] - times.get(name, 0)
        check(times["short"] < 50e3 and times.get("around", 100e3) >= 100e3, f"{times}")


@case
def switched_at_random():
    """Of blocks at any depth the log has those that begin while events are on; they end where they do, or where
    events ended last before."""
    for seed in range(5):
        out = scratch(f"out{seed}")
        run = execute([DWELL, "run", "--events", "--events-window", "off", "-o", out, program("random_switches"),
                       str(seed), "2000"])
        check_equal(run.code, 0, run.describe())
        wanted, is_logged = [], []
        for step in run.stdout.splitlines():
            kind, *name, is_on = step.split()
            if kind == "B":
                is_logged.append(is_on == "1")
            if (is_logged.pop() if kind == "E" else is_on == "1"):
                wanted.append((kind.replace("M", "i"), *(name or ["m"])))
        check(len(wanted) > 200, f"{len(wanted)} events")
        threads, said = exported(out)
        (events,) = threads.values()
        check_equal(names_of(events, "BEi"), wanted, f"seed {seed}" + said)
        check("without a beginning" not in said, said)


@case
def before_the_end():
    """A program goes on for long after its window: `dwell run` and the program end as always."""
    run = execute([DWELL, "run", "--events", "--events-window", "0.2-0.4", "-o", scratch("out"),
                   program("event_pace"), "1", "1500"])
    check_equal(run.code, 0, run.describe())
    threads, said = exported(scratch("out"))
    check(len(threads) == 1 and "not closed" not in said, said + run.describe())


@case
def in_the_order_of_both():
    """A window of both kinds has events only where both are: never, if nobody switches them on."""
    run = run_observed([program("event_windows")], 2, scratch("off"),
                       ["--events", "--events-window", "off,phase:step"])
    check("did not begin" in run.stderr, run.describe())
    run = run_observed([program("event_windows")], 2, scratch("late"),
                       ["--events", "--events-window", "3000-,entry:step:1"])
    check("did not begin" in run.stderr, run.describe())
    # In known_events the rounds 2 to 4 are on, the sixth entry of the block is round 5.
    run = run_observed([program("known_events"), "10", "api"], 2, scratch("api"),
                       ["--events", "--events-window", "off,entry:round:4-6"])
    threads, _ = exported(scratch("api"))
    for (rank, _), events in threads.items():
        rounds = [event for event in names_of(events) if event == ("B", "round")]
        check_equal(len(rounds), 2, f"rounds of rank {rank}")


@case
def levels():
    """AIMS's levels and what PICL tells apart stand for kinds of events."""
    last = call("MPI_Allreduce")
    barrier = call("MPI_Barrier")
    wanted = {
        "level0": lambda rank: call("step", *call("sum")),
        "level2": lambda rank: call("step", *call("sum", *last)) + barrier,
        "level3": lambda rank: step(rank) + barrier,
        "messages": lambda rank: message(rank) + last + barrier,
        "user-events": lambda rank: call("step", *call("sum")),
        "collectives": lambda rank: last + barrier,
    }
    for word, of in wanted.items():
        run = run_observed([program("event_windows")], 2, scratch(word), [f"--events={word}"])
        check_equal(run.code, 0, run.describe())
        for (rank, _), events in exported(scratch(word))[0].items():
            check_equal(known(events), of(rank) * STEPS, f"{word}, rank {rank}")
    run = run_places(probed(), "--events=level1", out="level1")
    threads, _ = exported(scratch("level1"))
    names = {name for _, name in names_of(next(iter(threads.values())))}
    check_equal(names, {"main", "other", "solve", "relax", "again", "jump", "deep", "around", "moved"}, "level1" + run.describe())


def profile_of(*lines):
    path = scratch("sites.txt")
    with open(path, "w", encoding="utf-8") as stream:
        stream.write("\n".join(lines) + "\n")
    return path


@case
def sites():
    """Only sites that are on have events; statistics are those of all."""
    binary = probed()
    found = places(binary, "--events-sites", profile_of("off all", "on proc name=sol*", "on loop file=event_places.c",
                                                        "off loop name=main"))
    check_equal(found, call("solve", *loop()) * STEPS, "solve and its loop")
    nodes = Profile(scratch("out")).json["nodes"]
    counts = [sum(n["count"] for n in nodes if (n["kind"], n["name"]) == ("proc", name))
              for name in ("relax", "again", "other")]
    check_equal(counts, [31, 4, 11], "statistics of relax, again and other")
    found = places(binary, "--events-sites", profile_of("off proc", "off loop"), out="blocks")
    check_equal(found, call("deep") + call("around", *call("moved")) + call("moved"), "blocks alone")
    found = places(binary, "--events-sites", profile_of("off block name=d*", "off loop", "off proc name=main",
                                                        "off proc name=solve", "off proc name=other"),
                   "--events-window", "entry:solve:2", out="both")
    check_equal(found, call("relax") * 3, "a window whose place has no events itself")


@case
def sites_of_calls():
    """A statement that is off leaves no part of a record: no call, message or request; exports read the log."""
    run = run_observed([program("known_events"), "10"], 2, scratch("out"),
                       ["--events", "--events-sites", profile_of("off comm name=MPI_Irecv", "off comm name=MPI_Bcast",
                                                                 "off marker")])
    check_equal(run.code, 0, run.describe())
    threads, said = exported(scratch("out"))
    left_out = [line for line in said.splitlines() if "left out" in line]
    check_equal(left_out, ["dwell: 10 starts and ends of requests are left out; their calls and messages are there"],
                "what is left out")
    for rank, body in ((0, call("MPI_Send") + call("MPI_Recv")), (1, call("MPI_Wait") + call("MPI_Send"))):
        events = [event for event in names_of(threads[rank, 0], "BEi")
                  if event[1] not in ("MPI_Init", "MPI_Comm_rank", "MPI_Finalize")]
        check_equal(events, call("round", *body) * 10, f"events of rank {rank}")
        check_equal(sum(e["ph"] in "sf" for e in threads[rank, 0]), 20, f"messages of rank {rank}")
    run = run_observed([program("known_events"), "10"], 2, scratch("sends"),
                       ["--events", "--events-sites", profile_of("on all", "off comm", "on comm name=MPI_Recv")])
    threads, _ = exported(scratch("sends"))
    check_equal(sum(e["name"].startswith("MPI_") for e in threads[1, 0]), 0, "calls of rank 1")
    check_equal(sum(e["ph"] in "sf" for e in threads[1, 0]), 0, "messages of rank 1")
    for form in ("picl", "epilog", "otf2", "sddf", "perfetto"):
        export = execute([DWELL, "export", scratch("sends"), "--to", form, "-o", scratch("as-" + form)])
        check_equal(export.code, 0, export.describe())


@case
def no_such_place():
    """A window that never begins is said; the profile is as always."""
    run = run_observed([program("event_windows")], 2, scratch("out"),
                       ["--events", "--events-window", "entry:step:11"])
    check("--events-window entry:step:11 did not begin" in run.stderr, run.describe())
    check(not os.path.exists(scratch("out/events")), "there are events")
    check_equal(sum(n["count"] for n in Profile(scratch("out"), run).json["nodes"] if n["name"] == "step"),
                2 * STEPS, "steps")


@case
def chosen_by_nothing():
    """Where nobody has events, that is said; options of events without them are refused. A window from the
    beginning has the beginning, and does not say that it did not begin."""
    run = run_observed([program("event_windows")], 2, scratch("nobody"), ["--events", "--events-ranks", "7"])
    check("events: none, because nothing took place" in run.stderr, run.describe())
    run = execute([DWELL, "run", "--events-window", "1-2", program("event_windows")])
    check_equal(run.code, 2, run.describe())
    check("--events-window needs --events" in run.stderr, run.describe())
    run = run_observed([program("event_windows")], 2, scratch("out"), ["--events", "--events-window", "-20"])
    check("did not begin" not in run.stderr, run.describe())
    threads, said = exported(scratch("out"))
    check("without a beginning" not in said, said)
    for events in threads.values():
        check(("B", "MPI_Init") in names_of(events), f"{events[:4]}")


@case
def wrong_words():
    """Wrong values get one line with the forms that there are."""
    for window in ("phase:", "entry:solve", "entry:solve:0", "entry:solve:5-3", "entry::3", "step:3", "10,phase:a",
                   "phase:" + "x" * 1000, "off,", "off,off"):
        run = execute([DWELL, "run", "--events", "--events-window", window, "true"])
        check_equal(run.code, 2, window + run.describe())
        check("phase:NAME" in run.stderr and "entry:PLACE:N-M" in run.stderr, run.describe())
        check_equal(len(run.stderr.strip().splitlines()), 1, "lines" + run.describe())
    run = execute([DWELL, "run", "--events=level4", "true"])
    check_equal(run.code, 2, run.describe())
    check("level0 to level3, messages, user-events and tracing" in run.stderr, run.describe())
    run = execute([DWELL, "run", "--events", "--events-sites", profile_of("on proc", "out loop"), "true"])
    check_equal(run.code, 2, run.describe())
    check("sites.txt:2: 'out' should be on, off, count or default" in run.stderr, run.describe())
    run = execute([DWELL, "run", "--events", "--events-sites", scratch("missing"), "true"])
    check_equal(run.code, 2, run.describe())
    check("No such file" in run.stderr, run.describe())
    run = execute(mpirun(2, program("event_windows")), 2,
                  env={"LD_PRELOAD": LIBRARY, "DWELL_EVENTS": "last:100", "DWELL_OUT": scratch("out"),
                       "DWELL_EVENTS_SITES": profile_of("off procs")})
    check_equal(run.code, 0, run.describe())
    check("'procs' should be" in run.stderr, run.describe())
    run = execute(mpirun(2, program("event_windows")), 2,
                  env={"LD_PRELOAD": LIBRARY, "DWELL_EVENTS": "last:100", "DWELL_OUT": scratch("out"),
                       "DWELL_EVENTS_WINDOW": "entry:step"})
    check_equal(run.code, 0, run.describe())
    check("entry:PLACE:N-M" in run.stderr, run.describe())


if __name__ == "__main__":
    main()
