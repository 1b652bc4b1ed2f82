"""Runs programs with and without dwell in alternation, and says how far to trust the difference.

Medians with an interval by order statistics: the k-th smallest and k-th largest of n values enclose
the true median with probability 1 - 2 P(B < k), B binomial(n, 1/2), whatever the distribution.
"""

import json
import math
import os
import re
import shutil
import statistics
import subprocess
import time

DISTRUSTED_LOAD = 0.5
MOVED = 1.5  # by such a factor processors are nearer to each other, or farther, than before
LEAST_PAIRS = 6  # for an interval of 95 %


class NotMeasured(Exception):
    """A figure could not be had, and why."""


class Interval:
    """A median and the interval around it that holds the true one with at least 95 %.

    With fewer than six values no interval reaches that: then it is their range, and `coverage`
    tells what it is worth.
    """

    def __init__(self, values):
        values = sorted(values)
        n = len(values)
        self.n = n
        self.median = statistics.median(values)
        k, outside = 1, 2 * 0.5**n
        while k < n // 2:
            more = outside + 2 * math.comb(n, k) * 0.5**n
            if more > 0.05:
                break
            k, outside = k + 1, more
        self.low, self.high = values[k - 1], values[n - k]
        self.coverage = max(0.0, 1 - outside)

    def percent(self):
        """The ratio as a change in percent: '+0.12 % [-0.30, +0.41]'."""
        text = (f"{100 * (self.median - 1):+.2f} % [{100 * (self.low - 1):+.2f}, "
                f"{100 * (self.high - 1):+.2f}]")
        return text + self.remark()

    def remark(self):
        if self.coverage >= 0.95:
            return f", {self.n} pairs"
        return f", {self.n} pairs: {100 * self.coverage:.0f} % only"


class Bench:
    """Where things are, and how to run them."""

    def __init__(self, build, scratch, quick, pairs, baseline=None):
        self.build = os.path.abspath(build)
        self.dwell = os.path.join(self.build, "report", "dwell")
        self.library = os.path.join(self.build, "runtime", "libdwell.so")
        self.scratch, self.quick, self.pairs, self.baseline = scratch, quick, pairs, baseline
        self.mpirun = shutil.which("mpirun.openmpi") or shutil.which("mpirun")
        self.environment = {key: value for key, value in os.environ.items()
                            if not key.startswith("DWELL_") and key != "LD_PRELOAD"}
        self.environment["OMP_NUM_THREADS"] = "1"
        if os.geteuid() == 0:
            self.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1"
            self.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        self._runs = 0
        self.rounds = self.rounds_in_place = 0

    def program(self, name):
        path = os.path.join(self.build, "tests", "bench", name)
        if not os.path.exists(path):
            raise NotMeasured(f"{name} was not built")
        return path

    def directory(self, name):
        path = os.path.join(self.scratch, name)
        os.makedirs(path, exist_ok=True)
        return path

    def execute(self, argv, cwd=None, environment=None, timeout_s=900):
        """Standard output and the seconds it took."""
        start = time.monotonic()
        try:
            done = subprocess.run(argv, cwd=cwd or self.scratch, capture_output=True, text=True,
                                  errors="replace", timeout=timeout_s, check=False,
                                  stdin=subprocess.DEVNULL, env=environment or self.environment)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NotMeasured(str(error)) from error
        elapsed_s = time.monotonic() - start
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or "nothing said").splitlines()[-1]
            raise NotMeasured(f"{os.path.basename(argv[0])} ended with {done.returncode}: {said}")
        return done.stdout, elapsed_s

    def run(self, program, ranks, options=None, cwd=None):
        """One run under mpirun: plain, or with `options` of dwell run. (stdout, seconds)."""
        if self.mpirun is None:
            raise NotMeasured("mpirun is not installed")
        argv = [self.mpirun, "-n", str(ranks)]
        if (os.cpu_count() or 1) < ranks:
            argv.append("--oversubscribe")
        out = None
        if options is not None:
            self._runs += 1
            out = os.path.join(self.scratch, f"out.{self._runs}")
            argv += [self.dwell, "run", "--quiet", "-o", out, *options, "--"]
        stdout, elapsed_s = self.execute(argv + program, cwd)
        if out is not None:
            if not os.path.exists(os.path.join(out, "profile.json")):
                raise NotMeasured("dwell wrote no profile")
            shutil.rmtree(out)
        return stdout, elapsed_s

    def alternate(self, rounds, *variants):
        """Calls each of the variants once a round, every other round in reverse order."""
        results = [[] for _ in variants]
        order = list(range(len(variants)))
        for _ in range(rounds):
            for which in order:
                results[which].append(variants[which]())
            order.reverse()
        return results


    def way_ns(self):
        """How long a cache line goes from one processor to another; 0: that is not known."""
        try:
            return number_after("way_ns", self.execute([self.program("distance")])[0])
        except NotMeasured:
            return 0.0

    def in_places(self, rounds, *variants, most=3.0):
        """alternate() for what depends on how far the processors are from each other, which changes
        from second to second in a virtual machine: apart for each distance, and without rounds in
        which it changed, (nanoseconds of one way, results of each variant) in the order of their
        number. Ends when one distance has had `rounds`, or after `most` times as many in all. Those
        distances that were there too seldom for an interval are left out, but for the first. --quick,
        whose figures say nothing, takes every round: on a busy machine they may all be such."""
        kept = []
        order = list(range(len(variants)))
        for _ in range(max(rounds, int(most * rounds))):
            results, ways = [None] * len(variants), [self.way_ns()]
            for which in order:
                results[which] = variants[which]()
                ways.append(self.way_ns())
            order.reverse()
            self.rounds += 1
            if self.quick or max(ways) <= MOVED * min(ways):
                kept.append((statistics.median(ways), results))
                if max(map(len, _places(kept))) >= rounds:
                    break
        places = sorted(_places(kept), key=len, reverse=True)
        if not places:
            raise NotMeasured("the processors moved in each round")
        places = places[:1] + [place for place in places[1:] if len(place) >= LEAST_PAIRS]
        self.rounds_in_place += sum(map(len, places))
        return [(statistics.median(way for way, _ in place),
                 [list(of_variant) for of_variant in zip(*(results for _, results in place))])
                for place in places]


def _places(kept):
    """Rounds, each with its distance first, by distance."""
    places = []
    for entry in sorted(kept, key=lambda entry: entry[0]):
        if places and entry[0] <= MOVED * places[-1][-1][0]:
            places[-1].append(entry)
        else:
            places.append([entry])
    return places


def apart(way_ns):
    """What a row says of the distance that it was measured at."""
    return f", {way_ns:.0f} ns apart" if way_ns else ""


def ratios(with_dwell, without):
    return Interval([a / b for a, b in zip(with_dwell, without)])


def number_after(pattern, text):
    found = re.search(pattern + r"\s*([-+]?[0-9.]+(?:[eE][-+]?\d+)?)", text)
    if not found:
        raise NotMeasured(f"no '{pattern}' in what the program printed")
    return float(found.group(1))


def _first(path, pattern, otherwise):
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            found = re.search(pattern, stream.read(), re.M)
    except OSError:
        return otherwise
    return found.group(1).strip() if found else otherwise


def _compiler_flags(build):
    """The flags that tell how far the tools were optimised (the library always is)."""
    try:
        with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as stream:
            commands = json.load(stream)
    except (OSError, ValueError):
        return []
    for entry in commands:
        if entry["file"].endswith("report/command/main.cpp"):
            return [word for word in entry["command"].split() if re.match(r"-(O.|g\w*|DNDEBUG)$", word)]
    return []


def machine_state(bench):
    """Lines about the machine and the build, and the reasons to distrust what follows."""
    load = os.getloadavg()
    cpu = _first("/proc/cpuinfo", r"^model name\s*:\s*(.*)$", "unknown processor")
    flags = _first("/proc/cpuinfo", r"^flags\s*:\s*(.*)$", "").split()
    virtual = "virtual machine" if "hypervisor" in flags else "not virtualised"
    governor = _first("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", r"(.*)", "none visible")
    cache = os.path.join(bench.build, "CMakeCache.txt")
    build = _first(cache, r"^CMAKE_BUILD_TYPE:\w+=[ \t]*(\S*)$", "") or "not named"
    compiled = _compiler_flags(bench.build)
    sanitize = _first(cache, r"^DWELL_SANITIZE:\w+=[ \t]*(\S*)$", "")
    try:
        version = bench.execute([bench.mpirun or "mpirun", "--version"])[0].splitlines()[0]
    except (NotMeasured, IndexError):
        version = "no mpirun"
    lines = [
        f"processor  {cpu}, {os.cpu_count()} cores, {virtual}, frequency governor {governor}",
        f"distance   a cache line goes from one processor to another in {bench.way_ns():.0f} ns",
        f"system     Linux {os.uname().release}, {version}",
        f"load       {load[0]:.2f} over one minute, {load[1]:.2f} over five, before the first run",
        f"library    {bench.library}, build type {build} ({' '.join(compiled) or 'flags unknown'})",
    ]
    doubts = []
    if build == "Debug" or not any(flag in compiled for flag in ("-O2", "-O3", "-Os")):
        doubts.append(f"build type {build} is not optimised")
    if sanitize:
        doubts.append(f"built with sanitizers ({sanitize})")
    if load[0] > DISTRUSTED_LOAD:
        doubts.append(f"load above {DISTRUSTED_LOAD}: others use this machine")
    if governor in ("powersave", "ondemand", "schedutil", "conservative"):
        doubts.append(f"the frequency changes (governor {governor})")
    if bench.quick:
        doubts.append("--quick: too few repetitions for a verdict")
    return lines, doubts
