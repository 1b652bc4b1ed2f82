"""Rows about source probes in whole programs: what the compiler still does with code that has them,
and how much slower such programs run."""

import glob
import os
import re
import subprocess

from measuring import NotMeasured, number_after, ratios
from rows import Row, row, verdict

OPTIONS = ("-O3", "-march=x86-64-v3", "-ffast-math", "-w", "-fopt-info-vec-optimized")


def vectorised_loops(command, directory):
    """How many loops of a source were vectorised."""
    done = subprocess.run([*command, *OPTIONS, "-c", "-o", "/dev/null"], capture_output=True,
                          text=True, cwd=directory)  # gfortran leaves a module there
    if done.returncode != 0:
        raise NotMeasured(f"{' '.join(command)}: {done.stderr.strip()[-200:]}")
    return len(re.findall(r"optimized: loop vectorized", done.stderr))


@row("vectorised")
def vectorised(bench):
    here = os.path.dirname(os.path.abspath(__file__))
    plugin = os.path.join(bench.build, "instrument", "dwell_gcc.so")
    if not os.path.exists(plugin):
        raise NotMeasured("the plugin for gcc was not built")
    sources = [("gcc", os.path.join(here, "kernels.c")),
               ("gfortran", os.path.join(here, "kernels.f90"))]
    own = sorted(glob.glob(os.path.join(here, "..", "..", "summarize", "*", "*.cpp")))
    own = own[:1] if bench.quick else own
    flags = [f"-I{os.path.join(here, '..', '..')}", f"-I{bench.build}", "-std=c++20"]
    rows = []
    for name, listed, more in (("kernels in C and Fortran", sources, []),
                               ("dwell's own C++", [("g++", path) for path in own], flags)):
        counts = []
        for probes in ([], [f"-fplugin={plugin}"],
                       [f"-fplugin={plugin}", "-fplugin-arg-dwell_gcc-all"]):
            counts.append(sum(vectorised_loops([compiler, path, *more, *probes],
                                               bench.directory("vectorised"))
                              for compiler, path in listed))
        plain, default, everything = counts
        rows.append(Row(f"vectorised loops, {name}: plain, with probes, with all probes",
                        "as many as plain", f"{plain}, {default}, {everything}", default >= plain))
    return rows


# Of call_heavy.cpp, with rounds for about a third of a second.
HEAVY = {"fib": 12, "methods": 40, "sort": 10, "parse": 8, "tree": 8, "stencil": 12}


def built_heavy(bench, name, *options):
    """call_heavy, built plain or by dwell-g++."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "call_heavy.cpp")
    compiler = os.path.join(bench.build, "instrument", "dwell-g++") if name != "plain" else "g++"
    if name != "plain" and not os.path.exists(compiler):
        raise NotMeasured("dwell-g++ was not built")
    binary = os.path.join(bench.directory("heavy"), name)
    bench.execute([compiler, *options, "-O2", "-std=c++17", source, "-o", binary])
    return binary


def heavy_time(bench, binary, kind, **variables):
    rounds = 1 if bench.quick else HEAVY[kind]
    environment = {**bench.environment, **variables}
    stdout, _ = bench.execute([binary, kind, str(rounds)], environment=environment)
    return number_after("work_s", stdout)


@row("unobserved")
def unobserved(bench):
    """Instrumented programs without the library against plain ones, processor time of the work."""
    plain = built_heavy(bench, "plain")
    default = built_heavy(bench, "default")
    everything = built_heavy(bench, "all", "--dwell-all")
    rows = []
    for kind in HEAVY:
        bare, some, full = bench.alternate(1 if bench.quick else max(11, bench.pairs),
                                           *(lambda b=b: heavy_time(bench, b, kind)
                                             for b in (plain, default, everything)))
        slower = ratios(some, bare)
        rows.append(Row(f"unobserved, {kind}: default probes", "2 %", slower.percent(),
                        verdict(slower, slower.median <= 1.02)))
        rows.append(Row(f"unobserved, {kind}: probes everywhere", "-",
                        ratios(full, bare).percent()))
    return rows


@row("adaptive")
def adaptive(bench):
    """Instrumented programs under observation, nothing but defaults, against plain ones."""
    plain = built_heavy(bench, "plain")
    default = built_heavy(bench, "default")
    out = os.path.join(bench.directory("heavy"), "out")
    observed = {"LD_PRELOAD": bench.library, "DWELL_QUIET": "1", "DWELL_COMMAND": bench.dwell,
                "DWELL_OUT": out}
    rows = []
    for kind in HEAVY:
        bare, watched = bench.alternate(1 if bench.quick else max(11, bench.pairs),
                                        lambda: heavy_time(bench, plain, kind),
                                        lambda: heavy_time(bench, default, kind, **observed))
        slower = ratios(watched, bare)
        rows.append(Row(f"adaptive, {kind}: default probes, observed", "5 %", slower.percent(),
                        verdict(slower, slower.median <= 1.05)))
    return rows
