"""Waiting in collectives of ranks on several hosts (`--wait full`), over TCP, with clocks that differ
by days.

What is right follows from time stamps that the program takes itself. A rank that loses its core
between its own stamp and dwell's spoils a figure: then the run is repeated, at most twice. What other
work on the machine does to the ranks' times shows in the stamps, and is allowed for.
"""

import shutil

from harness import (DWELL, Profile, case, check, check_equal, check_near, main, program,
                     repeated, scratch, source)
from hosts import Hosts
from test_remote_waits import SHIFT, full, one_each, two_hosts
from test_known_waits import index_of, partners_of

FILE = source("remote_collectives.c")
TIMES = 60
LATE_US = 6000
LIMIT_S = 60  # far more than any of the runs takes: what is longer hangs
ALL, ROOT, TO_ROOT, UP_TO, BEFORE = "all", "root", "to_root", "up_to", "before"
# Which rank is late (-1: the last), whom the collective makes wait, and its root.
KNOWN = {"barrier": ("MPI_Barrier", ALL, 0), "allreduce": ("MPI_Allreduce", ALL, 0),
         "alltoall": ("MPI_Alltoall", ALL, 0), "bcast": ("MPI_Bcast", ROOT, 0),
         "scatter": ("MPI_Scatter", ROOT, 0), "reduce": ("MPI_Reduce", TO_ROOT, 0),
         "gather": ("MPI_Gather", TO_ROOT, 0), "scan": ("MPI_Scan", UP_TO, 0),
         "dup": ("MPI_Barrier", ALL, 0), "split": ("MPI_Bcast", ROOT, 0),
         "bcast_by_early": ("MPI_Bcast", ROOT, 0), "reduce_to_late": ("MPI_Reduce", TO_ROOT, 0)}

# Of windows, topologies and inter-communicators, of the even and the odd ranks.
OTHERS = {"fence": ("MPI_Win_fence", ALL, 0), "circle": ("MPI_Neighbor_allgather", ALL, 0),
          "ring": ("MPI_Neighbor_alltoall", BEFORE, 0), "up": ("MPI_Neighbor_allgather", BEFORE, 0),
          "inter": ("MPI_Barrier", ALL, 0), "inter_bcast": ("MPI_Bcast", ROOT, 0),
          "inter_reduce": ("MPI_Reduce", TO_ROOT, 1)}


def waits_for(rule, root, rank, other):
    return {ALL: rank != other, ROOT: other == root != rank, TO_ROOT: rank == root != other,
            UP_TO: other < rank, BEFORE: other == rank - 1}[rule]


def stamps(told, ranks):
    """By rank and name: begin and end of each call, in seconds."""
    found = []
    for rank in range(ranks):
        by_name = {}
        with open(f"{told}.{rank}", encoding="utf-8") as stream:
            for line in stream:
                name, begin, end = line.split()
                by_name.setdefault(name, []).append((int(begin) / 1e9, int(end) / 1e9))
        found.append(by_name)
    return found


def waited_in(seen, name, rule, root, rank):
    """Seconds that the rank waited in its calls for those whom it depends on."""
    total = 0.0
    others = [other for other in range(len(seen)) if waits_for(rule, root, rank, other)]
    for call, (begin, end) in enumerate(seen[rank][name]):
        last = max((seen[other][name][call][0] for other in others), default=begin)
        total += max(0.0, min(last, end) - begin)
    return total


def observed(hosts, start, what, out, times=TIMES, late_us=LATE_US, wait="full"):
    told = scratch(out + ".told")
    run = hosts.run(start + [DWELL, "run", "--wait", wait, "-o", scratch(out),
                             program("remote_collectives"), what, told, str(times), str(late_us)],
                    env=SHIFT, timeout_s=LIMIT_S)
    check_equal(run.code, 0, "exit code" + run.describe())
    return Profile(scratch(out), run), told


def disturbance(seen, name, late_us):
    """Seconds by which the machine spoiled the calls of a line: ranks that were later or earlier than
    they should be, and calls that took long although all were there."""
    total = 0.0
    for calls in zip(*(of[name] for of in seen)):
        begun = sorted(begin for begin, _ in calls)
        total += abs(begun[-1] - begun[-2] - late_us / 1e6) + begun[-2] - begun[0]
        total += sum(max(0.0, end - begun[-1] - 300e-6) for _, end in calls)
    return total


def check_known(hosts, start, ranks, out, what="known", table=KNOWN):
    profile, told = observed(hosts, start, what, out)
    profile.check_conservation()
    seen = stamps(told, ranks)
    for name in table:
        check_line(profile, seen, name, table[name])
    return profile, seen


def check_line(profile, seen, name, of_table):
    call, rule, root = of_table
    ranks = len(seen)
    waited = sum(waited_in(seen, name, rule, root, rank) for rank in range(ranks))
    node = profile.at(FILE, name, call)
    calls = ranks * TIMES
    spoilt = disturbance(seen, name, LATE_US)
    # Those of which nothing was known yet waited as long as the others.
    depending = TIMES * sum(any(waits_for(rule, root, rank, other) for other in range(ranks))
                            for rank in range(ranks))
    waited *= 1 - node.raw.get("unknown_waits", 0) / depending
    # 2 % or 100 us of each call, whichever is more.
    # Estimates suffer twice: the call itself, and what earlier ones have shown.
    check_near(node.raw["sync_ns"] / 1e9, waited, 0.02, 100e-6 * calls + 2 * spoilt,
               f"seconds waited at @{name}")
    if spoilt < 0.1 * TIMES * LATE_US / 1e6:
        unsure = node.raw.get("unknown_waits", 0) + node.raw.get("estimated_waits", 0)
        # What is told takes its part of the time at most, and comes by leaps.
        check(unsure < 0.95 * calls, f"too little is known at @{name}: {node.raw}")
        check(node.raw.get("unknown_waits", 0) <= 0.2 * calls, f"unknown at @{name}: {node.raw}")


def check_request(profile, seen, name, rule):
    """Of what only starts nothing is estimated: what is known is the same part of both, but for notes
    that were not there in time."""
    node = profile.at(FILE, name, "MPI_Wait")
    ranks = len(seen)
    waited = sum(waited_in(seen, name, rule, 0, rank) for rank in range(ranks))
    known = ranks * TIMES - node.raw.get("unknown_waits", 0)
    spoilt = disturbance(seen, name, LATE_US)
    if spoilt < 0.1 * TIMES * LATE_US / 1e6:
        check(known > 0, f"nothing is known at @{name}: {node.raw}")
    check_near(node.raw["sync_ns"] / 1e9, waited * known / (ranks * TIMES), 0.1,
               100e-6 * known + 2 * spoilt + 3 * LATE_US / 1e6, f"seconds waited at @{name}")


def check_late_is_named(profile, seen, name, late, late_us=LATE_US):
    node = profile.at(FILE, name, {**KNOWN, **OTHERS}[name][0])
    named = {p["peer_rank"]: p["time_ns"] for p in partners_of(profile, index_of(profile, node))}
    check(named.get(late, 0) > 0, f"nobody waited for rank {late} at @{name}: {named}")
    others = sum(named.values()) - named[late]
    check(others / 1e9 <= 0.1 * node.raw["sync_ns"] / 1e9 + disturbance(seen, name, late_us),
          f"waited for {named} at @{name}")


@case
def one_rank_on_each():
    """Two ranks on two hosts: each line waits as long as the stamps say, and for whom."""
    with two_hosts() as hosts:
        def attempt():
            profile, seen = check_known(hosts, one_each(hosts), 2, "known")
            check_request(profile, seen, "request", ALL)
            for name in ("barrier", "allreduce", "bcast", "split"):
                check_late_is_named(profile, seen, name, 0)
            for name in ("alltoall", "reduce", "gather"):
                check_late_is_named(profile, seen, name, 1)
        repeated_clean(hosts, attempt)


@case
def windows_and_topologies():
    """Fences, neighbourhoods, inter-communicators and files: the same."""
    with two_hosts() as hosts:
        def attempt():
            start = one_each(hosts) + ["--mca", "osc", "pt2pt"]  # else no windows over TCP
            profile, seen = check_known(hosts, start, 2, "others", "others", OTHERS)
            check_request(profile, seen, "wait_ring", BEFORE)
            check_file(profile, seen)
        repeated_clean(hosts, attempt)


def check_file(profile, seen):
    """Writing waits for nobody here, so who is late for the last of it is late for closing as well."""
    node = next(n.raw for n in profile.comm("MPI_File_close", FILE))
    spoilt = disturbance(seen, "file", LATE_US)
    unsure = node.get("unknown_waits", 0) + node.get("estimated_waits", 0)
    check(unsure <= 1 or spoilt > 0.1 * TIMES * LATE_US / 1e6, f"nothing is known: {node}")
    if unsure == 0:
        check_near(node["sync_ns"] / 1e9, LATE_US / 1e6, 0.1, 1e-3 + spoilt, f"waited: {node}")


@case
def two_ranks_on_each():
    """Four ranks on two hosts: those of the own host are known by the board, the others by notes."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["-n", "4", "--mca", "osc", "pt2pt"]
        for what, late in (("known", {"barrier": 0, "alltoall": 3}),
                           ("others", {"fence": 0, "circle": 3, "ring": 0, "inter": 0})):
            repeated_clean(hosts, lambda: check_known_of_four(hosts, start, what, late))


def check_known_of_four(hosts, start, what, late):
    """With more ranks than cores a rank that computes keeps others from coming: only who was waited
    for is certain."""
    late_us = 2 * LATE_US
    profile, told = observed(hosts, start, what, "four", late_us=late_us, times=TIMES // 2)
    profile.check_conservation()
    seen = stamps(told, 4)
    for name, rank in late.items():
        check_late_is_named(profile, seen, name, rank, late_us)
        node = profile.at(FILE, name, {**KNOWN, **OTHERS}[name][0]).raw
        check(node.get("unknown_waits", 0) < node["count"] / 2, f"unknown at @{name}: {node}")


@case
def three_hosts():
    """One rank on each of three hosts."""
    with Hosts("left", "middle", "right") as hosts:
        start = hosts.mpirun("left:1", "middle:1", "right:1") + ["-n", "3"]
        def attempt():
            profile, told = observed(hosts, start, "known", "three", times=TIMES // 2)
            profile.check_conservation()
            seen = stamps(told, 3)
            check_late_is_named(profile, seen, "barrier", 0)
            check_late_is_named(profile, seen, "bcast", 0)
            check_late_is_named(profile, seen, "gather", 2)
        repeated_clean(hosts, attempt)


def repeated_clean(hosts, attempt):
    def once():
        for left in ("known", "others", "four", "three"):
            remove(left)
        attempt()
    repeated(once)
    check_equal(hosts.records(), [], "left in /dev/shm")


def remove(name):
    shutil.rmtree(scratch(name), ignore_errors=True)


@case
def nothing_told_of_the_node():
    """With `--wait node` nothing is told between hosts: the same waiting is not known."""
    with two_hosts() as hosts:
        profile, _ = observed(hosts, one_each(hosts), "known", "out", times=5, wait="node")
        for name in ("barrier", "bcast", "reduce"):
            node = profile.at(FILE, name, KNOWN[name][0]).raw
            check_equal(node["sync_ns"], 0, f"known at @{name}")


@case
def paused():
    """Rank 1 is paused in the second third of a loop: rank 0 is told nothing meanwhile, nobody waits
    for it, and afterwards the numbers of both agree again."""
    with two_hosts() as hosts:
        profile, told = observed(hosts, one_each(hosts), "paused", "out", times=90)
        profile.check_conservation()
        node = profile.at(FILE, "paused", "MPI_Allreduce")
        check_equal(node.count, 90 + 60, "recorded calls")
        check(node.raw.get("unknown_waits", 0) <= 60, f"unknown: {node.raw}")
        seen = stamps(told, 2)
        waited = waited_in(seen, "paused", ALL, 0, 0)
        for third in (0, 60):
            part = [{"paused": of["paused"][third:third + 30]} for of in seen]
            waited += waited_in(part, "paused", ALL, 0, 1)
        check_near(node.raw["sync_ns"] / 1e9, waited, 0.05,
                   150 * 100e-6 + disturbance(seen, "paused", LATE_US), "seconds waited")


@case
def communicators_come_and_go():
    """300 times two communicators are made, used and freed: the results stay, and nothing is left."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["--map-by", "node", "-n", "4"]
        words = [program("remote_collectives"), "comms", scratch("told"), "300", "0"]
        plain = hosts.run(start + words, timeout_s=LIMIT_S)
        run = hosts.run(start + full("comms", "--quiet") + words, env=SHIFT, timeout_s=LIMIT_S)
        check_equal(run.code, 0, "exit code" + run.describe())
        check_equal(sorted(run.stdout.split("\n")), sorted(plain.stdout.split("\n")), "sums")
        Profile(scratch("comms"), run).check_conservation()
        check_equal(hosts.records(), [], "left in /dev/shm")


@case
def run_ahead():
    """Rooted collectives in which ranks run ahead of each other, thousands of them: the same sums,
    and no more than a part of them is told."""
    with two_hosts() as hosts:
        for places, ranks in ((("left:1", "right:1"), 2), (("left:2", "right:1"), 3)):
            start = hosts.mpirun(*places) + ["-n", str(ranks)]
            words = [program("remote_collectives"), "often", scratch("told"), "5000", "0"]
            plain = hosts.run(start + words, timeout_s=LIMIT_S)
            for mode in ("full", "node", "off"):
                out = f"often{ranks}{mode}"
                run = hosts.run(start + [DWELL, "run", "--quiet", "--wait", mode, "-o",
                                         scratch(out)] + words, env=SHIFT, timeout_s=LIMIT_S)
                check_equal(run.code, 0, mode + run.describe())
                check_equal(sorted(run.stdout.split("\n")), sorted(plain.stdout.split("\n")), "sums")
                Profile(scratch(out), run).check_conservation()
        check_equal(hosts.records(), [], "left in /dev/shm")


@case
def rejected_calls():
    """Calls that MPI rejects on one rank, which tries again, are none of the collectives that the
    ranks count."""
    with two_hosts() as hosts:
        def attempt():
            remove("failing")
            profile, told = observed(hosts, one_each(hosts), "failing", "failing", times=30)
            seen = stamps(told, 2)
            waited = sum(waited_in(seen, "failing", ALL, 0, rank) for rank in (0, 1))
            nodes = [n for n in profile.comm("MPI_Allreduce", FILE) if n.raw.get("failed", 0) == 0]
            check_equal(len(nodes), 1, f"statements {nodes}")
            check(nodes[0].raw.get("unknown_waits", 0) < 30, f"unknown: {nodes[0].raw}")
            check_near(nodes[0].raw["sync_ns"] / 1e9, waited, 0.02,
                       60 * 100e-6 + disturbance(seen, "failing", LATE_US), "seconds waited")
        repeated(attempt)


@case
def one_rank_unobserved():
    """A communicator with a rank that is not observed: nothing is told on it, and nobody waits."""
    with two_hosts() as hosts:
        words = [program("remote_collectives"), "often", scratch("told"), "500", "0"]
        start = hosts.mpirun("left:1", "right:2")
        plain = hosts.run(start + ["-n", "3", *words], timeout_s=LIMIT_S)
        run = hosts.run(start + ["-n", "2", *full("out", "--quiet"), *words, ":", "-n", "1", *words],
                        env=SHIFT, timeout_s=LIMIT_S)
        check_equal(run.code, 0, "exit code" + run.describe())
        check_equal(sorted(run.stdout.split("\n")), sorted(plain.stdout.split("\n")), "sums")
        profile = Profile(scratch("out"), run)
        profile.check_conservation()
        check(sum(n.raw.get("unknown_waits", 0) for n in profile.comm("MPI_Bcast", FILE)) > 0,
              "nothing is unknown")


@case
def finalize():
    """Rank 0 is 50 ms late for MPI_Finalize: the other one waits for it, and that is known."""
    with two_hosts() as hosts:
        def attempt():
            remove("end")
            profile, told = observed(hosts, one_each(hosts), "end", "end", late_us=50000)
            seen = stamps(told, 2)
            waited = waited_end(seen)
            node = profile.at(FILE, "finalize", "MPI_Finalize")
            check_near(node.raw["sync_ns"] / 1e9, waited, 0.02, 200e-6, f"waited: {node.raw}")
            check_equal(node.raw.get("unknown_waits", 0), 0, "unknown")
            named = {p["peer_rank"] for p in partners_of(profile, index_of(profile, node))}
            check_equal(named, {0}, "waited for")
        repeated(attempt)


def waited_end(seen):
    begun = [of["end"][0][0] for of in seen]
    return max(begun) - min(begun)


if __name__ == "__main__":
    main()
