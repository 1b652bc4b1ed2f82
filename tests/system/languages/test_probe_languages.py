"""What C, C++ and Fortran do with procedures, compiled with probes and run under dwell: everything
stands under what called it, with exact counts and known times."""

import os

from harness import (DWELL, LIBRARY, case, check, check_equal, execute, kept_records, main, mpirun,
                     scratch, thorough)
from probed_program import Tree, build, line_of, observe
from test_openmp import nodes_at

LEVELS = thorough(("-O0", "-O2", "-O3"), ("-O0", "-O2"))
# What is written stays where it is written: then counts do not depend on the level.
AS_WRITTEN = ("-g", "-fno-inline", "-fno-ipa-cp",
              "-fno-optimize-sibling-calls")


@case
def recursion():
    """Fig. 11: x calls itself, y and z call each other. Every activation counts, time counts once:
    that of the outermost activation, in which each one takes 5 ms."""
    for level in LEVELS:
        tree = observe([build("gcc", "recursions.c", (level, *AS_WRITTEN), "a.out")])
        x = tree.expect("main/x", 5, 0.025)
        check_equal(x.children(), [], "under x")
        y = tree.expect("main/y", 3, 0.025)  # y z y z y
        check_equal([place.name for place in y.children()], ["z"], "under y")
        tree.check_time(y.own_s, 0.015, f"own time of {y}")
        check_equal(tree.expect("main/y/z", 2, 0.010).children(), [], "under y's z")
        tree.expect("main/z", 1, 0.010)
        check_equal(tree.expect("main/z/y", 1, 0.005).children(), [], "under z's y")
        w = tree.expect("main/w", 15, 0.015)
        check_equal([place.name for place in w.children()], ["loop"], "under w")
        loop = tree.expect("main/w/loop", 15, begun=30)
        check_equal(loop.children(), [], "under w's loop")


@case
def copies():
    """The copies that GCC makes of a recursive procedure are that procedure, and their loops one."""
    tree = observe([build("gcc", "copies.c", ("-g", "-O3"), "a.out")])
    symbols = execute(["nm", scratch("a.out")]).stdout
    check(symbols.count(" depth.constprop.") > 1, f"GCC made no copies:\n{symbols}")
    check_equal([place.count for place in tree.all("depth")], [21], "depth")
    depth = tree.expect("main/depth", 21)
    check_equal([place.name for place in depth.children()], ["loop"], "under depth")
    tree.expect("main/depth/loop", 20, begun=58)


@case
def parts():
    """What GCC splits off a procedure is no recursion of it: one entry, wherever the rest stands."""
    for flags in ("-O2", "-O3"):
        program = build("gcc", "split.c", ("-g", flags), "a.out")
        symbols = execute(["nm", program]).stdout
        if flags == "-O2":
            check(" exchange.part." in symbols, f"GCC split nothing:\n{symbols}")
        tree = observe([program, "5"])
        for place in tree.all("exchange"):
            check_equal([one.name for one in place.children() if one.name == "exchange"], [],
                        f"{flags}: under {place}")
        if flags == "-O2":
            for caller in ("residual", "smooth", "restriction"):
                tree.expect(f"main/loop/{caller}/exchange", 5)
            tree.expect("main/loop/exchange", 5)  # which jumps to the part


@case
def early_returns():
    """Calls that return from the beginning of a split procedure, which GCC puts into the caller, have
    no probe: counts are exact, or lower bounds and say so in all views."""
    bounds = {"-O0": {"part": [(6, False), (60, False), (60, False)],
                      "fib": [(1, False), (88, False), (88, False)]},
              "-O2": {"part": [(6, False), (30, True), (30, True)],
                      "fib": [(1, True), (33, True), (54, True)]}}
    for level, places in bounds.items():
        program = build("gcc", "split_early.c", ("-g", level, "-fopenmp"), "a.out")
        symbols = execute(["nm", program]).stdout
        check(" part.part." in symbols or level == "-O0", f"GCC split nothing:\n{symbols}")
        tree = observe([program])
        rows = tree.profile.csv()
        for name, want in places.items():
            check_equal(sorted((place.count, "at_least" in place.labels)
                               for place in tree.all(name)), want, f"{level}: {name}")
            for kind in ("proc", "call"):
                check_equal(sorted((int(row["count"]), "at_least" in row["labels"]) for row in rows
                                   if (row["kind"], row["name"]) == (kind, name)), want,
                            f"{level}: rows of {kind} {name}")
        split = level == "-O2"
        for text, options in (("early returns not counted", ()),
                              ("early returns not counted", ("--site", "part")),
                              ("2 procedures counted without early returns", ())):
            check_equal(text in tree.report(*options), split, f"{level} {options}: {text}")


@case
def coroutines():
    """Coroutines of one procedure: what is suspended takes no time. Seven that nap twenty times for
    5 ms, and a hundred that nap twice, all counted."""
    program = build("gcc", "coroutines.c", ("-g", "-O0"), "a.out")
    for number, rounds in ((7, 20), (100, 2)):
        tree = observe([program, str(number), str(rounds)])
        body, = tree.all("body")
        naps_s = number * rounds * 0.005
        check_equal(body.count, number, f"body of {number}")
        check(0.9 * naps_s <= body.time_s <= tree.run.elapsed_s, f"{naps_s} s of naps: {body}")
        nap, = tree.all("nap")
        check_equal(nap.count, number * rounds, f"nap of {number}")
        check(nap.time_s <= body.time_s, f"{nap} in {body}")
        check_equal(sum(rank["probes_dropped"] for rank in tree.profile.json["ranks"]), 0, "dropped")


@case
def main_program():
    """Fortran's main program has its rows at every level, by its name where that is known."""
    for flags, name in ((("-O0", "-g"), "heat"), (("-O2", "-g"), "heat"), (("-O2",), "main program"),
                        (("-O3", "-flto", "-g"), "heat")):
        binary = build("gfortran", "main_program.f90", flags, "a.out")
        sites = execute([DWELL, "sites", "--ascii", binary])
        check_equal(sites.code, 0, "dwell sites" + sites.describe())
        check(f"\n{name}  main_program.f90:2-7\n" in sites.stdout, f"{flags}:\n{sites.stdout}")
        tree = observe([binary])
        found, = [place for place in tree.all() if place.raw["name"] == name]
        loop, = found.children()
        check_equal((found.count, loop.count, loop.iterations), (1, 1, 3), f"{flags}")


@case
def unusual_ends():
    """longjmp, pthread_exit, exit and tail calls: what comes later stands where it was called, a
    thread that takes over an ended one's record begins anew, exit's handlers run in its caller. The
    rounds of loops that are left so count, those of a forked child do not."""
    lines = {name: line_of("leaves.c", text) for name, text in (
        ("jumps", "    jumps();"), ("calls_last", "    calls_last();"), ("last", "    last();"),
        ("after", "    after_last();"), ("leaving", "    leaving();"))}
    for level in LEVELS:
        tree = observe([build("gcc", "leaves.c", ("-g", level), "a.out", ["-pthread"])], code=3)
        tree.expect("main", 1, 0.060)
        tree.expect("main/jumps@jumps", 1, 0.015, lines, abandoned=0)
        tree.expect("main/jumps/between", 1, 0.005, abandoned=1)
        jumper = [place for place in tree.all("jumper")]
        check_equal([(place.count, place.abandoned) for place in jumper], [(1, 1)], "jumper")
        tree.check_time(jumper[0].time_s, 0.005, str(jumper[0]))
        tree.expect("main/jumps/after_jump", 1, 0.010)
        tree.expect("main/dived/dives", 4, abandoned=4)
        tree.expect("main/dived/dives/loop", 4, begun=12)
        tree.expect("main/forks/loop", 1, abandoned=0, begun=3)
        tree.expect("main/leaving/loop", 1, begun=2)
        if level == "-O0":
            tree.expect("main/calls_last@calls_last", 1, 0.015, lines)
            tree.expect("main/calls_last/last@last", 1, 0.010, lines)
        else:  # left before its jump: last was called, as far as the machine knows, from main
            tree.expect("main/calls_last@calls_last", 1, 0.005, lines)
            tree.expect("main/last@calls_last", 1, 0.010, lines)
        tree.expect("main/after_last@after", 1, 0.005, lines)
        tree.expect("main/leaving@leaving", 1, 0.015, lines, abandoned=0)
        at_exit = tree.all("at_exit")
        check_equal([(place.count, place.abandoned) for place in at_exit], [(1, 0)], "at_exit")
        check("/leaving@" in at_exit[0].path(), f"not inside of leaving: {at_exit}")
        for name, inside, abandoned in (("first_thread", "ends_thread", 1),
                                        ("second_thread", "in_thread", 0)):
            found = tree.all(name)
            check_equal([(place.count, place.abandoned) for place in found], [(1, abandoned)], name)
            check("main@" not in found[0].path(), f"a thread's tree lies in main's: {found}")
            inner = found[0].children()
            check_equal([(place.name, place.count, place.abandoned) for place in inner],
                        [(inside, 1, abandoned)], f"under {name}")
            tree.check_time(inner[0].time_s, 0.005, str(inner[0]))


@case
def exceptions():
    """4 of 6 calls throw: what they pass is left, once each; destructors run inside of it, handlers
    and what follows inside of the procedure and the loop that caught."""
    for compiler in ("g++", "clang++"):
        for level in LEVELS:
            tree = observe([build(compiler, "throws.cpp", ("-g", level), "a.out")])
            tree.expect("main/catcher", 1, 0.036, abandoned=0)
            loop = tree.expect("main/catcher/loop", 1, 0.036, abandoned=0)
            check_equal({(place.name, place.count, place.abandoned) for place in loop.children()},
                        {("middle", 6, 4), ("handled", 4, 0), ("sibling", 6, 0)}, "in the loop")
            tree.expect("main/catcher/loop/middle", 6, 0.018)
            tree.expect("main/catcher/loop/middle/thrower", 6, 0.012, abandoned=4)
            gone = [place for place in tree.all() if "Local" in place.name]
            check_equal({place.parent.name for place in gone}, {"middle"}, "destructors in middle")
            check_equal(sum(place.count for place in gone), 6, "destructors")
            tree.check_time(sum(place.time_s for place in gone), 0.006, "destructors")
            tree.expect("main/catcher/loop/handled", 4, 0.012)
            tree.expect("main/catcher/loop/sibling", 6, 0.006)
            tree.expect("main/rethrows", 1, 0.005, abandoned=1)
            tree.expect("main/rethrows/thrower", 1, 0.002, abandoned=1)
            tree.expect("main/rethrows/handled", 1, 0.003, abandoned=0)
            tree.expect("main/handled", 1, 0.003)
            tree.expect("main/sibling", 1, 0.001)


@case
def landing():
    """What an exception or longjmp leaves ends where it is caught: the time of a catcher that enters
    nothing more is its own."""
    kinds = [("g++", (level,)) for level in LEVELS] + [("clang++", (level,)) for level in LEVELS]
    for compiler, flags in (*kinds, ("g++", ("-O2", "-flto")), ("clang++", ("-O2", "-flto=thin",
                                                                            "-fuse-ld=lld"))):
        tree = observe([build(compiler, "lands.cpp", ("-g", *flags), "a.out")])
        for name, own, calls in (("catcher", 0.020, ()), ("far_catcher", 0.020, ("passed_by_twice",
                                                                                 "passed_by"))):
            catcher = tree.expect(f"main/{name}", 1, abandoned=0)
            path = f"main/{name}"
            for call in calls:
                path += "/" + call
                tree.expect(path, 1, 0.020 + 0.005, abandoned=1)
            tree.expect(path + "/thrower", 1, abandoned=1)
            tree.check_time(catcher.own_s, own, f"own time of {catcher}")
        tree.expect("main/catcher/thrower", 1, 0.020)
        tree.check_time(tree.at("main/across_foreign").own_s, 0.020, "own time across foreign frames")
        compared = tree.all("compare", tree.at("main/across_foreign"))  # under those frames, or not
        check_equal([(place.count, place.abandoned) for place in compared], [(1, 1)], "compare")
        tree.check_time(compared[0].time_s, 0.010, str(compared[0]))
        outer = tree.expect("main/loops/loop", 1, 0.042, abandoned=0, begun=3)
        tree.check_time(outer.own_s, 0.030, f"own time of {outer}")
        tree.expect("main/loops/loop/loop", 3, 0.012, abandoned=3)
        tree.expect("main/loops/loop/loop/part", 6, 0.012, abandoned=3)
        tree.check_time(tree.at("main/jumped_to").own_s, 0.020, "own time after a jump")
        tree.expect("main/jumped_to/jumper", 1, 0.015, abandoned=1)
        tree.expect("main/jumped_to/jumper/loop", 1, 0.015)


@case
def objects():
    """Static initialisers before main, destructors after it, templates, lambdas, constructors, and a
    coroutine whose parts count where they are resumed."""
    for level in LEVELS:
        tree = observe([build("g++", "objects.cpp", ("-g", "-std=c++20", level), "a.out")])
        globals_ = {place.name: place for place in tree.all() if "Global" in place.name}
        check_equal(set(globals_), {"Global", "~Global"}, "constructor and destructor")
        for place, ms in ((globals_["Global"], 5), (globals_["~Global"], 10)):
            check_equal(place.count, 1, str(place))
            check("main@" not in place.path(), f"inside of main: {place}")
            tree.check_time(place.time_s, 0.001 * ms, str(place))
        works = tree.all("work")
        check_equal({(place.parent.name, place.count, place.raw["name"]) for place in works},
                    {("main", 1, "int work<int>(int)"), ("main", 1, "double work<double>(double)")},
                    "instances of a template")
        for place in works:
            tree.check_time(place.time_s, 0.004 if "int work" in place.raw["name"] else 0.006,
                            str(place))
        tree.expect("main/Local", 1, 0.003)
        tree.expect("main/~Local", 1, 0.006)
        tree.expect("main/apply", 1, 0.009)
        tree.expect("main/apply/loop", 1, 0.009, begun=3)
        tree.expect("main/takes_two", 2, 0.008)
        made = tree.all("made_one")
        check_equal(sum(place.count for place in made), 4, "parts of the coroutine")
        check_equal({"/takes_two@" in place.path() for place in made}, {True}, "resumed there")
        tree.check_time(sum(place.time_s for place in made), 0.008, "parts of the coroutine")
        tree.expect("main/after_coroutine", 1, 0.003)


@case
def lambdas():
    """A lambda that is not inlined stands under what called it, three times."""
    tree = observe([build("g++", "objects.cpp", ("-g", "-std=c++20", "-O0"), "a.out")])
    inside = tree.at("main/apply/loop").children()
    check_equal([place.count for place in inside], [3], f"lambda {inside}")
    check("{lambda" in inside[0].raw["name"], f"its name: {inside}")
    tree.check_time(inside[0].time_s, 0.009, str(inside[0]))


@case
def fortran():
    """Contained and recursive procedures, an entry, do concurrent and array syntax; stop inside of a
    procedure leaves its time."""
    for level in LEVELS:
        tree = observe([build("gfortran", "forms.f90", (level, *AS_WRITTEN), "a.out")], code=3)
        tree.expect("all_forms", 1, 0.036, abandoned=0)
        tree.expect("all_forms/outer", 1, 0.010)
        tree.expect("all_forms/outer/loop", 1, 0.010, begun=4)
        tree.expect("all_forms/outer/loop/inner", 4, 0.010)
        check_equal(tree.expect("all_forms/depth", 5, 0.010).children(), [], "under depth")
        whole, part = tree.at("all_forms/whole"), tree.at("all_forms/part")
        check_equal((whole.count, part.count), (1, 1), "procedure and entry")
        tree.check_time(whole.time_s, 0.005, str(whole))
        tree.check_time(part.time_s, 0.002, str(part))
        tree.expect("all_forms/arrays", 1, 0.004)
        tree.expect("all_forms/stops", 1, 0.005, abandoned=0)


@case
def openmp():
    """What both threads of a parallel region call, thread 0 twice and thread 1 three times, lies in
    the region. Each call takes 5 ms."""
    for compiler in ("gcc", "clang"):
        for level in LEVELS:
            tree = observe([build(compiler, "teams.c", ("-g", level, "-fopenmp"), "a.out")])
            alone = tree.all("alone")
            check_equal([(place.parent.name, place.count) for place in alone], [("main", 1)] * 2,
                        "what is not in the region")
            shares = tree.all("share")
            inside = {("main@" in place.path(), "/parallel@" in place.path()): place
                      for place in shares}
            check_equal({where: place.count for where, place in inside.items()},
                        {(True, True): 5}, f"calls in main's tree and beside it {shares}")
            for place in shares:
                check_equal((place.parent.kind, place.parent.count), ("loop", 2),
                            str(place.parent))
                check(0.005 * place.count <= place.time_s + 1e-4, f"too short: {place}")
            threads = {row["thread"] for row in tree.profile.csv("--per-rank")
                       if row["name"] == "share" and row["kind"] == "proc"}
            check_equal(len(threads), 2, "threads")


@case
def chunks():
    """Chunks and iterations of loops of OpenMP are all counted for these, whatever the program has
    open where it takes the next chunk. Of gcc: libomp 14 tells neither."""
    for level in LEVELS:
        profile = observe([build("gcc", "chunks.c", ("-g", level, "-fopenmp"), "a.out")]).profile
        (_, dynamic), = nodes_at(profile, "for dynamic")
        check_equal((dynamic["count"], dynamic["iterations"], dynamic["chunks"]), (2, 24, 6),
                    f"dynamic loop at {level}")
        (_, guided), = nodes_at(profile, "for guided")
        check_equal((guided["count"], guided["iterations"]), (2, 50), f"guided loop at {level}")
        check(guided["chunks"] <= 25, f"chunks of at least 2 iterations: {guided['chunks']}")


@case
def library_that_comes_and_goes():
    """A library with probes, loaded and unloaded three times: its procedure and loop keep names,
    lines and counts, in one place each."""
    library = build("gcc", "comes_and_goes.c", ("-g", "-O2", "-shared", "-fPIC"), "libgoes.so")
    program = build("gcc", "come_and_go.c", ("-g", "-O2"), "a.out", ["-ldl"])
    tree = observe([program, library])
    go = tree.expect("main/loop/use/go", 3, 0.024)
    check_equal((os.path.basename(go.raw["file"]), go.line),
                ("comes_and_goes.c", line_of("comes_and_goes.c", "int go(")), "where go stands")
    tree.expect("main/loop/use/go/loop", 3, 0.024, begun=12)


@case
def without_and_with_the_library():
    """The same output without libdwell, and under a plain LD_PRELOAD, which gives a profile too."""
    program = build("gcc", "caller_cost.c", ("-g", "-O2"), "a.out")
    out = scratch("preloaded")
    run = execute([program], env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": out}, cwd=scratch())
    check_equal((run.code, run.stdout), (0, ""), "preloaded" + run.describe())
    Tree(out, run).expect("main/heavy/loop/work", 4, 0.180)
    plain = execute([program], cwd=scratch())
    check_equal((plain.code, plain.stdout, len(plain.stderr.splitlines())), (0, "", 1),
                "alone" + plain.describe())
    undefined = execute(["nm", "-D", "--undefined-only", program])
    for symbol in ("dwell_link_module", "gnu_get_libc_release"):
        check(f"w {symbol}" in undefined.stdout, f"{symbol} is not weak" + undefined.describe())


@case
def killed():
    """kill -9 of a rank of two: `dwell recover` knows every probe that was met before; what was open
    has its time up to then, of a recursion each procedure its own."""
    program = build("mpicc", "dies.c", ("-g", "-O2"), "a.out")
    run = execute(mpirun(2, DWELL, "run", "-o", scratch("out"), program), 2, cwd=scratch())
    check(run.code != 0, "the job ended well" + run.describe())
    again = execute([DWELL, "recover", kept_records(run), "-o", scratch("again")])
    check_equal(again.code, 0, "dwell recover" + again.describe())
    tree = Tree(scratch("again"), run)
    step = tree.expect("main/loop/step", 20, 0.100)
    check_equal([(place.name, place.count) for place in step.children()], [("MPI_Sendrecv", 20)],
                "under step")
    tree.expect("main", 2, 0.220)
    tree.expect("main/outer", 4, 0.120)  # twice 20 + 20 + 20 ms
    tree.expect("main/outer/inner", 2, 0.040)
    check_equal([(place.count, place.abandoned) for place in tree.all("end")], [(2, 0)], "end")


if __name__ == "__main__":
    main()
