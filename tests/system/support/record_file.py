"""Reads the record file that a killed program left (runtime/contract/record_layout.h)."""

import glob
import os
import shutil
import signal
import struct

from harness import LIBRARY, check, check_equal, execute

CELL = 64
KINDS = ("none program proc loop call comm omp io block marker interval sample").split()
NAMED, CODE, PHASE = 4, 8, 16


class Node:
    """A node with its figures; `name` is the text of a block or marker, or the offset."""

    def __init__(self, data, cell):
        at = cell * CELL
        self.offset, self.module, _, kind, self.flags, self.open = \
            struct.unpack_from("<QHHBBH", data, at)
        self.kind = KINDS[kind]
        _, child, _, part = struct.unpack_from("<IIII", data, at + 16)
        self.count, self.ticks, self.min, self.max = struct.unpack_from("<QQQQ", data, at + 32)
        self.name = _text(data, self.offset) if self.flags & NAMED else self.offset
        self.untimed = self.abandoned = self.counted = self.volume = 0
        self.wait = self.created = 0
        self.first = self.iteration = 0  # of loops `first` is the number of iterations
        if part and self.kind in ("proc", "loop", "block", "marker"):
            (self.first, self.untimed, self.abandoned, self.counted, _, self.volume,
             self.iteration, _) = struct.unpack_from("<8Q", data, part * CELL)
        if part and self.kind == "omp":
            (self.first, self.untimed, self.abandoned, self.wait, _, self.created, _,
             _) = struct.unpack_from("<8Q", data, part * CELL)
        self.children = []
        while child:
            self.children.append(Node(data, child))
            child = struct.unpack_from("<I", data, child * CELL + 24)[0]

    def all(self):
        yield self
        for child in self.children:
            yield from child.all()

    def named(self, name):
        """The one child of that name; what follows the name in its text need not be given."""
        found = [c for c in self.children
                 if c.flags & NAMED and (c.name == name or c.name.split("\n")[0] == name)]
        check_equal(len(found), 1, f"children {name!r} of {self.name!r}")
        return found[0]

    def path(self, *names):
        node = self
        for name in names:
            node = node.named(name)
        return node


class RecordFile:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        self.roots, self.probes, self.missed, self.dropped, self.modules = {}, 0, 0, 0, {}
        self.grids = {}
        thread, module = struct.unpack_from("<II", data, 52)
        while thread:
            at = thread * CELL
            number, _, thread, root = struct.unpack_from("<IiII", data, at)
            probes, missed, dropped = struct.unpack_from("<QQQ", data, at + 136)
            self.probes, self.missed = self.probes + probes, self.missed + missed
            self.dropped += dropped
            self.roots[number] = Node(data, root)
        while module:
            at = module * CELL
            number = struct.unpack_from("<H", data, at + 4)[0]
            text = data[at + CELL:data.index(b"\0", at + CELL)]
            self.modules[number] = text.decode()
            module = struct.unpack_from("<I", data, at)[0]
        grid = struct.unpack_from("<I", data, 996)[0]
        while grid:
            after, name, dimensions, periodic = struct.unpack_from("<IIII", data, grid * CELL)
            numbers = struct.unpack_from("<12i", data, grid * CELL + 16)
            self.grids[_text(data, name)] = (
                numbers[:dimensions], [bool(periodic >> k & 1) for k in range(dimensions)],
                numbers[6:6 + dimensions])
            grid = after

    @property
    def root(self):
        return self.roots[0]


def _text(data, cell):
    size = struct.unpack_from("<I", data, cell * CELL + 4)[0]
    return data[cell * CELL + 8:cell * CELL + 8 + size].decode()


def records_of(argv, env=None):
    """Runs a program with the library preloaded that kills itself at its end; what it left."""
    process_id = []
    run = execute(argv, env={"LD_PRELOAD": LIBRARY, **(env or {})},
                  interrupt=lambda process: process_id.append(process.pid))
    folders = glob.glob(f"/dev/shm/dwell-{os.getuid()}-pid{process_id[0]}-*")
    try:
        check_equal(run.code, -signal.SIGKILL, "exit code" + run.describe())
        check(folders, "no records were left" + run.describe())
        folder = max(folders, key=os.path.getmtime)
        return run, RecordFile(os.path.join(folder, "rank.0"))
    finally:
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)
