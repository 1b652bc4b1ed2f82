"""The run over time: what the bins hold, when. That they hold the totals is checked in every test
(profile_sums.py)."""

import csv
import io
import os
import signal
import time

import profile_sums
from harness import (DWELL, Profile, case, check, check_equal, check_near, execute, kept_records, main,
                     mpirun, program, recover, repeated, scratch, timed)

ROUNDS, WORK_S = 100, 0.005
LATE_S = ROUNDS * WORK_S  # of the second half; longer where the machine is busy
SLACK_S = 0.03


def bins_of(profile):
    return profile.json["time_bins"]


def phase_of(profile, bin):
    return profile.nodes[bin["phase"]]["name"] if "phase" in bin else None


def in_phase(profile, name):
    return {bin["bin"] for bin in bins_of(profile) if phase_of(profile, bin) == name}


def of_rank(profile, rank, part, bins):
    return sum(row.get(part, 0) for row in profile.json["time_bin_rows"]
               if row["rank"] == rank and row["bin"] in bins) / 1e9


@case
def waits_later():
    """Rank 1 waits as long as rank 0 works, 0.5 s, all in the second half; the bytes of both halves are the same."""
    def attempt():
        profile = timed([program("waits_later")], 2)
        even, uneven = in_phase(profile, "even"), in_phase(profile, "uneven")
        early_s, late_s = (of_rank(profile, 1, "waiting_ns", bins) for bins in (even, uneven))
        told_s = float(profile.run.stdout)
        check_near(late_s, told_s, 0.1, SLACK_S, "waiting of rank 1 in the second half")
        check(early_s < 0.3 * late_s, f"rank 1 waits {early_s:.3f} s in the first half")
        check(of_rank(profile, 1, "computation_ns", even) > 0.9 * LATE_S, "it computes there")
        check(of_rank(profile, 1, "computation_ns", uneven) < 0.1 * LATE_S, "and not later")
        sent = [bin["bytes_sent"][0] for bin in bins_of(profile) if "bytes_sent" in bin]
        check_equal(sum(sent), 2 * ROUNDS * 1000, "bytes in all bins")
        early = sum(bin.get("bytes_sent", [0])[0] for bin in bins_of(profile) if bin["bin"] in even)
        check_near(early, ROUNDS * 1000, 0.05, 2000, "bytes in the first half")
    repeated(attempt)


@case
def phases():
    """All bins of the first phase are before those of the second, and the report says which is which."""
    profile = timed([program("waits_later")], 2)
    even, uneven = in_phase(profile, "even"), in_phase(profile, "uneven")
    check(even and uneven and max(even) < min(uneven), f"even {sorted(even)}, uneven {sorted(uneven)}")
    width_ns = profile.json["time_axis"]["width_ns"]
    check_equal(width_ns & (width_ns - 1), 0, "the width is a power of two")
    check(len(bins_of(profile)) <= 256, f"{len(bins_of(profile))} bins")
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as report:
        text = report.read()
    check("\nOver time " in text and "a even · b uneven" in text, "the report lacks the run over time")
    plain = execute([DWELL, "report", "--ascii", profile.directory]).stdout
    part = plain[plain.index("\nOver time"):plain.index("\nCall tree")]
    check(part.isascii() and "a even" in part, f"not in ASCII: {part}")


def thread_waits(name):
    profile = execute([DWELL, "run", "-o", scratch("out"), program(name)])
    check_equal(profile.code, 0, profile.describe())
    profile = Profile(scratch("out"), profile)
    profile.check_conservation()
    bins = bins_of(profile)
    idle = [bin["bin"] for bin in bins
            if bin.get("omp_idle_ns", [0])[0] > 0.4 * profile.json["time_axis"]["width_ns"]]
    check(idle, "no bin in which the second thread is idle")
    # The serial part of 0.25 s stands between both halves.
    middle = sorted(idle)[len(idle) // 2]
    waits = [sum(bin.get("omp_wait_ns", [0])[0] for bin in bins if (bin["bin"] > middle) == later) / 1e9
             for later in (False, True)]
    worked_s, alone_s = map(float, profile.run.stdout.split())
    check_near(waits[1], worked_s, 0.1, SLACK_S, "waiting of the second thread in the second half")
    check(waits[0] < 0.3 * waits[1], f"it waits {waits[0]:.3f} s in the first half")
    idle_s = profile_sums.axis_sums(profile.json)["omp_idle_ns"] / 1e9
    check(idle_s > 0.9 * alone_s, f"it is idle for {idle_s:.3f} s, not {alone_s:.3f} s")


@case
def threads():
    """The second thread waits 0.5 s, all in the second half, and is idle for 0.25 s between both."""
    repeated(thread_waits, "openmp_later")


@case
def threads_gcc():
    """The same with gcc's runtime."""
    repeated(thread_waits, "openmp_gcc_later")


@case
def reset():
    """MPI_Pcontrol(2) between both halves: the axis begins there."""
    profile = timed([program("waits_later"), "first", "second"], 2)
    check(not in_phase(profile, "even"), "the phase before the reset is on the axis")
    check(in_phase(profile, "uneven"), "the phase after it is missing")
    check_equal(profile_sums.axis_sums(profile.json)["bytes_sent"], ROUNDS * 1000, "bytes after it")


@case
def rows():
    """Over the row limit there are no rows for each rank, and the sums stay."""
    profile = timed([program("waits_later")], 2, ["--per-rank-limit", "10"])
    check_equal(profile.json["time_bin_rows"], [], "rows")
    check_equal(profile_sums.axis_sums(profile.json)["bytes_sent"], 2 * ROUNDS * 1000, "bytes")
    refused = execute([DWELL, "report", "--format", "csv", "--over-time", "--per-rank",
                       profile.directory])
    check_equal(refused.code, 2, "exit code of rows that are not there")
    check("row limit" in refused.stderr, refused.stderr)


@case
def in_csv():
    """The CSV holds what profile.json holds."""
    profile = timed([program("waits_later")], 2)
    run = execute([DWELL, "report", "--format", "csv", "--over-time", "--per-rank", profile.directory])
    check_equal(run.code, 0, run.describe())
    table = list(csv.DictReader(io.StringIO(run.stdout)))
    bins, rank_rows = bins_of(profile), profile.json["time_bin_rows"]
    check_equal(len(table), 3 * len(bins) + len(rank_rows), "rows")
    for name, index in (("*", 0), ("min", 1), ("max", 2)):
        of_name = [row for row in table if row["rank"] == name]
        for bin, row in zip(bins, of_name):
            got = round(float(row["waiting_s"]) * 1e9)
            check_equal(got, bin.get("waiting_ns", [0, 0, 0])[index], f"bin {bin['bin']} {name}")
            check_equal(row["phase"], phase_of(profile, bin) or "", f"phase of bin {bin['bin']}")
    wrong = execute([DWELL, "report", "--over-time", profile.directory])
    check_equal(wrong.code, 2, "exit code of --over-time without csv")


@case
def killed():
    """After kill -9 in the second half the recovered profile has the run up to there."""
    out = scratch("out")

    def kill_ranks(process):
        until = time.monotonic() + 30
        while time.monotonic() < until and len(ranks_of(process.pid)) < 2:
            time.sleep(0.05)
        time.sleep(0.9)
        for pid in ranks_of(process.pid):
            os.kill(pid, signal.SIGKILL)

    run = execute(mpirun(2, DWELL, "run", "-o", out, program("waits_later")), 2,
                  interrupt=kill_ranks, cwd=scratch())
    profile = recover(kept_records(run), scratch("recovered"))
    check(in_phase(profile, "even"), "the first phase is missing")
    bins = bins_of(profile)
    width_s = profile.json["time_axis"]["width_ns"] / 1e9
    spans_s = (bins[-1]["bin"] + 1) * width_s
    lived_s = max(rank["real_ns"] for rank in profile.ranks) / 1e9
    check(abs(spans_s - lived_s) < 3 * width_s + 0.05, f"bins span {spans_s:.3f} s of {lived_s:.3f} s")



def ranks_of(launcher):
    """Processes of the program below the launcher."""
    found, open_pids = [], [launcher]
    while open_pids:
        pid = open_pids.pop()
        try:
            with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as children:
                open_pids += map(int, children.read().split())
            with open(f"/proc/{pid}/comm", encoding="ascii") as name:
                if name.read().strip() == "waits_later":
                    found.append(pid)
        except OSError:
            continue
    return found


if __name__ == "__main__":
    main()
