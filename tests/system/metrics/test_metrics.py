"""Counts of PAPI at places of the tree: against the arithmetic of programs/metrics.c and what
getrusage tells the program itself. Software events; hardware counters where there are any."""

import os
import re

from harness import (DWELL, ROOT, Profile, case, check, check_equal, execute, kept_records, main, mpirun,
                     program, recover, run_observed, scratch, skip_unless, source)
from record_file import LIBRARY

FAULTS, SWITCHES = "perf::PAGE-FAULTS", "perf::CONTEXT-SWITCHES"
TOUCHED = 3000
# What is no first touch: pages of the stack, of the C library's tables and of dwell's records.
SLACK = 60


def info():
    return execute([DWELL, "info"]).stdout


def works(event):
    return re.search(rf"^ok +{re.escape(event)} ", info(), re.MULTILINE) is not None


class Counts:
    """The metrics of a run, by node."""

    def __init__(self, profile):
        self.profile = profile
        self.names = [metric["name"] for metric in profile.json["metrics"]["counted"]]
        self.of_node = {c["node"]: c for c in profile.json["metric_counts"]}
        self.rows = profile.json["metric_rows"]

    def nodes(self, name, line=None):
        return [i for i, node in enumerate(self.profile.nodes)
                if node["name"] == name and (line is None or node["line"] == line)]

    def total(self, name, metric, key="inclusive", rank=None, threads=None):
        """Of all nodes of that name, over all ranks or of one."""
        wanted, at = set(self.nodes(name)), self.names.index(metric)
        return sum(row[key][at] for row in self.rows
                   if row["node"] in wanted and rank in (None, row["rank"])
                   and (threads is None or row["thread"] in threads))

    def entries(self, name):
        return sum(c["entries"] for n, c in self.of_node.items() if n in self.nodes(name))

    def check_conservation(self):
        """Inclusive = own + children, for each metric, in sums and in each thread's rows; the sums
        are those of the rows."""
        groups = {None: self.of_node}
        for row in self.rows:
            groups.setdefault((row["rank"], row["thread"]), {})[row["node"]] = row
        for group, counts in groups.items():
            for node, count in counts.items():
                inside = [counts[child]["inclusive"] for child in self.profile.nodes[node]["children"]
                          if child in counts]
                for i, name in enumerate(self.names):
                    check_equal(count["inclusive"][i], count["own"][i] + sum(c[i] for c in inside),
                                f"{name} of {self.profile.nodes[node]['name']} in {group}")
        for node, count in self.of_node.items():
            for key in ("own", "inclusive"):
                rows = [row[key] for row in self.rows if row["node"] == node]
                check_equal(count[key], [sum(row[i] for row in rows) for i in range(len(self.names))],
                            f"{key} of {self.profile.nodes[node]['name']} over the rows")


def counted(*mode, metrics=f"{FAULTS},{SWITCHES}", ranks=2):
    skip_unless(works(FAULTS), "perf::PAGE-FAULTS cannot be counted here")
    out = scratch("out")
    run = run_observed([program("metrics"), *mode], ranks, out, ("--metrics", metrics))
    check_equal(run.code, 0, "exit code" + run.describe())
    profile = Profile(out, run)
    profile.check_conservation()
    counts = Counts(profile)
    counts.check_conservation()
    return counts


def between(got, least, most, what):
    check(least <= got <= most, f"{what}: got {got}, want {least} to {most}")


@case
def known_places():
    """Page faults are where their pages were touched: in blocks, in what is computed before an MPI
    call, in a second thread; recursion counts once."""
    counts = counted()
    for rank in range(2):
        pages = (rank + 1) * TOUCHED
        between(counts.total("touch", FAULTS, rank=rank), pages, pages + SLACK, f"touch of {rank}")
        between(counts.total("nested", FAULTS, rank=rank), 300, 300 + SLACK, f"nested of {rank}")
        # The procedure before the second barrier; what it calls has no node.
        between(counts.total("apart", FAULTS, "own", rank=rank), 2000, 2000 + SLACK,
                f"apart of {rank}")
        for statement in ("MPI_Barrier", "MPI_Finalize"):
            between(counts.total(statement, FAULTS, rank=rank), 0, 1500, statement)
        between(counts.total("thread", FAULTS, rank=rank), 1000, 1000 + SLACK, "thread")
        check_equal(counts.total("thread", FAULTS, rank=rank, threads=[0]), 0, "of thread 0")
    check_equal(counts.entries("touch"), 2, "entries of touch that were read")


@case
def switches_as_told():
    """Context switches of a block that sleeps are those that getrusage tells the thread."""
    skip_unless(works(FAULTS), "perf::PAGE-FAULTS cannot be counted here")
    skip_unless(SWITCHES not in missing(SWITCHES), f"{SWITCHES} needs more privilege")
    counts = counted()
    told = dict(re.findall(r"told: rank (\d) switches (\d+)", counts.profile.run.stderr))
    check_equal(sorted(told), ["0", "1"], "what the program told")
    for rank, number in told.items():
        got = counts.total("sleep", SWITCHES, rank=int(rank))
        # Whatever else runs on the processor may come between the program's reading and dwell's.
        between(got, int(number), int(number) + 20, f"switches of rank {rank}")
        check(int(number) >= 150, f"the program slept less often than it should: {number}")
        between(counts.total("touch", SWITCHES, rank=int(rank)), 0, 10_000, "switches of touch")


@case
def threads_of_openmp():
    """Each thread of a region has the page faults of its own part of the loop."""
    skip_unless(works(FAULTS), "perf::PAGE-FAULTS cannot be counted here")
    out = scratch("out")
    run = execute([DWELL, "run", "-o", out, "--metrics", FAULTS, program("metrics_openmp")])
    check_equal((run.code, run.stdout), (0, "done\n"), "exit code and output" + run.describe())
    counts = Counts(Profile(out, run))
    counts.check_conservation()
    loops = {row["thread"]: row for row in counts.rows
             if counts.profile.nodes[row["node"]]["name"].startswith("for")}
    check_equal(sorted(loops), [0, 1], "threads with counts of the loop")
    for thread, row in loops.items():
        pages = 3000 * (thread + 1)
        between(row["inclusive"][0], pages, pages + SLACK, f"page faults of thread {thread}")
        check_equal(row["entries"], 3, f"loops of thread {thread} that were read")
    # The last region of thread 1 ends while it waits for work that does not come.
    regions = [row for row in counts.rows
               if counts.profile.nodes[row["node"]]["name"].startswith("parallel")]
    check_equal([(row["thread"], row["entries"]) for row in regions], [(0, 3), (1, 3)],
                "regions that were read")
    # Derived figures are by the time that the thread counted, which opening PAPI is no part of.
    for thread, row in loops.items():
        whole = next(r for r in counts.rows if r["node"] == 0 and r["thread"] == thread)
        check(whole["time_ns"] >= row["time_ns"] > 0,
              f"thread {thread} counted {whole['time_ns']} ns, its loops took {row['time_ns']}")


@case
def too_short():
    """What is too short is not read, and the outputs say so."""
    counts = counted()
    node = counts.nodes("short")[0]
    entries = counts.entries("short")
    between(entries, 1, 200, "entries of a short block that were read")
    check_equal(counts.profile.nodes[node]["count"], 40000, "entries")
    text = execute([DWELL, "report", "--width", "80", counts.profile.directory]).stdout
    check("Metrics" in text and FAULTS in text, "no metrics in the report: " + text)
    for line in text.splitlines():
        check(len(line) <= 80, "too wide: " + line)
    row = next(r for r in counts.profile.csv() if r["name"] == "short")
    check_equal(int(row["metric_entries"]), entries, "entries in the CSV")
    faults = [int(r[FAULTS]) for r in counts.profile.csv() if r["name"] == "touch" and r[FAULTS]]
    check_equal(sum(faults), counts.total("touch", FAULTS), "faults in the CSV")
    picl = open(f"{counts.profile.directory}/stats.picl", encoding="ascii").read()
    check(f"metric {FAULTS}" in picl, "no label of a metric in stats.picl")


@case
def left_by_longjmp():
    """What is left without its end has its counts, and nothing is counted twice or below nothing."""
    counts = counted("jump", ranks=1)
    at = counts.names.index(FAULTS)
    between(counts.total("left", FAULTS), 7000, 7000 + 2 * SLACK, "left")
    between(counts.of_node[0]["inclusive"][at], 3000 + 2000 + 300 + 1000 + 7000, 30000, "all")
    for count in counts.of_node.values():
        check(all(0 <= value < 1 << 40 for value in count["own"]), f"an absurd count: {count}")


@case
def pauses_and_resets():
    """What happens while recording is off does not count, and what was forgotten neither."""
    plain = counted(ranks=1)
    paused = counted("pause", ranks=1)
    at = plain.names.index(FAULTS)
    all_of = [c.of_node[0]["inclusive"][at] for c in (plain, paused)]
    between(all_of[1], all_of[0] - 1500, all_of[0] + 1500, "faults with a pause in which are 5000")
    reset = counted("reset", ranks=1)
    between(reset.total("touch", FAULTS), TOUCHED, TOUCHED + SLACK, "touch, counted once")
    between(reset.total("apart", FAULTS, "own"), 2000, 2000 + SLACK, "apart, counted once")
    # MPI_Init lies before.
    between(reset.of_node[0]["inclusive"][at], 6300, 6300 + 1500, "all that was not forgotten")


@case
def recovered():
    """Counts of a job that is killed are what was read before."""
    skip_unless(works(FAULTS), "perf::PAGE-FAULTS cannot be counted here")
    run = run_observed([program("metrics"), "kill"], 2, scratch("out"), ("--metrics", FAULTS))
    counts = Counts(recover(kept_records(run), scratch("recovered")))
    counts.check_conservation()
    check_equal(counts.names, [FAULTS], "metrics")
    for rank in range(2):
        pages = (rank + 1) * TOUCHED
        between(counts.total("touch", FAULTS, rank=rank), pages, pages + SLACK, f"touch of {rank}")
        between(counts.total("nested", FAULTS, rank=rank), 300, 300 + SLACK, f"nested of {rank}")
        between(counts.total("open", FAULTS, "own", rank=rank), 500, 500 + SLACK, f"open of {rank}")
    check_equal(counts.entries("touch"), 2, "entries of touch that were read")
    check_equal(counts.entries("open"), 0, "and of a block that never ended")


@case
def forked():
    """A child's counts are not its parent's."""
    counts = counted("fork", ranks=1)
    between(counts.total("child", FAULTS), 0, 1000, "of a block in which a child had 4000")


def check_files_of_the_program(metrics):
    with open(scratch("file"), "wb") as file:
        file.write(bytes(100_000))
    for how in ("closefrom", "loop", "dup2"):
        out = scratch(how)
        with open(scratch("file"), "rb") as file:
            run = execute([DWELL, "run", "-o", out, "--metrics", metrics,
                           program("files_reused"), how], stdin=file)
            check_equal((run.code, run.stdout), (0, "untouched\n"), how + run.describe())
            offset = os.lseek(file.fileno(), 0, os.SEEK_CUR)
            check_equal(offset, 0, f"offset after {how}")
        profile = Profile(out, run).json
        names = [m["name"] for m in profile["metrics"]["counted"]]
        check_equal(names, metrics.split(","), "metrics")
        # What is not counted from then on is told.
        check_equal(profile["metrics"]["lost_threads"], 2, f"threads that count no more, {how}")
        check(0 < profile["metrics"]["lost_ns"] <= profile["ranks"][0]["real_ns"], "when")
        check(any("closed the counters of 2 threads" in note for note in profile["notes"]),
              f"no note of it: {profile['notes']}")


@case
def files_of_the_program():
    """A program that closes descriptors it did not open and reuses their numbers has its files as
    it left them, also at the end of its threads and of itself: nothing reads, so the offset stays."""
    skip_unless(works(FAULTS), "perf::PAGE-FAULTS cannot be counted here")
    check_files_of_the_program(FAULTS)


@case
def files_of_the_program_by_papi():
    """The same with counters that PAPI reads, which an event of its own spelling needs."""
    spelt = f"{FAULTS}:u=1"
    skip_unless(works(FAULTS) and papi_knows(spelt), "PAPI has no software events here")
    check_files_of_the_program(f"{spelt},perf::TASK-CLOCK")


@case
def descriptors_stay_free():
    """A program that may have 18 descriptors keeps 16 for itself: it runs without metrics, and a
    line and a note say why."""
    skip_unless(works(FAULTS), "perf::PAGE-FAULTS cannot be counted here")
    out = scratch("out")
    run = execute(["sh", "-c", 'ulimit -n 18; exec "$@"', "sh", DWELL, "run", "-o", out,
                   "--metrics", FAULTS, program("io_serial"), scratch("data")])
    check_equal(run.code, 0, "exit code" + run.describe())
    check("no metrics" in run.stderr and "ulimit -n" in run.stderr,
          "no line says why" + run.describe())
    profile = Profile(out, run).json
    check_equal(profile["metrics"]["no_room_threads"], 1, "threads that were not counted")
    check(any("ulimit -n" in note for note in profile["notes"]), f"no note: {profile['notes']}")


@case
def made_up_variable():
    """The same in DWELL_METRICS without `dwell run`: the program runs, and a line says that nobody
    knows the name instead of what it would take to count it."""
    skip_unless(works(FAULTS), "PAPI does not work here")
    run = execute([program("io_serial"), scratch("data")],
                  env={"LD_PRELOAD": LIBRARY, "DWELL_METRICS": "perf::PAGE-FALTS", "DWELL_QUIET": "1",
                       "DWELL_OUT": scratch("out")})
    check_equal(run.code, 0, "exit code" + run.describe())
    lines = [line for line in run.stderr.splitlines() if "PAGE-FALTS" in line]
    check_equal(len(lines), 1, "lines" + run.describe())
    check("knows no event perf::PAGE-FALTS" in lines[0] and "hardware" not in lines[0], lines[0])


@case
def made_up_name():
    """A name that PAPI does not know: one line with names that are like it, and nothing starts."""
    skip_unless(works(FAULTS), "PAPI does not work here")
    for command in ([], mpirun(1)):
        run = execute([DWELL, "run", "--metrics", "perf::PAGE-FALTS", *command, "sh", "-c",
                       "echo started"])
        check_equal((run.code, run.stdout), (2, ""), "exit code and output" + run.describe())
        lines = run.stderr.splitlines()
        check_equal(len(lines), 1, "lines" + run.describe())
        check("perf::PAGE-FALTS" in lines[0] and FAULTS in lines[0], lines[0])
    run = execute([DWELL, "run", "--metrics", "a,,b", "true"])
    check_equal(run.code, 2, "an empty name" + run.describe())
    check("joined by commas" in run.stderr, run.stderr)


def missing(*events):
    """Those that cannot be counted here."""
    out = scratch("asked")
    run = run_observed([program("metrics")], 1, out, ("--metrics", ",".join([FAULTS, *events])))
    check_equal(run.code, 0, "exit code" + run.describe())
    return Profile(out, run).json["metrics"]["missing"]


@case
def not_on_this_machine():
    """An event that PAPI knows and the machine has not: the run goes on, and one line says it."""
    counters = [event for event in ("PAPI_TOT_CYC", "PAPI_FP_OPS", "PAPI_L3_TCM", "PAPI_MEM_RCY")
                if not works(event) and papi_knows(event)]
    skip_unless(counters, "this machine counts all that is asked for here")
    counts = counted(metrics=f"{FAULTS},{counters[0]}")
    check_equal(counts.names, [FAULTS], "metrics that were counted")
    check_equal(counts.profile.json["metrics"]["missing"], counters[:1], "and that were not")
    said = [line for line in counts.profile.run.stderr.splitlines() if "cannot count" in line]
    check_equal(len(said), 1, "lines on stderr" + counts.profile.run.describe())
    for word in (counters[0], "perf_event_paranoid", "CAP_PERFMON", "container"):
        check(word in said[0], f"{word} is not in: {said[0]}")
    check(any(counters[0] in note for note in counts.profile.json["notes"]), "no note")


@case
def refused():
    """Where the kernel refuses all counters a line and a note say so, with --quiet too, and no advice
    is what is done already."""
    refusing = ["python3", "-B", os.path.join(ROOT, "tests", "system", "support", "refused.py")]
    probe = execute([*refusing, "true"])
    skip_unless(probe.code == 0, "no seccomp filter can be set here")
    for asked, is_missing in (("default", ["default"]), (FAULTS, [FAULTS])):
        out = scratch(f"out-{asked}")
        run = execute([*refusing, DWELL, "run", "-q", "-o", out, "--metrics", asked,
                       program("io_serial"), scratch("data")])
        check_equal(run.code, 0, "exit code" + run.describe())
        said = [line for line in run.stderr.splitlines() if "cannot count" in line]
        check_equal(len(said), 1, "lines on stderr" + run.describe())
        check(asked in said[0] and "perf_event_open" in said[0] and "processor" not in said[0],
              f"not the reason: {said[0]}")
        profile = Profile(out, run).json
        check_equal(profile["metrics"]["missing"], is_missing, "metrics that could not be counted")
        check(any(asked in note for note in profile["notes"]), f"no note: {profile['notes']}")
    told = execute([*refusing, DWELL, "info"]).stdout
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        level = int(file.read())
    lines = told.splitlines()
    at = next(i for i, line in enumerate(lines) if FAULTS in line)
    advice = " ".join(lines[at:at + 3])
    check(("perf_event_open is refused" in advice) == (level <= 2), f"level {level}: {advice}")


def papi_knows(event):
    run = execute([DWELL, "run", "--metrics", event, "/nonexistent/program"])
    return run.code != 2


@case
def by_default():
    """--metrics default counts something on every machine with PAPI; off is off."""
    counts = counted(metrics=f"default,{FAULTS},{FAULTS}")
    check(counts.names, "nothing is counted by default")
    check_equal(len(counts.names), len(set(counts.names)), "an event that is named twice")
    counts.names.remove(FAULTS) if works("PAPI_TOT_CYC") else None
    if works("PAPI_TOT_CYC"):
        check("PAPI_TOT_CYC" in counts.names, f"no cycles in {counts.names}")
    else:
        check_equal(counts.names, ["perf::TASK-CLOCK", FAULTS, SWITCHES][:len(counts.names)],
                    "without hardware counters")
    out = scratch("off")
    run = run_observed([program("metrics")], 1, out, ("--metrics", "off"))
    check("metrics" not in Profile(out, run).json, "metrics, though they are off")


@case
def hardware():
    """Cycles and instructions, where the machine counts them: more where more is done."""
    skip_unless(works("PAPI_TOT_CYC") and works("PAPI_TOT_INS"),
                "no hardware counters here (a virtual machine, or not allowed)")
    counts = counted(metrics="PAPI_TOT_CYC,PAPI_TOT_INS")
    for event in counts.names:
        one, two = (counts.total("touch", event, rank=rank) for rank in range(2))
        check(0 < one < two, f"{event} of 3000 and of 6000 pages: {one}, {two}")
    text = execute([DWELL, "report", counts.profile.directory]).stdout
    check("instructions per cycle" in text, "no derived figure: " + text)


if __name__ == "__main__":
    main()
