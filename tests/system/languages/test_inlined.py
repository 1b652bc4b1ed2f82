"""Procedures that the compiler inlined, in programs with probes: they stand in the tree by name where
what is measured in them leads, and `dwell report --site` finds them. The figures of inlined.c."""

import csv
import io
import json
import os
import shutil

from harness import (DWELL, case, check, check_equal, execute, main, mpirun, scratch, skip_unless,
                     source)
from probed_program import WRAPPERS

COMPILERS = {"gcc": "dwell_gcc.so", "clang": "dwell_llvm.so"}


def profiled_with(compiler, level):
    """A directory with the profile of one rank."""
    skip_unless(os.path.exists(os.path.join(WRAPPERS, COMPILERS[compiler])) and
                shutil.which(compiler) and shutil.which("mpicc"), f"no mpicc with {compiler}")
    binary = scratch("inlined")
    built = execute([os.path.join(WRAPPERS, "dwell-mpicc"), "-g", level,
                     source("inlined.c"), "-o", binary], env={"OMPI_CC": compiler})
    check_equal(built.code, 0, built.describe())
    out = scratch("out")
    shutil.rmtree(out, ignore_errors=True)
    run = execute([DWELL, "run", "-o", out, *mpirun(1), binary], ranks=1)
    check_equal(run.code, 0, run.describe())
    return out


def rows_of(out):
    report = execute([DWELL, "report", "--format", "csv", out])
    check_equal(report.code, 0, report.describe())
    return list(csv.DictReader(io.StringIO(report.stdout)))


def names(row):
    """Of the procedures and loops on the path to a row; a call and what it calls once."""
    parts = [part.split("@")[0] for part in row["path"].split("/")[1:]]
    return [part for before, part in zip([""] + parts, parts) if part != before]


@case
def loops_lead_to_their_procedures():
    """relax and smooth stand around their loops, without entries of their own."""
    for compiler in COMPILERS:
        for level in ("-O1", "-O2", "-O3"):
            what = f"{compiler} {level}"
            rows = rows_of(profiled_with(compiler, level))
            inlined = [row for row in rows if "inlined" in row["labels"].split()]
            check_equal({row["name"] for row in inlined if row["name"] != "crunch"},
                        {"relax", "smooth"}, f"{what}: inlined")
            check(all(row["kind"] == "proc" and row["count"] in ("", "0") for row in inlined),
                  f"{what}: {inlined}")
            barriers = sorted(int(row["count"]) for row in rows
                              if row["name"] == "MPI_Barrier" and "relax" in names(row))
            check_equal(sum(barriers), 30, f"{what}: barriers in relax")
            nested = [row for row in rows if row["name"] == "MPI_Barrier" and "smooth" in names(row)]
            check_equal(sum(int(row["count"]) for row in nested), 20, f"{what}: in smooth")
            for row in nested:
                check_equal(names(row), ["main", "smooth", "loop", "relax", "loop", "MPI_Barrier"],
                            what)


@case
def found_by_name():
    """--site names them, with what is known."""
    out = profiled_with("gcc", "-O2")
    for name in ("relax", "smooth"):
        report = execute([DWELL, "report", "--site", name, out])
        check_equal(report.code, 0, report.describe())
        check("inlined" in report.stdout, report.describe())
    with open(os.path.join(out, "profile.json"), encoding="utf-8") as file:
        samples = sum(rank.get("samples", 0) for rank in json.load(file)["ranks"])
    skip_unless(samples > 2, "no samples here")
    report = execute([DWELL, "report", "--site", "crunch", out])
    check_equal(report.code, 0, report.describe())
    check("samples" in report.stdout, report.describe())


if __name__ == "__main__":
    main()
