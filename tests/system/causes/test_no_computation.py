"""Causes of waiting that are no computation (docs/causes.md): files, sleep, and processors that ranks
share, by rank, procedure, line, file and size, from what the program's own clocks say."""

import os
import re

from harness import (DWELL, case, check, check_equal, check_near, execute, main, marked_line, program,
                     scratch, source, timed)

FILE = source("no_computation.c")
THREADS = source("openmp_mpi_stalls.c")
# A rank that loses its processor between a call of MPI and a look at its clock has lost it in what
# dwell measures, and not in what it prints: for 5 times 10 ms, at most, as a rule.
MORE_S = 0.05


def check_measured(got, truth, what):
    check(0.97 * truth - 0.004 <= got <= 1.03 * truth + MORE_S,
          f"{what}: got {got} s, want {truth} s, or {MORE_S} s more")


def observed(what, *options):
    arguments = [what] + ([os.path.join(scratch(), "ck.dat")] if what == "write" else [])
    profile = timed([program("no_computation"), *arguments], 4, list(options), name=what)
    return profile, truth_of(profile, 4)


def observed_threads(what, build="openmp_gcc", options=("--sample", "off"), **env):
    arguments = [what] + ([os.path.join(scratch(), "ck.dat")] if what == "write" else [])
    profile = timed([program(f"{build}_mpi_stalls"), *arguments], 2, list(options),
                       name="threads_" + what, env={"OMP_WAIT_POLICY": "passive", **env})
    return profile, truth_of(profile, 2)


def truth_of(profile, ranks):
    truth = {}
    for line in profile.run.stderr.splitlines():
        words = line.split()
        if len(words) == 4 and words[0] == "truth":
            truth[int(words[1])] = (float(words[2]), float(words[3]))
    check_equal(sorted(truth), list(range(ranks)), "ranks that print")
    return truth


def stalls(profile, file=FILE):
    """By rank: seconds of the computations between the barriers, by what they were."""
    found = {}
    lines = marked_line(file, "start"), marked_line(file, "wait")
    for stall in profile.json["stalls"]:
        interval = profile.intervals[stall["interval"]]
        places = [profile.nodes[interval[end]]["line"] if interval[end] is not None else None
                  for end in ("from", "to")]
        if places[0] not in lines or places[1] != lines[1]:
            continue
        sums = found.setdefault(stall["rank"], {"io_nodes": set()})
        if "io_node" in stall:
            sums["io_nodes"].add(stall["io_node"])
        for part in ("time", "io", "asleep", "queued", "kernel"):
            sums[part] = sums.get(part, 0) + stall.get(part + "_ns", 0) / 1e9
    return found


def verdict(profile):
    return " ".join(profile.run.stderr.split("dwell verdict: ")[1].split())


def cause(profile):
    text = verdict(profile)
    check("Main cause: " in text, f"no cause: {text}")
    return text.split("Main cause: ")[1].split(" Load balance")[0]


def report(profile):
    run = execute([DWELL, "report", "--width", "100", profile.directory])
    check_equal(run.code, 0, run.describe())
    return " ".join(run.stdout.split())


def check_io_is_next(profile):
    check("Next: dwell run --io on ... (names the files, if any). Report: dwell report " in
          verdict(profile), verdict(profile))


@case
def written():
    """Rank 0 writes: the file, the procedure and the line with --io on."""
    profile, truth = observed("write", "--io", "on")
    found = stalls(profile)
    check(0 in found, f"no stall of rank 0: {profile.json['stalls']}")
    check_near(found[0]["io"], truth[0][0], 0.03, 0.004, "time in files")
    check_equal(len(found[0]["io_nodes"]), 1, "statements")
    node = profile.nodes[found[0]["io_nodes"].pop()]
    check_equal((node["name"], os.path.basename(node["io_file"]), node["line"]),
                ("pwrite", "ck.dat", marked_line(FILE, "write")), "statement")
    words = f"rank 0 writes ck.dat in checkpoint (no_computation.c:{node['line']} pwrite): "
    check("Main cause of waiting: " + words in report(profile), f"want {words}: {report(profile)}")


@case
def written_unseen():
    """Without --io on: what of it was in the kernel, or off the processor; and what to try."""
    profile, truth = observed("write")
    sums = stalls(profile)[0]
    check_measured(sums["time"], truth[0][0], "time")
    check_near(sums["kernel"] + sums["asleep"] + sums["queued"], truth[0][0], 0.1, MORE_S,
               "time that was no computation")
    if 2 * sums["queued"] < sums["kernel"]:
        check("rank 0 does I/O or gets memory" in report(profile), report(profile))
        check_io_is_next(profile)


@case
def slept():
    profile, truth = observed("sleep")
    sums = stalls(profile)[0]
    check_measured(sums["asleep"] + sums["queued"], truth[0][0], "off the processor")
    check(sums["asleep"] >= 0.4 * 0.99 - sums["queued"], f"asleep: {sums}")
    if 2 * sums["queued"] < sums["asleep"]:
        text = cause(profile)
        check(re.match("rank 0 does I/O or sleeps (in|between) ", text), text)
        check("on a processor " in text, text)
        check_io_is_next(profile)


@case
def slept_alone():
    """One rank: what counts as computation and is more than the processor time of the process."""
    profile = timed([program("no_computation"), "sleep"], 1, name="alone")
    took, on = truth_of(profile, 1)[0]
    used = (profile.ranks[0]["user_ns"] + profile.ranks[0]["system_ns"]) / 1e9
    computed = profile.json["computation_ns"] / 1e9
    if computed - used < 0.3 * computed:
        return  # MPI itself took so much
    words = re.search(r"Time: .*, off processor ([0-9.]+) %", verdict(profile))
    check(words and " and sleeps, does I/O or has no processor in " in verdict(profile),
          verdict(profile))
    off = float(words.group(1)) / 100 * computed
    check(took - used - 0.02 <= off <= took - on + MORE_S,
          f"off {off} s, asleep {took - on} s, used {used} s")


@case
def slept_where_one_waits_each_time():
    """Rank 1 waits each time, the others at the end, for all of it: the cause is the same."""
    profile, truth = observed("pair", "--sample", "off")
    sums = stalls(profile)[0]
    check_measured(sums["asleep"] + sums["queued"], truth[0][0], "off the processor")
    if 2 * sums["queued"] < sums["asleep"]:
        check(re.match("rank 0 does I/O or sleeps (in|between) ", cause(profile)), cause(profile))


@case
def slept_after_computing():
    """All ranks compute alike; what others wait for is the rest."""
    profile, truth = observed("both")
    sums = stalls(profile)[0]
    check_near(sums["asleep"], truth[0][0], 0.03, 0.004 + sums["queued"], "asleep")
    if 2 * sums["queued"] < sums["asleep"]:
        words = "rank 0 does I/O or sleeps, on a processor "
        check(words in report(profile), report(profile))
        # Samples are of relax alone.
        check("rank 0 in relax" not in report(profile), report(profile))


@case
def shared():
    """All ranks on one processor: what they waited for it is neither computation nor transfer."""
    profile, truth = observed("share")
    found = stalls(profile)
    check_equal(sorted(found), [0, 1, 2, 3], "ranks that waited for a processor")
    for rank, (took, on) in truth.items():
        check_measured(found[rank]["queued"] + found[rank]["asleep"], took - on,
                       f"rank {rank} off the processor")
        check(profile.ranks[rank]["queued_ns"] / 1e9 >= found[rank]["queued"] - 1e-6,
              f"of the rank: {profile.ranks[rank]}")
    text = verdict(profile)
    check("of its time because ranks have no processor" in text, text)
    check("Main cause: 4 ranks share 1 processor: ranks have one in " in text, text)
    share = float(text.split("ranks have one in ")[1].split(" %")[0]) / 100
    took = sum(took for took, _ in truth.values())
    on = sum(on for _, on in truth.values())
    check_near(share, on / took, 0.2, 0.03, "share on a processor")
    check_equal({rank["processors"] for rank in profile.json["ranks"]}, {1}, "processors")
    check("no processor" in report(profile), report(profile))


@case
def waited_for_a_thread():
    """The thread that calls MPI waits for another one of its rank: it does not sleep."""
    profile, truth = observed_threads("wait")
    sums = stalls(profile, THREADS).get(0, {"asleep": 0})
    check(truth[0][1] >= 0.29, f"rank 0 computed {truth[0]}")
    check(sums["asleep"] <= 0.1 * truth[0][0], f"asleep: {sums}, {truth[0]}")
    check("I/O or sleeps" not in report(profile), report(profile))


def asleep_in_region(what, build, **env):
    """A thread that others of its rank wait for sleeps 5 times 60 ms: the rank does, no more."""
    profile, truth = observed_threads(what, build, **env)
    sums = stalls(profile, THREADS)[0]
    check(0.9 * 5 * 0.06 <= sums["asleep"] <= 1.03 * (truth[0][0] - truth[0][1]) + MORE_S,
          f"asleep: {sums}, {truth[0]}")
    if 2 * sums["queued"] < sums["asleep"]:
        text = cause(profile)
        check(re.match("rank 0 does I/O or sleeps (in|between) ", text), text)
        check_io_is_next(profile)


# Idle threads poll as long as the runtime lets them, as they do unless told otherwise.
POLLING = {"OMP_WAIT_POLICY": "active"}


@case
def asleep_in_a_region_gcc():
    asleep_in_region("sleep", "openmp_gcc", **POLLING)


@case
def asleep_in_a_region_clang():
    asleep_in_region("sleep", "openmp", **POLLING)


@case
def asleep_before_a_barrier_gcc():
    asleep_in_region("barrier", "openmp_gcc")


@case
def asleep_before_a_barrier_clang():
    asleep_in_region("barrier", "openmp")


@case
def asleep_in_a_nested_region_gcc():
    asleep_in_region("nested", "openmp_gcc")


@case
def asleep_in_a_nested_region_clang():
    asleep_in_region("nested", "openmp")


def written_in_region(build):
    profile, truth = observed_threads("write", build, ("--io", "on", "--sample", "off"))
    sums = stalls(profile, THREADS)[0]
    # Beside its calls the thread looks at the clock.
    check(0.8 * 5 * 0.06 <= sums["io"] <= 1.03 * (truth[0][0] - 5 * 0.02) + MORE_S,
          f"files: {sums}, {truth[0]}")
    line = marked_line(THREADS, "save")
    check_equal([(profile.nodes[node]["name"], profile.nodes[node]["line"]) for node in sums["io_nodes"]],
                [("pwrite", line)], "statement")
    if 2 * sums["queued"] < sums["io"]:
        words = f"rank 0 writes ck.dat in save (openmp_mpi_stalls.c:{line} pwrite): "
        check("Main cause of waiting: " + words in report(profile), report(profile))


@case
def written_in_a_region_gcc():
    written_in_region("openmp_gcc")


@case
def written_in_a_region_clang():
    written_in_region("openmp")


@case
def threads_that_share():
    """All threads on one processor: what each of them waited for it is no computation."""
    profile, truth = observed_threads("share")
    for rank, (took, on) in truth.items():
        queued = profile.ranks[rank]["queued_ns"] / 1e9
        check(0.85 * (took - on) - 0.01 <= queued <= 1.1 * (took - on) + 2 * MORE_S,
              f"rank {rank} waited {queued} s for a processor, by its own clocks {took - on} s")
    computed = profile.json["computation_ns"] - sum(rank["queued_ns"] for rank in profile.json["ranks"])
    check_near(computed / 1e9, sum(on for _, on in truth.values()), 0.15, MORE_S, "computed")


if __name__ == "__main__":
    main()
