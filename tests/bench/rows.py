"""The rows of the table: each measures one thing and returns what it found."""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system", "support"))
import inputs  # noqa: E402
from measuring import Interval, NotMeasured, apart, number_after, ratios  # noqa: E402

ROWS = {}


class Row:
    """`reached`: True, False, None for what has no figure to reach, or why there is no verdict."""

    def __init__(self, what, to_reach, measured, reached=None):
        self.what, self.to_reach, self.measured, self.reached = what, to_reach, measured, reached


def row(name):
    def add(function):
        ROWS[name] = function
        return function
    return add


EXTRA_CALLS = ("Isend", "Irecv", "Wait (for a send)", "Wait (for a receive)",
               "Send + Recv (each), cold caches", "Testany of 16, unsuccessful, repeated")
POLLS = ("Iprobe, unsuccessful, repeated", "Test, unsuccessful, repeated")


def parse_call_cost(text):
    """The pair of time stamp reads in ns, and the added ns of each call."""
    pair_ns = number_after("pair of time stamp reads:", text)
    lines = re.findall(r"^(\S.*?)\s+[\d.]+\s+[\d.]+\s+(-?[\d.]+)\s+-?[\d.]+$", text, re.M)
    if not lines:
        raise NotMeasured("call_cost printed no figures")
    return pair_ns, {name: float(added) for name, added in lines}


@row("calls")
def call_costs(bench):
    """One wrapped call: depth 1, paths of ten frames, the whole path, and no dwell at all."""
    argv = [bench.program("call_cost"), "150" if bench.quick else "3000"]

    def with_depth(options):
        return lambda: parse_call_cost(bench.run(argv, 1, options)[0])

    sampling_off = ["--sample", "off"]
    names = ("depth 1", "10 frames", "whole path", "without dwell")
    results = bench.alternate(1 if bench.quick else 7,
                              with_depth(sampling_off + ["--callpath", "1"]),
                              with_depth(sampling_off + ["--callpath", "10"]),
                              with_depth(sampling_off + ["--callpath", "all"]),
                              with_depth(None))
    rows = []
    for name, for_calls, for_polls, runs in zip(names, (2.5, 4.0, None, None),
                                                (0.4, None, None, None), results):
        for call in runs[0][1]:
            limit = for_polls if call in POLLS else for_calls
            added = [figures[call] for _, figures in runs]
            pairs = [figures[call] / pair_ns for pair_ns, figures in runs]
            middle = statistics.median(pairs)
            wanted = limit is not None and call not in EXTRA_CALLS
            rows.append(Row(f"{name}: {call}", f"{limit} pairs" if wanted else "-",
                            f"{statistics.median(added):.1f} ns = {middle:.2f} pairs "
                            f"({min(pairs):.2f} to {max(pairs):.2f} in {len(runs)} runs)",
                            middle <= limit if wanted else None))
    return [only for only in rows
            if not only.what.startswith(("whole", "without")) or "Send + Recv" in only.what]


@row("collectives")
def collective_costs(bench):
    """The wait analysis of collectives, two ranks of one node: on against off."""
    chunks = "100" if bench.quick else "2000"

    def with_analysis(mode):
        argv = ["env", f"DWELL_WAIT={mode}", bench.program("collective_cost"), chunks]
        return lambda: {name: float(ns) for name, ns in re.findall(
            r"^(\S.*?): ([\d.]+)$", bench.run(argv, 2, ["--sample", "off"])[0], re.M)}

    rows = []
    for way_ns, (off, on) in bench.in_places(2 if bench.quick else 11, with_analysis("off"),
                                             with_analysis("node")):
        for name in off[0]:
            added = Interval([b[name] - a[name] for a, b in zip(off, on)])
            limit = 150 if name in ("Barrier", "Allreduce") else None
            rows.append(Row(f"wait analysis: {name}{apart(way_ns)}", f"{limit} ns" if limit else "-",
                            f"{added.median:+.0f} ns [{added.low:+.0f}, {added.high:+.0f}]"
                            + added.remark(), added.median <= limit if limit else None))
    return rows


@row("io")
def io_costs(bench):
    """One wrapped I/O call: recorded, with --io off, and no dwell at all."""
    file = os.path.join(bench.directory("io"), "file")
    argv = [bench.program("io_cost"), file, "150" if bench.quick else "3000"]

    def with_options(options):
        return lambda: {name: float(added) for name, added in re.findall(
            r"^(\S.*?): (-?[\d.]+) of [\d.]+$", bench.run(argv, 1, options)[0], re.M)}

    names = ("recorded", "--io off", "without dwell")
    results = bench.alternate(1 if bench.quick else 7, with_options(["--sample", "off", "--io", "on"]),
                              with_options(["--sample", "off", "--io", "off"]), with_options(None))
    rows = []
    for name, limit, runs in zip(names, (60, 5, None), results):
        for call in runs[0]:
            added = [run[call] for run in runs]
            middle = statistics.median(added)
            rows.append(Row(f"{name}: {call}", f"{limit} ns" if limit else "-",
                            f"{middle:+.1f} ns ({min(added):+.1f} to {max(added):+.1f})",
                            middle <= limit if limit else None))
    return rows


def probe_cost(text):
    """Nanoseconds of a call, a loop and a pair of time stamp reads, as probe_cost prints them."""
    return {name: number_after(f"{name} ", text) for name in ("call", "loop", "stamps")}


@row("probes")
def probe_costs(bench):
    """A pair of probes against the same program without, each in runs of its own."""
    chunks = "300" if bench.quick else "3000"
    where = bench.directory("probes")
    everything_off = os.path.join(where, "off")
    with open(everything_off, "w", encoding="utf-8") as stream:
        stream.write("off all\n")

    def variant(name, before=(), **variables):
        argv = [*before, bench.program(f"probe_cost_{name}"), chunks]
        environment = {**bench.environment, **variables}
        return lambda: probe_cost(bench.execute(argv, where, environment)[0])

    observed = {"LD_PRELOAD": bench.library, "DWELL_QUIET": "1", "DWELL_PROBE_LIMIT": "off",
                "DWELL_COMMAND": bench.dwell, "DWELL_OUT": os.path.join(where, "out")}
    variants = {"probes": variant("dwell", **observed),
                "site off": variant("dwell", **observed, DWELL_ENABLE=everything_off),
                "without the library": variant("dwell"),
                "gcc -pg": variant("pg"), "empty hooks": variant("hooks")}
    uftrace = shutil.which("uftrace")
    if uftrace is not None:
        variants["uftrace"] = variant("pg", (uftrace, "record", "--no-libcall", "-d",
                                             os.path.join(where, "uftrace")))
    plain, *results = bench.alternate(1 if bench.quick else 7, variant("plain"),
                                      *variants.values())
    rows = []
    for name, runs in zip(variants, results):
        for what in ("call", "loop"):
            if what == "loop" and name in ("gcc -pg", "empty hooks", "uftrace"):
                continue
            added = [run[what] - bare[what] for run, bare in zip(runs, plain)]
            middle = statistics.median(added)
            pairs = statistics.median(more / run["stamps"] for more, run in zip(added, runs))
            limit, good = {"probes": ("1.5 pairs", pairs <= 1.5),
                           "site off": ("1 ns", middle < 1)}.get(name, ("-", None))
            rows.append(Row(f"{'procedure' if what == 'call' else what}: {name}", limit,
                            f"{middle:.2f} ns = {pairs:.2f} pairs ({min(added):.2f} to "
                            f"{max(added):.2f} ns in {len(added)} runs)", good))
    if uftrace is None:
        rows.append(Row("procedure: uftrace", "-", "not installed (Debian: uftrace)"))
    return rows


@row("blocks")
def block_costs(bench):
    """Blocks, markers and procedures of -finstrument-functions on a known path, and unobserved."""
    argv = [bench.program("block_cost"), "150" if bench.quick else "3000"]
    wanted = ("block", "block by name", "marker", "-finstrument-functions")

    def costs(options):
        def measure():
            text = bench.run(argv, 1, options)[0]
            return [number_after("pair of time stamp reads:", text)] + [
                number_after(rf"(?m)^{re.escape(name)}:", text) for name in wanted]
        return measure

    observed, alone = bench.alternate(1 if bench.quick else 7, costs(["--sample", "off"]),
                                      costs(None))
    rows = []
    for i, name in enumerate(wanted, 1):
        middle = statistics.median(run[i] for run in observed)
        pairs = statistics.median(run[i] / run[0] for run in observed)
        rows.append(Row(f"{name}, observed", "-", f"{middle:.1f} ns = {pairs:.2f} pairs"))
        unobserved = statistics.median(run[i] for run in alone)
        limit = None if name.startswith("-") else 1.0
        rows.append(Row(f"{name}, without the library", f"{limit} ns" if limit else "-",
                        f"{unobserved:.2f} ns", unobserved <= limit if limit else None))
    return rows


@row("fortran")
def fortran_costs(bench):
    """The difference between whole runs of an mpi_f08 program: there is no way round dwell in one."""
    argv = [bench.program("call_cost_f08"), "150" if bench.quick else "3000"]

    def costs(options):
        lines = re.findall(r"^(\S.*?)\s+([\d.]+)$", bench.run(argv, 1, options)[0], re.M)
        return {name: float(cost) for name, cost in lines}

    options = ["--sample", "off", "--callpath", "1"]
    plain, observed = bench.alternate(2 if bench.quick else 7, lambda: costs(None),
                                      lambda: costs(options))
    rows = []
    for call in plain[0]:
        added = Interval([b[call] - a[call] for a, b in zip(plain, observed)])
        rows.append(Row(f"mpi_f08, depth 1: {call}", "-",
                        f"{added.median:+.1f} ns [{added.low:+.1f}, {added.high:+.1f}]"
                        + added.remark()))
    return rows


@row("memory")
def memory(bench):
    text = bench.execute([bench.program("record_sizes")])[0]
    size = {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", text, re.M)}
    good = size["node"] == 64 and size["communication"] == 64 and size["peer"] == 64
    return [Row("memory of a record", "64 + 64 + 64 bytes",
                f"node {size['node']}, communication node {size['communication']} more, "
                f"peer {size['peer']}, histogram {size['histogram']} bytes", good)]


def without_digits(text):
    return re.sub(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", "#", text)


def sizes_after(bench, calls):
    """Record file bytes of each rank, and of each output its bytes as it is and without digits."""
    out = bench.directory(f"sizes.{calls}")
    bench.execute([bench.mpirun, "-n", "2", bench.dwell, "run", "--quiet", "--sample", "off", "-o",
                   out, "--", bench.program("same_statements"), str(calls)])
    files = {}
    for name in ("profile.json", "report.txt", "stats.picl"):
        with open(os.path.join(out, name), encoding="utf-8") as stream:
            files[name] = stream.read()
    profile = json.loads(files["profile.json"])
    records = [rank["record_bytes"] for rank in profile["ranks"]]
    entries = tuple(len(profile[key]) for key in ("nodes", "intervals", "rows", "peers"))
    return records, entries, files


@row("size")
def size_after_calls(bench):
    """Ten thousand and ten million calls of the same statements. Record files must be equal to the
    byte. Numbers in text have more digits after a longer run, and a PICL pair appears when the
    first of a statement's receives has to wait, so outputs are compared without digits and may
    differ by a tenth."""
    few, many = (1000, 100000) if bench.quick else (10**4, 10**7)
    records_few, entries_few, files_few = sizes_after(bench, few)
    records_many, entries_many, files_many = sizes_after(bench, many)
    rows = [Row(f"record files, {few:.0e} and {many:.0e} calls", "same size",
                f"{records_few} and {records_many} bytes of the two ranks",
                records_few == records_many),
            Row("profile.json, number of entries", "same",
                "nodes {}, intervals {}, rows {}, peers {}".format(*entries_few)
                + ("" if entries_few == entries_many else
                   "; then {}, {}, {}, {}".format(*entries_many)), entries_few == entries_many)]
    for name, before in files_few.items():
        after = files_many[name]
        bare_before, bare_after = len(without_digits(before)), len(without_digits(after))
        rows.append(Row(f"{name}", "same size",
                        f"{len(before)} and {len(after)} bytes, without digits {bare_before} and "
                        f"{bare_after}; {before.count(chr(10))} and {after.count(chr(10))} lines",
                        abs(bare_after - bare_before) <= bare_before // 10))
    return rows


MERGE_RUN = re.compile(r"^(\d+) ranks of (\d+) nodes: (\d+) merged nodes.*peak memory (\d+) MB$", re.M)
MERGE_STEP = re.compile(r"^\s*(\d+)\s+(\d+)\s+([\d.]+)\s+(\d+)\s+([\d.]+)$", re.M)


@row("merge")
def merge(bench):
    """Linear in nodes: four times the nodes must not take more than five times as long in the step
    to 512 ranks, of which 4096 ranks make eight. Not in ranks: the last step of the large job must not take more than twice
    as long as the one that makes 64 ranks out of two times 32."""
    text = bench.execute([bench.program("merge_bench"), "2000" if bench.quick else "100000"],
                         timeout_s=1800)[0]
    heads = list(MERGE_RUN.finditer(text))
    if len(heads) < 4:
        raise NotMeasured("merge_bench printed no figures")
    runs = []
    for head, after in zip(heads, heads[1:] + [None]):
        part = text[head.end():after.start() if after else len(text)]
        steps = [(int(step[1]), float(step[2])) for step in MERGE_STEP.findall(part)]
        runs.append((int(head[1]), int(head[2]), int(head[4]), steps))
    ranks, nodes, peak_mb, steps = runs[0]
    by_nodes = {run[1]: next(ms for after, ms in run[3] if after >= min(512, run[0]))
                for run in runs[1:]}
    least, most = min(by_nodes), max(by_nodes)
    growth = by_nodes[most] / by_nodes[least]
    sixty_four = next(ms for after, ms in steps if after >= 64)
    last = steps[-1][1]
    return [Row(f"merge of {ranks} ranks, {nodes} nodes: peak", "200 MB",
                f"{peak_mb} MB, of all ranks that are alive at once", peak_mb < 200),
            Row("merge step, time by nodes", "linear",
                f"{by_nodes[least]:.2f} ms for {least} nodes, {by_nodes[most]:.2f} for {most}: "
                f"{growth:.1f} times for {most // least} times as many",
                growth <= 1.25 * most / least),
            Row("merge step, time by ranks", "not linear",
                f"{sixty_four:.2f} ms for 64 ranks, {last:.2f} for all {ranks}",
                last <= 2 * sixty_four)]


@row("where")
def where(bench):
    """`dwell where` of many ranks on one host: its second reading, when the lines are known."""
    ranks = 100 if bench.quick else 1000
    text = bench.execute([bench.program("where_bench"), str(ranks)], timeout_s=600)[0]
    found = re.search(r"lines known: ([0-9.]+) ms", text)
    if not found:
        raise NotMeasured("where_bench printed no figures")
    return [Row(f"where of {ranks} ranks on one host", "100 ms", f"{found[1]} ms",
                float(found[1]) <= 100)]


KEEP_MERGED = """#!/bin/sh
# Stands in for the dwell command at the end of a run: takes what it was given to a place of its own.
cp -R "$2" "$KEPT_DIRECTORY" && rm -r "$2"
"""


def thousand_lines(lines):
    """A C program with `lines` communication lines in functions of 20."""
    text = ["#include <mpi.h>", "static char out[8], in[8];"]
    functions = -(-lines // 20)
    for number in range(functions):
        text.append(f"static __attribute__((noinline)) void step_{number}(void) {{")
        for line in range(min(20, lines - 20 * number)):
            text.append("    MPI_Recv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);"
                        if line % 2 else "    MPI_Send(out, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF);")
        text.append("}")
    text += ["int main(int argc, char** argv) {", "    MPI_Init(&argc, &argv);"]
    text += [f"    step_{number}();" for number in range(functions)]
    text += ["    MPI_Finalize();", "    return 0;", "}", ""]
    return "\n".join(text)


TOP_RUN = re.compile(r"first reading ([\d.]+) ms, refresh ([\d.]+) ms.*private memory (\d+) MB")


@row("top")
def top(bench):
    """A reading of running ranks whose lines are known; and whether a rank executes more while it is
    watched: counted in a function that never waits, by callgrind."""
    text = bench.execute([bench.program("top_bench")], timeout_s=300)[0]
    found = TOP_RUN.search(text)
    if found is None:
        raise NotMeasured("top_bench printed no figures")
    refresh_ms, memory_mb = float(found[2]), int(found[3])
    rows = [Row("refresh of top, 64 ranks x 2000 nodes", "20 ms, 100 MB",
                f"{refresh_ms:.1f} ms, {memory_mb} MB beside the records",
                refresh_ms <= 20 and memory_mb <= 100)]
    if shutil.which("valgrind") is None:
        return rows
    # What happens once in a run, such as a look at the clock's rate, is not the viewer's.
    alone, watched = (min(instructions_of_a_rank(bench, viewed) for _ in range(3))
                      for viewed in (False, True))
    more = 100 * (watched - alone) / alone
    return rows + [Row("instructions of a rank, with top at 1 Hz", "equal within 0.01 %",
                       f"{alone} alone, {watched} watched: {more:+.4f} %", abs(more) <= 0.01)]


def instructions_of_a_rank(bench, watched):
    """Instructions of steady_calls in work()."""
    where = bench.directory("watched" if watched else "alone")
    counts = os.path.join(where, "counts")
    calls = "2000" if bench.quick else "60000"
    env = dict(os.environ, LD_PRELOAD=bench.library, DWELL_SAMPLE="off", DWELL_QUIET="1",
               DWELL_RECORD_DIR=where, DWELL_OUT=os.path.join(where, "out"))
    rank = subprocess.Popen(["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}",
                             "--toggle-collect=work", bench.program("steady_calls"), calls],
                            env=env, cwd=where, stdout=subprocess.PIPE, text=True)
    rank.stdout.readline()
    viewer = None
    if watched:
        viewer = subprocess.Popen([bench.dwell, "top", "--json"], stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, DWELL_RECORD_DIR=where))
    rank.communicate(timeout=600)
    if viewer is not None:
        lines = viewer.communicate(timeout=60)[0].splitlines()
        if len(lines) < 3 and not bench.quick:
            raise NotMeasured(f"top has read the rank {len(lines)} times only")
    with open(counts, encoding="utf-8") as stream:
        totals = re.search(r"^(?:totals|summary): (\d+)", stream.read(), re.M)
    if rank.returncode != 0 or totals is None:
        raise NotMeasured("callgrind printed no figures")
    return int(totals[1])


def merged_records(bench, lines):
    """The directory that rank 0 leaves for `dwell finish`, from two ranks of a generated program."""
    where = bench.directory("thousand")
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    if compiler is None:
        raise NotMeasured("mpicc is not installed")
    with open(os.path.join(where, "lines.c"), "w", encoding="utf-8") as stream:
        stream.write(thousand_lines(lines))
    bench.execute([compiler, "-g", "-O1", "lines.c", "-o", "lines"], where)
    keeper = os.path.join(where, "keep")
    with open(keeper, "w", encoding="utf-8") as stream:
        stream.write(KEEP_MERGED)
    os.chmod(keeper, 0o755)
    kept = os.path.join(where, "kept")
    bench.execute([bench.mpirun, "-n", "2", "-x", f"LD_PRELOAD={bench.library}", "-x",
                   f"DWELL_COMMAND={keeper}", "-x", "DWELL_SAMPLE=off", "-x",
                   f"KEPT_DIRECTORY={kept}", os.path.join(where, "lines")], where)
    if not os.path.exists(os.path.join(kept, "merged")):
        raise NotMeasured("no merged records were kept")
    return kept


@row("report")
def end_of_run(bench):
    """`dwell finish` on merged records, as rank 0 starts it in MPI_Finalize."""
    kept = merged_records(bench, 1000)
    times_s = []
    nodes = 0
    for number in range(3 if bench.quick else 11):
        job = os.path.join(bench.scratch, f"job.{number}")
        out = os.path.join(bench.scratch, f"report.{number}")
        shutil.copytree(kept, job)
        os.chmod(job, 0o700)
        times_s.append(bench.execute([bench.dwell, "finish", job, "-o", out, "--quiet"])[1])
        with open(os.path.join(out, "profile.json"), encoding="utf-8") as stream:
            profile = json.load(stream)
        nodes = len(profile["nodes"])
    if nodes < 1000:
        raise NotMeasured(f"the profile has only {nodes} nodes")
    median_s = statistics.median(times_s)
    return [Row(f"end of run: report of {nodes} nodes", "0.2 s",
                f"{median_s:.3f} s ({min(times_s):.3f} to {max(times_s):.3f} in {len(times_s)} runs; "
                f"{len(profile['intervals'])} intervals besides)", median_s < 0.2)]


@row("sampling")
def sampling(bench):
    """What the sampling interrupt takes from a rank on each core, measured as the gaps in a loop that
    only reads the clock: other processes' time slices are no part of it. Against the same without
    sampling, because the system's own clock interrupts too. What an interrupt does to the caches
    shows in equal chunks of computation only, which other processes disturb as well."""
    ranks = min(2, os.cpu_count() or 1)
    spin = [bench.program("interruptions"), "200" if bench.quick else "2000"]
    argv = [bench.program("compute"), *(("8", "20") if bench.quick else ("40", "50"))]

    def interrupted(options):
        return lambda: number_after("interrupted_percent", bench.run(spin, ranks, options)[0])

    def chunk_ms(options):
        return lambda: number_after("chunk_ms", bench.run(argv, ranks, options)[0])

    rounds = 2 if bench.quick else bench.pairs
    on, off = bench.alternate(rounds, interrupted(["--sample", "100"]),
                              interrupted(["--sample", "off"]))
    more = Interval([a - b for a, b in zip(on, off)])
    sampled, unsampled, plain = bench.alternate(rounds, chunk_ms(["--sample", "100"]),
                                                chunk_ms(["--sample", "off"]), chunk_ms(None))
    return [Row("sampling at 100 Hz: time in interrupts", "0.2 %",
                f"{more.median:+.4f} % [{more.low:+.4f}, {more.high:+.4f}] on top of "
                f"{statistics.median(off):.4f} %" + more.remark(), below(more, 0.2)),
            Row("sampling at 100 Hz: computation, against off", "-",
                ratios(sampled, unsampled).percent()),
            Row("sampling at 100 Hz: computation, against plain", "-",
                ratios(sampled, plain).percent())]


@row("sampled_paths")
def sampled_paths(bench):
    """Interrupts, with the piece of stack, and unwinding together: at 10 kHz against none, where the
    share stands out of the noise, and a hundredth of that for 100 Hz."""
    argv = [bench.program("sampled_paths"), "10" if bench.quick else "40"]

    def group_ms(rate):
        return lambda: number_after("group_ms:", bench.run(argv, 1, ["--sample", rate])[0])

    often, never = bench.alternate(2 if bench.quick else bench.pairs, group_ms("10000"),
                                   group_ms("off"))
    share = Interval([(a / b - 1) for a, b in zip(often, never)])  # percent at 100 Hz
    return [Row("sampled call paths at 100 Hz: time of the program", "0.3 %",
                f"{share.median:+.3f} % [{share.low:+.3f}, {share.high:+.3f}]" + share.remark(),
                below(share, 0.3))]


@row("start")
def start_and_end(bench):
    """An empty MPI program of two ranks."""
    argv = [bench.program("empty")]

    def times(options):
        stdout, elapsed_s = bench.run(argv, 2, options)
        return elapsed_s * 1e3, number_after("init_ms", stdout), number_after("finalize_ms", stdout)

    plain, observed = bench.alternate(3 if bench.quick else max(11, bench.pairs),
                                      lambda: times(None), lambda: times([]))
    rows = []
    for which, name in enumerate(("whole command", "MPI_Init", "MPI_Finalize and report")):
        more = Interval([b[which] - a[which] for a, b in zip(plain, observed)])
        usual = statistics.median(a[which] for a in plain)
        rows.append(Row(f"once: {name}", "-",
                        f"{more.median:+.1f} ms [{more.low:+.1f}, {more.high:+.1f}] on top of "
                        f"{usual:.1f}" + more.remark()))
    return rows


def verdict(interval, reached):
    """No verdict from fewer pairs than an interval of 95 % needs, or from one wider than 5 %."""
    if interval.coverage < 0.95:
        return "too few pairs"
    return reached if interval.high - interval.low <= 0.05 else "too noisy"


def below(interval, limit):
    """A verdict where the whole interval lies on one side of the limit."""
    if interval.coverage < 0.95:
        return "too few pairs"
    if interval.low <= limit < interval.high:
        return "too noisy"
    return interval.high <= limit


def slowdown_rows(name, plain, observed, timers):
    """The figure is for the program's own timer, the first; wall time is shown as well."""
    rows = []
    for which, timer in enumerate(timers):
        slower = ratios([b[which] for b in observed], [a[which] for a in plain])
        reached = slower.median <= 1.005 or slower.low <= 1
        rows.append(Row(f"{name}: {timer}",
                        "0.5 % or 0 in interval" if which == 0 else "-",
                        slower.percent(), verdict(slower, reached) if which == 0 else None))
    return rows


@row("lammps")
def lammps(bench):
    """Many short runs say more than few long ones: start-up is not in the loop time, and each pair
    meets another moment of the machine."""
    path = shutil.which("lmp")
    if path is None:
        raise NotMeasured("lmp is not installed (Debian: lammps)")
    where = bench.directory("lammps")
    with open(os.path.join(where, "in.melt"), "w", encoding="utf-8") as stream:
        stream.write(inputs.lammps_melt(10, 100 if bench.quick else 1000, 100))
    argv = [path, "-in", "in.melt", "-log", "none"]

    def times(options):
        stdout, elapsed_s = bench.run(argv, 2, options, where)
        return number_after("Loop time of", stdout), elapsed_s

    plain, observed = bench.alternate(2 if bench.quick else 4 * bench.pairs, lambda: times(None),
                                      lambda: times([]))
    return slowdown_rows("LAMMPS melt", plain, observed, ("its loop time", "whole command"))


@row("hpcc")
def hpcc(bench):
    """hpcc times its parts one by one: the own time is the sum of those that communicate."""
    path = shutil.which("hpcc")
    if path is None:
        raise NotMeasured("hpcc is not installed (Debian: hpcc)")
    where = bench.directory("hpcc")
    with open(os.path.join(where, "hpccinf.txt"), "w", encoding="utf-8") as stream:
        stream.write(inputs.hpcc(*((64, 16) if bench.quick else (1200, 64))))
    result = os.path.join(where, "hpccoutf.txt")

    def times(options):
        if os.path.exists(result):
            os.remove(result)
        _, elapsed_s = bench.run([path], 2, options, where)
        with open(result, encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        own = re.findall(r"^(?:HPL_time|PTRANS_time|MPIRandomAccess(?:_LCG)?_time|MPIFFT_time\d)="
                         r"([\d.eE+-]+)$", text, re.M)
        if len(own) < 5:
            raise NotMeasured("hpcc did not print its times")
        return sum(float(seconds) for seconds in own), elapsed_s

    plain, observed = bench.alternate(2 if bench.quick else bench.pairs, lambda: times(None),
                                      lambda: times([]))
    return slowdown_rows("hpcc", plain, observed, ("its timed parts", "whole command"))
