"""What a program tells about itself: dwell.h, module dwell, Kokkos callbacks,
-finstrument-functions. The right answers stand at the head of each program; most are read from the
records of a program that kills itself (record_file.py)."""

import json
import os
import shutil
import subprocess

from harness import (DWELL, LIBRARY, case, check, check_equal, execute, main, mpirun, program,
                     scratch, skip_unless, source)
from record_file import CODE, NAMED, PHASE, records_of

INCLUDE = os.path.join(source(""), "..", "..", "runtime")
COMPILERS = {"gcc": "g++", "clang": "clang++"}


def compiled(compiler, name, *flags):
    """A program of this folder compiled with plain compilers; null when the flags do not work."""
    target = scratch(f"{name}-{compiler}{'-'.join(flags).replace('/', '_')}")
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-I", INCLUDE, *flags,
               source(f"programs/{name}"), "-o", target]
    done = subprocess.run(command, capture_output=True, text=True)
    check(done.returncode == 0, f"{' '.join(command)}: {done.stderr}")
    return target


def check_by_hand(argv):
    """The records of by_hand.c."""
    run, records = records_of([*argv, "kill"])
    check(run.stdout.startswith("in the pause 0\nafter it 1\nversion "), run.describe())
    check("version none" not in run.stdout, run.describe())
    check_equal(run.stderr.count("dwell: dwell_grid:"), 1, "complaints about the bad grid")
    root = records.root
    around = root.named("around")
    check_equal((around.count, around.kind, around.open), (1, "block", 0), "around")
    step = around.named("step")
    check_equal((step.count, step.iteration, step.flags & PHASE), (10, 9, PHASE), "phase")
    work = step.named("work")
    check_equal((work.count, work.volume), (30, 3000), "work")
    with open(source("programs/by_hand.c"), encoding="utf-8") as text:
        line = 1 + next(k for k, row in enumerate(text) if 'DWELL_BLOCK_BEGIN("work")' in row)
    check(work.name.endswith(f"by_hand.c:{line}"), f"place of work: {work.name!r}")
    event = work.named("event")
    check_equal((event.kind, event.count, event.volume), ("marker", 30, 60), "marker")
    recursive = step.named("recursive")
    check_equal((recursive.count, recursive.untimed, recursive.volume, recursive.children),
                (40, 30, 10, []), "recursion")
    check_equal(around.named("carried").count, 5, "begun and ended in other functions")
    check_equal(around.named("scope").count, 7, "scopes")
    check_equal(records.grids, {"cart": ((3, 4, 5), [False, True, False], (2, 3, 4))}, "grids")
    named = {n.name.split("\n")[0] for n in root.all() if n.flags & NAMED}
    check_equal(named, {"around", "step", "work", "event", "recursive", "carried", "scope"},
                "all names")
    check_equal(records.dropped, 0, "dropped")
    for node in root.all():
        timed = sum(c.ticks for c in node.children)
        check(node.kind == "program" or node.ticks >= timed, f"{node.name!r} is shorter than "
              f"what it holds: {node.ticks} < {timed}")


def c_variants():
    for compiler in COMPILERS:
        if shutil.which(compiler) is None:
            continue
        for flags in (["-O2"], ["-O0"], ["-O3", "-fPIE", "-pie"], ["-O2", "-fno-pic", "-no-pie"],
                      ["-O2", "-masm=intel"], ["-O2", "-std=c99", "-pedantic"],
                      ["-O2", "-std=c17", "-flto"], ["-O2", "-mcmodel=large"]):
            yield compiler, flags


@case
def c_header():
    """The figures of by_hand.c, in code of every kind."""
    for compiler, flags in c_variants():
        check_by_hand([compiled(compiler, "by_hand.c", *flags)])


@case
def without_library():
    """The same programs run alone, and linked statically where nothing can be preloaded."""
    for compiler, flags in [*c_variants(), ("gcc", ["-static"]), ("gcc", ["-static-pie"])]:
        run = execute([compiled(compiler, "by_hand.c", *flags)])
        check_equal((run.code, run.stdout, run.stderr),
                    (0, "in the pause 0\nafter it 0\nversion none\n", ""), f"{compiler} {flags}")


@case
def removed():
    """With DWELL_OFF nothing of it is in the object."""
    target = compiled("gcc", "by_hand.c", "-O2", "-DDWELL_OFF", "-Wno-unused-variable")
    symbols = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
    check("dwell_entries" not in symbols, symbols)


@case
def cplusplus():
    """Scopes end however they are left; threads have blocks of their own."""
    for compiler, plus in COMPILERS.items():
        if shutil.which(plus) is None:
            continue
        for flags in (["-O2", "-std=c++11"], ["-O0", "-std=c++20"]):
            _, records = records_of([compiled(plus, "by_hand.cpp", *flags, "-pthread"), "kill"])
            outer = records.root.named("outer")
            check_equal((outer.count, outer.named("thrown").count, outer.named("after").count),
                        (10, 10, 10), f"{compiler} {flags}")
            check_equal(outer.named("thrown").abandoned, 0, "left without an end")
            check_equal(len(records.roots), 2, "threads")
            check_equal(records.roots[1].named("in thread").count, 100, "blocks of the thread")


@case
def fortran():
    """The figures of by_hand.f90."""
    run, records = records_of([program("by_hand_fortran"), "kill"])
    check(run.stdout.startswith('in the pause F\nafter it T\nversion "'), run.describe())
    step = records.root.named("step")
    check_equal((step.count, step.iteration), (10, 10), "phase")
    work = step.named("work")
    check_equal((work.count, work.volume), (10, 80), "work")
    check_equal((work.named("tick").count, work.named("tick").volume), (10, 30), "marker")
    check_equal(step.named("other").count, 10, "other")
    check_equal(records.grids, {"cart": ((4, 2), [True, False], (1, 0))}, "grids")
    alone = execute([program("by_hand_fortran")])
    check_equal((alone.code, alone.stdout), (0, 'in the pause F\nafter it F\nversion ""\n'),
                "without the library")


@case
def kokkos():
    """The figures of kokkos_host.cpp, with the library preloaded and opened by Kokkos alone."""
    run, records = records_of([program("kokkos_host"), "kill"], {"KOKKOS_TOOLS_LIBS": LIBRARY})
    check_equal(run.stdout, "fencing 0\n", "output")
    root = records.root
    solve = root.named("solve")
    check_equal(solve.count, 10, "regions")
    for kernel in ("axpy", "dot", "sums", "wait for all", "deep_copy(x, y)"):
        check_equal(solve.named(kernel).count, 10, kernel)
        check_equal(solve.named(kernel).abandoned, 0, kernel)
    check_equal(solve.named("deep_copy(x, y)").volume, 8000, "bytes copied")
    check_equal((solve.named("io").count, root.named("io").count), (0, 1), "overlapping section")
    check_equal(root.named("checkpoint").count, 3, "events")
    for verb in ("allocate", "deallocate"):
        node = root.named(f"{verb}(Host, x)")
        check_equal((node.kind, node.count, node.volume), ("marker", 1, 800), verb)


@case
def kokkos_by_run():
    """dwell run names itself as the tool, unless the user named one."""
    run = execute([DWELL, "run", "-o", scratch("out"), program("kokkos_host")])
    check_equal((run.code, run.stdout), (0, "fencing 0\n"), "dwell run" + run.describe())
    run = execute([DWELL, "run", "-o", scratch("none"), program("kokkos_host")],
                  env={"KOKKOS_TOOLS_LIBS": "/nonexistent.so"})
    check("cannot open: /nonexistent.so" in run.stdout, run.describe())


def address_of(target, name):
    """Of a function, from the symbol table of a program that is position independent."""
    symbols = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in symbols.splitlines()
                if line.endswith(f" T {name}"))


def check_code_probes(compiler, flags):
    target = compiled(compiler, "code_probes.cpp", *flags, "-finstrument-functions", "-pthread")
    plain = execute([target])
    check_equal((plain.code, plain.stdout, plain.stderr), (0, "", ""), "without the library")
    _, records = records_of([target, "kill"])

    def nodes(name, thread=0):
        offset = address_of(target, name)
        return [n for n in records.roots[thread].all()
                if n.kind == "proc" and n.flags & CODE and n.offset == offset]

    def total(name, thread=0):
        return sum(n.count for n in nodes(name, thread))

    what = f"{compiler} {flags}: "
    check_equal(total("main"), 1, what + "main")
    check_equal((len(nodes("work")), total("work")), (3, 30), what + "work")
    check_equal(total("leaf"), 30, what + "leaf")
    check_equal((len(nodes("fibonacci")), total("fibonacci")), (1, 177), what + "fibonacci")
    check_equal(nodes("fibonacci")[0].untimed, 176, what + "recursion")
    check_equal((total("catcher"), total("thrower")), (10, 10), what + "exceptions")
    check_equal(total("before_main"), 1, what + "static initialiser")
    check_equal(total("in_thread", 1), 1, what + "thread")
    check_equal(total("leaf", 1), 5, what + "leaf in the thread")
    # clang tells of no exit by an exception: the next probe finds the frame gone.
    silent = [10] if compiler == "clang++" else []
    check_equal([n.abandoned for n in records.root.all() if n.abandoned], silent,
                what + "left without an exit")
    check_equal(nodes("thrower")[0].abandoned, sum(silent), what + "left by the exception")
    main_node = nodes("main")[0]
    check(all(work.count == 10 for work in nodes("work")), what + "work by statement")
    check(all(any(w is n for n in main_node.all()) for w in nodes("work")), what + "work in main")


@case
def instrument_functions():
    """The figures of code_probes.cpp, with gcc and clang at every level of optimisation."""
    skip_unless(shutil.which("nm"), "nm is not installed")
    for plus in COMPILERS.values():
        if shutil.which(plus) is None:
            continue
        for flags in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-O2", "-fno-omit-frame-pointer"]):
            check_code_probes(plus, flags)


def check_example(name, complete):
    """The figures at the head of examples/phases.c, for two ranks and the defaults."""
    out = scratch(name)
    example = os.path.join(os.path.dirname(os.path.dirname(DWELL)), "examples", name)
    skip_unless(os.path.exists(example), f"example {name} was not built")
    run = execute(mpirun(2, DWELL, "run", "-o", out, example), 2)
    check_equal((run.code, run.stdout), (0, "20 steps\n"), name + run.describe())
    with open(os.path.join(out, "profile.json"), encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]

    def figures(kind, node_name):
        found = [n for n in nodes if n["kind"] == kind and n["name"] == node_name]
        check_equal(len(found), 1, f"{kind} {node_name}")
        return found[0], (found[0]["count"], found[0].get("volume", 0))

    check_equal(figures("block", "setup")[1], (2, 0), "setup")
    step, counts = figures("block", "step")
    check_equal(counts, (40, 0), "steps")
    relax, counts = figures("block", "relax")
    check_equal(counts, (40, 40000), "relax")
    # Both ranks spin 100 ms by the clock; dwell's own cost is taken out.
    check(190e6 <= relax["time_ns"], f"relax took {relax['time_ns']} ns")
    check_equal(figures("block", "exchange")[1], (40, 0), "exchange")
    check_equal(figures("marker", "output")[1], (8, 64000), "output")
    check(step["time_ns"] >= relax["time_ns"], "a step is shorter than its part")
    blocks = [n for n in nodes if n["kind"] == "block" and n["name"] in ("relax", "exchange")]
    check_equal({nodes[n["parent"]]["name"] for n in blocks}, {"step"}, "where the blocks lie")
    send = [n for n in nodes if n["name"] == "MPI_Sendrecv"]
    check_equal([n["count"] for n in send], [40], "calls in the block")
    if complete:
        check_equal(relax["file"].rsplit("/", 1)[-1], "phases.c", "place of relax")


@case
def example_c():
    """examples/phases.c as its head says, in profile.json."""
    check_example("phases", True)


@case
def example_fortran():
    """examples/phases.f90 likewise; names of Fortran have no place."""
    check_example("phases_f", False)


if __name__ == "__main__":
    main()
