"""Waiting of known length: who waited for whom, and times that do not depend on dwell's own cost.

The programs take their own time stamps in the same run, so that what is right follows from those,
however busy the machine is. A rank that loses its processor between its own stamp and dwell's spoils
a figure: then the run is repeated.
"""

import csv
import io
import os
import re

from harness import (DWELL, Profile, case, check, check_equal, check_near, execute, main, marked_line,
                     program, repeated, run_observed, run_plain, scratch, source, timed)

TIMES = 100
TIMES_LATE = 20  # of late_receivers.c
ALLOWED_S = 100e-6  # a call, or 2 %
# What is waited for: the late sender (rank 1 waits), or the late receiver (rank 0 waits).
LATE_SENDER = {"recv": "MPI_Recv", "recv_large": "MPI_Recv", "recv_any": "MPI_Recv",
               "wait_recv": "MPI_Wait", "waitall": "MPI_Waitall", "sendrecv": "MPI_Sendrecv",
               "found": "MPI_Recv", "wait_persistent": "MPI_Wait"}
LATE_RECEIVER = {"ssend": "MPI_Ssend", "send_kept": "MPI_Send", "wait_kept": "MPI_Wait",
                 "send_large": "MPI_Send", "wait_issend": "MPI_Wait"}


def stamps(path):
    told = {}
    with open(path, encoding="utf-8") as stream:
        for line in stream:
            name, ns = line.split()
            told.setdefault(name, []).append(int(ns) / 1e9)
    return told


def waited_at(ranks, waiter, name):
    """Seconds by which the other rank came later, all calls together; less where MPI did not keep the caller
    for so long."""
    came = ranks[1 - waiter][name]
    left = ranks[waiter].get(f"{name}_left", came)
    return sum(max(0.0, min(late, end) - early)
               for early, late, end in zip(ranks[waiter][name], came, left, strict=True))


def partners_of(profile, node_index):
    return [p for p in profile.json["partners"] if p["node"] == node_index]


def index_of(profile, node):
    return next(i for i, raw in enumerate(profile.nodes) if raw is node.raw)


@case
def point_to_point():
    """Each line waits as long as the stamps of both ranks say (sum over 100 calls, 2 % or 100
    microseconds a call), for the right partner; no line waits for one that was there."""
    repeated(check_known_waits)


def check_known_waits():
    told = scratch("told")
    profile = timed([program("known_waits"), told], 2)
    file = source("known_waits.c")
    ranks = [stamps(f"{told}.{rank}") for rank in (0, 1)]
    for name, call in {**LATE_SENDER, **LATE_RECEIVER}.items():
        waiter = 1 if name in LATE_SENDER else 0
        waited = waited_at(ranks, waiter, name)
        node = profile.at(file, name, call)
        check_equal(node.count, TIMES, f"calls at @{name}")
        sync_ns = node.raw["sync_ns"]
        check_near(sync_ns / 1e9, waited, 0.02, ALLOWED_S * TIMES, f"seconds waited at @{name}")
        kind = "late_sender_ns" if waiter == 1 else "late_receiver_ns"
        check_equal(node.raw.get(kind, 0), sync_ns, f"{kind} at @{name}")
        check(sync_ns <= node.time_ns, f"@{name} waited longer than it took")
        partners = partners_of(profile, index_of(profile, node))
        check(all(p["peer_rank"] == 1 - waiter for p in partners), f"@{name}: {partners}")
        check(sum(p["time_ns"] for p in partners) <= sync_ns + len(partners),
              f"@{name}: partners {partners} for {sync_ns} ns")
        if name != "found":
            check(sum(p["time_ns"] for p in partners) >= sync_ns * 0.5, f"@{name}: {partners}")
    node = profile.at(file, "unawaited", "MPI_Send")
    check_equal(node.raw["sync_ns"], 0, "a small message waits for nobody")


@case
def late_starts():
    """A sender waits for a receive that is a request: by MPI_Start, by a wait or a test for one that
    was started before, with messages that MPI would not let wait were they not persistent, and
    while its receiver is still leaving the barrier before (sum over 100 calls, as above)."""
    repeated(check_late_starts)


def check_late_starts():
    told = scratch("told")
    profile = timed([program("late_starts"), told], 2)
    ranks = [stamps(f"{told}.{rank}") for rank in (0, 1)]
    for name, call in {"init_64": "MPI_Wait", "send": "MPI_Send", "at_once": "MPI_Send",
                       "tested": "MPI_Send", "init_4000": "MPI_Wait"}.items():
        left = ranks[0].get(f"{name}_left", ranks[1][name])
        waited = sum(max(0.0, min(late, end) - early)
                     for early, late, end in zip(ranks[0][name], ranks[1][name], left))
        node = profile.at(source("late_starts.c"), name, call)
        check_equal(node.count, TIMES, f"calls at @{name}")
        sync_ns = node.raw["sync_ns"]
        check_near(sync_ns / 1e9, waited, 0.02, ALLOWED_S * TIMES, f"seconds waited at @{name}")
        check_equal(node.raw.get("late_receiver_ns", 0), sync_ns, f"late receiver at @{name}")


@case
def late_starts_in_a_ring():
    """Persistent halos of 64 bytes: who sends to the late rank waits for it as long as who receives
    from it."""
    repeated(check_ring_of_starts)


def check_ring_of_starts():
    told = scratch("told")
    profile = timed([program("late_starts"), told], 3)
    early, late, other = (stamps(f"{told}.{rank}")["ring"] for rank in range(3))
    node = profile.at(source("late_starts.c"), "ring", "MPI_Waitall")
    for kind, stamped in (("late_receiver_ns", early), ("late_sender_ns", other)):
        waited = sum(max(0.0, last - first) for first, last in zip(stamped, late))
        check_near(node.raw.get(kind, 0) / 1e9, waited, 0.05, ALLOWED_S * TIMES, kind)


@case
def late_any():
    """A sender waits for a receiver that takes messages of any source by a request, and that sends
    nothing itself: at least the time that this rests (it sleeps no shorter), and no longer than the
    call took. The first call is not known: nobody knows then who might send."""
    profile = timed([program("late_any")], 2)
    for name in ("new", "started"):
        node = profile.at(source("late_any.c"), name, "MPI_Ssend")
        check_equal(node.count, 50, f"calls at @{name}")
        late_ns = node.raw.get("late_receiver_ns", 0)
        check(0.9 * 49 * 3e6 <= late_ns <= node.time_ns, f"{late_ns} ns at @{name}")


@case
def delayed_halo():
    """A rank that dwell delays in each of its calls lets its partner wait as long as it would have:
    what starts a receive or a send is not when it comes to its messages."""
    for inject in (None, "1:200000"):
        repeated(check_delayed_halo, inject)


def check_delayed_halo(inject):
    profile = timed([program("delayed_halo")], 2, name=f"out-{inject}",
                       env={"DWELL_INJECT_NS": inject} if inject else {})
    node = profile.at(source("delayed_halo.c"), "exchange", "MPI_Waitall")
    check_near(node.raw["sync_ns"] / 1e9, 200 * 400e-6, 0.1, 0.004, f"seconds waited, {inject} injected")


@case
def delayed_sender():
    """A send of few bytes that dwell delays, so that its receiver is there before it, waits as long as it
    would have, and nobody waits in the barrier after it instead."""
    for how, size, inject in (("start", 64, None), ("start", 64, "0:1500000"), ("start", 64, "0:3000000"),
                              ("start", 1000, "0:1500000"), ("send", 1000, None), ("send", 1000, "0:1500000"),
                              ("sendrecv", 1000, None), ("sendrecv", 1000, "0:1500000")):
        repeated(check_delayed_sender, how, size, inject)


def check_delayed_sender(how, size, inject):
    # Three calls each time; what dwell takes out of its own delays may be wrong by a hundredth of them.
    injected = 3 * 100 * int(inject.split(":")[1]) / 1e9 if inject else 0.0
    profile = timed([program("delayed_sender"), str(size), how], 2, name=f"out-{how}-{size}-{inject}",
                       env={"DWELL_INJECT_NS": inject} if inject else {})
    place = {"start": ("sent", "MPI_Wait"), "send": ("send", "MPI_Send"), "sendrecv": ("sendrecv", "MPI_Sendrecv")}[how]
    for (name, call), seconds in ((place, 100 * 1e-3), (("barrier", "MPI_Barrier"), 0.0)):
        node = profile.at(source("delayed_sender.c"), name, call)
        check_near(node.raw.get("sync_ns", 0) / 1e9, seconds, 0.1, 0.01 + 0.01 * injected,
                   f"seconds waited at @{name}, {size} bytes by {how}, {inject} injected")


@case
def delayed_probes():
    """What dwell delays the receiver by, 40 ms in its probes and receives, is no time of the sender, which
    waits for each to take its message: of that nothing is left, nor does the next probe wait for it."""
    def attempt():
        file = source("delayed_probes.c")
        profile = timed([program("delayed_probes")], 2, env={"DWELL_INJECT_NS": "1:20000"})
        for name, call in (("send", "MPI_Send"), ("probe", "MPI_Probe")):
            node = profile.at(file, name, call)
            check(node.time_ns < 10e6, f"{node.time_ns / 1e6:.1f} ms in {call}")
    repeated(attempt)


@case
def cause_of_a_halo():
    """Who waits for a halo waits because of the computation before it, not because of what lies
    between the calls that start it; with messages that are sent ahead, and that meet."""
    for size in (64, 1000, 20000):
        repeated(check_cause_of_a_halo, size)


def check_cause_of_a_halo(size):
    file = source("delayed_halo.c")
    place = marked_line(file, "exchange"), marked_line(file, "computed")
    profile = timed([program("delayed_halo"), str(size)], 2, name=f"out-{size}")
    found = 0
    for cause in profile.json["causes"]:
        if cause["peer_rank"] != 1 or cause["interval"] is None:
            continue
        interval = profile.intervals[cause["interval"]]
        ends = [interval[end] for end in ("from", "to")]
        if None not in ends and tuple(profile.nodes[end]["line"] for end in ends) == place:
            found += cause["time_ns"]
    check(found / 1e9 > 0.9 * 199 * 400e-6,
          f"{found} ns of waiting because of it, {size} bytes: {profile.json['causes']}")


@case
def cause_of_late_receivers():
    """Who waits for a receiver that came late because it had waited itself does so because of whom
    that waited for, however it receives; for as long as it computed after that because of itself;
    and not again because of what it has heard of."""
    for how in ("ssend", "large", "started", "posted", "any", "persistent", "kept", "told",
                "answered", "read"):
        repeated(check_cause_of_late_receivers, how)


def check_cause_of_late_receivers(how):
    # Milliseconds: rank 2 computes and rank 1 after that, rank 0 before its send.
    others, own, sender = {"kept": (8, 4, 9), "read": (8, 4, 9), "posted": (5, 3, 6)}.get(how, (5, 3, 0))
    profile = timed([program("late_receivers"), how, str(others), str(own), str(sender)], 3,
                       name=f"out-{how}")
    file = source("late_receivers.c")
    sends = profile.at(file, "ssend" if how == "ssend" else "send",
                       "MPI_Ssend" if how == "ssend" else "MPI_Send")
    # Rank 0 waits until rank 1 comes: but for what rank 1 computed itself it would not have, and
    # where rank 0 computed as well it would not have at all. What it heard in a receive before it
    # waited for there.
    others_ms, own_ms = others, own
    if how == "posted":
        others_ms, own_ms = others + 2 * own - sender, 0
    if how in ("kept", "read"):
        others_ms, own_ms = others + own - sender, 0
    if how == "told":
        check_waited(profile, profile.at(file, "heard", "MPI_Recv"), others, 0)
        others_ms = 0
    check_waited(profile, sends, others_ms, own_ms)
    if how in ("answered", "read"):
        check_waited(profile, profile.at(file, "heard", "MPI_Recv"), 0, own)
    caused_ms = 0
    for cause in profile.json["causes"]:
        interval = profile.intervals[cause["interval"]] if cause["interval"] is not None else {}
        ends = [interval.get(end) for end in ("from", "to")]
        if cause["peer_rank"] == 2 and None not in ends:
            lines = [profile.nodes[end]["line"] for end in ends]
            if lines == [marked_line(file, "level"), marked_line(file, "computed")]:
                caused_ms += cause["passed_on_ns"] / 1e6
    check(caused_ms >= 0.9 * TIMES_LATE * (others_ms or others),
          f"{caused_ms} ms passed on, @{how}: {profile.json['causes']}")


def check_waited(profile, node, passed_ms, own_ms):
    """Each time a line waited so long for what others made rank 1 late by, and for itself. A rest may last
    longer than asked, on a virtual machine by more than a tenth; a rank that lost its processor meanwhile
    moves two of the line's twenty waits from one to the other."""
    def check_rests(ms, want_ms, text):
        moved_ms = 3 + 0.1 * waited
        check(0.9 * want_ms - moved_ms <= ms <= 1.25 * want_ms + moved_ms, f"{ms} instead of {want_ms} {text}")

    partners = partners_of(profile, index_of(profile, node))
    waited = sum(p["time_ns"] for p in partners) / 1e6
    passed = sum(p.get("passed_on_ns", 0) for p in partners) / 1e6
    what = f"ms of {waited} in {node.name}: {partners}, {profile.json['causes']}"
    check_rests(passed, TIMES_LATE * passed_ms, f"passed-on {what}")
    check_rests(waited - passed, TIMES_LATE * own_ms, f"own {what}")


@case
def matched_messages():
    """Messages that a matched probe has found are no other receive's: each of several probes in a row
    waits for its own message, and whose receive comes late is waited for, in whatever order they are
    received, and also after one that failed."""
    repeated(check_matched_messages)


def check_matched_messages():
    told = scratch("matched")
    profile = timed([program("matched"), told], 2)
    file = source("matched.c")
    ranks = [stamps(f"{told}.{rank}") for rank in (0, 1)]
    for name, call, waiter in (("first", "MPI_Mprobe", 1), ("second", "MPI_Mprobe", 1),
                               ("third", "MPI_Mprobe", 1), ("late_second", "MPI_Wait", 0),
                               ("late_first", "MPI_Wait", 0), ("after", "MPI_Recv", 1)):
        waited = waited_at(ranks, waiter, name)
        check(waited >= 0.0015 * TIMES_LATE, f"{waited} s at @{name}")
        node = profile.at(file, name, call).raw
        check_near(node["sync_ns"] / 1e9, waited, 0.02, TIMES_LATE * ALLOWED_S,
                   f"s waited at @{name}: {node}")
        kind = "late_sender_ns" if waiter == 1 else "late_receiver_ns"
        check_equal(node.get(kind, 0), node["sync_ns"], f"kind at @{name}")
        for doubt in ("unknown_waits", "guessed_waits"):
            check_equal(node.get(doubt, 0), 0, f"{doubt} at @{name}")
    received = profile.at(file, "received", "MPI_Mrecv").raw
    check(received["sync_ns"] < 1e6, f"waited for what had been found: {received}")


@case
def nothing_without_wait_analysis():
    """--wait off: no line knows a partner that it waited for."""
    profile = timed([program("known_waits"), scratch("told")], 2, ["--wait", "off"])
    check_equal(profile.json["partners"], [], "partners")
    check_equal(profile.json["causes"], [], "causes")
    for name, call in {**LATE_SENDER, **LATE_RECEIVER}.items():
        node = profile.at(source("known_waits.c"), name, call)
        check_equal(node.raw.get("late_sender_ns", 0) + node.raw.get("late_receiver_ns", 0), 0,
                    f"known waiting at @{name}")


def own_seconds(run):
    """What each rank measured itself."""
    return [float(text) for text in re.findall(r"^rank \d+: ([\d.]+) s$", run.stdout, re.M)]


def virtual_seconds(directory, ranks):
    """The same stretch in dwell's virtual time: all but the calls that end it."""
    run = execute([DWELL, "report", "--per-rank", "--format", "csv", directory])
    check(run.code == 0, "dwell report failed" + run.describe())
    seconds = [0.0] * ranks
    for row in csv.DictReader(io.StringIO(run.stdout)):
        if row["kind"] == "program":
            seconds[int(row["rank"])] += float(row["time_s"])
        elif row["name"] in ("MPI_Finalize", "MPI_Pcontrol"):
            seconds[int(row["rank"])] -= float(row["time_s"])
    return seconds


def checksum(run):
    return re.search(r"^checksum .*$", run.stdout, re.M).group(0)


def check_injected(kind, repetitions, inject):
    """One of two ranks that take turns is delayed, which makes the run as much longer: so virtual
    time must be that much shorter than real time, on both. All of one run, so that a busy machine
    changes both alike; how far virtual time is that of a run without dwell is in tests/bench."""
    argv = [program("stages"), kind, str(repetitions)]
    out = scratch("out")
    plain = run_plain(argv, 2)
    seen = run_observed(argv, 2, out, ["--sample", "off"], env={"DWELL_INJECT_NS": inject})
    check_equal(checksum(seen), checksum(plain), "result")
    ranks = Profile(out).ranks
    injected = sum(rank["injected_ns"] for rank in ranks) / 1e9
    own = sum(rank["own_ns"] for rank in ranks) / 1e9 - injected
    check(injected > 0.1, f"only {injected} s injected")
    removed = [real - virtual for real, virtual in zip(own_seconds(seen), virtual_seconds(out, 2))]
    for rank, seconds in enumerate(removed):
        check(0.75 * injected <= seconds <= 1.1 * injected + own,
              f"rank {rank}: real less virtual time {seconds:.4f} s, injected {injected:.4f} s, "
              f"other own cost {own:.4f} s; all {removed}")


@case
def injected_pingpong():
    """Messages to and fro, one rank delayed by 200 microseconds a call."""
    repeated(check_injected, "pingpong", 500, "0:200000")


@case
def injected_master():
    """A master that is slow because it is watched makes its worker wait: not in virtual time."""
    repeated(check_injected, "master", 500, "0:200000")


@case
def injected_worker():
    """The same with the worker watched."""
    repeated(check_injected, "master", 500, "1:200000")


@case
def injected_ticks_are_told():
    """The profile tells how much was injected, on the rank that it was meant for: two probes a
    round trip, and some beside."""
    out = scratch("out")
    run_observed([program("stages"), "pingpong", "500"], 2, out,
                 env={"DWELL_INJECT_NS": "1:50000"})
    ranks = {rank["rank"]: rank for rank in Profile(out).ranks}
    check_equal(ranks[0]["injected_ns"], 0, "injected on rank 0")
    check(ranks[1]["injected_ns"] >= 2 * 500 * 50_000, f"injected on rank 1: {ranks[1]}")
    check(ranks[1]["own_ns"] >= ranks[1]["injected_ns"], f"part of its own cost: {ranks[1]}")


@case
def bad_values():
    """A value that is no delay: one clear line, and the program runs unobserved."""
    plain = run_plain([program("stages"), "pingpong", "10"], 2)
    for value in ("x", "-1", "1:", "1:2,", "3 ns"):
        run = execute(["mpirun", "-n", "2", "--bind-to", "none", "-x", "LD_PRELOAD", "-x",
                       "DWELL_INJECT_NS", program("stages"), "pingpong", "10"], 2,
                      env={"DWELL_INJECT_NS": value, "LD_PRELOAD": os.environ["SYSTEST_LIBRARY"]})
        check_equal(run.code, 0, "exit code" + run.describe())
        check_equal(checksum(run), checksum(plain), "result")
        lines = [line for line in run.stderr.splitlines() if "DWELL_INJECT_NS" in line]
        check(lines and all("runs unobserved" in line for line in lines), run.describe())


@case
def bad_value_under_run():
    """`dwell run` adds no other reason to that line, and writes no profile."""
    rank = [program("stages"), "pingpong", "10"]
    launcher = ["mpirun", "-n", "2", "--bind-to", "none"]
    observed = [DWELL, "run", "-o", scratch("out")]
    for argv in ([*observed, *launcher, *rank], [*launcher, *observed, *rank],
                 [*observed, DWELL, "run", *launcher, *rank], [*observed, program("openmp_gcc")]):
        run = execute(argv, 2, env={"DWELL_INJECT_NS": "3 ns"})
        check(run.code in (0, 3), "exit code" + run.describe())
        lines = [line for line in run.stderr.splitlines() if line.startswith("dwell:")]
        check(lines and all("DWELL_INJECT_NS=3 ns is neither" in line for line in lines),
              "lines" + run.describe())
        check(not os.path.exists(scratch("out")), "a profile" + run.describe())


LONG_S, SHORT_S, ROUNDS = 0.004, 0.0005, 50  # late_ring.c


def causes_by_rank(profile):
    seconds = {}
    for cause in profile.json["causes"]:
        seconds[cause["peer_rank"]] = seconds.get(cause["peer_rank"], 0) + cause["time_ns"] / 1e9
    return seconds


@case
def ring_of_two():
    """Rank 1 waits for what rank 0 works, each time, and rank 0 for what rank 1 does."""
    def attempt():
        seconds = causes_by_rank(timed([program("late_ring")], 2))
        check_near(seconds[0], LONG_S * ROUNDS, 0.02, ALLOWED_S * ROUNDS, "due to rank 0")
        check_near(seconds[1], SHORT_S * ROUNDS, 0.02, ALLOWED_S * ROUNDS, "due to rank 1")
    repeated(attempt)


@case
def ring_of_more():
    """3 and 4 ranks, more than cores: the rank that works longest is the cause of most waiting, and
    most of what the others wait for each other is passed on."""
    def attempt(ranks):
        profile = timed([program("late_ring")], ranks, name=f"out.{ranks}")
        seconds = causes_by_rank(profile)
        check(seconds[0] >= 0.6 * sum(seconds.values()), f"{ranks} ranks: due to each {seconds}")
        between = [p for p in profile.json["partners"] if p["peer_rank"] in range(1, ranks)]
        passed_on = sum(p.get("passed_on_ns", 0) for p in between)
        check(passed_on >= 0.5 * sum(p["time_ns"] for p in between), f"not passed on: {between}")
    for ranks in (3, 4):
        repeated(attempt, ranks)


@case
def more_ranks_than_cores():
    """4 and 8 ranks: all parts of the time add up, and waiting is known."""
    for ranks in (4, 8):
        out = timed([program("random_program"), "7", "60"], ranks, name=f"out.{ranks}")
        check(out.json["sync_ns"] > 0, "nobody waited for anybody")
        check_equal([r["clock_errors"] for r in out.ranks], [0] * ranks, "clock errors")


@case
def shared_processors():
    """4 ranks that compute as long and meet in a collective, on fewer processors: what each was in the
    collective is what it measured itself, as far as it did not lose its processor at the begin."""
    def attempt(how):
        told = scratch("told")
        profile = timed([program("shared_processors"), how, told], 4, name=how)
        node = profile.at(source("shared_processors.c"), how, f"MPI_{how.capitalize()}")
        inside = sum(float(open(f"{told}.{rank}", encoding="ascii").read()) for rank in range(4))
        check(not any("damaged" in rank["flags"] for rank in profile.ranks), f"{how}: {profile.ranks}")
        check(node.raw["max_ns"] <= 1e9 * profile.run.elapsed_s, f"{how}: {node.raw}")
        check_near(node.time_ns / 1e9, inside, 0.25, 0.05, f"seconds in {how}")
    for how in ("barrier", "allreduce"):
        repeated(attempt, how)


if __name__ == "__main__":
    main()
