"""What a program tells about itself: dwell.h, module dwell, Kokkos callbacks,
-finstrument-functions. The right answers stand at the head of each program; most are read from the
records of a program that kills itself (record_file.py)."""

import csv
import io
import json
import os
import re
import shutil
import subprocess

from harness import (DWELL, LIBRARY, ROOT, case, check, check_equal, execute, main, mpirun, program,
                     scratch, skip_unless, source)
from record_file import CODE, NAMED, PHASE, records_of

INCLUDE = os.path.join(ROOT, "runtime", "api")
COMPILERS = {"gcc": "g++", "clang": "clang++"}


def compiled(compiler, name, *flags):
    """A program of this folder compiled with plain compilers; null when the flags do not work."""
    target = scratch(f"{name}-{compiler}{'-'.join(flags).replace('/', '_')}")
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-I", INCLUDE, *flags,
               source(name), "-o", target]
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
    check_equal((step.count, step.first, step.iteration, step.flags & PHASE), (10, 0, 9, PHASE),
                "phase")
    work = step.named("work")
    check_equal((work.count, work.volume), (30, 3000), "work")
    with open(source("by_hand.c"), encoding="utf-8") as text:
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
    check_equal((step.count, step.first, step.iteration), (10, 1, 10), "phase")
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
    check_equal((solve.named("io").count, root.named("io").count), (1, 0), "overlapping section")
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


def kokkos_program():
    """kokkos_program.cpp compiled with the Kokkos that stands where Debian or a user puts it."""
    target = scratch("kokkos_program")
    for include, library in (("/usr/include/trilinos", "trilinos_kokkoscore"),
                             ("/usr/include/kokkos", "kokkoscore"), ("/usr/include", "kokkoscore")):
        if not os.path.exists(os.path.join(include, "Kokkos_Core.hpp")):
            continue
        done = execute(["g++", "-O1", "-std=c++17", "-I", include,
                        source("kokkos_program.cpp"), "-o", target, f"-l{library}", "-ldl"],
                       timeout_s=200)
        check_equal(done.code, 0, "compiling with " + include + done.describe())
        return target
    skip_unless(False, "no Kokkos here (libtrilinos-kokkos-dev)")
    return None


@case
def kokkos_itself():
    """Regions and kernels of a program that uses Kokkos, in the report."""
    argv = [kokkos_program()]
    plain = execute(argv)
    version = int(plain.stdout.splitlines()[0])
    check_equal(plain.stdout, f"{version}\n{3 ** 10}\n", "output")
    out = scratch("kokkos")
    # Kokkos before 3.7 knows this name alone, later ones warn of it.
    variable = "KOKKOS_TOOLS_LIBS" if version >= 30700 else "KOKKOS_PROFILE_LIBRARY"
    run = execute([DWELL, "run", "-o", out, *argv], env={variable: LIBRARY})
    check_equal((run.code, run.stdout), (0, plain.stdout), "under dwell" + run.describe())
    with open(os.path.join(out, "profile.json"), encoding="utf-8") as text:
        nodes = json.load(text)["nodes"]

    def found(name, kind, under=None):
        return [node for node in nodes if node["name"] == name and node["kind"] == kind
                and (under is None or nodes[node["parent"]]["name"] == under)]

    solve, = found("solve", "block")
    check_equal(solve["count"], 10, "regions")
    for kernel in ["axpy", "dot", "sums"] + (["wait for all"] if version >= 30500 else []):
        node, = found(kernel, "block", "solve")
        check_equal(node["count"], 10, kernel)
        check(0 < node["time_ns"] <= solve["time_ns"], f"time of {kernel}: {node['time_ns']}")
    copy, = found("deep_copy(x, y)", "block", "solve")
    check_equal((copy["count"], copy["volume"]), (10, 80000), "copies")
    check_equal(sum(node["count"] for node in found("io", "block")), 1, "section")
    check_equal(sum(node["count"] for node in found("checkpoint", "marker")), 3, "events")
    for verb in ("allocate", "deallocate"):
        for label in ("x", "y"):
            node, = found(f"{verb}(Host, {label})", "marker")
            check_equal((node["count"], node["volume"]), (1, 8000), f"{verb} {label}")
    for name in ("solve", "axpy", "deep_copy(x, y)"):
        report = execute([DWELL, "report", "--site", name, "--width", "120", out])
        check_equal(report.code, 0, name + report.describe())
        check(name in report.stdout and re.search(r"\b10\b", report.stdout), report.describe())


def address_of(target, name):
    """Of a function, from the symbol table of a program that is position independent."""
    symbols = subprocess.run(["nm", target], capture_output=True, text=True, check=True).stdout
    return next(int(line.split()[0], 16) for line in symbols.splitlines()
                if line.lower().endswith(f" t {name}"))  # mold makes them local


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
def linkers():
    """The same figures whatever links the program."""
    for linker in ("bfd", "gold", "lld", "mold"):
        if shutil.which("mold" if linker == "mold" else f"ld.{linker}") is None:
            print(f"no {linker}: not tested")
            continue
        for more in ([], ["-s"], ["-no-pie", "-fno-pie"], ["-Wl,-z,nodynamic-undefined-weak"]):
            if linker == "gold" and "nodynamic" in "".join(more):
                continue
            flags = ["-O2", f"-fuse-ld={linker}", *more]
            check_by_hand([compiled("gcc", "by_hand.c", *flags)])
            alone = execute([compiled("gcc", "by_hand.c", *flags)])
            check_equal((alone.code, alone.stderr), (0, ""), f"alone, {flags}")
        plus = compiled("g++", "by_hand.cpp", "-O2", f"-fuse-ld={linker}", "-pthread")
        _, records = records_of([plus, "kill"])
        check_equal(records.root.named("outer").count, 10, f"C++ by {linker}")
        check_code_probes("g++", ("-O1", f"-fuse-ld={linker}"))


@case
def fortran_by_mold():
    """Module dwell in a program that mold linked."""
    skip_unless(shutil.which("mold"), "mold is not installed")
    _, records = records_of([program("by_hand_mold"), "kill"])
    check_equal(records.root.named("step").named("work").volume, 80, "work")


@case
def instrument_functions():
    """The figures of code_probes.cpp, with gcc and clang at every level of optimisation."""
    skip_unless(shutil.which("nm"), "nm is not installed")
    for plus in COMPILERS.values():
        if shutil.which(plus) is None:
            continue
        for flags in (["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-O2", "-fno-omit-frame-pointer"]):
            check_code_probes(plus, flags)


@case
def instrumented_twice():
    """A procedure that dwell's own probes tell of is not told again by the compiler's."""
    for wrapper in ("dwell-gcc", "dwell-clang"):
        compiler = os.path.join(os.environ["SYSTEST_WRAPPERS"], wrapper)
        if not os.path.exists(compiler) or shutil.which(wrapper[6:]) is None:
            continue
        target = scratch("twice")
        done = execute([compiler, "-O1", "-g", "-finstrument-functions", "-o", target,
                        source("instrumented_twice.c")], timeout_s=60)
        check_equal(done.code, 0, done.describe())
        out = scratch("twice-out")
        run = execute([DWELL, "run", "-q", "-o", out, target])
        check_equal((run.code, run.stderr), (0, ""), run.describe())
        with open(os.path.join(out, "profile.json"), encoding="utf-8") as text:
            nodes = [n for n in json.load(text)["nodes"] if n["kind"] == "proc"]
        found = {name: [n["count"] for n in nodes if n["name"] == name]
                 for name in ("main", "work", "small")}
        # What is too small for dwell's probes is still told by the compiler's.
        check_equal(found, {"main": [1], "work": [3], "small": [12]}, wrapper)


@case
def ended_elsewhere():
    """The figures of moved_blocks.c: blocks are whole wherever they end."""
    wanted = {"step": (5, 40), "first": (1, 40), "second": (1, 80), "recursive": (4, 40)}
    probing = os.path.join(os.environ["SYSTEST_WRAPPERS"], "dwell-gcc")
    for compiler in ("gcc", probing):
        for level in ("-O0", "-O2"):
            target = scratch("moved")
            done = execute([compiler, level, "-g", "-I", INCLUDE, source("moved_blocks.c"),
                            "-o", target], timeout_s=60)
            check_equal(done.code, 0, done.describe())
            out = scratch("moved-out")
            run = execute([DWELL, "run", "-q", "-o", out, target])
            check_equal((run.code, run.stderr), (0, ""), run.describe())
            with open(os.path.join(out, "profile.json"), encoding="utf-8") as text:
                nodes = json.load(text)["nodes"]
            for name, (count, least_ms) in wanted.items():
                what = f"{name}, {compiler} {level}"
                found = [n for n in nodes if n["name"] == name and n["kind"] == "block"]
                check_equal([n["count"] for n in found if n["count"]], [count], what)
                counted = next(n for n in found if n["count"])
                check("counted" not in counted.get("labels", []), f"{what}: {counted}")
                if name != "recursive" or compiler != "gcc":
                    check(counted["min_ns"] >= least_ms * 1e6, f"{what}: {counted}")
                    all_ns = sum(n["time_ns"] for n in found)
                    # Each entry's cost is taken out of its time once, or of each of its pieces.
                    check(counted["max_ns"] <= all_ns + 100000 and
                          counted["max_ns"] * count >= all_ns - 100000, f"{what}: {counted}")


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
def instrumented_calls_are_reduced():
    """Short procedures of -finstrument-functions that are entered very often lose their times, never
    their counts; without limit they keep both."""
    wanted = {"main": 1, "work": 1, "leaf": 3000000, "fibonacci": 635621, "thrower": 50000,
              "catcher": 50000}
    for compiler in COMPILERS.values():
        skip_unless(shutil.which(compiler), f"no {compiler}")
        for flags in (("-O0",), ("-O2",)):
            target = compiled(compiler, "code_calls.cpp", *flags, "-g", "-finstrument-functions")
            for options in ((), ("--probe-limit", "off")):
                out = scratch("reduced")
                run = execute([DWELL, "run", "-q", "-o", out, *options, target])
                # 3000000 + 50000 + 196418
                check_equal((run.code, run.stdout), (0, "3246418\n"), run.describe())
                with open(os.path.join(out, "profile.json"), encoding="utf-8") as text:
                    nodes = json.load(text)["nodes"]
                what = f"{compiler} {flags} {options}"
                found = {}
                for node in nodes:
                    if node["kind"] == "proc":
                        found[node["name"]] = found.get(node["name"], 0) + node["count"]
                check_equal({name: found.get(name) for name in wanted}, wanted, what)
                reduced = {node["name"] for node in nodes if "reduced" in node.get("labels", [])}
                check_equal("leaf" in reduced, not options, what + f" reduced: {reduced}")
                check(not reduced & {"main", "work"}, what + f" reduced: {reduced}")


@case
def example_c():
    """examples/phases.c as its head says, in profile.json."""
    check_example("phases", True)


@case
def example_fortran():
    """examples/phases.f90 likewise; names of Fortran have no place."""
    check_example("phases_f", False)


def check_phases(profile, ranks):
    """The figures at the head of grid_phases.c. Spinning ends by the clock, and what dwell itself
    takes is taken out: so times are at least those, less 5 %. On a busy machine they are more, and
    ranks at (0,*) may begin a step late: all that is sure is that they spin 2 ms in it."""
    nodes = profile["nodes"]
    phases = {n["name"]: n for n in nodes if "phase" in n["labels"]}
    check_equal(sorted(phases), ["output", "setup", "step"], "phases")
    setup, step, output = phases["setup"], phases["step"], phases["output"]
    check_equal([p["count"] for p in (setup, step, output)], [ranks, 10 * ranks, 2], "iterations")
    check_equal([p["ranks"] for p in (setup, step, output)], [ranks, ranks, 1], "ranks")
    check("phase" not in setup, "setup has no numbers")
    numbers = ("first", "last", "last_behind")
    check_equal([step["phase"][k] for k in numbers], [5, 14, 14], "numbers of step")
    check_equal([output["phase"][k] for k in numbers + ("rank_behind",)], [100, 200, 200, 0],
                "numbers of output")
    check(setup["min_ns"] >= 9.5e6, f"the shortest setup took {setup['min_ns']} ns")
    check(step["time_ns"] >= 0.95e6 * (160 + 20 * (ranks - 2)), f"steps took {step['time_ns']} ns")
    check(step["rank_max_ns"] >= 76e6, f"on one rank {step['rank_max_ns']} ns")
    check(output["min_ns"] >= 4.75e6 and output["rank_max"] == 0, "output")
    barrier = [n for n in nodes if n["name"] == "MPI_Barrier"]
    check_equal([n["count"] for n in barrier], [10 * ranks], "barriers")
    at = barrier[0]["parent"]
    while nodes[at]["name"] != "step":
        check(at != 0, "the barrier does not lie in phase step")
        at = nodes[at]["parent"]
    # Who waits how long depends on who is given a processor; all of it is in the barrier.
    check_equal(step["blocked_ns"], barrier[0]["blocked_ns"], "blocked in steps")
    check(step["blocked_ns"] > 0, "nobody was blocked")


def profile_of_grid(name, ranks=4, *arguments):
    """The profile, the report in words, and the CSV by rank."""
    out = scratch(f"out{ranks}" + "".join(arguments))
    run = execute(mpirun(ranks, DWELL, "run", "-o", out, program(name), *arguments), ranks)
    check_equal(run.code, 0, name + run.describe())
    with open(os.path.join(out, "profile.json"), encoding="utf-8") as file:
        profile = json.load(file)
    with open(os.path.join(out, "report.txt"), encoding="utf-8") as file:
        report = " ".join(file.read().split())
    table = execute([DWELL, "report", "--format", "csv", "--per-rank", out])
    return profile, report, list(csv.DictReader(io.StringIO(table.stdout)))


def check_grid(name):
    profile, report, rows = profile_of_grid(name)
    check_phases(profile, 4)
    cart, line = profile["grids"]
    check_equal(cart, {"name": "cart", "by": "program", "sizes": [2, 2], "periodic": [False, True],
                       "described_by": 4, "ranks": [0, 1, 2, 3],
                       "coordinates": [[0, 0], [0, 1], [1, 0], [1, 1]]}, "cart")
    check_equal((line["name"], line["sizes"], line["coordinates"]),
                ("line", [4], [[0], [1], [2], [3]]), "line")
    for words in ("Phases (3 of 3)", "step 5 to 14", "output 100 to 200, on 1 of 4 ranks rank 0 (0,0)",
                  "cart: 2 x 2 (periodic), all 4 ranks; ranks are named by their place in it."):
        check(words in report, f"{words!r} is not in the report:\n{report}")
    check_equal({(r["rank"], r["coordinates"]) for r in rows},
                {("0", "0 0"), ("1", "0 1"), ("2", "1 0"), ("3", "1 1")}, "coordinates in the CSV")


@case
def grid_and_phases_c():
    """The figures of grid_phases.c, from the source to profile, report and CSV."""
    check_grid("grid_phases")


@case
def grid_and_phases_fortran():
    """The same by module dwell."""
    check_grid("grid_phases_fortran")


@case
def rank_outside_the_grid():
    """A fifth rank is in no grid, and the report says so."""
    profile, report, rows = profile_of_grid("grid_phases", 5)
    check_phases(profile, 5)
    check_equal([(g["name"], g["ranks"]) for g in profile["grids"]], [("cart", [0, 1, 2, 3])],
                "grids")
    check("4 of 5 ranks; not in it: rank 4;" in report, report)
    check_equal({r["coordinates"] for r in rows if r["rank"] == "4"}, {""}, "place of rank 4")


@case
def grids_that_contradict():
    """What ranks describe differently is said and not used."""
    profile, report, rows = profile_of_grid("grid_phases", 4, "mixed")
    check_equal([(g["name"], g["sizes"], g["ranks"]) for g in profile["grids"]],
                [("line", [4], [0, 1, 2, 3]), ("cart", [2, 2], [0, 1, 2]), ("cart", [4, 1], [3])],
                "grids")
    check("grid cart is described in 2 ways (2 x 2 (periodic) by ranks 0, 1 and 2; 4 x 1 by rank 3)"
          in report, report)
    check_equal({r["coordinates"] for r in rows}, {"0", "1", "2", "3"}, "places in line")
    profile, report, rows = profile_of_grid("grid_phases", 4, "twice")
    check("ranks 0 and 3 are both at the same place in grid cart" in report, report)
    check_equal({r["coordinates"] for r in rows}, {"0", "1", "2", "3"}, "places in line")


@case
def grid_of_mpi():
    """A Cartesian communicator of most ranks is a grid as well; those of halves of them are not."""
    for ranks in (4, 5):
        profile, report, _ = profile_of_grid("grid_phases", ranks, "mpi")
        check_equal([(g["name"], g["by"], g["sizes"], g["periodic"], g["ranks"], g["coordinates"])
                     for g in profile["grids"]],
                    [("MPI_Cart_create", "mpi", [2, 2], [False, True], [0, 1, 2, 3],
                      [[0, 0], [0, 1], [1, 0], [1, 1]])], "grids")
        check("rank 0 (0,0)" in report, report)


if __name__ == "__main__":
    main()
