"""Rows about source probes: what the compiler still does with code that has them."""

import glob
import os
import re
import subprocess

from measuring import NotMeasured
from rows import Row, row

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
    own = sorted(glob.glob(os.path.join(here, "..", "..", "summarize", "*.cpp")))
    own = own[:3] if bench.quick else own
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
