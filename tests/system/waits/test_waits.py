"""Who waited for whom, how long, and what that rank was doing meanwhile."""

import os
import re

from harness import (DWELL, case, check, check_equal, check_near, execute, main, marked_line, profiled,
                     program, repeated, scratch, skip_unless, source, timed)

N = 100
FILE = source("who_waits.c")
# What a busy machine takes between the program's reading of the clock and the call.
SLACK_S = 0.02


def run(*options):
    told = scratch("told")
    profile = timed([program("who_waits"), told], 2, list(options))
    return profile, [float(open(f"{told}.{rank}").read()) for rank in (0, 1)]


def partners(profile, marker, name):
    """Of the node at that line: (partner's rank, line left, line reached) -> (count, seconds)."""
    line = marked_line(FILE, marker)
    found = {}
    for partner in profile.json["partners"]:
        node = profile.nodes[partner["node"]]
        if node["name"] != name or node["line"] != line:
            continue
        way = (None, None)
        if partner["interval"] is not None:
            interval = profile.intervals[partner["interval"]]
            way = tuple(None if interval[end] is None else profile.nodes[interval[end]]["line"]
                        for end in ("from", "to"))
        count, seconds = found.get((partner["peer_rank"], *way), (0, 0.0))
        found[(partner["peer_rank"], *way)] = (count + partner["count"],
                                               seconds + partner["time_ns"] / 1e9)
    return found


def check_wait(profile, marker, name, kind, told_s, rank, work):
    """The line waited as long as the program says, for `rank`, which was in the computation `work`."""
    node = profile.at(FILE, marker, name)
    sync_s = node.raw["sync_ns"] / 1e9
    skip_unless(told_s > 0.5 * N * 0.002, f"the machine is too busy: waited {told_s:.3f} s only")
    check_near(sync_s, told_s, 0.1, SLACK_S, f"{name} at @{marker}, waiting")
    check_equal(node.raw.get(kind, 0), node.raw["sync_ns"], kind)
    check_equal(node.raw["blocked_ns"], node.raw["sync_ns"], "nothing is estimated")
    found = partners(profile, marker, name)
    check(all(key[0] == rank for key in found), f"only rank {rank} can be waited for: {found}")
    check_near(sum(time for _, time in found.values()), sync_s, 1e-6, 1e-6, "sum over partners")
    way = tuple(marked_line(FILE, end) for end in work)
    in_work = found.get((rank, *way), (0, 0))[1]
    check(in_work > 0.9 * sync_s, f"the partner was between lines {way}: {found}")


@case
def late_sender():
    """Rank 1 waits for rank 0, which works between the end of a round and its send."""
    def attempt():
        profile, told = run()
        check_wait(profile, "recv", "MPI_Recv", "late_sender_ns", told[1], 0, ("swap", "send"))
        profile.check_conservation()
    repeated(attempt)


@case
def late_receiver():
    """Rank 0 waits in MPI_Ssend for rank 1, which works between the swap and its receive."""
    def attempt():
        profile, told = run()
        check_wait(profile, "ssend", "MPI_Ssend", "late_receiver_ns", told[0], 1,
                   ("swap", "late_recv"))
    repeated(attempt)


@case
def causes():
    """Each rank's work made the other one wait, and nobody else: what is waited in the end is the sum
    over the causes, and they are known by line."""
    def attempt():
        profile, told = run()
        ways = {}
        for cause in profile.json["causes"]:
            if cause["interval"] is None:  # what a rank did inside of MPI is no computation
                check(cause["time_ns"] < 0.02 * profile.json["sync_ns"], f"no line is known: {cause}")
                ways[None] = cause["time_ns"] / 1e9
                continue
            interval = profile.intervals[cause["interval"]]
            ends = tuple(None if interval[end] is None else profile.nodes[interval[end]]["line"]
                         for end in ("from", "to"))
            key = (cause["peer_rank"], *ends)
            ways[key] = ways.get(key, 0) + cause["time_ns"] / 1e9
        check_near(sum(ways.values()), profile.json["sync_ns"] / 1e9, 1e-6, 1e-6, "sum over causes")
        for rank, left, reached, waited in ((0, "swap", "send", told[1]),
                                            (1, "swap", "late_recv", told[0])):
            got = ways.get((rank, marked_line(FILE, left), marked_line(FILE, reached)), 0)
            # What a rank does while the machine gives it no processor is work, too: more may be.
            check(got > 0.8 * waited - SLACK_S, f"caused by rank {rank}: {waited} s of {ways}")
    repeated(attempt)


@case
def many_causes():
    """What costs most is found behind more causes and partners than a thread keeps, with all its
    time, and named; what is not told apart is the rest, so that nothing is missing of the whole."""
    file = source("many_causes.c")
    heavy = marked_line(file, "heavy")
    heavy_s = 40 * 0.02

    def attempt():
        profile = timed([program("many_causes")], 2, name="many_causes")
        waited_s = profile.at(file, "recv", "MPI_Recv").raw["sync_ns"] / 1e9
        skip_unless(waited_s > heavy_s, f"the machine is too busy: waited {waited_s:.3f} s only")

        def by_heavy(elements):
            found_s = 0.0
            for element in elements:
                interval = element["interval"] is not None and profile.intervals[element["interval"]]
                if interval and interval["to"] is not None and profile.nodes[interval["to"]]["line"] == heavy:
                    found_s += element["time_ns"] / 1e9
            return found_s

        for what in ("causes", "partners"):
            elements = profile.json[what]
            found_s = by_heavy(elements)
            check(0.95 * heavy_s < found_s < heavy_s + 0.5 * waited_s,
                  f"{what} at @heavy: {found_s} of {heavy_s} s")
            check_near(sum(element["time_ns"] for element in elements) / 1e9,
                       profile.json["sync_ns"] / 1e9, 1e-6, 1e-5, f"sum over {what}")
        report = execute([DWELL, "report", "--width", "150", profile.directory])
        cause = re.search("Main cause of waiting: rank 0 (.*?), and others", " ".join(report.stdout.split()))
        check(cause and re.search(rf"many_causes.c:({heavy - 1}|{heavy})\b", cause[1]),
              "the line is not named" + report.describe())
    repeated(attempt)


@case
def passed_on():
    """Only rank 1 is slow; rank 0 waits for it, and rank 2 for rank 0, in probes for its message and not
    in the receives that follow: all waiting is rank 1's, between two of its sends."""
    rounds, slow_s = 60, 0.005
    file = source("passed_on.c")

    def attempt():
        profile = profiled([program("passed_on"), str(rounds)], 3, name="passed_on")
        profile.check_conservation()
        waited_s = 0.0
        for marker, name, times in (("middle", "MPI_Recv", rounds), ("probed", "MPI_Probe", rounds / 2)):
            node = profile.at(file, marker, name).raw
            # The first round waits for those that start late, too.
            check(node["sync_ns"] / 1e9 > 0.9 * (times - 1) * slow_s, f"waited at @{marker}: {node}")
            waited_s += node["sync_ns"] / 1e9
        for marker in ("taken", "looked_for"):
            node = profile.at(file, marker, "MPI_Recv").raw
            check(node["sync_ns"] / 1e9 < 0.1 * rounds / 2 * slow_s, f"waited at @{marker}: {node}")
        line = marked_line(file, "slow")
        by_rank_1 = 0.0
        for cause in profile.json["causes"]:
            if cause["peer_rank"] != 1 or cause["interval"] is None:
                continue
            interval = profile.intervals[cause["interval"]]
            ends = [interval[end] for end in ("from", "to")]
            if None not in ends and [profile.nodes[end]["line"] for end in ends] == [line, line]:
                by_rank_1 += cause["time_ns"] / 1e9
        check(by_rank_1 > 0.85 * waited_s, f"{by_rank_1} of {waited_s} s: {profile.json['causes']}")
    repeated(attempt)


@case
def shown():
    """The report names the line that waited, the partner, and what it was doing; per rank it shows
    real and virtual time. That is now(), which calls the clock, or where nothing is sampled main()."""
    profile, _ = run()
    report = execute([DWELL, "report", "--width", "150", "--per-rank", profile.directory])
    check(report.code == 0, "dwell report failed" + report.describe())
    for part in (rf"late receiver \d+\.\d % of the line.s time; waiting by late rank:",
                 rf"for rank 1 in (now|main)\b[^\n]*\n?[^\n]*from who_waits.c:{marked_line(FILE, 'swap')} MPI_Sendrecv to "
                 rf"who_waits.c:{marked_line(FILE, 'late_recv')} MPI_Recv", "Causes of waiting",
                 r"Main cause of waiting: rank [01] (computes|has no processor) in (now|main)\b", "rank +real +virtual +intrusion +own cost"):
        check(re.search(part, report.stdout), f"no '{part}' in" + report.describe())


UNSEEN = source("unseen_receives.c")


def check_unseen(mode, guessed):
    """After receives that are hard to see the waits are those that the program measured. `guessed`:
    of how many calls it is not certain whose message they got."""
    told = scratch("told")
    profile = timed([program("unseen_receives"), told, mode], 2, name=mode)
    node = profile.at(UNSEEN, "late", "MPI_Recv")
    waited_s = float(open(told).read())
    skip_unless(waited_s > 0.05, f"the machine is too busy: waited {waited_s:.3f} s only")
    check_near(node.raw["sync_ns"] / 1e9, waited_s, 0.02, SLACK_S, f"waiting after {mode}")
    check_equal(node.raw["blocked_ns"], node.raw["sync_ns"], "nothing is estimated")
    check_equal(node.raw.get("unknown_waits", 0), 0, "waits of which nothing is known")
    check(node.raw.get("guessed_waits", 0) <= guessed, f"guessed: {node.raw}")
    profile.check_conservation()
    return profile


@case
def failed_receives():
    """A message that was too long has been received. The bytes count of what succeeded in the same
    call: 100 in each of 10 calls at a line."""
    profile = check_unseen("too_long", 0)
    for marker, name in (("waitall", "MPI_Waitall"), ("testall", "MPI_Testall")):
        node = profile.at(UNSEEN, marker, name)
        check_equal((node.failed, node.received), (10, 1000),
                    f"failed calls and bytes at @{marker}")


@case
def freed_receives():
    """Receives that are freed before their messages come: they take them nevertheless."""
    check_unseen("freed", 0)


@case
def receives_freed_ahead():
    """The same where the receiver is ahead, so that more messages come for them than there is room
    for: with the first receive that waits there is room for its own."""
    check_unseen("freed_ahead", 0)


@case
def receives_seen_and_freed():
    """Receives that are freed after MPI_Request_get_status has said that they are complete."""
    check_unseen("seen_and_freed", 0)


@case
def failed_starts():
    """Persistent sends of which MPI_Startall started none: there were no such messages."""
    check_unseen("failed_start", 0)


@case
def paused_receives():
    """Also where the two ranks exchange their first message in the pause."""
    check_unseen("paused", 1)


@case
def receives_posted_in_a_pause():
    """Receives that are waited for after a pause in which they were posted."""
    check_unseen("posted_paused", 1)


@case
def sends_without_room():
    """Of 40 sends by request 31 can ask when their receiver came: of the others that is not known."""
    profile = timed([program("many_sends")], 2)
    node = profile.at(source("many_sends.c"), "sent", "MPI_Wait")
    check_equal((node.count, node.raw.get("unknown_waits", 0)), (40, 9), "calls, and not known")
    profile.check_conservation()


@case
def switched_off():
    """With --wait off nothing is known: the same waiting is estimated, and the report says so."""
    profile, told = run("--wait", "off")
    check_equal(profile.json["sync_ns"], 0, "known waiting")
    check_equal((profile.json["partners"], profile.json["causes"]), ([], []), "partners and causes")
    node = profile.at(FILE, "ssend", "MPI_Ssend")
    # From end to end: on a busy machine the rank also waits for a processor.
    check(node.blocked_ns / 1e9 > 0.9 * told[0], f"estimated {node.blocked_ns}, waited {told[0]} s")
    check_equal(node.raw["unknown_waits"], N, "calls that are not known")
    check(any("estimated" in note for note in profile.json["notes"]), f"{profile.json['notes']}")
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as report:
        check("waiting ~" in report.read(), "the estimate is not marked")


if __name__ == "__main__":
    main()
