"""OTF2 archives: what `otf2-print` shows of them, compared with what the programs do."""

import os
import re
import shutil
import subprocess
from collections import Counter

import edit_log
from exporting import EXCHANGE_RANKS, LONG_NAME, ROUNDS, WRAPPERS, clean, exchange, export, logged, number_before
from harness import (DWELL, case, check, check_equal, environment, execute, main, marked_line, mpirun, program,
                     scratch, skip_unless, source)
from test_epilog import mpi_calls

RANKS = range(EXCHANGE_RANKS)
LAST = EXCHANGE_RANKS - 1


def printed(path, *options):
    skip_unless(shutil.which("otf2-print"), "otf2-tools are not installed")
    run = execute(["otf2-print", *options, os.path.join(path, "traces.otf2")])
    check_equal((run.code, run.stderr), (0, ""), "otf2-print" + run.describe())
    return run.stdout


class Archive:
    def __init__(self, path):
        self.events = []  # (kind, location, time, attributes)
        for line in printed(path).splitlines():
            found = re.match(r"([A-Z_]+) +(\d+) +(\d+) *(.*)$", line)
            if found:
                kind, location, time, rest = found.groups()
                self.events.append((kind, int(location), int(time), rest))
        self.definitions = printed(path, "-G").splitlines()

    def of(self, *kinds, location=None):
        return [event for event in self.events if event[0] in kinds and location in (None, event[1])]

    def defined(self, kind):
        """Attributes by number."""
        found = [re.match(kind + r" +(\d+|(?= ))  ?(.*)$", line) for line in self.definitions]
        return {int(one.group(1)): one.group(2) for one in found if one and one.group(1)}

    def region_names(self, location, prefix=""):
        names = [re.match(r'Region: "(.*)" <\d+>$', event[3]).group(1) for event in self.of("ENTER", location=location)]
        return [name for name in names if name.startswith(prefix)]

    def main_locations(self):
        """By rank."""
        found = {}
        for number, text in self.defined("LOCATION").items():
            rank = int(re.search(r'Group: "rank (\d+)', text).group(1))
            if '"main thread"' in text:
                found[rank] = number
        return [found[rank] for rank in sorted(found)]

    def check(self):
        """Nesting, and the number of events that each location tells."""
        stacks, last = {}, {}
        for kind, location, time, rest in self.events:
            check(time >= last.get(location, 0), f"{kind} at {time} after {last.get(location)}")
            last[location] = time
            stack = stacks.setdefault(location, [])
            if kind == "ENTER":
                stack.append(rest)
            elif kind == "LEAVE":
                check(stack and stack.pop() == rest, f"LEAVE of {rest}")
        check(not any(stacks.values()), "regions that are not left")
        for location, text in self.defined("LOCATION").items():
            told = int(re.search(r"# Events: (\d+)", text).group(1))
            check_equal(told, len([event for event in self.events if event[1] == location]), f"events of {location}")
        return self


def archive(place, name="trace.otf2"):
    path, told = export(place, "otf2", name)
    return Archive(path).check(), told


def numbers(text):
    """The attributes of a message or collective, without what a number stands for."""
    text = re.sub(r' \("[^"]*" <\d+>\)', "", text)
    return dict(re.match(r"([^:]+): (.*)$", part).groups() for part in text.split(", "))


@case
def calls():
    """Every call of events_exchange.c once, in its order; regions with role, paradigm, file and line."""
    trace, told = archive(exchange())
    locations = trace.main_locations()
    check_equal(len(locations), EXCHANGE_RANKS, "ranks")
    for rank in RANKS:
        names = [name for name in trace.region_names(locations[rank], "MPI_")
                 if name not in ("MPI_Comm_rank", "MPI_Comm_size")]
        check_equal(names, mpi_calls(rank), f"MPI calls of rank {rank}")
        counts = Counter(trace.region_names(locations[rank]))
        check_equal([counts[name] for name in ("main", "pass_on", LONG_NAME, "together", "others")],
                    [1, ROUNDS, 1, 1, 1], f"procedures of rank {rank}")
    file = source("events_exchange.c")
    regions = list(trace.defined("REGION").values())
    for name, marks, role, paradigm in (("MPI_Send", ("send_first", "send_later"), "POINT2POINT", "MPI"),):
        own = [text for text in regions if text.startswith(f'Name: "{name}"')]
        lines = {int(re.search(r"Begin: (\d+), End: \1$", text).group(1)) for text in own}
        check_equal(lines, {marked_line(file, mark) for mark in marks}, f"lines of {name}")
        check(all(f"Role: {role}, Paradigm: {paradigm}, " in text and f'File: "{file}"' in text for text in own), own)
    for name, words in (("pass_on", "Role: FUNCTION, Paradigm: COMPILER"), ("MPI_Barrier", "Role: BARRIER, Paradigm: MPI"),
                        ("MPI_Bcast", "Role: COLL_ONE2ALL, Paradigm: MPI"), ("MPI_Put", "Role: RMA, Paradigm: MPI")):
        own = [text for text in regions if text.startswith(f'Name: "{name}"')]
        check(own and all(words in text for text in own), f"{words}: {own}")
    check_equal(number_before(told, "one-sided transfers"), EXCHANGE_RANKS, "one-sided transfers left out")
    check(any(line.startswith("CLOCK_PROPERTIES") and "Ticks per Seconds: 1000000000," in line
              for line in trace.definitions), "clock properties")


@case
def messages():
    """Each message with its partner's rank in the communicator, tag and bytes, in the order of the rank."""
    trace, _ = archive(exchange())
    locations = trace.main_locations()
    apart = set()
    for rank in RANKS:
        for kind, partner, other in (("MPI_SEND", "Receiver", rank + 1), ("MPI_RECV", "Sender", rank - 1)):
            got = [numbers(event[3]) for event in trace.of(kind, location=locations[rank])]
            want = [(str(other % EXCHANGE_RANKS), '"MPI_COMM_WORLD" <', str(10 + i), str(4 * (i + 1)))
                    for i in range(ROUNDS)]
            shown = [(one[partner], one["Communicator"].rstrip("0123456789>"), one["Tag"], one["Length"]) for one in got]
            check_equal(shown[:ROUNDS], want, f"{kind} of rank {rank}")
            # The last rank of the world is the first one there.
            far = {("MPI_SEND", 0): "0", ("MPI_RECV", LAST): str(LAST)}.get((kind, rank))
            check_equal([(one[0], *one[2:]) for one in shown[ROUNDS:]], [(far, "77", "1000")] if far else [],
                        f"{kind} of rank {rank} on another communicator")
            apart |= {one["Communicator"] for one in got[ROUNDS:]}
    check_equal(len(apart), 1, "other communicators")
    number = int(re.search(r"<(\d+)>$", apart.pop()).group(1))
    group = int(re.search(r'Group: "[^"]*" <(\d+)>', trace.defined("COMM")[number]).group(1))
    members = re.findall(r"(\d+) \(\"main thread\" <(\d+)>\)", trace.defined("GROUP")[group])
    check_equal(members, [(str(rank), str(locations[rank])) for rank in reversed(RANKS)], "members of it")


@case
def collectives():
    """A begin and an end for each collective that blocks, inside its call: operation, root and bytes."""
    trace, _ = archive(exchange())
    locations = trace.main_locations()
    for rank in RANKS:
        got, inside = [], None
        for kind, location, time, rest in trace.events:
            if location != locations[rank]:
                continue
            if kind in ("ENTER", "LEAVE"):
                inside = (rest, time)
            elif kind == "MPI_COLLECTIVE_BEGIN":
                check_equal(time, inside[1], "time of the beginning")
            elif kind == "MPI_COLLECTIVE_END":
                one = numbers(rest)
                got.append((re.search(r'"(.*)"', inside[0]).group(1), one["Operation"], one["Root"], one["Sent"], one["Received"]))
        bcast = ("400", "0") if rank == 1 else ("0", "400")
        check_equal(got, [("MPI_Bcast", "BCAST", "1", *bcast),
                          ("MPI_Reduce", "REDUCE", "0", "24", "24" if rank == LAST else "0"),
                          ("MPI_Allreduce", "ALLREDUCE", "NONE", "8", "8"),
                          ("MPI_Bcast", "BCAST", "0", "28", "0"),
                          ("MPI_Barrier", "BARRIER", "NONE", "0", "0")], f"collectives of rank {rank}")
        check_equal(len(trace.of("MPI_COLLECTIVE_BEGIN", location=locations[rank])), len(got), "beginnings")


def regions_of_threads(name):
    trace, told = archive(logged([program(name)], 1))
    clean(told)
    (first,) = trace.main_locations()
    check_equal(len(trace.of("THREAD_FORK", location=first)), 4, "forks")
    check_equal(len(trace.of("THREAD_JOIN", location=first)), 4, "joins")
    check_equal(len(trace.of("THREAD_FORK", "THREAD_JOIN")), 8, "forks and joins of all threads")
    check_equal(len(trace.defined("LOCATION")), 3, "threads")
    for location in trace.defined("LOCATION"):
        counts = Counter(trace.region_names(location))
        check_equal((counts["parallel"], counts["critical"], counts["barrier"]), (4, 4, 4), f"constructs of {location}")
    roles = {re.match(r'Name: "([^"]*)"', text).group(1): re.search(r"Role: (\w+), Paradigm: (\w+)", text).groups()
             for text in trace.defined("REGION").values()}
    check_equal([roles[name] for name in ("parallel", "critical", "barrier")],
                [("PARALLEL", "OPENMP"), ("CRITICAL", "OPENMP"), ("BARRIER", "OPENMP")], "roles")


@case
def threads():
    """Four regions of three threads."""
    regions_of_threads("openmp_events")


@case
def threads_gcc():
    """The same with gcc's OpenMP."""
    regions_of_threads("openmp_gcc_events")


@case
def times():
    """A message is received after it was sent: clocks of one host agree."""
    trace, _ = archive(exchange())
    queues = {}
    locations = trace.main_locations()
    for kind, location, time, rest in trace.of("MPI_SEND", "MPI_RECV"):
        one, rank = numbers(rest), locations.index(location)
        if one["Tag"] == "77":
            continue
        if kind == "MPI_SEND":
            queues.setdefault((rank, int(one["Receiver"])), []).append(time)
        else:
            sent = queues[int(one["Sender"]), rank].pop(0)
            check(0 <= time - sent < 1e9, f"{time - sent} ns on the way")
    check(not any(queues.values()), "messages on their way")


@case
def other_threads():
    """Messages of all threads."""
    plain = execute(mpirun(2, program("events_threads")), 2)
    skip_unless(plain.stdout.strip() == "1", "MPI_THREAD_MULTIPLE is not provided")
    trace, told = archive(logged([program("events_threads")], 2, options=["--sample", "off"]))
    clean(told)
    tags = Counter((kind, numbers(rest)["Tag"]) for kind, _, _, rest in trace.of("MPI_SEND", "MPI_RECV"))
    check_equal(tags, {("MPI_SEND", "6"): 6, ("MPI_RECV", "6"): 6, ("MPI_SEND", "5"): 8, ("MPI_RECV", "5"): 8}, "tags")


@case
def large_world():
    """More threads than a process may have files open at first."""
    edited = edit_log.with_world_of(exchange(), scratch("edited"), 1500)
    path, told = export(edited, "otf2", "trace.otf2", files=100)
    trace = Archive(path).check()
    check_equal(len(trace.main_locations()), 1500, "ranks: " + told)
    check_equal(len(trace.of("MPI_RECV")), EXCHANGE_RANKS * ROUNDS + 1, "receives")


@case
def there_already():
    """A directory that holds something stays as it is."""
    place = logged([program("openmp_gcc_events")], 1)
    os.makedirs(scratch("kept"))
    with open(scratch("kept/file"), "w", encoding="utf-8") as stream:
        stream.write("kept")
    path, told = export(place, "otf2", "kept", code=1)
    check("kept is there already" in told and os.listdir(path) == ["file"], told)


@case
def too_little_room():
    """On a full device it says so, and leaves nothing, wherever it comes to the end."""
    skip_unless(os.geteuid() == 0 and shutil.which("mount"), "only root may mount a small device")
    place = exchange()
    for kilobytes in (8, 40, 300, 500):
        os.makedirs(scratch(f"small{kilobytes}"))
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "none", scratch(f"small{kilobytes}")],
                                 check=False, capture_output=True)
        skip_unless(mounted.returncode == 0, "no small device can be mounted")
        try:
            path, told = export(place, "otf2", f"small{kilobytes}/trace.otf2", code=1)
            check("No space left on device" in told, told)
            check_equal(os.listdir(os.path.dirname(path)), [], "what is left")
        finally:
            subprocess.run(["umount", scratch(f"small{kilobytes}")], check=True)


@case
def bounded_memory():
    """Memory does not grow with the number of events, for either format: 20 times the events, the same peak."""
    command = os.path.join(WRAPPERS, "dwell-gcc")
    skip_unless(os.path.exists(command), "dwell-gcc was not built")
    peaks = {}
    for calls_made in (50_000, 1_000_000):
        binary = scratch(f"loop{calls_made}")
        run = execute([command, "-g", "-O2", f"-DCALLS={calls_made}", source("events_loop.c"), "-o", binary],
                      env={"DWELL_CC_ALL": "1"}, cwd=scratch())
        check_equal(run.code, 0, "dwell-gcc" + run.describe())
        out = scratch(f"out{calls_made}")
        run = execute([DWELL, "run", "--probe-limit", "off", "--events", "--events-ring", "65536", "-o", out, binary])
        check_equal(run.code, 0, "dwell run" + run.describe())
        for form in ("epilog", "otf2"):
            words = [DWELL, "export", out, "--to", form, "-o", scratch(f"{form}{calls_made}")]
            with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE) as process:
                told = process.stderr.read().decode()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = status
            check_equal(status, 0, f"dwell export: {told}")
            peaks[form, calls_made] = usage.ru_maxrss
        size = os.path.getsize(scratch(f"epilog{calls_made}"))
        check(size > 16 * 2 * calls_made, f"{size} bytes for {calls_made} calls")
    for form in ("epilog", "otf2"):
        few, many = peaks[form, 50_000], peaks[form, 1_000_000]
        check(many < few + 6000, f"{form}: {few} KiB for 50000 calls, {many} KiB for 1000000")


if __name__ == "__main__":
    main()
