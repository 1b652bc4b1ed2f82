"""Compiles programs with source probes, reads their static tables (runtime/contract/site_table.h) and what
plugins/programs/probe_recorder.cpp saw, and compares both with the answers that stand in the source.

Answers, directly after the `//` or `!` that begins a comment:
  = SITE [NAME] in WHERE CHOICE; ...  rows of this line. WHERE: one for each row, | between.
                                 SITE: proc, loop, call, comm. A loop's NAME is a label for its line.
                                 CHOICE: + (has probes), small, inner, off.
  ! ENTRIES ITERATIONS PATH      what the probes must see; PATH of procedure names and loop labels
"""

import os
import re
import struct
import subprocess

from harness import check, check_equal, scratch, skip_unless, source

PLUGIN = os.environ.get("SYSTEST_GCC_PLUGIN", "")
RECORDER = os.environ.get("SYSTEST_PROBE_RECORDER", "")

KINDS = {2: "proc", 3: "loop", 4: "call", 5: "comm"}
SMALL, UNSELECTED, ARTIFICIAL, INNERMOST = 1, 2, 4, 8


class Row:
    """A site of the static table; `enclosing` is a Row or None."""

    def __init__(self, index, name, file, line, end_line, kind, flags, probes, enclosing):
        self.index, self.name, self.file, self.line = index, name, file, line
        self.end_line, self.kind, self.flags = end_line, kind, flags
        self.probes, self.enclosing = probes, enclosing

    def choice(self):
        if self.probes:
            return "+"
        if self.flags & UNSELECTED:
            return "inner" if self.flags & INNERMOST else "off"
        return "small" if self.flags & SMALL else "-"


class Table:
    """Units (dicts) and rows of one linked module."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.sections = self._sections()
        self.units, self.rows = [], []
        where = self.sections.get("dwell_sites")
        if where is None:
            return
        by_index = {}
        for index in range(where[5] // 32):
            address = where[3] + 32 * index
            fields = struct.unpack_from("<iiIiiBBHII", self.bytes, self._offset(address))
            _, _, line, enclosing, level, kind, flags, _, end_line, _ = fields
            if kind == 1:
                self.units.append({"compiler": self.text(address), "file": self.text(address + 4),
                                   "directory": self.text(address + 8), "rows": enclosing})
                continue
            row = Row(index, self.text(address), self.text(address + 4), line, end_line,
                      KINDS[kind], flags, level != 0, by_index.get(index + enclosing)
                      if enclosing else None)
            check(enclosing <= 0, f"row {index}: its enclosing row comes later")
            check(enclosing == 0 or row.enclosing is not None, f"row {index}: encloses nothing")
            by_index[index] = row
            self.rows.append(row)
        check_equal(sum(unit["rows"] for unit in self.units), len(self.rows), "rows of all units")

    def _sections(self):
        start, = struct.unpack_from("<Q", self.bytes, 40)
        size, count, names = struct.unpack_from("<HHH", self.bytes, 58)
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.bytes, start + i * size)
                   for i in range(count)]
        base = headers[names][4]
        return {self._string(base + header[0]): header for header in headers}

    def _string(self, offset):
        return self.bytes[offset:self.bytes.index(b"\0", offset)].decode()

    def _offset(self, address):
        for header in self.sections.values():
            if header[1] != 8 and header[2] & 2 and header[3] <= address < header[3] + header[5]:
                return header[4] + address - header[3]
        raise AssertionError(f"no section holds {address:#x}")

    def text(self, address):
        distance, = struct.unpack_from("<i", self.bytes, self._offset(address))
        return self._string(self._offset(address + distance)) if distance else None


def program(name):
    return source(name)


def write(name, text):
    """Makes a file in the scratch directory; its path."""
    with open(scratch(name), "w", encoding="utf-8") as file:
        file.write(text)
    return scratch(name)


def write_library_and_user():
    """lib.c, and user.c, which opens that as a library, calls go(4) in it and closes it, three
    times."""
    write("lib.c", "#include <stdio.h>\n"
                   "int go(int n) { for (int i = 0; i < n; i++) fflush(stdout); return n; }\n")
    write("user.c", """
#include <dlfcn.h>
int main(int argc, char** argv) {
    for (int i = 0; i < 3; i++) {
        void* library = dlopen(argv[argc - 1], RTLD_NOW);
        int (*go)(int) = (int (*)(int))dlsym(library, "go");
        if (go(4) != 4 || dlclose(library) != 0) return 1;
    }
    return 0;
}
""")


def run(command, **keywords):
    """stdout of a command that must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, **keywords)
    check(done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def compile_gcc(compiler, arguments, probes=True, plugin_arguments=()):
    """Runs a GCC front end in the scratch directory."""
    skip_unless(os.path.exists(PLUGIN), "the plugin for gcc was not built")
    command = [compiler, *arguments]
    if probes:
        command.append(f"-fplugin={PLUGIN}")
        command += [f"-fplugin-arg-dwell_gcc-{argument}" for argument in plugin_arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=scratch())
    check(done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done


def recorded(binary, arguments=()):
    """stdout of a program that runs under the recorder, and what that saw."""
    log = os.path.join(scratch(), "probes.log")
    if os.path.exists(log):
        os.unlink(log)
    environment = {**os.environ, "PROBE_LOG": log, "LD_PRELOAD": RECORDER}
    output = run([binary, *arguments], env=environment)
    with open(log, encoding="utf-8") as file:
        return output, Log(file.read())


class Log:
    def __init__(self, text):
        self.modules, self.entered, self.wrong = [], {}, []
        for line in text.splitlines():
            word, rest = line.split(" ", 1)
            if word == "module":
                self.modules.append(tuple(int(number) for number in rest.split()))
            elif word == "entered":
                entries, iterations, path = rest.split(" ", 2)
                self.entered[path] = (int(entries), int(iterations))
            elif word == "wrong":
                self.wrong.append(rest)


class Answers:
    """What stands in a source."""

    def __init__(self, source):
        self.rows = []  # line, kind, name or label, enclosing name or label, choice
        self.labels = {}  # label: line
        self.seen = {}  # path: (entries, iterations)
        mark = "!" if source.endswith(".f90") else "//"
        with open(source, encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if match := re.search(rf"{mark}= (.*)$", line):
                    for answer in match.group(1).split(";"):
                        self._add_row(number, answer.split())
                elif match := re.match(rf"\s*{mark}! (\d+) (\d+) (.+)$", line):
                    self.seen[match.group(3)] = (int(match.group(1)), int(match.group(2)))

    def _add_row(self, number, words):
        kind = words.pop(0)
        choice = words.pop() if words[-1] in ("+", "small", "inner", "off", "-") else "-"
        place = words.index("in") if "in" in words else len(words)
        name = " ".join(words[:place]) or None
        enclosing = " ".join(words[place + 1:]) or None
        if kind == "loop":
            self.labels[name] = number
        for one in enclosing.split("|") if enclosing else [None]:
            self.rows.append((number, kind, name, one, choice))

    def label_of(self, line):
        for label, number in self.labels.items():
            if number == line:
                return label
        return None


def plain_name(name):
    """A name as the source has it: demangled, without the parameter list and GCC's suffixes."""
    if name is None:
        return None
    if name.startswith("_GLOBAL__sub_I") or "__static_initialization_and_destruction" in name:
        return "static"
    name = re.sub(r"((\.(constprop|isra|part|lto_priv))?\.\d+)+$", "", name)
    if name.startswith("_Z"):
        name = run(["c++filt", name]).strip().replace("(anonymous namespace)::", "")
        name = "lambda" if "{lambda" in name else re.sub(r"\(.*", "", name)
        name = "::".join(name.split("::")[-2:])
    match = re.match(r"__(\w+)_MOD_(\w+)$", name)
    if match:
        name = match.group(2)
    return name


def check_rows(binary, source, whole=True):
    """Every procedure, loop and communication row of the source, and the calls on lines with
    answers. Unless `whole`, procedures that are too small may have been optimised away."""
    answers = Answers(source)
    table = Table(binary)
    lines_with_calls = {row[0] for row in answers.rows if row[1] == "call"}

    def name_of(row):
        if row is None:
            return None
        return answers.label_of(row.line) if row.kind == "loop" else plain_name(row.name)

    got = []
    for row in table.rows:
        if os.path.basename(row.file or "") != os.path.basename(source):
            continue
        if row.flags & ARTIFICIAL or (row.kind == "call" and row.line not in lines_with_calls):
            continue
        got.append((row.line, row.kind, name_of(row), name_of(row.enclosing), row.choice()))
    missing = list(answers.rows)
    surplus = []
    if not whole:
        small = {name for _, _, name, _, choice in missing if choice == "small"}
        gone = small - {row[2] for row in got if row[1] == "proc"}
        missing = [row for row in missing if row[2] not in gone and row[3] not in gone]
    for row in got:
        if row in missing:
            missing.remove(row)
        else:
            surplus.append(row)
    check(not missing and not surplus, f"missing {missing}\n not expected {surplus}")


def check_seen(log, source):
    """Every path made of names that the answers know, with its counts."""
    answers = Answers(source)
    check_equal(log.wrong, [], "what the recorder found wrong")
    check(answers.seen, "no answers")
    known = {name for path in answers.seen for name in path.split("/")}
    names = {}
    got = {}
    for path, counts in log.entered.items():
        parts = []
        for part in path.split("/"):
            if part not in names:
                names[part] = (answers.label_of(int(part)) if part.isdigit() else plain_name(part))
            parts.append(names[part])
        if all(part in known for part in parts):
            path = "/".join(part for i, part in enumerate(parts)
                            if i == 0 or part != "static" or parts[i - 1] != "static")
            before = got.get(path, (0, 0))
            got[path] = (before[0] + counts[0], before[1] + counts[1])
    check_equal(got, answers.seen, "entries and iterations")


def check_landings(binary):
    """landings.cpp: every place that control comes back to is told with its site, and that is the
    innermost one open there (or else the recorder finds it wrong)."""
    output, log = recorded(binary)
    check_equal(output, "11 101 1 5\n", "output")
    check_equal(log.wrong, [], "what the recorder found wrong")
    with open(program("landings.cpp"), encoding="utf-8") as file:
        loops = {str(number): match.group(1) for number, line in enumerate(file, 1)
                 if (match := re.search(r"// (\w+(?: outer| inner)?)$", line))}
    landed = {}
    for path, (entries, _) in log.entered.items():
        if path.startswith("landed "):
            where = path.split()[1]
            name = loops.get(where) or plain_name(where)
            landed[name] = landed.get(name, 0) + entries
    # Both ends of a way that breaks out of the loop lie outside of it for the compiler.
    ways = landed.pop("ways", 0) + landed.pop("ways_on", 0)
    check_equal(ways, 2, f"caught in ways_on {log.entered}")
    check_equal(landed, {"nested inner": 2, "nested outer": 1, "Derived::Derived": 1,
                         "constructs": 1, "jumps": 5}, f"landed {log.entered}")
