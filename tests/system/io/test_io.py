"""I/O statements (dwell run --io on): counts and bytes of every form, what is not recorded, and
programs that interrupt, leave or cancel them."""

import collections
import os
import re

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, main, marked_line, profiled,
                     program, scratch, shm_leftovers, source)

EXPECTED = re.compile(r"io: (\w+) (\d+) (\d+) (\d+)( failed)?")


def expected_statements(file):
    """{(name, line): (count, read, written, failed)} of one rank."""
    want = {}
    with open(source(file), encoding="utf-8") as text:
        for number, line in enumerate(text, 1):
            found = EXPECTED.search(line)
            if found:
                count = int(found.group(2))
                want[found.group(1), number] = (count, int(found.group(3)), int(found.group(4)),
                                                count if found.group(5) else 0)
    check(len(want) > 3, f"{file} says nothing of what is right")
    return want


def statements(profile, file, ranks=1):
    """The same, of a profile of `ranks` alike."""
    got = collections.defaultdict(lambda: (0, 0, 0, 0))
    for node in profile.nodes:
        if node["kind"] != "io" or os.path.basename(node["file"]) != os.path.basename(file):
            continue
        key = node["name"], node["line"]
        figures = (node["count"], node["bytes_received"], node["bytes_sent"], node["failed"])
        got[key] = tuple(a + b for a, b in zip(got[key], figures))
    for key, figures in got.items():
        check(all(number % ranks == 0 for number in figures), f"{key}: {figures} on {ranks} ranks")
        got[key] = tuple(number // ranks for number in figures)
    return dict(got)


def folder():
    path = scratch("data")
    os.makedirs(path, exist_ok=True)
    return path


def check_statements(profile, program_source, ranks=1):
    """Each statement that the source announces is there, and no other."""
    want = expected_statements(program_source)
    got = statements(profile, program_source, ranks)
    for key in sorted(set(want) | set(got), key=lambda k: k[1]):
        check_equal(got.get(key), want.get(key), f"{key[0]} in line {key[1]} of {program_source}")
    return want


def check_forms(name, ranks=1):
    profile = profiled([program(name), folder()], ranks, ["--io", "on"], name=f"out-{name}")
    want = check_statements(profile, "io_forms.c", ranks)
    return profile, want


@case
def every_form():
    """Counts, bytes and failures at every line, on two ranks; nothing of pipes, sockets, standard
    streams, children."""
    profile, want = check_forms("io_forms", 2)
    files = {os.path.basename(node["io_file"]) for node in profile.nodes if node.get("io_file")}
    check(files & {"file.0", "file.1"}, f"files {files}")
    check("other" in files, f"files {files}")
    check(profile.json["io_ns"] > 0, "no I/O time")
    # The time in the tree is that in the total, and that of the CSV.
    rows = profile.csv()
    sums = sum(node["time_ns"] for node in profile.nodes if node["kind"] == "io")
    check_equal(sums, profile.json["io_ns"], "sum of I/O nodes")
    check_equal(round(float(rows[0]["io_s"]) * 1e9), sums, "io_s of the program")
    per_rank = profile.csv("--per-rank")
    check_equal(round(sum(float(r["io_s"]) for r in per_rank if r["kind"] == "program") * 1e9),
                sums, "io_s of the ranks")
    # PICL: what the two ranks wrote and read, by the types of TM-12125 (-221 write, -251 read).
    with open(os.path.join(profile.directory, "stats.picl"), encoding="ascii") as picl:
        lines = [line.split() for line in picl]
    names = {"-221": ("write", "pwrite", "writev", "pwritev", "pwritev2", "fwrite", "fputs",
                      "fprintf", "vfprintf", "printf", "vprintf", "puts", "dprintf", "vdprintf"),
             "-251": ("read", "pread", "readv", "preadv", "preadv2", "fread", "fgets",
                      "getline", "getdelim"),
             "-201": ("open", "openat", "creat", "fopen", "fdopen", "freopen"),
             "-202": ("close", "fclose"), "-391": ("fsync", "fdatasync"), "-392": ("fflush",),
             "-393": ("fseek", "fseeko")}
    for event, functions in names.items():
        counts = sum(f[0] for (name, _), f in want.items() if name in functions)
        moved = sum(f[1] + f[2] for (name, _), f in want.items() if name in functions)
        for record, value in (("-102", counts), ("-103", moved)):
            found = [dict(zip(line[7::2], line[8::2])).get(event, "0") for line in lines
                     if line[0] == record and line[1] == "-1" and event in line[7::2]]
            if value:
                check_equal(found, [str(value)] * 2, f"record {record} of {event}")
    labels = [line for line in lines if line[0] == "-5" and line[1] in ("-391", "-392", "-393")]
    check_equal(len(labels), 3, "labels of event types")


@case
def other_builds():
    """The same with 64-bit offsets by macro, and with the checks that _FORTIFY_SOURCE adds."""
    check_forms("io_forms_64")
    check_forms("io_forms_fortified")


@case
def off():
    """With --io off there are no such nodes, and no I/O in the totals."""
    profile = profiled([program("io_forms"), folder()], 2, ["--io", "off"])
    check_equal([n["name"] for n in profile.nodes if n["kind"] == "io"], [], "I/O nodes")
    check_equal(profile.json["io_ns"], 0, "I/O time")


@case
def fortran():
    """Statements of Fortran's run-time library stand at the lines of the program that they serve."""
    file = scratch("fortran.dat")
    path = "io_fortran.f90"
    profile = profiled([program("io_fortran"), file], 1, ["--io", "on"],
                       normalise=lambda text: text.split())
    got = collections.defaultdict(lambda: [0, 0])
    lines = set()
    for node in profile.nodes:
        if node["kind"] != "io":
            continue
        check_equal(os.path.basename(node["file"]), "io_fortran.f90", f"file of {node['name']}")
        lines.add(node["line"])
        got[node["name"]][0] += node["bytes_received"]
        got[node["name"]][1] += node["bytes_sent"]
    check_equal(got["read"][0], 8 << 20, "bytes read")
    check_equal(got["write"][1], (8 << 20) + 4000 * 11, "bytes written")
    check(marked_line(source(path), "open") in lines, f"no statement at @open: {sorted(lines)}")
    for marker in ("write", "read", "text"):
        check(marked_line(source(path), marker) in lines, f"nothing at @{marker}: {sorted(lines)}")


@case
def interrupted():
    """Writes in a signal handler, a jump out of a blocked read, a thread cancelled in one."""
    profile = profiled([program("io_interrupted"), folder()], 1, ["--io", "on"])
    want = expected_statements("io_interrupted.c")
    got = statements(profile, "io_interrupted.c")
    handler = marked_line(source("io_interrupted.c"), "handler")
    for key, figures in want.items():
        check_equal(got.get(key), figures, f"{key[0]} in line {key[1]}")
    recorded = got.get(("write", handler), (0, 0, 0, 0))
    written = os.path.getsize(os.path.join(folder(), "log"))
    check(recorded[0] == recorded[2] <= written, f"handler: {recorded} of {written}")


@case
def interrupted_at_the_start():
    """Writes in a signal handler while dwell measures what its own work costs: all names stay."""
    file = source("io_starting.c")
    for attempt in range(10):
        out = scratch(f"out-{attempt}")
        done = execute([DWELL, "run", "--io", "on", "-o", out, program("io_starting"), folder()])
        check_equal(done.code, 0, "program" + done.describe())
        profile = Profile(out, done)
        profile.check_conservation()
        lost = [n["name"] for n in profile.nodes if n["name"].startswith("0x")]
        check_equal(lost, [], f"addresses without a module in run {attempt}")
        regions = [n["count"] for n in profile.nodes
                   if n["name"] == "parallel" and n["line"] == marked_line(file, "region")]
        check_equal(regions, [200], f"regions of run {attempt}")


@case
def other_stack():
    """A signal handler with a stack of its own: nothing that it does or interrupts is lost untold, with
    whole call paths, which are not found there, and with single frames, which may be known."""
    file = "io_other_stack.c"
    lines = [marked_line(source(file), marker) for marker in ("write", "first", "interrupted")]
    for depth in ("all", "1"):
        out = scratch(f"out-{depth}")
        run = execute([DWELL, "run", "--io", "on", "--callpath", depth, "-o", out,
                       program("io_other_stack")])
        check_equal(run.code, 0, "exit code" + run.describe())
        profile = Profile(out, run)
        profile.check_conservation()
        shown = sum(figures[0] for (_, line), figures in statements(profile, file).items()
                    if line in lines)
        lost = profile.ranks[0]["io_unobserved"]
        check_equal(shown + lost, 4, f"calls shown and told, callpath {depth}")
        check(lost > 0 or depth == "1", "the handler's path was found")
        with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as text:
            words = " ".join(text.read().split())
        check_equal("stack of their own" in words, lost > 0, "note of them\n" + words)


@case
def shown():
    """The report has a line of I/O where the time went, in the tree and in a list of its own."""
    profile = profiled([program("io_interrupted"), folder()], 1, ["--io", "on"])
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as file:
        text = file.read()
    # Of the time without set-up.
    setup_ns = sum(node["time_ns"] for node in profile.nodes
                   if node["name"] in ("MPI_Init", "MPI_Init_thread", "MPI_Finalize"))
    share = 100 * profile.json["io_ns"] / (profile.json["total_ns"] - setup_ns)
    row = re.search(r"^  I/O +\S+ \S+ +([0-9.]+) %", text, re.M)
    check(row and abs(float(row.group(1)) - share) < 0.1, "no row of I/O\n" + text[:3000])
    check("Costliest I/O lines" in text, "no list of I/O lines")
    check(re.search(r"io_interrupted\.c:\d+ pwrite", text), "no line of pwrite")
    check("data" in text, "no file is named")


@case
def without_mpi():
    """A program without MPI that probes observe: I/O inside of a block is part of it, other I/O of the
    program, and the whole is no longer for it."""
    out = scratch("out")
    run = execute([DWELL, "run", "--io", "on", "-o", out, program("io_serial"), scratch("file")])
    check_equal(run.code, 0, "exit code" + run.describe())
    profile = Profile(out, run)
    profile.check_conservation()
    check_statements(profile, "io_serial.c")
    for node in profile.nodes:
        if node["kind"] == "io":
            inside = "step" in profile.path(profile.nodes.index(node))
            check_equal(inside, node["name"] == "write", f"{node['name']} inside of the block")


@case
def threads():
    """A thread is observed from its first I/O statement on; not one that only talks to a pipe, nor a
    child after vfork. What it does once its end has begun is counted and told."""
    out = scratch("out")
    run = execute([DWELL, "run", "--io", "on", "-o", out, program("io_threads"), scratch("file")])
    check_equal(run.code, 0, "exit code" + run.describe())
    profile = Profile(out, run)
    profile.check_conservation()
    check_statements(profile, "io_threads.c")
    check_equal(profile.ranks[0]["threads"], 2, "threads")
    check_equal(profile.ranks[0]["io_unobserved"], 3, "calls at the thread's end")
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as text:
        words = " ".join(text.read().split())
    check("3 I/O calls on 1 rank are not shown" in words, "no note of them\n" + words)


@case
def names():
    """Each file has its name, however many there were before, and whatever path it was opened by."""
    out = scratch("out")
    run = execute([DWELL, "run", "--io", "on", "-o", out, program("io_names"), folder()])
    check_equal(run.code, 0, "exit code" + run.describe())
    profile = Profile(out, run)
    for marker, want in (("one", "one/data"), ("two", "two/data"), ("renamed", "two/other")):
        line = marked_line(source("io_names.c"), marker)
        got = [node.get("io_file") for node in profile.nodes
               if node["name"] == "write" and node["line"] == line]
        check_equal(got, [os.path.join(os.path.realpath(folder()), want)], f"file of @{marker}")
    check_equal(profile.ranks[0]["files_unnamed"], 0, "files without a name")


@case
def not_observed():
    """I/O alone makes no process an observed one: its output is as without, nothing is left."""
    before = shm_leftovers()
    file = scratch("file")
    with open(file, "w", encoding="ascii") as out:
        out.write("text\n" * 1000)
    env = {"LD_PRELOAD": LIBRARY, "DWELL_IO": "on"}
    for command in (["cat", file], ["sh", "-c", f"cat {file} | cat | cat"]):
        run = execute(command, env=env, cwd=scratch())
        check_equal((run.code, run.stdout, run.stderr), (0, "text\n" * 1000, ""), f"{command}")
    check_equal(shm_leftovers(), before, "record directories")
    check_equal([n for n in os.listdir(scratch()) if n.startswith("dwell-")], [], "profiles")


@case
def bad_value():
    """A value that is neither on nor off is refused, or by LD_PRELOAD alone told and not observed."""
    run = execute([DWELL, "run", "--io", "some", "true"])
    check_equal(run.code, 2, "exit code" + run.describe())
    check("on or off" in run.stderr, run.stderr)
    run = execute([program("ring")], env={"LD_PRELOAD": LIBRARY, "DWELL_IO": "some"}, cwd=scratch())
    check_equal(run.code, 0, "exit code" + run.describe())
    check("DWELL_IO=some is none of on, off" in run.stderr, run.stderr)
    check_equal([n for n in os.listdir(scratch()) if n.startswith("dwell-")], [], "profiles")


if __name__ == "__main__":
    main()
