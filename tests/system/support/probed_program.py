"""Programs compiled with dwell's compilers, run plain and observed, and the tree
that the profile shows.

Their time passes in spin_ms (pass_time.c), which lasts at least as long as it says. At the end they
tell how much more all took ("late"): on a busy machine times may be longer by that, never shorter.
"""

import os
import re
import shutil

from harness import (DWELL, Failure, Profile, check, check_equal, execute, mpirun, same_result,
                     scratch, skip_unless, source)

WRAPPERS = os.environ.get("SYSTEST_WRAPPERS", ".")
HERE = os.path.dirname(os.path.abspath(__file__))
# The procedures of pass_time.c: without probes, in no expectation.
HELPERS = {"begin_all", "end_all", "spin_ms", "keep", "world_rank"}


def listing(name):
    return os.path.join(HERE, name) if name.startswith("pass_time.") else source(name)


def line_of(file, text):
    """The number of the only line of a program that contains `text`."""
    with open(listing(file), encoding="utf-8") as stream:
        found = [number for number, line in enumerate(stream, 1) if text in line]
    check_equal(len(found), 1, f"lines with {text!r} in {file}")
    return found[0]


def build(compiler, file, flags, name, more=(), behind=None):
    """Compiles a program with dwell-COMPILER (or the plain one, if it is given with a slash before
    it) and links it with pass_time.c; `behind` is the compiler behind those of MPI."""
    probes = not compiler.startswith("/")
    compiler = compiler.strip("/")
    skip_unless(shutil.which(compiler), f"no {compiler}")
    skip_unless(behind is None or shutil.which(behind), f"no {behind}")
    clang = "clang" in (behind or compiler)
    plugin = os.path.join(WRAPPERS, "dwell_llvm.so" if clang else "dwell_gcc.so")
    skip_unless(os.path.exists(plugin), f"{os.path.basename(plugin)} was not built")
    binary = scratch(name)
    env = {"OMPI_CC": behind, "OMPI_CXX": behind} if behind else {}
    command = os.path.join(WRAPPERS, "dwell-" + compiler) if probes else compiler
    run = execute([command, f"-I{HERE}", *flags, listing(file), helpers(compiler.startswith("mpi")), *more, "-o",
                   binary], env=env, cwd=scratch())
    check_equal((run.code, run.stderr), (0, ""), f"{compiler} {file}" + run.describe())
    return binary


def helpers(with_mpi):
    """pass_time.c, compiled by a plain compiler."""
    path = scratch("pass_mpi.o" if with_mpi else "pass.o")
    if not os.path.exists(path):
        command = ["mpicc", "-DWITH_MPI"] if with_mpi else ["gcc"]
        run = execute([*command, "-O1", "-g", "-fPIC", "-c", listing("pass_time.c"), "-o", path])
        check_equal(run.code, 0, "pass_time.c" + run.describe())
    return path


def told(run, word):
    """What the program said about its times: one number for each process."""
    return [float(number) for number in re.findall(rf"\b{word} ([-0-9.]+)", run.stderr)]


def observe(argv, ranks=0, options=(), code=0, name="out", **how):
    """Runs plain and under dwell with the same result; the tree. ranks=0: without MPI."""
    launcher = mpirun(ranks) if ranks else []
    plain = execute([*launcher, *argv], max(ranks, 1), **how)
    check_equal(plain.code, code, "without dwell" + plain.describe())
    out = scratch(name)
    shutil.rmtree(out, ignore_errors=True)
    run = execute([*launcher, DWELL, "run", "-q", "-o", out, *options, *argv], max(ranks, 1), **how)
    same_result(plain, run)
    return Tree(out, run)


def plain_name(name):
    """A procedure's name without scopes, arguments and parameters."""
    depth, kept = 0, ""
    for letter in name.replace("(anonymous namespace)::", "").replace("operator()", "operator"):
        depth -= letter == ">"
        if depth == 0 and letter != ">":
            if letter in "([":
                break
            kept += letter
        depth += letter == "<"
    words = kept.replace("<", "").split("::")[-1].split()
    return words[-1] if words else name


class Place:
    """A procedure, loop or communication statement as reached along one path; `via` is the line of
    the call statement that led to it."""

    def __init__(self, tree, index, via, parent):
        raw = tree.profile.nodes[index]
        self.tree, self.index, self.via, self.raw, self.parent = tree, index, via, raw, parent
        self.kind, self.line = raw["kind"], raw.get("line") or 0
        self.name = plain_name(raw["name"]) if self.kind == "proc" else raw["name"]
        self.count, self.labels = raw["count"], set(raw.get("labels", []))
        self.time_s = raw["time_ns"] / 1e9
        self.own_s = self._own_ns(raw) / 1e9
        self.blocked_s = raw["blocked_ns"] / 1e9
        self.iterations = raw.get("iterations", 0)
        self.abandoned = raw.get("abandoned", 0)

    def _is_sampled(self, raw):
        """Whether samples alone lead there: it is a part of the computation around it."""
        inner = [self.tree.profile.nodes[index] for index in raw["children"]]
        return (raw["kind"] in ("call", "proc") and "probed" not in raw.get("labels", [])
                and raw["count"] == 0 and all(map(self._is_sampled, inner)))

    def _own_ns(self, raw):
        inner = [self.tree.profile.nodes[index] for index in raw["children"]]
        return raw["computation_ns"] + sum(map(self._own_ns, filter(self._is_sampled, inner)))

    def children(self):
        found = []
        for index in self.raw["children"]:
            raw = self.tree.profile.nodes[index]
            if self._is_sampled(raw):
                continue
            if raw["kind"] != "call":
                found.append(Place(self.tree, index, raw.get("line") or 0, self))
                continue
            found += [Place(self.tree, inner, raw.get("line") or 0, self)
                      for inner in raw["children"]
                      if not self._is_sampled(self.tree.profile.nodes[inner])]
        return found

    def path(self):
        return (self.parent.path() + "/" if self.parent else "") + f"{self.name}@{self.via}"

    def __repr__(self):
        return (f"{self.path()} count={self.count} time={self.time_s:.6f} own={self.own_s:.6f} "
                f"iterations={self.iterations} abandoned={self.abandoned} {sorted(self.labels)}")


class Tree:
    """A profile as procedures, loops and communication statements, call statements folded away."""

    def __init__(self, directory, run):
        self.run = run
        self.profile = Profile(directory, run)
        self.profile.check_conservation()
        self.root = Place(self, 0, 0, None)
        self.late_s = self._late()

    def _late(self):
        """How much longer than asked the run took at most. Of ranks the one asked for most tells:
        the others wait for it."""
        spun = max(told(self.run, "spun"), default=0)
        if self.profile.world_size > 1:
            whole = [late + asked for late, asked in zip(told(self.run, "late"),
                                                         told(self.run, "spun"))]
            return max(whole, default=self.run.elapsed_s) - spun + 0.03
        return max(rank["real_ns"] for rank in self.profile.ranks) / 1e9 - spun

    def at(self, path, lines=None):
        """The one place that a path leads to: names joined by slashes, from the program's; NAME@LINE
        as called from (of a loop or communication: at) that line."""
        here = self.root
        for step in path.split("/"):
            name, _, line = step.partition("@")
            line = lines[line] if lines and line in lines else int(line or 0)
            found = [place for place in here.children()
                     if place.name == name and line in (0, place.via)]
            if len(found) != 1:
                raise Failure(f"{len(found)} places {step} (line {line}) of {path}, want one\n  "
                              + "\n  ".join(map(repr, self.all())) + self.run.describe())
            here = found[0]
        return here

    def all(self, name=None, under=None):
        found = []
        for place in (under or self.root).children():
            if name in (None, place.name):
                found.append(place)
            found += self.all(name, place)
        return found

    def check_time(self, got_s, want_s, what, waited_s=0):
        """Summed over ranks: not shorter than what arithmetic gives, and longer at most by what the
        run was late. Of `waited_s` in it a rank that comes late itself waits less."""
        low = 0.995 * want_s - 1e-4 - min(waited_s, self.late_s)
        high = want_s + len(self.profile.ranks) * (self.late_s + 0.001)
        check(low <= got_s <= high, f"{what}: {got_s:.6f} s, want {low:.6f} to {high:.6f}"
              + self.run.describe())

    def expect(self, path, count, time_s=None, lines=None, waited_s=0, **more):
        """Count, inclusive time and further figures of the place at `path`."""
        place = self.at(path, lines)
        check_equal(place.count, count, f"count of {place}")
        if time_s is not None:
            self.check_time(place.time_s, time_s, str(place), waited_s)
        begun = more.pop("begun", None)
        if begun is not None:
            check(place.iterations == begun, f"body begun {begun} times: {place}")
        for key, value in more.items():
            check_equal(getattr(place, key), value, f"{key} of {place}")
        return place

    def report(self, *options):
        run = execute([DWELL, "report", *options, "--width", "200", self.profile.directory])
        check_equal(run.code, 0, "dwell report" + run.describe())
        return re.sub(r"[ \t]+", " ", run.stdout)
