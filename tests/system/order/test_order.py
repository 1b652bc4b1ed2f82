"""`dwell run --preserve-order`: choices between messages fall as they would have without dwell.

Rank 1 is delayed in each of its calls, so that what it sends first comes last; the control is right
when the order is that of the sending all the same, and the test is when it is not without.

REPEAT=50 makes each run with the control that often, each under a time limit: no run hangs. The full
size, 1000 receives in ten runs, is the case `thousand` (`ctest -C Long`).
"""

import os
import re

from harness import (Profile, case, check, check_equal, main, program, run_observed, run_plain,
                     same_result, scratch, skip_unless)

RANKS = 4
GAP_MS = 5
REPEAT = int(os.environ.get("REPEAT", "1"))
LIMIT_S = 60
# The last of a round is sent two gaps after the first one.
DELAY = {"DWELL_INJECT_NS": f"1:{3 * GAP_MS}000000"}
COUNTS = ("order_kept", "order_far", "order_posted", "order_unknown")
# Of these the last in each round has nothing to choose from, and one call may take several.
SEVERAL = ("waitany", "testany", "waitsome", "testsome")


def results(run, delay):
    """For each way the sums over the ranks: receives, those out of order, those that nobody can tell
    of."""
    check_equal(run.code, 0, f"exit code with {delay}" + run.describe())
    found = re.findall(r"(\w+): (\d+) receives, (\d+) out of order, (\d+) too close", run.stdout)
    check(found, "no result" + run.describe())
    done = {}
    for way, *counts in found:
        done[way] = tuple(map(sum, zip(done.get(way, (0, 0, 0)), map(int, counts))))
    return done


def sums(profile):
    return {name: sum(rank[name] for rank in profile.ranks) for name in COUNTS}


def is_wrong_without(ways, receives, delay=DELAY, gap_ms=GAP_MS):
    """Without the control the order is wrong, or the test would show nothing."""
    run = run_observed([program("order"), ways, str(receives), str(gap_ms)], RANKS,
                       scratch("loose"), env=delay, timeout_s=LIMIT_S)
    for way, (_, wrong, _) in results(run, delay).items():
        check(wrong > 0, f"the delay changes nothing for {way}" + run.describe())
    check_equal(sum(sums(Profile(scratch("loose"), run)).values()), 0, "counted without it")


def controlled(ways, receives, delay, gap_ms, out, tries):
    """One run with the control. A rank that loses its processor between its own stamp and dwell's
    spoils the order: then the run is repeated, at most twice."""
    for left in range(tries - 1, -1, -1):
        run = run_observed([program("order"), ways, str(receives), str(gap_ms)], RANKS, out,
                           ["--preserve-order"], env=delay, timeout_s=LIMIT_S)
        done = results(run, delay)
        check_equal(",".join(done), ways, "what was done")
        wrong = [way for way, (_, wrong, _) in done.items() if wrong != 0]
        if not wrong:
            return run, done
        check(left > 0, f"out of order with {wrong}" + run.describe())
        print(f"out of order with {wrong}: repeated")


def keeps_order(ways, receives, delay=DELAY, gap_ms=GAP_MS, runs=REPEAT, tries=3):
    for number in range(runs):
        out = scratch(f"kept{number}")
        run, done = controlled(ways, receives, delay, gap_ms, out, tries)
        for way, (count, _, close) in done.items():
            check(count >= receives, f"{way}: only {count} receives")
            check(2 * close <= count, f"{way}: {close} of {count} were too close to tell")
        got = sums(Profile(out, run))
        check_equal(got["order_far"] + got["order_posted"] + got["order_unknown"], 0,
                    f"choices left to MPI ({got})")
        whole = sum(count for way, (count, _, _) in done.items() if way not in SEVERAL)
        all_of_them = sum(count for count, _, _ in done.values())
        check(whole <= got["order_kept"] <= all_of_them, f"choices kept: {got}, {done}")
    print(f"{ways}: {runs} runs")


@case
def receives():
    """Figure 3 of the paper: what P1 sends first comes after what P3 sends, and P2 takes it first
    all the same."""
    is_wrong_without("recv", 30)
    keeps_order("recv", 90)


@case
def choices():
    """The same of probes, of receives of any source that are posted first, and of calls that
    complete one or some of several requests."""
    ways = "probe,mprobe,iprobe,wait,test,start,waitall,waitany,testany,waitsome,testsome"
    is_wrong_without(ways, 9)
    keeps_order(ways, 12)


def undisturbed(argv, delay, out, options, tries=5):
    """A run in which ranks lost their processor to another program while they polled for at most a
    tenth of the messages, which come late then. Where others use the processors all the time there is
    none."""
    for _ in range(tries):
        run = run_observed(argv, RANKS, out, options, env=delay, timeout_s=LIMIT_S)
        count, wrong, untold = results(run, delay)["polls"]
        if 10 * untold <= count:
            return run, count, wrong
        print(f"{untold} of {count} messages were sent late: repeated")
    skip_unless(False, f"others use the processors, in each of {tries} runs")


@case
def polls():
    """Of what polls that find nothing are delayed by nothing stays in their time, so the order of what
    is sent after them is right. (Who shares its processor with a delayed rank is late indeed: that one
    has a processor for itself.)"""
    skip_unless(len(os.sched_getaffinity(0)) > 1, "only one processor")
    gap_ms, rounds, delay = 10, 10, {"DWELL_INJECT_NS": "1:1000000"}
    argv = [program("order"), "polls", str(3 * rounds), str(gap_ms)]
    run, count, wrong = undisturbed(argv, delay, scratch("loose"), [])
    check(wrong > 0, "the delay changes nothing" + run.describe())
    run, count, wrong = undisturbed(argv, delay, scratch("kept"), ["--preserve-order"])
    check_equal((count, wrong), (3 * rounds, 0), "receives and those out of order" + run.describe())
    profile = Profile(scratch("kept"), run)
    check_equal(sums(profile)["order_kept"], 3 * rounds, "choices kept")
    probes = profile.comm("MPI_Iprobe")
    check_equal(sum(node.count for node in probes), 3 * 20 * rounds, "polls")
    injected_ms = sum(rank["injected_ns"] for rank in profile.ranks) / 1e6
    check(injected_ms > 20 * rounds, f"injected only {injected_ms} ms")
    polled_ms = sum(node.time_ns for node in probes) / 1e6
    check(polled_ms < 0.2 * injected_ms, f"{polled_ms} ms in polls, {injected_ms} ms injected")


@case
def workers():
    """A master hands out tasks to whoever is ready first; with the delay that would be others."""
    delay = {"DWELL_INJECT_NS": "1:30000000"}
    is_wrong_without("workers", 9, delay, 20)
    keeps_order("workers", 18, delay, 20)


@case
def circle():
    """Figure 4 of the paper: the receiver may not wait for a rank that waits, through another one,
    for the receiver. A control that does never ends this, with or without delays."""
    for delayed in ("", "1:20000000", "3:20000000"):
        keeps_order("circle", 6, {"DWELL_INJECT_NS": delayed} if delayed else {})


@case
def tree():
    """Nor for one in a collective whose root is there long since: MPI may hand the root's data on
    through the receiver."""
    keeps_order("tree", 6, {})


@case
def rest():
    """A message is held back for one from a rank that waits for the rest of a long message of the
    receiver's own, which MPI sends in the receiver's calls. Without MPI's work there this never ends."""
    delay = {"DWELL_INJECT_NS": f"0:{2 * GAP_MS}000000"}
    is_wrong_without("rest", 6, delay)
    keeps_order("rest", 12, delay)


@case
def late_by_delay():
    """Figure 1 of the paper: five probes before a send make it late, and a receive that found its
    message waits. Not so on the virtual clock: without what dwell cost nobody waits."""
    rounds, gap_ms, delay_ms = 8, 10, 10
    argv = [program("order"), "late", str(rounds), str(gap_ms)]
    waited = {}
    for wait in ("off", "node"):
        run = run_observed(argv, 2, scratch(wait), ["--wait", wait],
                           env={"DWELL_INJECT_NS": f"0:{delay_ms}000000"})
        check_equal(run.code, 0, "exit code" + run.describe())
        receive = Profile(scratch(wait), run).comm("MPI_Recv")
        check_equal(sum(node.count for node in receive), rounds, "receives")
        waited[wait] = sum(node.blocked_ns for node in receive) / 1e6
    # 0 sends after five delays and a gap, 1 is there after three gaps.
    real_ms = rounds * (5 * delay_ms + gap_ms - 3 * gap_ms)
    check(waited["off"] > 0.8 * real_ms, f"the delay makes nobody wait: {waited}, not {real_ms} ms")
    check(waited["node"] < 0.1 * real_ms, f"waited on the virtual clock: {waited}")


@case
def random_programs():
    """Programs made from a seed give the same results with the option, with and without a delay."""
    for seed in range(1, 3 if REPEAT == 1 else REPEAT + 1):
        ranks = 3 + seed % 3
        argv = [program("random_program"), str(seed), "40"]
        plain = run_plain(argv, ranks)
        check_equal(plain.code, 0, "the program itself" + plain.describe())
        delay = {"DWELL_INJECT_NS": "1:50000"} if seed % 2 else {}
        same_result(plain, run_observed(argv, ranks, scratch(f"out{seed}"), ["--preserve-order"],
                                        env=delay, timeout_s=LIMIT_S))


@case
def after_failures():
    """A receive whose message was too long fails as without dwell, and the order of those after it is
    kept."""
    argv = [program("failed_receives")]
    plain = run_plain(argv, RANKS)
    check_equal(plain.stdout, "0 wrong\n", "the program itself" + plain.describe())
    run = run_observed(argv, RANKS, scratch("out"), ["--preserve-order"])
    same_result(plain, run)
    first = Profile(scratch("out"), run).ranks[0]
    # Of the 8 that were left to MPI, 4 were completed by calls that choose among requests.
    check_equal((first["order_posted"], first["order_kept"]), (8 + 4, 8), "left to MPI, and chosen")


@case
def without_waits():
    """With --wait off there is nothing to go by: one line says so, and the program runs on."""
    argv = [program("order"), "recv", "3"]
    run = run_observed(argv, RANKS, scratch("out"), ["--preserve-order", "--wait", "off"])
    check_equal(results(run, "nothing")["recv"][0], 3, "receives")
    check("--preserve-order needs" in run.stderr, "nothing said" + run.describe())


@case
def thousand():
    """The full size: 1000 receives, all in order, in ten runs. On a machine that is left alone."""
    is_wrong_without("recv", 1000)
    keeps_order("recv", 1000, runs=10, tries=1)


main()
