"""Ways to start: around the launcher, by LD_PRELOAD, through shells, without MPI; and the outputs."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, environment, execute, main,
                     mpirun, profiled, program, run_observed, run_plain, same_result, scratch, skip_unless,
                     source, verify_expectations)


def right_ring(profile, ranks=2):
    profile.check_conservation()
    verify_expectations(profile, source("ring.c"), ranks)


@case
def around_the_launcher():
    """`dwell run mpirun -n 2 app` is the same as `mpirun -n 2 dwell run app`."""
    plain = run_plain([program("ring")], 2)
    out = scratch("out")
    run = execute([DWELL, "run", "-o", out] + mpirun(2, program("ring")), 2)
    same_result(plain, run)
    right_ring(Profile(out, run))


@case
def preloaded_without_launcher():
    """LD_PRELOAD=libdwell.so mpirun -n 2 app writes dwell-<program>-<jobid>/ where it was started."""
    plain = run_plain([program("ring")], 2)
    run = execute(mpirun(2, program("ring")), 2, env={"LD_PRELOAD": LIBRARY}, cwd=scratch())
    same_result(plain, run)
    found = [name for name in os.listdir(scratch()) if name.startswith("dwell-ring")]
    check(len(found) == 1, f"output directories {found}" + run.describe())
    right_ring(Profile(scratch(found[0]), run))


@case
def default_directory():
    """Without -o the directory is dwell-<program>-<jobid>/, and stderr names it."""
    run = execute(mpirun(2, DWELL, "run", program("ring")), 2, cwd=scratch())
    found = [name for name in os.listdir(scratch()) if name.startswith("dwell-ring")]
    check(len(found) == 1 and found[0] in run.stderr, f"directories {found}" + run.describe())
    right_ring(Profile(scratch(found[0]), run))


@case
def changed_directory():
    """A program that ends in another directory: the output is where it was started, by default and
    with a relative name."""
    os.mkdir(scratch("elsewhere"))
    words = [program("moves"), scratch("elsewhere")]
    plain = run_plain(words, 2, cwd=scratch())
    for options in ([], ["-o", "named"]):
        run = execute(mpirun(2, DWELL, "run", *options, *words), 2, cwd=scratch())
        same_result(plain, run)
        found = [name for name in os.listdir(scratch())
                 if name == "named" or not options and name.startswith("dwell-moves")]
        check_equal(len(found), 1, f"output directories {found}" + run.describe())
        check_equal(Profile(scratch(found[0]), run).count("MPI_Barrier"), 2, "barriers")
    check_equal(os.listdir(scratch("elsewhere")), [], "left elsewhere")


@case
def profiles_of_other_runs_stay():
    """Runs that are given the same directory, one after the other or at once, have a profile each: the
    second makes a directory beside, and says so; the first one's stays as it is."""
    out = scratch("out")
    run = execute([DWELL, "run", "-q", "-o", out, program("ring")])
    check_equal(run.stderr, "", "the first" + run.describe())
    with open(os.path.join(out, "profile.json"), "rb") as file:
        first = file.read()
    for number in (2, 3):
        run = execute([DWELL, "run", "-q", "-o", out + "/", program("serial")], keep=True)
        check_equal(run.stderr.splitlines()[-1], f"dwell: {out}/ holds the profile of another run, which stays: this "
                                f"one goes to {out}.{number}", f"run {number}" + run.describe())
        check_equal(Profile(f"{out}.{number}", run).count("MPI_Sendrecv"), 0, "calls of MPI")
    with open(os.path.join(out, "profile.json"), "rb") as file:
        check_equal(file.read(), first, "the first profile")
    shown = execute([DWELL, "report", out])
    check_equal((shown.code, shown.stderr), (0, f"dwell: {out}.3 holds the profile of a later run\n"),
                shown.describe())
    jobs = [execute_later([DWELL, "run", "-q", "-o", scratch("same"), program("ring"), str(10 + n)])
            for n in range(4)]
    for job in jobs:
        check_equal(job.wait(60), 0, "exit code")
    names = [name for name in sorted(os.listdir(scratch())) if name.startswith("same")]
    check_equal(names, ["same", "same.2", "same.3", "same.4"], "directories")
    counts = sorted(Profile(scratch(name)).count("MPI_Sendrecv") for name in names)
    check_equal(counts, [10, 11, 12, 13], "calls")


def execute_later(argv):
    return subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            stdin=subprocess.DEVNULL, env=environment())


@case
def two_launchers():
    """A script with two mpirun in it under one `dwell run -o`: two profiles."""
    script = scratch("job.sh")
    commands = [" ".join(mpirun(2, program("ring"), rounds)) for rounds in ("10", "7")]
    with open(script, "w") as stream:
        stream.write("#!/bin/sh\n" + "\n".join(commands) + "\n")
    os.chmod(script, 0o755)
    run = execute([DWELL, "run", "-o", scratch("out"), script], 2)
    check_equal(Profile(scratch("out"), run).count("MPI_Sendrecv"), 20, "calls of the first")
    check_equal(Profile(scratch("out.2"), run).count("MPI_Sendrecv"), 14, "calls of the second")
    check(f"this one goes to {scratch('out')}.2\n" in run.stderr, "what is said" + run.describe())


@case
def serial_in_a_batch_step():
    """What a batch script runs by itself has the variables of a task and is none: a serial program is
    sampled there, one with MPI has its profile, which bears the number of the batch job."""
    for number, env in enumerate(({"SLURM_PROCID": "0"}, {"PMI_RANK": "0"},
                                  {"SLURM_PROCID": "0", "SLURM_JOB_ID": "4711", "SLURM_NTASKS": "64",
                                   "SLURM_STEP_ID": "4294967291"})):
        out = scratch(f"out{number}")
        run = execute([DWELL, "run", "-o", out, program("serial")], env=env)
        check(0.45 <= Profile(out, run).json["computation_ns"] / 1e9, f"{env}" + run.describe())
    run = execute(mpirun(2, DWELL, "run", program("ring")), 2, cwd=scratch(),
                  env={"SLURM_PROCID": "0", "SLURM_JOB_ID": "4711", "SLURM_NTASKS": "64"})
    found = [name for name in os.listdir(scratch()) if name.startswith("dwell-ring-4711-")]
    check_equal(len(found), 1, f"directories {os.listdir(scratch())}" + run.describe())
    right_ring(Profile(scratch(found[0]), run))


@case
def looked_up_on_a_handle():
    """An interpreter opens libmpi and looks its functions up on that handle: its calls are seen. Where
    the way it opens it keeps them from dwell, that is said."""
    for mode in ("0", "1", "2"):
        out = scratch("out" + mode)
        run = execute(mpirun(2, DWELL, "run", "-o", out, program("looks_up"), mode), 2)
        check_equal((run.code, run.stdout), (0, "done\ndone\n"), "the program" + run.describe())
        profile = Profile(out, run)
        profile.check_conservation()
        check_equal(profile.count("MPI_Barrier"), 40, "barriers" + run.describe())
    words = [program("looks_up"), program("libuses_mpi.so")]
    run = execute(mpirun(2, DWELL, "run", "-o", scratch("past"), *words), 2)
    check_equal((run.code, run.stdout), (0, "done\ndone\n"), "the program" + run.describe())
    check("used MPI (libmpi.so.40), but its calls passed dwell by" in run.stderr
          and "(2 ranks: 0, 1)" in run.stderr, "what is said" + run.describe())


def in_shell(command):
    plain = run_plain([program("ring")], 2)
    out = scratch("out")
    run = run_observed(command, 2, out)
    same_result(plain, run)
    right_ring(Profile(out, run))


@case
def through_sh_c():
    """A shell between dwell and the program is left alone; the program below it is observed."""
    in_shell(["sh", "-c", program("ring") + "; exit $?"])


@case
def through_script():
    """The same for a script."""
    script = scratch("job.sh")
    with open(script, "w") as stream:
        stream.write(f"#!/bin/sh\ntrue\n{program('ring')}\ncode=$?\ntrue\nexit $code\n")
    os.chmod(script, 0o755)
    in_shell([script])


@case
def dwell_inside_shell():
    """And with dwell inside the shell."""
    plain = run_plain([program("ring")], 2)
    out = scratch("out")
    run = execute(mpirun(2, "sh", "-c", f"{DWELL} run -o {out} {program('ring')}"), 2)
    same_result(plain, run)
    right_ring(Profile(out, run))


@case
def singleton():
    """An MPI program started without a launcher is a job of one rank."""
    out = scratch("out")
    plain = execute([program("ring")])
    run = execute([DWELL, "run", "-o", out, program("ring")])
    same_result(plain, run)
    right_ring(Profile(out, run), 1)


@case
def address_sanitizer():
    """A program with it, by gcc or clang, has its profile like any other, and nothing else is said.
    (Open MPI leaks: that is left out here.)"""
    built = 0
    for number, compiler in enumerate(("gcc", "clang")):
        target, out = scratch(f"ring_{compiler}"), scratch(f"out{number}")
        build = execute(["mpicc", "-g", "-O1", "-fsanitize=address", source("ring.c"), "-o",
                         target], env={"OMPI_CC": compiler})
        if build.code != 0:
            continue
        built += 1
        run = execute([DWELL, "run", "--quiet", "-o", out, target],
                      env={"ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"})
        check_equal((run.code, run.stdout, run.stderr), (0, "1 ranks: 0\n", ""), run.describe())
        right_ring(Profile(out, run), 1)
    skip_unless(built != 0, "no address sanitizer here")


@case
def closed_streams():
    """With standard input closed, or output as well, the program is observed as usual."""
    for number, closed in enumerate(("<&-", "<&- >&-")):
        out = scratch(f"out{number}")
        run = execute(["sh", "-c", f'exec "$0" "$@" {closed}', DWELL, "run", "-o", out,
                       program("ring")])
        right_ring(Profile(out, run), 1)


@case
def closed_streams_stay_closed():
    """A program that finds a standard file closed finds it so with dwell, too, and never a file of
    dwell's under its number, though MPI may open one of its own; the profile is whole, with metrics
    and samples."""
    for number, closed in enumerate(("<&-", ">&-", "2>&-", "<&- >&- 2>&-")):
        told = []
        for name in ("plain", "seen"):
            folder = scratch(f"{name}{number}")
            os.makedirs(folder)
            found = os.path.join(folder, "found")
            profile = os.path.join(folder, "profile")
            command = [program("closed_streams"), found]
            if name == "seen":
                command = [DWELL, "run", "-o", profile, "--metrics", "perf::PAGE-FAULTS", *command]
            run = execute(["sh", "-c", f'exec "$0" "$@" {closed}', *command])
            check_equal(run.code, 0, f"{closed} {name}: exit code")
            with open(found, encoding="utf-8") as file:
                told.append(file.read().splitlines())
            if name == "seen":
                check_equal(Profile(profile, run).count("MPI_Barrier"), 10, f"{closed}: barriers")
        before = [[line for line in lines if line.startswith("before")] for lines in told]
        check("closed" in before[0][0] + before[0][1] + before[0][2], f"{closed}: nothing is closed")
        check_equal(before[1], before[0], f"{closed}: standard files before MPI_Init")
        for line in told[1]:
            check("dwell" not in line and "anon_inode" not in line, f"{closed}: {line}")


@case
def long_command():
    """A command of more than the 487 bytes that are kept: dots stand for the front of a long path,
    whose end, the program's name, is seen, and for the last arguments; a character stays whole."""
    folder = os.path.join(scratch(), *["d" * 200] * 3)
    os.makedirs(folder)
    long_path = os.path.join(folder, "ring-of-ranks")
    os.symlink(program("ring"), long_path)
    for number, (path, argument, start, end) in enumerate((
            (program("ring"), "z" * 600, program("ring") + " 3 0 zzz", "zz..."),
            (program("ring"), "é" * 300, program("ring") + " 3 0 é", "é..."),
            (long_path, "x", "...", "ddd/ring-of-ranks 3 0 x"),
            (long_path, "z" * 600, "...", "zz..."))):
        out = scratch(f"out{number}")
        run = execute([DWELL, "run", "--quiet", "-o", out, path, "3", "0", argument])
        command = Profile(out, run).ranks[0]["command"]
        size = len(command.encode())
        check(size in (486, 487) if argument != "x" else size < 300, f"{size} bytes: {command}")
        check(command.startswith(start) and command.endswith(end), f"command {command!r}")
        check("/ring" in command, f"the program's name is not seen: {command!r}")


@case
def serial_program():
    """A serial program gets a profile too: its time, all of it computation."""
    out = scratch("out")
    run = execute([DWELL, "run", "-o", out, program("serial")])
    check_equal((run.code, run.stdout), (3, "serial\n"), "exit code and stdout" + run.describe())
    profile = Profile(out, run)
    profile.check_conservation()
    check(0.45 <= profile.json["total_ns"] / 1e9 <= 1.02 * run.elapsed_s,
          f"{profile.json['total_ns'] / 1e9} s for half a second of computation")
    check(profile.json["computation_ns"] >= 0.99 * profile.json["total_ns"], "not all computation")


@case
def summary_and_quiet():
    """The verdict goes to stderr, stdout stays the program's; --quiet says nothing."""
    run = run_observed([program("ring")], 2, scratch("out"))
    lines = run.stderr.splitlines()
    check(5 <= len(lines) <= 10, f"{len(lines)} lines of verdict" + run.describe())
    check(lines[0].startswith("dwell verdict: ring "), "the first line" + run.describe())
    check_equal(lines[-1], f"Next: dwell report {scratch('out')}", "the last line" + run.describe())
    check(max(map(len, lines[:-1])) <= 80, "lines beyond 80 columns" + run.describe())
    check("\033[" not in run.stderr, "colours though stderr is no terminal")
    quiet = run_observed([program("ring")], 2, scratch("quiet"), ["--quiet"])
    check_equal(quiet.stderr.strip(), "", "stderr with --quiet")
    right_ring(Profile(scratch("quiet"), quiet))


@case
def whole_report_at_the_end():
    """--report and DWELL_REPORT=1 print the report before the verdict, as wide as asked; `dwell run` asks
    the terminal for the width. Without `dwell run` both have their variables."""
    runs = {
        "option": run_observed([program("ring")], 2, scratch("option"), ["--report", "--width", "90"]),
        "variable": run_observed([program("ring")], 2, scratch("variable"),
                                 env={"DWELL_REPORT": "1", "DWELL_WIDTH": "90"}),
        "preload": execute(mpirun(2, program("ring")), 2,
                           env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": scratch("preload"),
                                "DWELL_REPORT": "1", "DWELL_WIDTH": "90"})}
    for name, run in runs.items():
        report, verdict = run.stderr.split("\ndwell verdict: ")
        shown = execute([DWELL, "report", "--width", "90", scratch(name)])
        check_equal(report, shown.stdout, f"{name}: the report" + run.describe())
        check(len(verdict.splitlines()) <= 10, f"{name}: the verdict" + run.describe())
    for columns in (70, 90):
        said = on_terminal([DWELL, "run", "-o", scratch(f"at{columns}"), *mpirun(2, program("ring"))],
                           columns)
        lines = [re.sub("\033\\[[0-9;]*m", "", line) for line in said.splitlines()]
        first = next(i for i, line in enumerate(lines) if line.startswith("dwell verdict: "))
        widths = [len(line) for line in lines[first:-1]]
        check(max(widths) <= columns, f"{columns} columns: {widths}\n{said}")
        check(columns == 70 or max(widths) > 70, f"{columns} columns: {widths}\n{said}")


def on_terminal(argv, columns, env=None):
    """What `argv` writes to a terminal of so many columns."""
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                               env=environment(2, {"TERM": "xterm", **(env or {})}),
                               start_new_session=True)
    os.close(terminal)
    said = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # all have closed it
            break
        if not part:
            break
        said += part
    os.close(ours)
    check_equal(process.wait(), 0, "exit code\n" + said.decode(errors="replace"))
    return said.decode(errors="replace").replace("\r\n", "\n")


@case
def pager():
    """`dwell report` on a terminal goes through DWELL_PAGER, else PAGER; not with --no-pager, not where
    standard output is none, and straight to it where the pager is empty, cat, or missing."""
    run_observed([program("ring")], 2, scratch("out"), ["--quiet"])
    report = [DWELL, "report", "--width", "80", scratch("out")]
    plain = execute(report, env={"DWELL_PAGER": "sed s/^/A:/"}).stdout
    check(plain.startswith("dwell "), plain)
    through = "".join(f"{{}}:{line}\n" for line in plain.splitlines())
    report[2:2] = ["--color", "never"]
    for env, right in (({"DWELL_PAGER": "sed s/^/A:/", "PAGER": "sed s/^/B:/"}, through.format(*"A" * 999)),
                       ({"PAGER": "sed s/^/B:/"}, through.format(*"B" * 999)),
                       ({"DWELL_PAGER": "", "PAGER": "sed s/^/B:/"}, plain), ({"PAGER": "cat"}, plain),
                       ({"PAGER": "head -n 3"}, "".join(plain.splitlines(True)[:3]))):
        check_equal(on_terminal(report, 80, env), right, f"{env}")
    check_equal(on_terminal(report + ["--no-pager"], 80, {"PAGER": "sed s/^/B:/"}), plain, "--no-pager")
    missing = on_terminal(report, 80, {"PAGER": "no-such-pager-here"})
    check(missing.endswith(plain) and missing.count("\n") == plain.count("\n") + 1, missing)


@case
def newest_profile():
    """`dwell report` that chose the profile itself says which; so does the error about a site."""
    for options in ([], ["-o", "new"]):
        run = execute([DWELL, "run", "--quiet", *options, program("ring")], cwd=scratch())
        check_equal(run.code, 0, "ring" + run.describe())
    chosen, = (name for name in os.listdir(scratch()) if name.startswith("dwell-ring"))
    run = execute([DWELL, "report"], cwd=scratch())
    check_equal((run.code, run.stderr), (0, f"dwell: showing {chosen}, the newest profile here\n"),
                run.describe())
    run = execute([DWELL, "report", "new"], cwd=scratch())
    check_equal((run.code, run.stderr), (0, ""), run.describe())
    for named, directory in ([], chosen), (["new"], "new"):
        run = execute([DWELL, "report", "--site", "many", *named], cwd=scratch())
        start = f"dwell: {directory}/profile.json: this profile has no procedure"
        check_equal((run.code, run.stdout, run.stderr.count("\n")), (2, "", 1), run.describe())
        check(run.stderr.startswith(start), "the profile is not named" + run.describe())


@case
def report_text():
    """The text report names program, ranks, the costly lines, and fits into 100 columns; a locale
    without UTF-8 gets ASCII."""
    out = scratch("out")
    run_observed([program("ring")], 2, out)
    text = execute([DWELL, "report", out])
    check_equal(text.code, 0, "exit code" + text.describe())
    wide = [line for line in text.stdout.splitlines() if len(line) > 100]
    check(not wide, f"lines beyond 100 columns: {wide[:3]}")
    for word in ("ring", "MPI_Sendrecv", "MPI_Allreduce", "ring.c:"):
        check(word in text.stdout, f"{word} is missing" + text.describe())
    check("\033[" not in text.stdout, "colours though stdout is no terminal")
    plain = execute([DWELL, "report", out], env={"LC_ALL": "C", "LANG": "C"})
    check(plain.stdout.isascii(), "not ASCII in the C locale")


@case
def report_width():
    """Where the output is no terminal the report is as wide as --width or COLUMNS say."""
    profile = profiled([program("ring")], 2)

    def widest(columns, *options):
        report = execute([DWELL, "report", *options, profile.directory], env={"COLUMNS": columns})
        check_equal(report.code, 0, "exit code" + report.describe())
        return max(len(line) for line in report.stdout.splitlines())

    for columns, least, most in (("120", 101, 120), ("80", 61, 80), ("10", 50, 60),
                                 ("", 81, 100), ("wide", 81, 100)):
        check(least <= widest(columns) <= most, f"COLUMNS={columns}: {widest(columns)}")
    check(61 <= widest("200", "--width", "80") <= 80, "--width goes before COLUMNS")


@case
def report_json():
    """`dwell report --format json` is the profile again."""
    out = scratch("out")
    run = run_observed([program("ring")], 2, out)
    profile = Profile(out, run)
    told = execute([DWELL, "report", "--format", "json", out])
    check_equal(told.code, 0, "exit code" + told.describe())
    again = json.loads(told.stdout)
    for key in ("total_ns", "computation_ns", "transfer_ns", "blocked_ns", "world_size"):
        check_equal(again[key], profile.json[key], key)
    check_equal(len(again["nodes"]), len(profile.nodes), "number of nodes")


@case
def csv_rows():
    """CSV: a row for each node with the counts of the profile; rows for each rank add up to it, and
    fields are quoted after RFC 4180."""
    out = scratch("out")
    run = run_observed([program("ring")], 2, out)
    profile = Profile(out, run)
    merged = [r for r in profile.csv() if r["name"] == "MPI_Sendrecv"]
    check_equal([(r["kind"], r["count"], r["file"].rsplit("/")[-1]) for r in merged],
                [("comm", "20", "ring.c")], "merged row")
    check_equal({(r["rank"], r["thread"]) for r in merged}, {("*", "*")}, "rank and thread")
    check(re.search(r"MPI_Sendrecv@ring\.c:\d+$", merged[0]["path"]), f"path {merged[0]['path']}")
    split = [r for r in profile.csv("--per-rank") if r["name"] == "MPI_Sendrecv" and r["rank"] != "*"]
    check_equal(sorted((r["rank"], r["count"]) for r in split), [("0", "10"), ("1", "10")], "rows")
    for column in ("time_s", "self_s", "transfer_s"):
        total = sum(float(r[column]) for r in split)
        check(abs(total - float(merged[0][column])) < 1e-6 + 1e-3 * total, f"sum of {column}")
    check_equal(sum(int(r["bytes"]) for r in split), int(merged[0]["bytes"]), "sum of bytes")


@case
def picl_statistics():
    """stats.picl: for each process the -901 entry first and exit, and statistics records after."""
    out = scratch("out")
    run = run_observed([program("ring")], 2, out)
    Profile(out, run)
    with open(os.path.join(out, "stats.picl")) as stream:
        records = [line.split() for line in stream if line.strip()]
    check(all(len(r) >= 4 for r in records), "a record of less than four fields")
    for rank in "01":
        mine = [r for r in records if r[3] == rank] if len(records[0]) > 3 else []
        spans = [r for r in mine if r[1] == "-901"]
        check(len(spans) == 2, f"{len(spans)} records -901 of process {rank}: {records[:5]}")
        for kind in ("-101", "-102"):
            check(any(r[0] == kind for r in mine), f"no {kind} record of process {rank}")


@case
def records_are_removed():
    """After a normal end no record file is left."""
    records = scratch("records")
    os.mkdir(records)
    run = run_observed([program("ring")], 2, scratch("out"), env={"DWELL_RECORD_DIR": records})
    right_ring(Profile(scratch("out"), run))
    left = [os.path.join(d, f) for d, _, files in os.walk(records) for f in files]
    check(not left and not os.listdir(records), f"left behind: {left or os.listdir(records)}")


@case
def size_does_not_grow():
    """Record files and outputs are of the same size after 10^4 and after 10^6 calls, apart from the at most
    256 bins of the run over time."""
    few = profiled([program("many_calls"), "10000"], 1, name="few")
    many = profiled([program("many_calls"), "1000000"], 1, ["--sample", "off"], name="many")
    check_equal(many.count("MPI_Iprobe"), 1000000, "calls")
    check_equal(many.ranks[0]["record_bytes"], few.ranks[0]["record_bytes"], "record bytes")
    bins = [len(p.json["time_bins"]) for p in (few, many)]
    check(max(bins) <= 256, f"bins: {bins}")
    sizes = [len(json.dumps({key: value for key, value in p.json.items() if not key.startswith("time_bin")}))
             for p in (few, many)]
    check(abs(sizes[0] - sizes[1]) < 2000, f"profile.json grew: {sizes}")


@case
def info():
    """`dwell info` says which MPI, unwinder and clock work here."""
    run = execute([DWELL, "info"])
    check_equal(run.code, 0, "exit code" + run.describe())
    for word in ("MPI", "libunwind", "PAPI", "clock"):
        check(word.lower() in run.stdout.lower(), f"{word} is not mentioned" + run.describe())


if __name__ == "__main__":
    main()
