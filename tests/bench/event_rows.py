"""Rows about event logs: what an event costs beyond statistics, beside OTF2's writer in the same rounds; what it
takes in the ring, on disk and of `dwell run`; the flight recorder; and exports."""

import glob
import os
import re
import shutil
import statistics
import subprocess
import time

import inputs
from measuring import Interval, NotMeasured, number_after, ratios
from probe_rows import HEAVY, built_heavy, heavy_time
from rows import Row, parse_call_cost, row, verdict

EVENTS_OF_CHUNK = 2 * 2 * 101  # probe_cost: a hundred calls or loops and the one around them
ALWAYS = ["--sample", "off", "--probe-limit", "off"]
LARGE = ["--events-ring", "131072", "--memory", "256"]
LAST = "--events=last:65536"
SEND = "Send + Recv (each)"


def spread(values, digits=2):
    interval = Interval(values)
    return f"{interval.median:.{digits}f} [{interval.low:.{digits}f}, {interval.high:.{digits}f}]", interval


def probes(bench, options):
    """Nanoseconds of an enter or leave."""
    out = bench.directory("events-probes")
    chunks = "300" if bench.quick else "3000"
    stdout, _ = bench.execute([bench.dwell, "run", "--quiet", "-o", out, *ALWAYS, *options, "--",
                               bench.program("probe_cost_dwell"), chunks])
    shutil.rmtree(out)
    return number_after("call", stdout) / 2


def messages(bench, options):
    """Nanoseconds that dwell adds to a message."""
    argv = [bench.program("call_cost"), "150" if bench.quick else "1500"]
    return parse_call_cost(bench.run(argv, 1, ["--sample", "off", *options])[0])[1][SEND]


def otf2(bench):
    place = bench.directory("otf2")
    shutil.rmtree(place)
    os.makedirs(place)
    stdout, _ = bench.execute([bench.program("otf2_cost"), place, "300" if bench.quick else "3000"])
    return [number_after(name, stdout) for name in ("enter or leave", "message", "bytes")]


@row("events")
def events(bench):
    """Enters, leaves and messages with events less those without, and OTF2's writer, in each round."""
    everything, last = ["--events", *LARGE], [LAST]
    none, full, newest, other, quiet, told, kept = bench.alternate(
        2 if bench.quick else bench.pairs, lambda: probes(bench, []), lambda: probes(bench, everything),
        lambda: probes(bench, last), lambda: otf2(bench), lambda: messages(bench, []),
        lambda: messages(bench, everything), lambda: messages(bench, last))
    rows = []
    for what, with_events, without, limit in (
            ("enter or leave, all", full, none, 5), ("enter or leave, last:65536", newest, none, 5),
            ("message with its enter and leave, all", told, quiet, 10),
            ("message with its enter and leave, last:65536", kept, quiet, 10)):
        text, found = spread([a - b for a, b in zip(with_events, without)])
        rows.append(Row(f"event beyond statistics: {what}", f"{limit} ns", f"{text} ns, {found.n} rounds",
                        found.median <= limit))
    for index, what, of_dwell in ((0, "enter or leave", [a - b for a, b in zip(full, none)]),
                                  (1, "message", [a - b for a, b in zip(told, quiet)])):
        text, _ = spread([values[index] for values in other])
        ratio, _ = spread([a / values[index] for a, values in zip(of_dwell, other)], 3)
        rows.append(Row(f"OTF2's writer: {what}", "-", f"{text} ns; dwell takes {ratio} of it"))
    text, _ = spread([values[2] for values in other])
    rows.append(Row("OTF2's writer: bytes of an enter or leave", "-", text))
    return rows


@row("event_instructions")
def event_instructions(bench):
    """Of an enter or leave with a flight recorder less one without."""
    if shutil.which("valgrind") is None:
        return [Row("instructions of an event", "-", "valgrind is not installed")]
    # dwell's start takes up to 500 000 instructions more or less from run to run.
    short, long = (100, 300) if bench.quick else (200, 9000)

    def added(program, events_of_one, options=()):
        def of_one(recorder):
            counts = [instructions(bench, program, str(number), recorder, options) for number in (long, short)]
            return (counts[0] - counts[1]) / (long - short) / events_of_one
        return of_one("last:65536") - of_one("off")

    event = added("probe_cost_dwell", EVENTS_OF_CHUNK)
    call = added("steady_calls", 1, ["--toggle-collect=work"])
    return [Row("instructions of an enter or leave, beyond statistics", "20", f"{event:.1f}", event <= 20),
            Row("instructions of MPI_Sendrecv: enter, leave and two messages, beyond statistics", "-", f"{call:.0f}")]


def instructions(bench, program, number, recorder, options):
    """Of the whole program."""
    where = bench.directory("event-instructions")
    counts = os.path.join(where, "counts")
    environment = dict(bench.environment, LD_PRELOAD=bench.library, DWELL_SAMPLE="off", DWELL_QUIET="1",
                       DWELL_PROBE_LIMIT="off", DWELL_EVENTS=recorder, DWELL_OUT=os.path.join(where, "out"))
    bench.execute(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}",
                   *options, bench.program(program), number], where, environment)
    with open(counts, encoding="utf-8") as stream:
        found = re.search(r"^(?:summary|totals): (\d+)", stream.read(), re.M)
    if not found:
        raise NotMeasured("callgrind counted nothing")
    return int(found[1])


def logged(bench, chunks, name):
    """A log of `chunks` chunks of probe_cost: (its directory, bytes, processor seconds beside the program)."""
    out = os.path.join(bench.scratch, name)
    done = subprocess.run([bench.dwell, "run", "--quiet", "-o", out, *ALWAYS, "--events", *LARGE, "--",
                           bench.program("probe_cost_dwell"), str(chunks // 2)], capture_output=True, text=True,
                          env=bench.environment, cwd=bench.scratch, check=False)
    used = re.search(r"([\d.]+) s of a processor", done.stderr)
    if not used or "found no room" in done.stderr:
        raise NotMeasured(f"events: {done.stderr.strip()[-200:]}")
    bytes_ = sum(os.path.getsize(path) for path in glob.glob(os.path.join(out, "events", "*")))
    return out, bytes_, float(used[1])


@row("event_bytes")
def event_bytes(bench):
    """A regular program's bytes on disk, and the processor time of `dwell run`."""
    chunks = 400 if bench.quick else 20_000
    events_there = chunks // 2 * EVENTS_OF_CHUNK
    sizes, shares = [], []
    for number in range(2 if bench.quick else 6):
        out, size, used_s = logged(bench, chunks, f"bytes.{number}")
        sizes.append(size / events_there)
        shares.append(100 * used_s / events_there * 1e6)
        shutil.rmtree(out)
    text, size = spread(sizes)
    share, used = spread(shares)
    return [Row("bytes of an enter or leave, ring", "8", "8 (a word)", True),
            Row("bytes of an enter or leave, disk: empty procedures and loops", "3", text, size.median <= 3),
            Row("dwell run at 10^6 events a second", "5 % of a processor", f"{share} %", used.median <= 5)]


@row("flight_recorder")
def flight_recorder(bench):
    """The last 65536 records of each thread against statistics alone."""
    binary = built_heavy(bench, "default")
    observed = {"LD_PRELOAD": bench.library, "DWELL_QUIET": "1", "DWELL_COMMAND": bench.dwell,
                "DWELL_OUT": os.path.join(bench.directory("heavy"), "out")}
    rows = []
    for kind in ("fib", "tree") if not bench.quick else ("fib",):
        assert kind in HEAVY
        without, recorded = bench.alternate(
            1 if bench.quick else bench.pairs, lambda: heavy_time(bench, binary, kind, **observed),
            lambda: heavy_time(bench, binary, kind, DWELL_EVENTS="last:65536", **observed))
        rows.append(Row(f"flight recorder, {kind}: default probes", "-", ratios(recorded, without).percent()))
    path = shutil.which("lmp")
    if path is None:
        return rows + [Row("flight recorder, LAMMPS", "1 %", "lmp is not installed (Debian: lammps)")]
    where = bench.directory("lammps")
    with open(os.path.join(where, "in.melt"), "w", encoding="utf-8") as stream:
        stream.write(inputs.lammps_melt(10, 100 if bench.quick else 1000, 100))
    argv = [path, "-in", "in.melt", "-log", "none"]

    def loop_s(options):
        return number_after("Loop time of", bench.run(argv, 2, options, where)[0])

    without, recorded = bench.alternate(1 if bench.quick else 2 * bench.pairs, lambda: loop_s([]),
                                        lambda: loop_s([LAST]))
    slower = ratios(recorded, without)
    return rows + [Row("flight recorder, LAMMPS: loop time", "1 %", slower.percent(),
                       verdict(slower, slower.median <= 1.01))]


@row("exports")
def exports(bench):
    """Events a second, and the most memory, for logs of which one is ten times as large."""
    rows = []
    logs = [(count, logged(bench, 2 * count // EVENTS_OF_CHUNK, f"log.{count}")[0])
            for count in ((10_000, 100_000) if bench.quick else (1_000_000, 10_000_000))]
    for form, wanted in (("perfetto", 2), ("epilog", 2), ("otf2", None), ("sddf", 1), ("sddf-binary", None),
                         ("picl", 1), ("chrome", 1)):
        told = []
        for count, place in logs:
            out = os.path.join(bench.scratch, "exported")
            begin = time.monotonic()
            done = subprocess.Popen([bench.dwell, "export", place, "--to", form, "-o", out,
                                     *(["--limit", "100000"] if form == "chrome" else [])],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            _, status, usage = os.wait4(done.pid, 0)
            elapsed_s = time.monotonic() - begin
            if status != 0:
                raise NotMeasured(f"dwell export --to {form} failed")
            told.append((count / elapsed_s / 1e6, usage.ru_maxrss / 1024, count / usage.ru_utime / 1e6))
            (shutil.rmtree if os.path.isdir(out) else os.remove)(out)
        (_, small, _), (rate, large, _) = told
        rows.append(Row(f"export to {form}: 10^6 events a second", "-" if wanted is None else str(wanted),
                        f"{rate:.2f}; {small:.0f} MB for {logs[0][0]:.0e} events, {large:.0f} MB for {logs[1][0]:.0e}",
                        None if wanted is None else rate >= wanted))
    return rows
