"""Waiting in collectives, as the record files of the ranks hold it (runtime/contract/record_layout.h)."""

import os
import re
import shutil
import struct

from harness import (LIBRARY, ROOT, case, check, check_equal, execute, main, marked_line,
                     mpirun, program, repeated, run_observed, run_plain, same_result, scratch,
                     source)

CELL = 64
COMM = 5
UNKNOWN_SHARE = 0.1  # of the calls: on a busy machine a partner may be many collectives further on


def call_names():
    table = os.path.join(ROOT, "runtime", "contract", "mpi_calls.table")
    names = re.findall(r"^(MPIX?_\w+)\(", open(table).read(), re.MULTILINE)
    return dict(enumerate(names, 1))


class Statement:
    """A communication node: its call, the return address, calls, and what it waited."""

    def __init__(self, data, at, ticks_per_ns):
        self.offset, _, self.call = struct.unpack_from("<QHH", data, at)
        part, = struct.unpack_from("<I", data, at + 28)
        self.count, ticks = struct.unpack_from("<QQ", data, at + 32)
        self.time_ns = ticks / ticks_per_ns
        sync, = struct.unpack_from("<Q", data, part * CELL)
        self.sync_ns = sync / ticks_per_ns
        wait, = struct.unpack_from("<I", data, part * CELL + 60)
        self.unknown, self.partners = 0, {}
        if not wait:
            return
        self.unknown, _, _, partner = struct.unpack_from("<IIII", data, wait * CELL + 40)
        while partner:
            peer, _, after, _, _, ticks = struct.unpack_from("<IIIIQQ", data, partner * CELL)
            self.partners[peer] = self.partners.get(peer, 0) + ticks / ticks_per_ns
            partner = after


def statements(path):
    """All communication nodes of a record file."""
    with open(path, "rb") as file:
        data = file.read()
    ticks_per_ns = struct.unpack_from("<Q", data, 64)[0] / 1e9
    found = []

    def walk(cell):
        while cell:
            kind = data[cell * CELL + 12]
            child, after = struct.unpack_from("<II", data, cell * CELL + 20)
            if kind == COMM:
                found.append(Statement(data, cell * CELL, ticks_per_ns))
            walk(child)
            cell = after

    thread, = struct.unpack_from("<I", data, 52)
    while thread:
        _, _, thread, root = struct.unpack_from("<IiII", data, thread * CELL)
        walk(root)
    return found


def lines_of(binary, found):
    """The source line of each statement."""
    offsets = [f"{statement.offset - 1:#x}" for statement in found]
    run = execute(["addr2line", "-e", binary, *offsets])
    return [int(re.search(r":(\d+|\?)", line)[1].replace("?", "0"))
            for line in run.stdout.splitlines()]


def run_killed(argv, ranks, observed=None):
    """Runs a program that kills itself; the statements of each observed rank (the first ones)."""
    records = scratch("records")
    os.mkdir(records, 0o700)
    env = {"DWELL_RECORD_DIR": records, "DWELL_MEMORY_MIB": "16"}
    observed = ranks if observed is None else observed
    command = mpirun(observed, "env", f"LD_PRELOAD={LIBRARY}", *argv, slots=ranks)
    if observed < ranks:
        command += [":", "-n", str(ranks - observed), *argv]
    run = execute(command, ranks, env=env)
    files = {}
    for folder, _, names in os.walk(records):
        for name in names:
            if re.fullmatch(r"rank\.\d+", name):
                files[int(name[5:])] = os.path.join(folder, name)
    check_equal(sorted(files), list(range(observed)), "ranks with records" + run.describe())
    return {rank: statements(path) for rank, path in files.items()}


@case
def every_collective():
    """At each collective, each rank waited for the partners that it depends on as long as the
    program's own time stamps say, and for nobody else."""
    repeated(check_every_collective)


def check_every_collective():
    shutil.rmtree(scratch("records"), ignore_errors=True)
    told = scratch("told")
    ranks = run_killed([program("collective_waits"), told], 2)
    names = call_names()
    wrong = []
    for rank, found in ranks.items():
        lines = lines_of(program("collective_waits"), found)
        answers = {}
        for answer in open(f"{told}.{rank}").read().splitlines():
            line, _, calls, waited_ns, text = answer.split(maxsplit=4)
            before = answers.get(int(line), (0, 0, None))
            timed = set(re.findall(r"MPI_[A-Z][a-z]\w+", text))
            answers[int(line)] = (before[0] + int(calls), before[1] + int(waited_ns), timed)
        for line, (calls, want_ns, wanted) in answers.items():
            here = [statement for statement, its_line in zip(found, lines)
                    if its_line == line and names[statement.call] in wanted]
            check(here, f"line {line}: nothing was recorded")
            got_ns = sum(statement.sync_ns for statement in here)
            unknown = sum(statement.unknown for statement in here)
            peers = {peer for statement in here for peer in statement.partners}
            text = (f"rank {rank}, line {line} ({'+'.join(sorted(wanted))}): waited "
                    f"{got_ns / 1e6:.3f} ms, want {want_ns / 1e6:.3f}; {unknown} of {calls} "
                    f"unknown; for {peers}")
            if os.environ.get("SYSTEST_VERBOSE"):
                print(text)
            if (abs(got_ns - want_ns) > max(0.1 * want_ns, 2e6)
                    or unknown > UNKNOWN_SHARE * calls or peers - {1 - rank}):
                wrong.append(text)
    check(not wrong, "\n  ".join([f"{len(wrong)} differences:", *wrong]))


def marked_statements(found, name, markers):
    """Of one rank's statements those on the marked lines."""
    lines = {marked_line(source(f"{name}.c"), marker) for marker in markers}
    return [statement for statement, line in zip(found, lines_of(program(name), found))
            if line in lines]


@case
def communicators_come_and_go():
    """Thousands of communicators, in several threads: the program's results stay as they are, and at
    all their barriers and sums every partner's time is known."""
    plain = run_plain([program("many_comms")], 4)
    check(plain.code == 0, "the program fails" + plain.describe())
    same_result(plain, run_observed([program("many_comms")], 4, scratch("out")))
    for rank, found in run_killed([program("many_comms"), "kill"], 4).items():
        marked = marked_statements(found, "many_comms", ("barrier", "allreduce", "waitall"))
        calls = sum(statement.count for statement in marked)
        check(calls >= 2 * 2 * 1500 + 2 * 20 * 60, f"rank {rank} made only {calls} calls")
        unknown = sum(statement.unknown for statement in marked)
        check_equal(unknown, 0, f"calls of rank {rank} that met someone whose time is not known")


@case
def observed_in_part():
    """Two of four ranks are observed: the program's results stay as they are; collectives of all know
    the observed partners only, and say so."""
    for rank, found in run_killed([program("many_comms"), "kill"], 4, observed=2).items():
        peers = {peer for statement in found for peer in statement.partners}
        check(peers <= {1 - rank}, f"rank {rank} waited for {peers}")
        # On a communicator of the two observed ranks every time is known; others have more members.
        (barrier,) = marked_statements(found, "many_comms", ("barrier",))[:1]
        check(0 < barrier.unknown <= barrier.count, f"{barrier.unknown} of {barrier.count} unknown")


if __name__ == "__main__":
    main()
