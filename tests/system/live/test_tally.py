"""`dwell run --tally` and `dwell report --tally`: how many ranks are where at once, and tally's tables."""

import glob
import os

from harness import (DWELL, Profile, case, check, check_equal, environment, execute, main, marked_line, mpirun,
                     program, scratch, source)

SPIN_S = 0.4  # in each procedure of occupancy.c


def observed(*options):
    return execute(mpirun(2, DWELL, "run", "-o", scratch("out"), *options, program("occupancy")),
                   env=environment(2))


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


def near(got, want, what, by=0.3):
    check(abs(float(got) - want) <= by * want, f"{what} is {got} and not about {want}")


@case
def ranks_at_once():
    """Both ranks are in `both` for 0.4 s, one in `alone` while the other one waits in a barrier."""
    run = observed("--tally")
    check_equal(run.code, 0, "exit code" + run.describe())
    found, text = tally()
    routines = {row[0]: row[1:] for row in found["ROUTINE CONCURRENCY STATISTIC"][1:]}
    near(routines["both"][1], SPIN_S, "time of 2 ranks in both")
    near(routines["alone"][0], SPIN_S, "time of 1 rank in alone")
    check_equal(routines["alone"][1], "0.000", "time of 2 ranks in alone")
    ncpu = {row[0]: row[1:] for row in found["NCPU STATISTIC"][1:]}
    near(ncpu["both"][1], SPIN_S, "both while 2 are busy")
    near(ncpu["alone"][0], SPIN_S, "alone while 1 is busy")
    line = f"MPI_Barrier occupancy.c:{marked_line(source('occupancy.c'), 'waits')}"
    lines = {row[0]: row[1:] for row in found["LINE CONCURRENCY STATISTIC"][1:]}
    near(lines[line][0], SPIN_S, "one rank in the last barrier")
    check(", sampled: " in text and " samples at 100 Hz, host " in text, f"no number of samples in {text}")


@case
def times_of_routines():
    """The tables that need no samples: busy and blocked times of routines and ranks."""
    run = observed()
    check_equal(run.code, 0, "exit code" + run.describe())
    check_equal(glob.glob(os.path.join(scratch("out"), "ncpu.*")), [], "samples without --tally")
    found, _ = tally()
    check("NCPU STATISTIC" not in found, "a table without samples")
    by_name = {row[1]: [float(field) for field in row[2:]] for row in found["ROUTINE SUMMARY"][1:]}
    near(by_name["both"][0], 2 * SPIN_S, "busy time of both")
    near(by_name["alone"][0], SPIN_S, "busy time of alone")
    near(by_name["main"][1], SPIN_S, "global blocking of main")
    life = sum(row[4] for row in by_name.values())
    near(by_name["main"][6], by_name["main"][1] / life, "communication index of main", 0.01)
    ranks = {row[0]: [float(field) for field in row[1:]] for row in found["NODE SUMMARY"][1:]}
    near(ranks["0"][0], 2 * SPIN_S, "busy time of rank 0")
    near(ranks["1"][1], SPIN_S, "global blocking of rank 1")
    profile = Profile(scratch("out"), run)
    busy = sum(row[0] for row in ranks.values())
    near(busy, profile.json["computation_ns"] * 1e-9, "busy time", 0.01)


@case
def bad_formats():
    for words in (["--tally", "--format", "json"], ["--format", "tsv"]):
        run = execute([DWELL, "report", *words, scratch("out")])
        check_equal(run.code, 2, "exit code" + run.describe())
        check("--tally" in run.stderr, "the reason" + run.describe())


if __name__ == "__main__":
    main()
