"""Times: blocked or found, intervals between lines, sampled lines, waiting that is known."""

import json
import os

from harness import (case, check, check_equal, check_near, main, marked_line, profiled, program,
                     run_plain, scratch, skip_unless, source, timed)

N = 100
# Of the certain cases, that many may still be taken for the other kind.
SPOILT = 5


def found_blocked():
    """The profile, the source, and for each kind what the program itself says: certain, seconds."""
    told = scratch("told")
    profile = profiled([program("found_blocked"), told], 2)
    words = [line.split() for line in open(told).read().splitlines()]
    kinds = ("recv_found", "wait_found", "recv_blocked", "wait_blocked")
    return profile, source("found_blocked.c"), {
        kind: (int(certain), float(taken)) for kind, (certain, taken) in zip(kinds, words)}


def check_kinds(call, found, blocked):
    profile, file, told = found_blocked()
    skip_unless(min(told[found][0], told[blocked][0]) > N // 2, f"the machine is too busy: {told}")
    node = profile.at(file, found, call)
    check(sum(node.events) == N and node.events[2] >= told[found][0] - SPOILT,
          f"{told[found][0]} of {N} certainly found their message: {node}")
    node = profile.at(file, blocked, call)
    check(sum(node.events) == N and node.events[3] >= told[blocked][0] - SPOILT,
          f"{told[blocked][0]} of {N} certainly blocked: {node}")
    check_near(node.blocked_ns / 1e9, told[blocked][1], 0.1, 0, "seconds blocked")


@case
def receives():
    """Receives that find their message (-51) are told from those that block (-52), whose blocked time
    is what the program's own clock shows."""
    check_kinds("MPI_Recv", "recv_found", "recv_blocked")


@case
def waits():
    """The same for requests: waits that need not wait (-60), and those that do (-61)."""
    check_kinds("MPI_Wait", "wait_found", "wait_blocked")


@case
def send_requests():
    """Waits for small sends need not wait (-30); those for synchronous ones wait for the receiver
    (-31)."""
    profile, file, _ = found_blocked()
    ready = profile.at(file, "send_ready", "MPI_Wait")
    check(ready.events[0] >= N - SPOILT and sum(ready.events) == N, f"ready: {ready}")
    blocked = profile.at(file, "send_blocked", "MPI_Wait")
    # A sender that is off the processor while the receiver rests finds its request complete.
    check(blocked.events[1] >= N // 2 and sum(blocked.events) == N, f"blocked: {blocked}")


@case
def first_message():
    """What dwell costs each rank until MPI_Init ends differs by 200 ms: both ranks lose that time, and
    the first message tells of none of it."""
    delay_ns = 200e6
    profile = timed([program("first_message")], 2)
    for rank in profile.ranks:
        check(rank["intrusion_ns"] >= 0.9 * delay_ns, f"what dwell cost rank {rank['rank']}: {rank}")
    node = profile.at(source("first_message.c"), "first", "MPI_Sendrecv")
    # One rank may leave MPI_Init some ms before the other one, also without dwell.
    check(node.time_ns < delay_ns / 2, f"the first message: {node.time_ns} ns")


@case
def failing_waitall():
    """A receive that fails in MPI_Waitall ends it, also in a process with threads."""
    plain = run_plain([program("failing_waitall")], 2)
    check_equal(plain.stdout.count("in status 1, too long 1, null 1\n"), 4, "rounds" + plain.describe())
    profile = profiled([program("failing_waitall")], 2, code=4)
    node = profile.at(source("failing_waitall.c"), "waitall", "MPI_Waitall")
    check_equal((node.count, node.failed), (4, 4), "calls, and those that failed")
    place = f"failing_waitall.c:{marked_line(source('failing_waitall.c'), 'waitall')}"
    told = [note for note in profile.json["notes"] if "returned an error" in note]
    check_equal([note.split(":")[0] + ":" + note.split(":")[1] for note in told],
                [f"4 MPI calls returned an error, MPI_Waitall at {place}"], "note")


@case
def intervals():
    """Computation is booked by (line left, line reached) with the program's own times, for each
    rank."""
    file = source("intervals.c")
    results = scratch("times")
    profile = timed([program("intervals"), results], 2)
    told = [[float(word) for word in open(f"{results}.{rank}").read().split()] for rank in (0, 1)]
    lines = {name: marked_line(file, name) for name in ("first", "second", "third")}
    pairs = (("first", "second", 0, 20), ("second", "third", 1, 20), ("third", "first", 2, 18))
    for left, reached, column, count in pairs:
        found = [i for i in profile.intervals if line_of(profile, i["from"]) == lines[left]
                 and line_of(profile, i["to"]) == lines[reached]]
        # A rank that made others wait has an interval of its own.
        check_equal(sum(i["count"] for i in found), count, f"times from @{left} to @{reached}")
        check_near(sum(i["time_ns"] for i in found) / 1e9, told[0][column] + told[1][column], 0.05,
                   0.002, f"seconds from @{left} to @{reached}")
    for rank in profile.ranks:
        wall = told[rank["rank"]][3]
        check(rank["real_ns"] / 1e9 >= wall, f"rank {rank['rank']}: {rank['real_ns']} ns, but the "
              f"program measured {wall} s between MPI_Init and MPI_Finalize")


def line_of(profile, index):
    if index is None or not 0 <= index < len(profile.nodes):
        return None
    return profile.nodes[index].get("line")


@case
def paused():
    """Time between MPI_Pcontrol(0) and (1) is paused, not computation: 0.2 s in each of 2 ranks."""
    profile = timed([program("pcontrol")], 2)
    pause = profile.json["paused_ns"] / 1e9
    check(0.399 <= pause <= 2 * profile.run.elapsed_s, f"{pause} s paused")
    check(profile.json["computation_ns"] < 0.1e9, f"computation {profile.json['computation_ns']} ns")


@case
def reset():
    """After MPI_Pcontrol(2) all figures of a rank are those of what came after it: 0.2 s, of which
    0.1 s of a pause that began before."""
    profile = timed([program("reset")], 2)
    for rank in profile.ranks:
        real = rank["real_ns"] / 1e9
        check(0.199 <= real <= 0.55, f"real time {real} s of rank {rank['rank']}")
    pause = profile.json["paused_ns"] / 1e9 / 2
    check(0.099 <= pause < 0.19, f"{pause} s paused after the reset")
    real = sum(rank["real_ns"] for rank in profile.ranks)
    intrusion = sum(rank["intrusion_ns"] for rank in profile.ranks)
    virtual = profile.json["total_ns"]
    check(abs(real - intrusion - virtual) <= 1e6,
          f"real {real} ns less intrusion {intrusion} is not the time of the run {virtual}")


@case
def sampled_lines():
    """Samples show where the time between two calls goes: a line that runs twice as often as
    another gets twice as many."""
    file = source("sampled.c")
    paranoid = int(open("/proc/sys/kernel/perf_event_paranoid").read())
    profile = profiled([program("sampled")], 1, ["--sample", "500"])
    taken = sum(rank["samples"] for rank in profile.ranks)
    if taken == 0:
        skip_unless(paranoid <= 2, f"perf_event_paranoid is {paranoid}")
        skip_unless(perf_works(), "perf_event_open is not permitted here")
    check(taken > 100, f"{taken} samples of 2 s at 500 Hz, as far as there was a processor")
    where = {}
    for interval in profile.intervals:
        for line in interval.get("lines", []):
            if os.path.basename(line["file"] or "") == "sampled.c":
                where[line["line"]] = where.get(line["line"], 0) + line["samples"]
    heavy, light = (where.get(marked_line(file, name), 0) for name in ("heavy", "light"))
    check(light > 0, f"no samples on @light: {where}")
    check_near(heavy / light, 2.0, 0.25, 0, f"samples of @heavy over @light ({heavy}/{light})")


@case
def own_work_is_not_sampled():
    """What dwell does to find call paths, in libunwind and libc, is not the program's computation."""
    for name, options in (("alone", []), ("metrics", ["--metrics", "perf::PAGE-FAULTS"])):
        profile = timed([program("many_paths")], 1, ["--sample", "10000", *options], name=name)
        if sum(rank["samples"] + rank["samples_in_calls"] for rank in profile.ranks) == 0:
            skip_unless(perf_works(), "perf_event_open is not permitted here")
        found = [line for interval in profile.intervals for line in interval.get("lines", [])]
        unwinder = [line for line in found if "unw" in json.dumps(line)]
        check_equal(unwinder, [], f"lines of the unwinder, {name}")


@case
def sampling_off():
    """--sample off takes no samples, and nothing else changes."""
    profile = profiled([program("sampled")], 1, ["--sample", "off"])
    check(sum(rank["samples"] for rank in profile.ranks) == 0, "samples though switched off")
    check(profile.count("MPI_Barrier") == 2, "two barriers")


@case
def samples_where_ranks_share_processors():
    """More ranks than processors are not sampled, and a note says so; asked for, samples are taken."""
    processors = os.cpu_count()
    skip_unless(processors <= 16, f"{processors} processors: that many ranks are too much work")
    skip_unless(perf_works(), "samples are not permitted here")
    for ranks, options, rate in ((processors, [], 100), (processors + 1, [], 0),
                                 (processors + 1, ["--sample", "100"], 100)):
        profile = timed([program("ring")], ranks, options, name=f"of{ranks}.{rate}")
        check_equal({rank["sample_hz"] for rank in profile.ranks}, {rate}, f"rate of {ranks} {options}")
        told = any("more ranks on the node than processors" in note for note in profile.json["notes"])
        check_equal(told, rate == 0, f"{ranks} ranks {options}, notes {profile.json['notes']}")


def perf_works():
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    attributes = (ctypes.c_char * 128)()
    attributes[0:4] = (1).to_bytes(4, "little")  # software
    attributes[4:8] = (112).to_bytes(4, "little")
    attributes[40:48] = (1 | 1 << 5 | 1 << 6).to_bytes(8, "little")  # disabled, no kernel, no hv
    descriptor = libc.syscall(298, attributes, 0, -1, -1, 0)
    if descriptor >= 0:
        os.close(descriptor)
    return descriptor >= 0


if __name__ == "__main__":
    main()
