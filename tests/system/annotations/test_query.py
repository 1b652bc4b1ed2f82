"""dwell_query(): what a program learns about itself while it runs. The right answers stand at the
head of each program; spinning lasts at least as long as it says, and at most as long as the program
measures itself."""

import json
import os
import re
import subprocess

from harness import (DWELL, ROOT, case, check, check_equal, check_near, execute, main, mpirun, program,
                     repeated, scratch, skip_unless, source)
from probed_program import build

INCLUDE = "-I" + os.path.join(ROOT, "runtime", "api")
ESTIMATED, NOT_COUNTED, WAITS_UNKNOWN = 1, 2, 4
MS = 1000000


class Answer:
    def __init__(self, text):
        words = text.split()
        self.text, self.rank, self.name, self.known = text, int(words[0]), words[1], words[2] == "1"
        (self.count, self.inclusive, self.exclusive, self.open, self.waiting, self.transfer, self.sent,
         self.received, self.flags, self.wall) = map(int, words[3:])

    def is_zero(self):
        return not self.known and self.text.split()[2:-1] == ["0"] * 10


def answers(binary, observed=True):
    command = [DWELL, "run", "-q", "-o", scratch("out"), binary] if observed else [binary]
    run = execute(mpirun(2, *command), 2)
    check_equal(run.code, 0, run.describe())
    lines = run.stdout.splitlines()
    versions = [line for line in lines if "version" in line]
    check_equal(sorted(versions), [f"{rank} version {int(observed)}" for rank in (0, 1)], "versions")
    told = [Answer(line) for line in lines if "version" not in line]
    return {rank: [one for one in told if one.rank == rank] for rank in (0, 1)}, run


def lines_named(told):
    """The answers of a rank by name, without those from before MPI_Init and after MPI_Finalize; lines
    of the source as loop, call, barrier and receive; "step" as it ran, and as it had ended as "ended"."""
    found = {}
    places = iter(("loop", "call", "barrier", "receive"))
    for one in told:
        name = next(places, one.name) if re.match(r"query\.c:\d\d+$", one.name) else one.name
        found["ended" if name in found and name == "step" else name] = one
    return found


def between(low, value, high, what):
    check(low <= value <= high, f"{what}: {low} <= {value} <= {high}")


def by_rank(told):
    # Before MPI_Init a process has no rank yet.
    early = [one for one in told[0] if one.wall == 0 and one.name == "work"]
    check(len(early) == 3 and all(one.is_zero() for one in early), "before and after: " +
          "; ".join(one.text for one in early))
    late = [one for one in told[1] if one.wall == 0 and one.name == "work"]
    check(len(late) == 1 and late[0].is_zero(), "after MPI_Finalize")
    return [lines_named([one for one in told[rank] if one.wall != 0 or one.name != "work"])
            for rank in (0, 1)]


def check_received(receive, what):
    """Rank 1 was late by 10 ms each time, apart from what the machine added to either."""
    check_equal((receive.count, receive.received, receive.sent), (4, 4 * 4096, 0), what)
    between(0, receive.inclusive, receive.wall, what)
    check_equal(receive.waiting + receive.transfer, receive.inclusive, what + ": parts")
    between(30 * MS, receive.waiting, receive.wall, what + ": waiting")


def check_profile(ranks):
    """What had ended when it was asked for is the same in the report, apart from the rate of the clock,
    which is measured again at the end."""
    with open(scratch("out/profile.json"), encoding="utf-8") as stream:
        nodes = json.load(stream)["nodes"]
    for name, kind in (("work", "proc"), ("down", "proc"), ("step", "block")):
        told = [found["ended" if name == "step" else name] for found in ranks]
        shown = [node for node in nodes if (node["name"], node["kind"]) == (name, kind)]
        check_equal(sum(node["count"] for node in shown), sum(one.count for one in told), name)
        check_near(sum(node["time_ns"] for node in shown), sum(one.inclusive for one in told), 5e-3,
                   0, name)
    received = [node["bytes_received"] for node in nodes if node["name"] == "MPI_Recv"]
    check_equal(sum(received), sum(found["MPI_Recv"].received for found in ranks), "bytes")


def check_probed(compiler_behind):
    binary = build("mpicc", "query.c", ("-g", "-O2", INCLUDE), "query", behind=compiler_behind)
    told, _ = answers(binary)
    ranks = by_rank(told)
    check_profile(ranks)
    for found in ranks:
        work = found["work"]
        check_equal((work.known, work.count, work.flags, work.open), (True, 20, 0, 0), work.text)
        between(100 * MS, work.inclusive, work.wall, work.text)
        check_equal(work.exclusive, work.inclusive, "work holds nothing that is timed")
        loop = found["loop"]
        check_equal((loop.known, loop.count), (True, 1), loop.text)
        between(work.inclusive, loop.inclusive, loop.wall, loop.text)
        check(loop.exclusive <= loop.inclusive - work.inclusive, loop.text)
        check_equal(found["call"].text.split()[2:-1], work.text.split()[2:-1], "work as called there")
        down = found["down"]
        check_equal((down.known, down.count), (True, 12), down.text)
        between(24 * MS, down.inclusive, down.wall, down.text)
        step = found["step"]
        check_equal((step.known, step.count, step.open), (True, 1, step.inclusive), step.text)
        between(work.inclusive + down.inclusive, step.inclusive, step.wall, step.text)
        ended = found["ended"]
        check_equal((ended.known, ended.count, ended.open), (True, 1, 0), ended.text)
        between(step.inclusive, ended.inclusive, ended.wall, ended.text)
        for name in ("nothing", "query.c:1"):
            check(found[name].is_zero(), found[name].text)
    first, second = ranks
    check_received(first["MPI_Recv"], "MPI_Recv")
    # Line by line: exchange has one line with MPI_Barrier, and two with MPI_Recv.
    barrier = first["barrier"]
    check_equal((barrier.known, barrier.count), (True, 4), barrier.text)
    between(0, barrier.inclusive, barrier.wall, barrier.text)
    check(first["receive"].is_zero(), first["receive"].text)
    for one, sent, received in ((first, 1024, 4 * 4096), (second, 4 * 4096, 1024)):
        for name in ("exchange", "step", "partner"):
            check_equal((one[name].known, one[name].sent, one[name].received), (True, sent, received),
                        one[name].text)
    check_equal(first["partner"].count, 5, "messages with rank 1")
    between(first["MPI_Recv"].waiting, first["exchange"].waiting, first["step"].wall, "waiting below")


@case
def probes():
    """Procedures, loops, phases, MPI and a partner, by gcc."""
    repeated(check_probed, None)


@case
def probes_by_clang():
    """The same by clang."""
    repeated(check_probed, "clang")


def check_bare():
    binary = scratch("bare")
    source_of = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")
    done = subprocess.run(["mpicc", "-g", "-O1", INCLUDE, "-I", source_of, source("query.c"),
                           os.path.join(source_of, "pass_time.c"), "-DWITH_MPI", "-o", binary],
                          capture_output=True, text=True)
    check_equal((done.returncode, done.stderr), (0, ""), "mpicc")
    told, _ = answers(binary)
    ranks = by_rank(told)
    for found, sent, received in ((ranks[0], 1024, 4 * 4096), (ranks[1], 4 * 4096, 1024)):
        exchange = found["exchange"]
        check_equal((exchange.known, exchange.count, exchange.sent, exchange.received),
                    (True, 0, sent, received), exchange.text)
        check_equal(exchange.flags & (ESTIMATED | NOT_COUNTED), ESTIMATED | NOT_COUNTED, exchange.text)
        check(exchange.waiting + exchange.transfer <= exchange.inclusive, exchange.text)
        check_equal(found["step"].count, 1, "the phase")
        for name in ("loop", "call", "barrier", "receive"):
            check(found[name].is_zero(), f"lines are not known: {found[name].text}")
        check(found["nothing"].is_zero(), "nothing")
    check_received(ranks[0]["MPI_Recv"], "MPI_Recv")
    # 100 ms in work before the first call after MPI_Init: by samples.
    work = ranks[0]["work"]
    check(work.is_zero(), "no call of MPI has ended since: " + work.text)


@case
def without_probes():
    """Functions by their names in the symbol table, estimated; lines are not known."""
    repeated(check_bare)


@case
def without_library():
    """Nothing is known, and nothing else changes."""
    binary = build("mpicc", "query.c", ("-g", "-O2", INCLUDE), "query")
    told, run = answers(binary, observed=False)
    check_equal(len(told[0]) + len(told[1]), 2 * 15, run.describe())
    check(all(one.is_zero() for rank in told.values() for one in rank), run.describe())
    check_equal(run.stderr, "", "stderr")


@case
def older_library():
    """A library that does not know queries is not asked."""
    library, binary = scratch("libolder.so"), scratch("serial")
    text = scratch("serial.c")
    with open(text, "w", encoding="utf-8") as stream:
        stream.write('#include <stdio.h>\n#include "dwell.h"\nint main(void) {\n'
                     '    struct dwell_figures figures = {9, 9, 9, 9, 9, 9, 9, 9, 9};\n'
                     '    printf("%s %d", dwell_version(), dwell_query("main", &figures));\n'
                     '    printf(" %d", dwell_query_partner(0, &figures));\n'
                     '    printf(" %d\\n", (int)(figures.count + figures.flags));\n    return 0;\n}\n')
    for command in (["gcc", "-shared", "-fPIC", source("older_library.c"), "-o", library],
                    ["gcc", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", INCLUDE, text, "-o",
                     binary]):
        done = subprocess.run(command, capture_output=True, text=True)
        check_equal((done.returncode, done.stderr), (0, ""), " ".join(command))
    run = execute([binary], env={"LD_PRELOAD": library})
    check_equal((run.code, run.stdout), (0, "0.0.9 0 0 0\n"), run.describe())


@case
def fortran():
    """The figures of query.f90, and without the library."""
    binary = program("query_fortran")
    run = execute([DWELL, "run", "-q", "-o", scratch("fortran"), binary])
    check_equal(run.code, 0, run.describe())
    work, nothing, partner = (line.split() for line in run.stdout.splitlines())
    check_equal((work[:3], work[5]), (["work", "T", "10"], "0"), run.stdout)
    # Without MPI the clock's rate is of the first milliseconds.
    between(29 * MS, int(work[3]), int(work[6]), "work")
    check_equal(work[3], work[4], "exclusive")
    check_equal((nothing[:6], partner), (["nothing", "F", "0", "0", "0", "0"], ["partner", "F", "0"]),
                run.stdout)
    alone = execute([binary])
    check_equal([line.split()[:3] for line in alone.stdout.splitlines()],
                [["work", "F", "0"], ["nothing", "F", "0"], ["partner", "F", "0"]], alone.describe())


@case
def example():
    """examples/adapt.c as its head says: with dwell rank 0 gets less work, without it as much."""
    binary = os.path.join(os.path.dirname(os.path.dirname(DWELL)), "examples", "adapt")
    skip_unless(os.path.exists(binary), "example adapt was not built")

    def attempt():
        run = execute(mpirun(2, DWELL, "run", "-q", "-o", scratch("adapt"), binary), 2)
        check_equal(run.code, 0, run.describe())
        units = [int(number) for number in re.findall(r"\d+", run.stdout)]
        check_equal((len(units), sum(units)), (2, 500), run.describe())
        # By arithmetic 100 and 400. A machine that takes processors away makes either slower.
        check(units[0] <= 200, run.describe())
    repeated(attempt)
    alone = execute(mpirun(2, binary), 2)
    check_equal((alone.code, alone.stdout), (0, "units: 250 250\n"), alone.describe())


if __name__ == "__main__":
    main()
