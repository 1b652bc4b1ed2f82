"""`dwell run --tally` and `dwell report --tally`: how many ranks are where at once, and tally's tables."""

import glob
import os

from harness import (DWELL, Profile, case, check, check_equal, environment, execute, main, marked_line, mpirun,
                     program, repeated, scratch, source)


def observed(*options, words=()):
    """Runs occupancy.c; when each rank was where, by procedure and rank."""
    run = execute(mpirun(2, DWELL, "run", "-o", scratch("out"), *options, *words, program("occupancy")),
                  env=environment(2))
    check_equal(run.code, 0, "exit code" + run.describe())
    when = {}
    for line in run.stdout.splitlines():
        rank, procedure, begin, end = line.split()
        when[procedure, int(rank)] = (float(begin), float(end))
    check_equal(len(when), 3, "lines of the program" + run.describe())
    return run, when


def length(interval):
    return interval[1] - interval[0]


def common(one, other):
    return min(one[1], other[1]) - max(one[0], other[0])


def tables(text):
    """Rows of fields by title, which ends at the first comma."""
    found = {}
    for table in text.strip().split("\n\n"):
        title, *rows = table.splitlines()
        found[title.split(",")[0]] = [row.split("\t") for row in rows]
    return found


def tally():
    run = execute([DWELL, "report", "--tally", "--format", "tsv", scratch("out")])
    check_equal(run.code, 0, "exit code" + run.describe())
    return tables(run.stdout), run.stdout


def near(got, want, what, by=0.2):
    check(abs(float(got) - want) <= by * want, f"{what} is {got} and not about {want}")


def check_occupancy(when):
    found, text = tally()
    together = common(when["both", 0], when["both", 1])
    alone = length(when["alone", 0])
    routines = {row[0]: row[1:] for row in found["ROUTINE CONCURRENCY STATISTIC"][1:]}
    near(routines["both"][1], together, "time of 2 ranks in both")
    near(routines["alone"][0], alone, "time of 1 rank in alone")
    check_equal(routines["alone"][1], "0.000", "time of 2 ranks in alone")
    ncpu = {row[0]: row[1:] for row in found["NCPU STATISTIC"][1:]}
    near(ncpu["both"][1], together, "both while 2 are busy")
    near(ncpu["alone"][0], alone, "alone while 1 is busy")
    line = f"MPI_Barrier occupancy.c:{marked_line(source('occupancy.c'), 'waits')}"
    lines = {row[0]: row[1:] for row in found["LINE CONCURRENCY STATISTIC"][1:]}
    near(lines[line][0], alone, "one rank in the last barrier")
    check(", sampled: " in text and " samples at 100 Hz, host " in text, f"no number of samples in {text}")


@case
def ranks_at_once():
    """Both ranks are in `both` at once, one in `alone` while the other one waits in a barrier."""
    repeated(lambda: check_occupancy(observed("--tally")[1]))


@case
def goes_on_after_finalize():
    """The records go in MPI_Finalize; what was sampled stays, though the program ends a second later."""
    going_on = ("sh", "-c", "\"$1\" && sleep 1", "sh")
    repeated(lambda: check_occupancy(observed("--tally", words=going_on)[1]))


@case
def nothing_to_sample():
    """Said once for all ranks."""
    run = execute(mpirun(2, DWELL, "run", "-q", "-o", scratch("out"), "--tally", "true"), env=environment(2))
    check_equal((run.code, run.stderr.count("--tally: nothing was sampled")), (0, 1), run.describe())


def check_routines():
    run, when = observed()
    check_equal(glob.glob(os.path.join(scratch("out"), "ncpu.*")), [], "samples without --tally")
    found, _ = tally()
    check("NCPU STATISTIC" not in found, "a table without samples")
    by_name = {row[1]: [float(field) for field in row[2:]] for row in found["ROUTINE SUMMARY"][1:]}
    alone = length(when["alone", 0])
    near(by_name["both"][0], length(when["both", 0]) + length(when["both", 1]), "busy time of both")
    near(by_name["alone"][0], alone, "busy time of alone")
    ranks = {row[0]: [float(field) for field in row[1:]] for row in found["NODE SUMMARY"][1:]}
    near(ranks["0"][0], length(when["both", 0]) + alone, "busy time of rank 0")
    waited = alone + max(0, when["both", 0][1] - when["both", 1][1])
    near(ranks["1"][1], waited, "global blocking of rank 1")
    life = sum(row[4] for row in by_name.values())
    near(by_name["main"][6], by_name["main"][1] / life, "communication index of main", 0.01)
    near(by_name["main"][1], sum(row[1] for row in ranks.values()), "global blocking of main", 0.01)
    profile = Profile(scratch("out"), run)
    busy = sum(row[0] for row in ranks.values())
    near(busy, profile.json["computation_ns"] * 1e-9, "busy time", 0.01)


@case
def times_of_routines():
    """The tables that need no samples: busy and blocked times of routines and ranks."""
    repeated(check_routines)


@case
def bad_formats():
    for words in (["--tally", "--format", "json"], ["--format", "tsv"]):
        run = execute([DWELL, "report", *words, scratch("out")])
        check_equal(run.code, 2, "exit code" + run.describe())
        check("--tally" in run.stderr, "the reason" + run.describe())


if __name__ == "__main__":
    main()
