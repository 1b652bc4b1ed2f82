"""Runs programs plain and under dwell, loads what dwell wrote, and checks it (Python 3, stdlib only).

A test file holds functions marked @case; `main()` runs the one named on the command line. CTest
passes the places in SYSTEST_* variables. Exit code 77 means skipped, with the reason on stdout.
"""

import csv
import ctypes
import fnmatch
import glob
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import profile_sums

DWELL = os.environ.get("SYSTEST_DWELL", "dwell")
LIBRARY = os.environ.get("SYSTEST_LIBRARY", "libdwell.so")
PROGRAMS = os.environ.get("SYSTEST_PROGRAMS", ".").split(":")
# The source tree.
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_PR_SET_CHILD_SUBREAPER = 36  # sys/prctl.h
TIMEOUT_S = float(os.environ.get("SYSTEST_TIMEOUT_S", "60"))

_cases = {}
_scratch = None


class Skip(Exception):
    """A prerequisite is missing."""


class Failure(Exception):
    """What dwell did is not what the specification says."""


def case(function):
    _cases[function.__name__] = function
    return function


def skip_unless(condition, reason):
    if not condition:
        raise Skip(reason)


def thorough(everything, usual):
    """What a case goes through: everything in `./setup test extended`, else what is usual."""
    return everything if os.environ.get("SYSTEST_EXTENDED") else usual


def check(condition, text):
    if not condition:
        raise Failure(text)


def check_equal(got, want, what):
    if got != want:
        raise Failure(f"{what}: got {got!r}, want {want!r}")


def check_near(got, want, relative, absolute, what):
    """|got - want| within the larger of both allowances."""
    if abs(got - want) > max(relative * abs(want), absolute):
        raise Failure(f"{what}: got {got:.6g}, want {want:.6g} within {relative:.0%} or {absolute:g}")


class OtherWork:
    """The processor time that programs beside this test and its own take, from now on. Daemons that
    the test's programs leave behind are its own: it becomes their parent, and waits for them."""

    def __init__(self):
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        self._began = self._others_s(), time.monotonic()

    def processors(self):
        """How many of them that keeps busy."""
        self._wait_for_daemons()
        others_s, now_s = self._others_s(), time.monotonic()
        return (others_s - self._began[0]) / max(now_s - self._began[1], 1e-6)

    @staticmethod
    def _wait_for_daemons(limit_s=2):
        until = time.monotonic() + limit_s
        try:
            while time.monotonic() < until:
                if os.waitpid(-1, os.WNOHANG) == (0, 0):
                    time.sleep(0.01)
        except ChildProcessError:
            pass

    @staticmethod
    def _others_s():
        with open("/proc/stat", encoding="ascii") as stat:
            user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
        all_s = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return all_s - sum(usage.ru_utime + usage.ru_stime for usage in own)


_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def say_the_same(texts, within=0.1):
    """The same words, and numbers that differ by so much at most: chance gives others each time."""
    if len({_NUMBER.sub("#", text) for text in texts}) != 1:
        return False
    columns = zip(*[map(float, _NUMBER.findall(text)) for text in texts])
    return all(max(numbers) - min(numbers) <= within * max(numbers) for numbers in columns)


def repeated(attempt, *arguments, most=6):
    """For what is only right where ranks keep their processors: a failure counts when it comes three
    times while nothing else runs, or each time with the same answer. Else too busy a machine is no
    failure. One attempt is one run of a program where that can be: of eight runs one is nearly
    always disturbed on a virtual machine whose host takes processors away unseen."""
    quiet_failures, answers = 0, []
    for left in reversed(range(most)):
        others = OtherWork()
        try:
            return attempt(*arguments)
        except Failure as failure:
            busy = others.processors()
            if busy < 0.25:  # starting ranks looks like 0.1
                quiet_failures += 1
            if quiet_failures == 3:
                raise
            answers.append(str(failure).split("\n")[0])
            if left == 0:
                if say_the_same(answers):
                    raise Failure(f"{most} of {most} times: {failure}") from failure
                raise Skip(f"the machine is too busy: others use {busy:.1f} processors, and "
                           f"{failure}") from failure


def main():
    """Runs the case named by argv[1] (all of them without one)."""
    names = sys.argv[1:2] or list(_cases)
    worst = 0
    for name in names:
        worst = max(worst, _run_case(name))
    sys.exit(worst)


def _run_case(name):
    global _scratch
    _scratch = tempfile.mkdtemp(prefix="dwell-test-")
    os.chmod(_scratch, 0o755)
    try:
        _cases[name]()
        print(f"{name}: passed")
        return 0
    except Skip as reason:
        print(f"{name}: skipped: {reason}")
        return 77
    except Failure as failure:
        print(f"{name}: FAILED: {failure}")
        print(f"what is right: {_cases[name].__doc__}")
        return 1
    finally:
        shutil.rmtree(_scratch, ignore_errors=True)


def scratch(name=""):
    """A path in this case's own directory, which is removed afterwards."""
    return os.path.join(_scratch, name) if name else _scratch


def program(name):
    for folder in PROGRAMS:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise Skip(f"program {name} was not built")


def source(name):
    """The source of a program of these tests, in whichever room it lies."""
    found = glob.glob(os.path.join(ROOT, "tests", "system", "*", "programs", name))
    check_equal(len(found), 1, f"programs named {name}")
    return found[0]


class Run:
    """One finished run of a command."""

    def __init__(self, argv, code, stdout, stderr, elapsed_s, cwd=None):
        self.argv, self.code, self.cwd = argv, code, cwd
        self.stdout, self.stderr, self.elapsed_s = stdout, stderr, elapsed_s

    def describe(self):
        return (f"\n  command: {' '.join(self.argv)}\n  exit code {self.code}"
                f"\n  stdout: {self.stdout[-1500:]}\n  stderr: {self.stderr[-3000:]}")


def environment(ranks=1, extra=None):
    env = dict(os.environ)
    for name in list(env):
        if name.startswith("DWELL_") or name == "LD_PRELOAD":
            del env[name]
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", LC_ALL="C.UTF-8",
               OMPI_MCA_btl_base_warn_component_unused="0", PRTE_ALLOW_RUN_AS_ROOT="1")
    if ranks > (os.cpu_count() or 1):
        env.update(OMPI_MCA_rmaps_base_oversubscribe="1", OMPI_MCA_mpi_yield_when_idle="1")
    env.update(extra or {})
    return env


def execute(argv, ranks=1, env=None, cwd=None, timeout_s=None, interrupt=None, stdin=None, keep=False):
    """Runs `argv`. `interrupt(process)` is called once it runs, e.g. to send a signal. Where an earlier
    run of the case left a profile in the directory that this one is given, that goes, unless `keep`:
    dwell would write beside it."""
    given = [after for word, after in zip(argv, argv[1:]) if word == "-o"]
    for out in ([] if keep else given + [(env or {}).get("DWELL_OUT", "")]):
        profile = os.path.join(cwd or "", out, "profile.json")
        if out and os.path.isfile(profile):
            os.remove(profile)
    start = time.monotonic()
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
                               stdin=stdin or subprocess.DEVNULL, env=environment(ranks, env),
                               start_new_session=True, text=True, errors="replace")
    try:
        if interrupt:
            interrupt(process)
        stdout, stderr = process.communicate(timeout=timeout_s or TIMEOUT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            stdout, stderr = process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            stdout, stderr = process.communicate()
        run = Run(argv, None, stdout, stderr, time.monotonic() - start, cwd)
        raise Failure("timed out" + run.describe()) from None
    return Run(argv, process.returncode, stdout, stderr, time.monotonic() - start, cwd)


def mpirun(ranks, *more, slots=0):
    argv = ["mpirun", "-n", str(ranks), "--bind-to", "none"]
    if max(ranks, slots) > (os.cpu_count() or 1):
        argv.append("--oversubscribe")
    return argv + list(more)


def run_plain(argv, ranks, **how):
    return execute(mpirun(ranks, *argv), ranks, **how)


def run_observed(argv, ranks, out, options=(), **how):
    return execute(mpirun(ranks, DWELL, "run", "-o", out, *options, *argv), ranks, **how)


def same_result(plain, observed, normalise=None):
    """Exit code and stdout are as without dwell; lines of different ranks may come in any order."""
    text = normalise or (lambda stdout: sorted(stdout.splitlines()))
    if observed.code != plain.code:
        raise Failure(f"exit code {observed.code}, without dwell {plain.code}" + observed.describe())
    if text(observed.stdout) != text(plain.stdout):
        raise Failure("stdout differs; without dwell:\n" + plain.stdout[-3000:] + observed.describe())


def profiled(argv, ranks, options=(), normalise=None, code=0, name="out", **how):
    """Runs plain and under dwell, compares, loads the profile and checks conservation."""
    plain = run_plain(argv, ranks, **how)
    check(plain.code == code, f"the program itself fails: {plain.describe()}")
    profile = timed(argv, ranks, options, code, name, **how)
    same_result(plain, profile.run, normalise)
    return profile


def timed(argv, ranks, options=(), code=0, name="out", **how):
    """The same under dwell alone: for programs that print nothing which dwell could change."""
    out = scratch(name)
    observed = run_observed(argv, ranks, out, options, **how)
    check(observed.code == code, f"exit code {observed.code}" + observed.describe())
    profile = Profile(out, observed)
    profile.check_conservation()
    for rank in profile.ranks:
        check(rank["real_ns"] <= 1.02e9 * observed.elapsed_s,
              f"rank {rank['rank']} shows {rank['real_ns'] / 1e9:.3f} s of a job that took "
              f"{observed.elapsed_s:.3f} s")
    return profile


class Node:
    """A communication statement as reached along one call path."""

    def __init__(self, raw, peers, path):
        self.raw, self.peers, self.path = raw, peers, path
        self.name, self.line = raw["name"], raw.get("line") or 0
        self.file = os.path.basename(raw.get("file") or "")
        self.count, self.time_ns, self.blocked_ns = raw["count"], raw["time_ns"], raw["blocked_ns"]
        self.sent, self.received = raw["bytes_sent"], raw["bytes_received"]
        self.failed, self.events, self.messages = raw["failed"], raw["event_count"], raw["messages"]

    def __repr__(self):
        return (f"{self.name} {self.file}:{self.line} count={self.count} sent={self.sent} "
                f"received={self.received} events={self.events} peers={self.peers}")


EVENT_NAMES = ("send_ready", "send_blocked", "recv_ready", "recv_blocked")


class Profile:
    """profile.json and `dwell report --format csv` of one output directory."""

    def __init__(self, directory, run=None):
        self.directory, self.run = directory, run
        file = os.path.join(directory, "profile.json")
        if not os.path.exists(file):
            raise Failure(f"no {file}" + (run.describe() if run else ""))
        with open(file, encoding="utf-8") as stream:
            self.json = json.load(stream)
        for name in ("report.txt", "stats.picl"):
            path = os.path.join(directory, name)
            check(os.path.exists(path) and os.path.getsize(path) > 0, f"{name} missing or empty")
        self.nodes = self.json["nodes"]
        self.ranks = self.json["ranks"]
        self.intervals = self.json["intervals"]
        self.rows = self.json["rows"]
        self.world_size = self.json["world_size"]
        self._check_sums(profile_sums.errors_in(directory))
        self._peers = {}
        for peer in self.json["peers"]:
            key = (peer["rank"], self.peer_id(peer))
            count, sent, received = self._peers.setdefault(peer["node"], {}).get(key, (0, 0, 0))
            self._peers[peer["node"]][key] = (count + peer.get("count", 0),
                                              sent + peer.get("bytes_sent", 0),
                                              received + peer.get("bytes_received", 0))

    def _check_sums(self, errors):
        check(not errors, f"{len(errors)} figures of {self.directory} cannot be:\n  " +
              "\n  ".join(errors[:20]))

    @staticmethod
    def peer_id(peer):
        """The partner: a rank of the own world as a number, of another world as "wW:R"."""
        world, rank = peer["peer_world"], peer["peer_rank"]
        return rank if world == 0 else f"w{world}:{rank}"

    def path(self, index):
        names = []
        while index is not None and 0 <= index < len(self.nodes):
            names.append(self.nodes[index]["name"])
            parent = self.nodes[index].get("parent")
            index = None if index == 0 else parent
        return names[::-1]

    def comm(self, name=None, file=None, line=None):
        """Communication nodes, by MPI name, base name of the source file and line."""
        found = []
        for index, raw in enumerate(self.nodes):
            if raw["kind"] != "comm" or (name and raw["name"] != name):
                continue
            if file and os.path.basename(raw.get("file") or "") != os.path.basename(file):
                continue
            if line is not None and raw.get("line") != line:
                continue
            found.append(Node(raw, self._peers.get(index, {}), self.path(index)))
        return found

    def at(self, source_file, marker, name):
        """The single node of MPI function `name` at the line that carries `@marker`."""
        nodes = self.comm(name, source_file, marked_line(source_file, marker))
        check(len(nodes) == 1, f"{name} at @{marker} of {os.path.basename(source_file)}: "
              f"{len(nodes)} nodes {nodes}; all: {self.comm(name)}")
        return nodes[0]

    def count(self, name):
        return sum(node.count for node in self.comm(name))

    def csv(self, *options):
        run = execute([DWELL, "report", *options, "--format", "csv", self.directory])
        check(run.code == 0, "dwell report --format csv failed" + run.describe())
        if not options:
            self._check_sums(profile_sums.errors_in_csv(run.stdout))
        return list(csv.DictReader(io.StringIO(run.stdout)))

    def check_conservation(self):
        """DESIGN 5.5: the parts add up to the whole, in the totals, the tree, and for each rank."""
        total = self.json["total_ns"]
        parts = sum(self.json[key] for key in ("computation_ns", "transfer_ns", "blocked_ns",
                                               "omp_wait_ns", "omp_idle_ns", "io_ns",
                                               "paused_ns"))
        check(total > 0, "total time is 0")
        check_near(parts, total, 1e-3, 1,
                   "computation + transfer + blocked + OpenMP + I/O + paused")
        rows = self.csv()
        check(rows and rows[0]["kind"] == "program", "the first CSV row is not the program")
        columns = list(rows[0])
        check_equal(",".join(columns[:13]), "path,kind,name,file,line,rank,thread,count,time_s,"
                    "self_s,sync_s,transfer_s,bytes", "CSV columns")
        self_s = sum(float(row["self_s"] or 0) for row in rows)
        paused_s = self.json["paused_ns"] / 1e9
        check_near(self_s + paused_s, total / 1e9, 1e-3, 1e-5 * len(rows) / 100, "sum of self_s")
        for index, node in enumerate(self.nodes):
            check(0 <= node["blocked_ns"] <= node["time_ns"] or node["kind"] != "comm",
                  f"node {index} blocked longer than it lasted: {node}")
        if all(rank["threads"] == 1 for rank in self.ranks) and not self.json["paused_ns"]:
            lived = sum(rank["real_ns"] - rank["intrusion_ns"] for rank in self.ranks)
            # 30 ms: on a busy machine a rank may lose some time slices between two clocks.
            check_near(total, lived, 0.03, 3e7, "total against the time that the ranks lived, in ns")
        negative = [row for row in rows if float(row["self_s"] or 0) < 0]
        check(not negative, f"negative self time: {negative[:3]}")


def marked_line(source_file, marker):
    """The number of the line that holds the comment `@marker`."""
    pattern = re.compile(r"@" + re.escape(marker) + r"\b")
    with open(source_file, encoding="utf-8") as stream:
        lines = [number for number, text in enumerate(stream, 1) if pattern.search(text)]
    check(len(lines) == 1, f"marker @{marker} stands on {len(lines)} lines of {source_file}")
    return lines[0]


class Expectation:
    """One `//@ MPI_Name key=value ...` comment; it speaks of the next line of code."""

    # taken: bytes received for each (rank, peer) that had any; *_events: ready and blocked together.
    KEYS = ("count", "sent", "received", "peers", "taken", "nodes", "failed", "messages",
            "send_events", "recv_events") + EVENT_NAMES

    def __init__(self, text, line, names):
        words = text.split(None, 2)
        self.total = words[0] == "total"
        self.function = words[1] if self.total else words[0]
        self.line = None if self.total else line
        self.want = {}
        fields = re.split(r"\s+(\w+)=(?!=)", " " + text.split(self.function, 1)[1])
        for key, value in zip(fields[1::2], fields[2::2]):
            check(key in self.KEYS, f"unknown key {key} in expectation of line {line}")
            self.want[key] = eval(value, dict(names))

    def verify(self, profile, file):
        where = f"{self.function} at {os.path.basename(file)}:{self.line or 'any line'}"
        if self.total:
            nodes = [n for n in profile.comm(None, file)
                     if any(fnmatch.fnmatch(n.name, p) for p in self.function.split("|"))]
        else:
            nodes = profile.comm(self.function, file, self.line)
        if self.want.get("count") == 0:
            return [f"{where}: {nodes}, want none"] if sum(n.count for n in nodes) else []
        got = {"count": sum(n.count for n in nodes), "sent": sum(n.sent for n in nodes),
               "received": sum(n.received for n in nodes), "failed": sum(n.failed for n in nodes),
               "nodes": len(nodes), "peers": _join_peers(nodes)}
        got["messages"] = {bucket: number for bucket, number in enumerate(
            [sum(column) for column in zip(*(n.messages for n in nodes if n.messages))]) if number}
        for index, name in enumerate(EVENT_NAMES):
            got[name] = sum(n.events[index] for n in nodes)
        got["taken"] = {key: figures[2] for key, figures in got["peers"].items() if figures[2]}
        got["send_events"] = got["send_ready"] + got["send_blocked"]
        got["recv_events"] = got["recv_ready"] + got["recv_blocked"]
        want = dict(self.want) if self.total else {"nodes": 1, **self.want}
        return [f"{where}: {key} is {got[key]}, want {value}" for key, value in want.items()
                if got[key] != value]


def _join_peers(nodes):
    joined = {}
    for node in nodes:
        for key, figures in node.peers.items():
            old = joined.get(key, (0, 0, 0))
            joined[key] = tuple(a + b for a, b in zip(old, figures))
    return joined


def expectations(source_file, ranks):
    """Reads the expectation comments: `//@` in C and C++, `!@` in Fortran."""
    pending, found = [], []
    names = {"P": ranks, "range": range, "sum": sum}
    with open(source_file, encoding="utf-8") as stream:
        for number, text in enumerate(stream, 1):
            match = re.match(r"\s*(?://|!)@ (.*)", text)
            if match and match.group(1).startswith("let "):
                name, value = match.group(1)[4:].split("=", 1)
                names[name.strip()] = eval(value, dict(names))
            elif match and match.group(1).startswith("+ "):
                pending[-1] += " " + match.group(1)[2:].strip()
            elif match:
                pending.append(match.group(1).strip())
            elif pending and text.strip() and not re.match(r"\s*(//|!)", text):
                found += [Expectation(item, number, names) for item in pending]
                pending = []
    return found


def verify_expectations(profile, source_file, ranks):
    """Every expectation holds, and no call stands where none is expected."""
    wanted = expectations(source_file, ranks)
    check(wanted, f"no expectations in {source_file}")
    errors = [error for item in wanted for error in item.verify(profile, source_file)]
    places = {(item.function, item.line) for item in wanted}
    functions = {item.function for item in wanted if not item.total}
    anywhere = {item.function for item in wanted if item.total}
    for node in profile.comm():
        place = (node.name, node.line if node.file == os.path.basename(source_file) else None)
        busy = node.name in functions or node.sent or node.received
        if busy and place not in places and node.name not in anywhere:
            errors.append(f"unexpected: {node} via {'/'.join(node.path)}")
    check(not errors, f"{len(errors)} differences:\n  " + "\n  ".join(errors))


def kept_records(run):
    """The directory that the line `dwell recover DIR` on stderr names."""
    named = re.findall(r"dwell recover (\S+)", run.stderr)
    check(len(named) == 1, f"{len(named)} lines name `dwell recover`, want one" + run.describe())
    return os.path.join(run.cwd or os.getcwd(), named[0].strip("'\"`,;"))


def recover(directory, out, code=0):
    run = execute([DWELL, "recover", directory, "-o", out])
    check(run.code == code, f"dwell recover: exit {run.code}, want {code}" + run.describe())
    return Profile(out, run)


def shm_leftovers():
    root = os.environ.get("DWELL_RECORD_DIR", "/dev/shm")
    return {name for name in os.listdir(root) if name.startswith(f"dwell-{os.getuid()}-")}
