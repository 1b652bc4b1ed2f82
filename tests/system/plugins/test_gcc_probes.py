"""What the plugin for gcc puts into programs: static tables and probes, at every optimisation, with
every way of linking, and with code that makes it hard."""

import os
import re
import resource
import subprocess

import probing
from harness import ROOT, Failure, case, check, check_equal, main, scratch, skip_unless, thorough
from probing import (Table, check_landings, check_rows, check_seen, compile_gcc, program, recorded,
                     run, write, write_library_and_user)

LEVELS = thorough(("-O0", "-O1", "-O2", "-O3", "-Os"), ("-O0", "-O2"))
# What is written stays where it is written: then answers do not depend on the level.
AS_WRITTEN = ("-fno-inline", "-fno-partial-inlining", "-fno-ipa-cp", "-fno-ipa-sra", "-fno-ipa-icf",
              "-fno-inline-functions-called-once", "-fno-inline-small-functions",
              "-fno-inline-functions", "-fno-optimize-sibling-calls")
FILES = {"c": ("gcc", "probed.c", ("-w", "-lm")),
         "cpp": ("g++", "probed.cpp", ("-std=c++20",)),
         "f90": ("gfortran", "probed.f90", ())}


def built(language, flags, name="a.out", probes=True, **keywords):
    compiler, source, more = FILES[language]
    skip_unless(subprocess.run([compiler, "--version"], capture_output=True).returncode == 0,
                f"no {compiler}")
    binary = scratch(name)
    compile_gcc(compiler, [*flags, program(source), *more, "-o", binary], probes, **keywords)
    return binary


def rows(language):
    for flags in (("-O0", "-g"), ("-O0",), ("-O2", "-g", *AS_WRITTEN), ("-Os", "-g", *AS_WRITTEN)):
        check_rows(built(language, flags), program(FILES[language][1]), "-O0" in flags)


@case
def rows_of_c():
    """Every row of the table as the source's comments say, also without debug information."""
    rows("c")


@case
def rows_of_cpp():
    """Templates, constructors, virtual functions: rows as the source's comments say."""
    rows("cpp")


@case
def rows_of_fortran():
    """Modules, contained procedures, entries, array syntax: rows as the source's comments say."""
    rows("f90")


def counts(language):
    _, source, _ = FILES[language]
    want = run([built(language, ("-O0",), "plain", probes=False)])
    for level in LEVELS:
        output, log = recorded(built(language, (level, "-g", "-fchecking", *AS_WRITTEN)))
        check_equal(output, want, f"output at {level}")
        check_seen(log, program(source))
        for flags in ((level,), (level, "-march=native"), (level, "-fno-omit-frame-pointer")):
            output, log = recorded(built(language, flags, plugin_arguments=("all",)))
            check_equal(output, run([built(language, flags, "plain", probes=False)]),
                        f"output with {flags}")
            check_equal(log.wrong, [], f"wrong with {flags}")
            check("main" in log.entered or "MAIN__" in log.entered, f"main entered with {flags}")


@case
def counts_of_c():
    """Entries and iterations as the source's comments say; results those of plain builds."""
    counts("c")


@case
def counts_of_cpp():
    """The same for C++, with exceptions, coroutines and static initialisers."""
    counts("cpp")


@case
def counts_of_fortran():
    """The same for Fortran."""
    counts("f90")


@case
def openmp():
    """1000 trips over two threads, 4 tasks of 10."""
    for level in LEVELS:
        binary = scratch("omp")
        compile_gcc("gcc", [level, "-g", "-fopenmp", program("probed_omp.c"), "-o", binary])
        output, log = recorded(binary)
        check_equal(output, "499500 6\n", level)
        check_equal(log.wrong, [], level)
        bodies = {}
        for path, (entries, iterations) in log.entered.items():
            match = re.search(r"(main\._omp_fn\.\d+)(/\d+)?$", path)
            if match:
                key = match.group(1), bool(match.group(2))
                before = bodies.get(key, (0, 0))
                bodies[key] = before[0] + entries, before[1] + iterations
        loops = {counted for (_, is_loop), counted in bodies.items() if is_loop}
        check_equal({(1, 4), (4, 40)} - loops, set(), f"loop of single and of tasks at {level}")
        # Each thread: its 500 trips in a loop that tests last, inside one over its chunks or not.
        check(any(entries >= 2 and 1000 <= iterations <= 1004 for entries, iterations in loops),
              f"two threads share 1000 trips at {level}: {loops}")
        hosts = {row.name: row.enclosing.name for row in Table(binary).rows
                 if row.kind == "proc" and row.enclosing}
        check_equal(hosts.get("main._omp_fn.0"), "main", "procedure around a construct")


@case
def registers():
    """Probes keep all registers but their own: 14 live integers and 16 live vectors cross them."""
    source = scratch("live.c")
    with open(source, "w", encoding="utf-8") as file:
        file.write(live_registers())
    want = run([build_here("live.c", ["-O0"], "plain", probes=False)])
    for level in LEVELS:
        for more in ((), ("-fomit-frame-pointer",), ("-masm=intel",), ("-fPIC",)):
            output, log = recorded(build_here("live.c", [level, *more], plugin_arguments=("all",)))
            check_equal(output, want, f"{level} {more}")
            check_equal(log.wrong, [], f"{level} {more}")
            inner = [seen for path, seen in log.entered.items() if path.endswith("/6/10")]
            check_equal(inner, [(20, 200)], f"inner loop {level} {more}")


def live_registers():
    integers = [f"i{n}" for n in range(14)]
    doubles = [f"d{n}" for n in range(16)]
    lines = ["#include <stdio.h>", "static volatile long seed = 3;",
             "__attribute__((noinline)) static double live(long n) {",
             "    long " + ", ".join(f"{name} = seed + {k}" for k, name in enumerate(integers)) + ";",
             "    double " + ", ".join(f"{name} = (double)seed * {k}"
                                       for k, name in enumerate(doubles)) + ";",
             "    for (long k = 0; k < n; k++) {",
             "".join(f" {name} = {name} * 3 + k;" for name in integers),
             "".join(f" {name} = {name} * 0.5 + (double)k;" for name in doubles),
             "        long sum = 0;",
             "        for (long m = 0; m < 10; m++) { sum += seed; i0 ^= sum; d0 += (double)m; }",
             "    }",
             "    printf(\"%ld %g\\n\", " + " + ".join(f"{name} * {k + 1}" for k, name in
                                                       enumerate(integers)) + ", " +
             " + ".join(f"{name} * {k + 1}" for k, name in enumerate(doubles)) + ");",
             "    return d3;", "}",
             "int main(void) { printf(\"%g\\n\", live(20)); return 0; }"]
    return "\n".join(lines) + "\n"


def build_here(source, flags, name="a.out", compiler="gcc", **keywords):
    binary = scratch(name)
    compile_gcc(compiler, [*flags, scratch(source), "-o", binary], **keywords)
    return binary


@case
def tail_calls():
    """Ten million calls in tail position in a stack of 256 KiB: the leave probe comes first, and the
    calls stay jumps; through two procedures, a pointer, a common return, after a dead local."""
    write("tail.c", """
#include <stdio.h>
long count;
volatile int zero;
long odd(long n);
void touch(char* p) { p[0] = (char)zero; if (zero) puts(p); }
__attribute__((noinline)) long even(long n) {
    if (n == 0) return count;
    if (n & zero) { for (int i = 0; i < zero; i++) puts("never"); }
    { char local[8]; touch(local); }
    count++;
    return odd(n - 1);
}
long (*volatile to_even)(long) = even;
__attribute__((noinline)) long odd(long n) {
    count++;
    if (zero) { puts("never"); return 1; }
    if (n < 3) return even(n - 1);
    return to_even(n - 1);
}
__attribute__((noinline)) long mixed(long n) {
    for (long i = 0; i < n; i++) {
        if (i == 7) return i;  // one way leaves the loop and the procedure
        fflush(stdout);
    }
    return odd(1);
}
int main(int argc, char** argv) {
    (void)argv;
    printf("%ld\\n", even(argc > 1 ? 100 : 10000000));
    mixed(3);
    return mixed(10) == 7 ? 0 : 1;
}
""")
    binary = build_here("tail.c", ["-O2", "-Wno-unused"])
    small_stack = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 18, 1 << 18))
    check_equal(run([binary], preexec_fn=small_stack), "10000000\n", "without library")
    output, log = recorded(binary, ["short"])
    check_equal((output, log.wrong), ("100\n", []), "with library")
    # Calls that are jumps come from where the procedure that jumps was called.
    check_equal({path: seen for path, seen in log.entered.items() if "even" in path or "odd" in path},
                {"main/even": (52, 0), "main/odd": (51, 0)}, "entries")
    check_equal({path: seen for path, seen in log.entered.items() if "mixed" in path},
                {"main/mixed": (2, 0), "main/mixed/22": (2, 11)}, "two ways out of a loop")
    assembler = scratch("tail.s")
    compile_gcc("gcc", ["-O2", "-S", scratch("tail.c"), "-o", assembler])
    with open(assembler, encoding="utf-8") as file:
        text = file.read()
    for procedure, jump in (("even", r"\tjmp\todd"), ("odd", r"\tjmp\t\*")):
        body = re.search(rf"^{procedure}:$(.*?)^\t\.size\t{procedure},", text, re.M | re.S).group(1)
        check(re.search(jump, body), f"{procedure} ends in a jump")
        before = body[:re.search(jump, body).start()]
        # A test of the level, and what follows when the site is on, at the procedure's end.
        test = re.findall(r"cmpb\t\$0, \.Ldwell_level\S+\n\tjne\t(\.L\d+)$", before.split("\tret")[-1],
                          re.M)
        check(test, f"{procedure} tests a level before its jump")
        away = body[body.index(f"\n{test[-1]}:"):].partition("\tjmp\t")[0]
        check("call\t*.Ldwell_links+16(%rip)" in away, f"{procedure} is left before its jump: {away}")


@case
def links():
    """Whole tables in one piece whichever way a program is linked: two units of 2 and 4 levels."""
    write("one.c", """
#include <stdio.h>
int sum(int n);
int main(void) { int s = 0; for (int i = 0; i < 5; i++) s += sum(i); printf("%d\\n", s); return 0; }
""")
    write("two.c", """
#include <stdio.h>
int sum(int n) { int s = 0; for (int i = 0; i < n; i++) s += i; fflush(stdout); return s; }
int other(int n) { int s = 0; for (int i = 0; i < n; i++) s += sum(i); return s; }
""")
    sources = [scratch("one.c"), scratch("two.c")]
    section = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    for flags in ([], ["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], section, ["-masm=intel"],
                  ["-pg"], ["-fprofile-arcs"], ["-fcf-protection"], ["-g", "-gsplit-dwarf"],
                  [*section, "-fuse-ld=lld"], ["-fuse-ld=lld", "-no-pie"], ["-O0"], ["-std=c99"]):
        if "-fuse-ld=lld" in flags and subprocess.run(["ld.lld", "--version"],
                                                      capture_output=True).returncode != 0:
            continue
        binary = scratch("linked")
        compile_gcc("gcc", ["-O2", *flags, *sources, "-o", binary])
        check_linked(binary, 6, flags)
    objects = []
    for source in sources:
        objects.append(source + ".o")
        compile_gcc("gcc", ["-O2", "-c", source, "-o", objects[-1]])
    run(["ld", "-r", *objects, "-o", scratch("both.o")])
    run(["gcc", scratch("both.o"), "-o", scratch("partial")])
    check_linked(scratch("partial"), 6, "ld -r")


def check_linked(binary, levels, what):
    check_equal(run([binary]), "10\n", f"without library, {what}")
    output, log = recorded(binary)
    check_equal(output, "10\n", f"with library, {what}")
    check_equal(log.wrong, [], what)
    table = Table(binary)
    if "-fprofile-arcs" not in what:
        check_equal(log.modules, [(len(table.rows) + 2, levels)], f"one module, {what}")
    check_equal({path: seen for path, seen in log.entered.items() if path != "main/3"},
                {"main": (1, 0), "main/4": (1, 5), "main/4/sum": (5, 0), "main/4/sum/3": (5, 10)},
                f"entered, {what}")
    for name in ("dwell_sites", "dwell_levels", "dwell_links"):
        check_no_relocations(binary, table.sections[name], f"{name}, {what}")


def check_no_relocations(binary, section, what):
    for line in run(["readelf", "-rW", binary]).splitlines():
        match = re.match(r"([0-9a-f]{16})\s", line)
        if match:
            check(not section[3] <= int(match.group(1), 16) < section[3] + section[5],
                  f"no dynamic relocation in {what}")


@case
def static_links():
    """-static and -static-pie, without the library and with it linked in."""
    write("one.c", """
#include <stdio.h>
int main(void) { int s = 0; for (int i = 0; i < 5; i++) s += i; printf("%d\\n", s); return 0; }
""")
    recorder = scratch("recorder.o")
    run(["g++", "-std=c++20", "-O1", "-fPIC", "-c", f"-I{ROOT}",
         program("probe_recorder.cpp"), "-o", recorder])
    for flag in ("-static", "-static-pie"):
        compile_gcc("gcc", ["-O2", "-fPIE", "-c", scratch("one.c"), "-o", scratch("one.o")])
        run(["gcc", flag, scratch("one.o"), "-o", scratch("alone")])
        check_equal(run([scratch("alone")]), "10\n", f"{flag} without library")
        run(["g++", flag, scratch("one.o"), recorder, "-o", scratch("both")])
        output, log = recorded(scratch("both"))
        check_equal(output, "10\n", flag)
        check_equal((log.wrong, log.entered), ([], {"main": (1, 0), "main/3": (1, 5)}), flag)


@case
def shared_library():
    """A library that comes and goes is registered and taken back each time."""
    write_library_and_user()
    for linker in ("bfd", "lld"):
        skip_unless(linker == "bfd" or subprocess.run(["ld.lld", "--version"],
                                                      capture_output=True).returncode == 0, "no lld")
        library = build_here("lib.c", ["-O2", "-shared", "-fPIC", "-Wl,-z,defs",
                                       f"-fuse-ld={linker}"], "lib.so")
        _, log = recorded(build_here("user.c", ["-O2", f"-fuse-ld={linker}"]), [library])
        check_equal(log.wrong, [], "wrong")
        check_equal(log.modules[1:], [(4, 2)] * 3, "the library's registrations")
        check_equal(log.entered["main/4/go"], (3, 0), "entries")
        check_equal(log.entered["main/4/go/2"], (3, 12), "iterations")


@case
def link_time_optimisation():
    """-flto: the plugin works in the link step, in each partition, and finds the same sites."""
    want = run([built("c", ("-O0",), "plain", probes=False)])
    for flags in (("-flto",), ("-flto", "-flto-partition=max"), ("-flto", "-ffat-lto-objects"),
                  ("-flto", "-flto-partition=none", "-g")):
        binary = built("c", ("-O2", *flags))
        output, log = recorded(binary)
        check_equal(output, want, f"output with {flags}")
        check_equal(log.wrong, [], f"{flags}")
        check_equal(len(log.modules), 1, f"modules with {flags}")
        check_equal(log.entered["main"], (1, 0), f"main with {flags}")
        names = {row.name for row in Table(binary).rows if row.kind == "proc"}
        check("main" in names, f"main has a row with {flags}")
        binary = built("c", ("-O2", "-g", *flags, *AS_WRITTEN))
        check_seen(recorded(binary)[1], program("probed.c"))


@case
def other_instrumentation():
    """Address and undefined-behaviour sanitizers, coverage and gprof beside the probes."""
    want = run([built("c", ("-O0",), "plain", probes=False)])
    for flags in (("-fprofile-arcs", "-ftest-coverage"), ("-pg",), ("-finstrument-functions",),
                  ("-fstack-protector-all",), ("-fsanitize=undefined",), ("-fsplit-stack",),
                  ("-fstack-clash-protection",), ("-mstackrealign",), ("-fno-plt",),
                  ("-fnon-call-exceptions", "-fexceptions"), ("-ftrapv",)):
        for level in ("-O0", "-O2"):
            if flags == ("-fsplit-stack",) and level == "-O0":
                continue  # the nested function's trampoline needs the same stack
            output, log = recorded(built("c", (level, *flags)))
            check_equal(output, want, f"{flags} {level}")
            check_equal(log.wrong, [], f"{flags} {level}")
    check_equal(run([built("cpp", ("-O2", "-fsanitize=address"))]),
                run([built("cpp", ("-O2",), "plain", probes=False)]), "address sanitizer")


@case
def precompiled_header():
    """A precompiled header is made and used with the plugin."""
    write("all.h", "#include <stdio.h>\nstatic inline int twice(int x) { return 2 * x; }\n")
    write("uses.c", '#include "all.h"\nint main(void) { printf("%d\\n", twice(4)); return 0; }\n')
    compile_gcc("gcc", ["-O2", scratch("all.h")])
    check(os.path.exists(scratch("all.h.gch")), "header compiled")
    output, log = recorded(build_here("uses.c", ["-O2", "-Winvalid-pch", "-Werror"]))
    check_equal((output, log.entered), ("8\n", {"main": (1, 0)}), "program")


@case
def nothing_to_do():
    """-S, -E, -fsyntax-only, empty units and units with errors behave as without the plugin."""
    write("empty.c", "int unused;\n")
    compile_gcc("gcc", ["-c", scratch("empty.c"), "-o", scratch("empty.o")])
    check("dwell" not in run(["readelf", "-SsW", scratch("empty.o")]), "an empty unit has no table")
    for flags in (["-E"], ["-fsyntax-only"], ["-M"], ["-S", "-o", "-"]):
        with_plugin = compile_gcc("gcc", [*flags, scratch("empty.c")])
        without = compile_gcc("gcc", [*flags, scratch("empty.c")], probes=False)
        check_equal(with_plugin.stdout, without.stdout, f"output of {flags}")
    write("wrong.c", "int main(void) { return missing; }\n")
    try:
        compile_gcc("gcc", ["-c", scratch("wrong.c")])
    except Failure as failure:
        check("missing" in str(failure) and "internal" not in str(failure), str(failure))
    else:
        raise Failure("a wrong program was compiled")


@case
def unsupported_target():
    """Other targets and code models: a note, said once, and code without probes."""
    write("one.c", "int puts(const char*);\nint main(void) { for (;;) puts(\"\"); }\n")
    for flag in ("-m32", "-mcmodel=large"):
        done = compile_gcc("gcc", [flag, "-Werror", "-S", scratch("one.c"), "-o", scratch("one.s")])
        check_equal(done.stderr.count("note: dwell: no probes"), 1, f"{flag}: {done.stderr}")
        with open(scratch("one.s"), encoding="utf-8") as file:
            check("dwell" not in file.read(), f"no probes with {flag}")


@case
def bad_arguments():
    """An argument that the plugin does not know is an error that names it."""
    write("one.c", "int main(void) { return 0; }\n")
    try:
        compile_gcc("gcc", [scratch("one.c")], plugin_arguments=("nonsense",))
    except Failure as failure:
        check("nonsense" in str(failure), str(failure))
    else:
        raise Failure("accepted")


@case
def all_sites():
    """`all` gives probes to small procedures and innermost loops as well."""
    table = Table(built("c", ("-O0", "-g"), plugin_arguments=("all",)))
    without = {(row.kind, row.name) for row in table.rows
               if row.kind in ("proc", "loop") and not row.probes}
    loops_without = {row.line for row in table.rows if row.kind == "loop" and not row.probes}
    check_equal({name for kind, name in without if kind == "proc"}, {"choose", "quiet"},
                "procedures without probes")
    check_equal(len(loops_without), 1, "loops without probes: that of quiet")


@case
def landings():
    """Where exceptions are caught and setjmp returns, the site around is told, at every level."""
    for flags in (*((level,) for level in LEVELS), ("-O2", "-flto"), ("-O2", "-fno-reorder-blocks"),
                  ("-O3", "-g", "-fnon-call-exceptions")):
        binary = scratch("landings")
        compile_gcc("g++", [*flags, "-fchecking", program("landings.cpp"), "-o", binary])
        check_landings(binary)


@case
def loops_with_setjmp():
    """Two loops with a setjmp in each: gcc takes them for one, so both have rows, each its line, and no
    probes. A loop beside one with a setjmp, around one, or with one alone, is as any other."""
    write("jumps.c", """
#include <setjmp.h>
#include <stdio.h>
static jmp_buf back;
volatile int three = 3;
__attribute__((noinline)) void work(int k) { fflush(stdout); if (k == 1) longjmp(back, 1); }
__attribute__((noinline)) void two(void) {
    for (volatile int k = 0; k < three; k++) { if (!setjmp(back)) work(k); }  // first
    for (volatile int k = 0; k < three; k++) { if (!setjmp(back)) work(k); }  // second
}
__attribute__((noinline)) void beside(void) {
    for (volatile int k = 0; k < three; k++) { if (!setjmp(back)) work(k); }  // blurred
    for (volatile int k = 0; k < three; k++) work(0);                         // beside
}
__attribute__((noinline)) void around(void) {
    for (volatile int k = 0; k < three; k++) {  // outer
        if (!setjmp(back)) work(k);
        for (volatile int j = 0; j < three; j++) work(0);  // inner
    }
}
__attribute__((noinline)) void none(void) {
    if (setjmp(back)) return;
    work(0);
    work(1);
}
int main(void) { two(); beside(); around(); none(); return 0; }
""")
    with open(scratch("jumps.c"), encoding="utf-8") as file:
        line = {match.group(1): number for number, text in enumerate(file, 1)
                if (match := re.search(r"// (\w+)$", text.rstrip()))}
    for level in LEVELS:
        binary = build_here("jumps.c", [level, "-g", "-fchecking"])
        rows = {row.line: (row.probes, row.enclosing.line if row.enclosing.kind == "loop" else 0)
                for row in Table(binary).rows if row.kind == "loop"}
        check_equal(rows, {line["first"]: (False, 0), line["second"]: (False, 0),
                           line["blurred"]: (False, 0), line["beside"]: (True, 0),
                           line["outer"]: (True, 0), line["inner"]: (True, line["outer"])}, level)
        _, log = recorded(binary)
        check_equal(log.wrong, [], level)
        loops = {path.rsplit("/", 1)[1]: seen for path, seen in log.entered.items()
                 if re.search(r"/\d+$", path)}
        check_equal(loops, {str(line["beside"]): (1, 3), str(line["outer"]): (1, 3),
                            str(line["inner"]): (3, 9)}, level)


@case
def bodies_stand_apart():
    """From -O1 on what a probe does when its site is on stands behind the procedure's last return,
    with the unwinder's table right there: a backtrace from a probe reaches main."""
    write("apart.c", """
#include <stdio.h>
__attribute__((noinline)) int work(int n) {
    for (int i = 0; i < n; i++) fflush(stdout);
    return n;
}
int main(void) { return work(3) == 3 ? 0 : 1; }
""")
    for level in ("-O1", "-O2", "-O3", "-Os"):
        assembler = scratch("apart.s")
        compile_gcc("gcc", [level, "-S", scratch("apart.c"), "-o", assembler])
        with open(assembler, encoding="utf-8") as file:
            body = re.search(r"^work:$(.*?)^\t\.size\twork,", file.read(), re.M | re.S).group(1)
        before, _, behind = body.rpartition("\tret")
        check_equal((before.count("call\t*.Ldwell_links"), behind.count("call\t*.Ldwell_links")), (0, 4), level)
    skip_unless(subprocess.run(["gdb", "--version"], capture_output=True).returncode == 0, "no gdb")
    binary = build_here("apart.c", ["-O2"])
    for entry in ("enter", "leave", "loop_enter_counting", "loop_leave"):
        done = subprocess.run(
            ["gdb", "-q", "-batch", "-nx", "-ex", "set breakpoint pending on",
             "-ex", f"set environment LD_PRELOAD {probing.RECORDER}", "-ex", "break work",
             "-ex", "run", "-ex", f"break dwell_{entry}", "-ex", "continue", "-ex", "bt", binary],
            capture_output=True, text=True, timeout=120, cwd=scratch())
        check(re.search(r"#1 .* work .*\n#2 .* main ", done.stdout), f"{entry}: {done.stdout}")


if __name__ == "__main__":
    main()
