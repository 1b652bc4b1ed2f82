"""What the plugin for clang puts into programs: the same tables and probes as gcc's, from the same
sources with the same answers (probing.py), at every optimisation and in every kind of link."""

import os
import re
import resource
import subprocess

import probing
from harness import case, check, check_equal, main, scratch, skip_unless, thorough
from probing import (Table, check_landings, check_rows, check_seen, plain_name, recorded, run,
                     write, write_library_and_user)

PLUGIN = os.environ.get("SYSTEST_CLANG_PLUGIN", "")
GCC_PLUGIN = os.environ.get("SYSTEST_GCC_PLUGIN", "")
LEVELS = thorough(("-O0", "-O1", "-O2", "-O3", "-Os"), ("-O0", "-O2"))
AS_WRITTEN = ("-fno-inline", "-fno-optimize-sibling-calls", "-fno-unroll-loops")
MARKED = ("-Xclang", "-finstrument-functions-after-inlining")
COMPILERS = {"c": ("clang", "probed.c", ("-w", "-lm")),
             "cpp": ("clang++", "probed.cpp", ("-std=c++20",))}
# Where clang and gcc see the same source differently; lines stay where they are.
DIFFERENT = {
    "probed.c": [
        # No nested functions.
        (r"(?s)//! 1 0 main/host\n.*?\n}\n", lambda text: "\n" * text.group().count("\n")),
        (r"host\(2\),", "0,"),
        # The place of a do loop is its first word, for every loop.
        (r"do \{ +// the compiler.*", "do {  //= loop dowhile in several +"),
        (r"//= loop dowhile in several \+", None),
    ],
    "probed.cpp": [
        (r"(while \(true\) \{)\n(.*?resume\(\);) +//= loop draws in main \+",
         r"\1  //= loop draws in main +\n\2"),
        (r"void unhandled_exception\(\) \{\}",
         r"\g<0>  //= proc promise_type::unhandled_exception small"),
        # The coroutine's loop is in what resumes it.
        (r"for \(int i = 0; i < n; i\+\+\) \{\n        co_yield",
         "for (int i = 0; i < n; i++) {  //= loop yields in numbers +\n        co_yield"),
        (r"lambda\b(?! \[)", "$_0::operator", 4),
    ],
}
# From -O1 on: what is computed while compiling is never entered, and the way to a call that does not
# return is no part of a loop.
OPTIMISED = {
    "main/driver": None, "main/driver/walk": None, "main/driver/walk/steps": None,
    "main/indirect": None, "main/talks": None,
    "main/$_0::operator/Square::area": None, "main/$_0::operator/Square::area/rows": None,
    "main/jumps/jumper/trips": 2,
}


def compile_clang(compiler, arguments, probes=True, options=None):
    """Runs clang in the scratch directory; `options` are the plugin's variables."""
    skip_unless(os.path.exists(PLUGIN), "the plugin for clang was not built")
    skip_unless(subprocess.run([compiler, "--version"], capture_output=True).returncode == 0,
                f"no {compiler}")
    command = [compiler, *arguments]
    if probes:
        command.append(f"-fpass-plugin={PLUGIN}")
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=scratch(),
                          env={**os.environ, **(options or {})})
    check(done.returncode == 0, f"{' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done


def source_for_clang(name):
    with open(probing.program(name), encoding="utf-8") as file:
        text = file.read()
    lines = text.count("\n")
    for pattern, replacement, *times in DIFFERENT.get(name, []):
        if replacement is None:  # the second of two
            places = list(re.finditer(pattern, text))
            check_equal(len(places), 2, f"places of {pattern}")
            text = text[:places[1].start()] + text[places[1].end():]
            continue
        text, count = re.subn(pattern, replacement, text)
        check_equal(count, times[0] if times else 1, f"places of {pattern}")
    check_equal(text.count("\n"), lines, "lines")
    return write(name, text)


def built(language, flags, name="a.out", **keywords):
    compiler, source, more = COMPILERS[language]
    binary = scratch(name)
    compile_clang(compiler, [*flags, source_for_clang(source), *more, "-o", binary], **keywords)
    return binary


def build_here(source, flags, name="a.out", compiler="clang", **keywords):
    compile_clang(compiler, [*flags, scratch(source), "-o", scratch(name)], **keywords)
    return scratch(name)


def has_lld():
    return subprocess.run(["ld.lld", "--version"], capture_output=True).returncode == 0


def linkers():
    return ("bfd", "lld") if has_lld() else ("bfd",)


@case
def rows_of_c():
    """Every row of the table as the source's comments say."""
    binary = built("c", ("-O0", "-g", *MARKED), options={"DWELL_CC_MARKED": "1"})
    check_rows(binary, scratch("probed.c"))
    check(not any("__cyg" in line for line in run(["nm", binary]).splitlines()),
          "marks leave no trace")


@case
def rows_of_cpp():
    """Templates, constructors, virtual functions: rows as the source's comments say."""
    check_rows(built("cpp", ("-O0", "-g1")), scratch("probed.cpp"))


def check_counts(language, flags, last):
    source = scratch(COMPILERS[language][1])
    log = recorded(built(language, flags))[1]
    log.entered = {re.sub(r"__cxx_global_var_init(\.\d+)?", "_GLOBAL__sub_I", path): seen
                   for path, seen in log.entered.items()}
    if last:
        write_answers(source)
    check_seen(log, source)


def write_answers(source):
    """Replaces the rounds by those of OPTIMISED."""
    with open(source, encoding="utf-8") as file:
        text = file.read()
    for path, rounds in OPTIMISED.items():
        text = re.sub(rf"//! (\d+) \d+ {re.escape(path)}$",
                      "//" if rounds is None else rf"//! \1 {rounds} {path}", text, flags=re.M)
    write(os.path.basename(source), text)


def counts(language):
    want = run([built(language, ("-O0",), "plain", probes=False)])
    for level in LEVELS:
        check_counts(language, (level, "-g1", *AS_WRITTEN), last=level != "-O0")
        for flags in ((level,), (level, "-g1"), (level, "-march=native", "-g"),
                      (level, "-fno-omit-frame-pointer")):
            for options in ({}, {"DWELL_CC_ALL": "1"}):
                binary = built(language, flags, options=options)
                check_equal(run([binary]), want, f"without library, {flags} {options}")
                output, log = recorded(binary)
                check_equal(output, want, f"output, {flags} {options}")
                check_equal(log.wrong, [], f"wrong, {flags} {options}")
                check("main" in log.entered, f"main entered, {flags} {options}")


@case
def counts_of_c():
    """Entries and iterations as the source's comments say; results those of plain builds."""
    counts("c")


@case
def counts_of_cpp():
    """The same for C++, with exceptions, coroutines and static initialisers."""
    counts("cpp")


@case
def openmp():
    """Two threads go round 1000 times; four tasks are made in one loop."""
    source = probing.program("probed_omp.c")
    for level in LEVELS:
        binary = scratch("omp")
        compile_clang("clang", [level, "-g1", "-fopenmp", source, "-o", binary])
        output, log = recorded(binary)
        check_equal(output, "499500 6\n", level)
        check_equal(log.wrong, [], level)
        entered = {}
        for path, (entries, iterations) in log.entered.items():
            match = re.search(r"(\.omp_outlined\.[.\d]*)(/\d+)?$", path)
            if match:
                before = entered.get(match.groups(), (0, 0))
                entered[match.groups()] = before[0] + entries, before[1] + iterations
        rounds = [counted for (body, loop), counted in entered.items()
                  if body == ".omp_outlined." and loop]
        check_equal(rounds, [(2, 1000)], f"rounds of two threads at {level}")
        procedures = {row.name: row.enclosing.name for row in Table(binary).rows
                      if row.kind == "proc" and row.enclosing}
        check_equal(procedures.get(".omp_outlined."), "main", "procedure around a construct")


@case
def tail_calls():
    """Two million calls in tail position, by musttail and by optimisation, in 256 KiB of stack: the
    leave probe comes first, and they stay jumps."""
    write("tail.c", """
#include <stdio.h>
long count;
volatile int zero;
#ifdef MUST
#define JUMP __attribute__((musttail))
#else
#define JUMP
#endif
void touch(char* p) { p[0] = (char)zero; if (zero) puts(p); }
long odd(long n);
__attribute__((noinline)) long even(long n) {
    if (n == 0) return count;
    { char local[8]; touch(local); }
    count++;
    if (n & zero) { for (int i = 0; i < zero; i++) puts("never"); }
    JUMP return odd(n - 1);
}
long (*volatile to_even)(long) = even;
__attribute__((noinline)) long odd(long n) {
    count++;
    if (zero) { puts("never"); return 1; }
    if (n < 3) { JUMP return even(n - 1); }
    JUMP return to_even(n - 1);
}
int main(void) { printf("%ld\\n", even(2000000)); return 0; }
""")
    limit = lambda: resource.setrlimit(resource.RLIMIT_STACK, (1 << 18, 1 << 18))
    for flags in (["-O2"], ["-O3"], ["-Os"], ["-O0", "-DMUST"], ["-O2", "-DMUST"],
                  ["-O2", "-flto"], ["-O2", "-flto=thin"]):
        binary = build_here("tail.c", flags, options={"DWELL_CC_ALL": "1"})
        check_equal(run([binary], preexec_fn=limit), "2000000\n", f"in a small stack, {flags}")
        output, log = recorded(binary)
        check_equal((output, log.wrong), ("2000000\n", []), f"recorded, {flags}")
        check_equal((log.entered["main/even"], log.entered["main/odd"]),
                    ((1000001, 0), (1000000, 0)), f"each left before the next is entered, {flags}")


def registers_source():
    integers = [f"i{n}" for n in range(14)]
    doubles = [f"d{n}" for n in range(16)]
    text = "#include <stdio.h>\nvolatile long seed = 3;\n"
    text += "__attribute__((noinline)) double live(long n) {\n"
    text += "".join(f"long {name} = seed + {k};\n" for k, name in enumerate(integers))
    text += "".join(f"double {name} = (double)seed * {k};\n" for k, name in enumerate(doubles))
    text += "for (long k = 0; k < n; k++) {\n"
    text += "".join(f"{name} = {name} * 3 + k;\n" for name in integers)
    text += "".join(f"{name} = {name} * 0.5 + (double)k;\n" for name in doubles)
    text += "const long times = seed + 7;\nfor (long m = 0; m < times; m++) { i0 ^= seed + m; d0 += (double)m; }\n}\n"
    text += "long i = 0; double d = 0;\n"
    text += "".join(f"i += {name} * {k + 1};\n" for k, name in enumerate(integers))
    text += "".join(f"d += {name} * {k + 1};\n" for k, name in enumerate(doubles))
    return text + ('printf("%ld %.17g\\n", i, d); return d3; }\n'
                   'int main(void) { printf("%.17g\\n", live(20)); return 0; }\n')


@case
def registers():
    """Fourteen integers and sixteen doubles live across probes that spoil all that they may."""
    write("live.c", registers_source())
    want = run([build_here("live.c", ["-O0"], "plain", probes=False)])
    for flags in (["-O1"], ["-O2"], ["-O3"], ["-O2", "-fno-omit-frame-pointer"],
                  ["-O2", "-mllvm", "-disable-lsr"], ["-O2", "-flto=thin"]):
        output, log = recorded(build_here("live.c", flags, options={"DWELL_CC_ALL": "1"}))
        check_equal(output, want, f"{flags}")
        check_equal(log.wrong, [], f"{flags}")
        inner = [seen for path, seen in log.entered.items() if path.count("/") == 3]
        check_equal(sum(entries for entries, _ in inner), 20, f"inner loop, {flags}")


ONE = """
#include <stdio.h>
int sum(int n);
int main(void) { int s = 0; for (int i = 0; i < 5; i++) s += sum(i + 1); printf("%d\\n", s); return 0; }
"""
TWO = """
#include <stdio.h>
int sum(int n) { int s = 0; for (int i = 0; i < n; i++) { s += i; fflush(stdout); } return s; }
int other(int n) { int s = 0; for (int i = 0; i < n; i++) s += sum(i); return s; }
"""


def check_linked(binary, what, units=2):
    check_equal(run([binary]), "20\n", f"without library, {what}")
    output, log = recorded(binary)
    check_equal((output, log.wrong), ("20\n", []), f"with library, {what}")
    table = Table(binary)
    check_equal(len(table.units), units, f"units, {what}")
    check_equal([rows for rows, _ in log.modules], [len(table.rows) + units], f"one module, {what}")
    sums = [seen[0] for path, seen in log.entered.items() if path.endswith("/sum")]
    check_equal(sum(sums), 5, f"entries of sum, {what}")
    for name in ("dwell_sites", "dwell_levels", "dwell_links"):
        section = table.sections[name]
        for line in run(["readelf", "-rW", binary]).splitlines():
            match = re.match(r"([0-9a-f]{16})\s", line)
            check(not match or not section[3] <= int(match.group(1), 16) < section[3] + section[5],
                  f"no dynamic relocation in {name}, {what}")


@case
def links():
    """One whole table and one registration whichever way a program is linked."""
    sources = [write("one.c", ONE), write("two.c", TWO)]
    sections = ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"]
    for linker in linkers():
        for flags in ([], ["-no-pie", "-fno-pie"], sections, ["-flto"], ["-flto=thin"],
                      ["-flto", *sections], ["-flto=thin", *sections], ["-O0", "-flto=thin"],
                      ["-masm=intel"], ["-fno-integrated-as"], ["-mcmodel=medium"],
                      ["-fcf-protection"], ["-g", "-gsplit-dwarf"]):
            binary = scratch("linked")
            compile_clang("clang", ["-O2", "-fno-inline", *flags, f"-fuse-ld={linker}", *sources,
                                    "-o", binary])
            check_linked(binary, f"{linker} {flags}")
        for flag in ("-static", "-static-pie"):
            binary = scratch("static")
            compile_clang("clang", ["-O2", flag, f"-fuse-ld={linker}", *sources, "-o", binary])
            check_equal(run([binary]), "20\n", f"{linker} {flag}")
    objects = []
    for source in sources:
        objects.append(source + ".o")
        compile_clang("clang", ["-O2", "-c", source, "-o", objects[-1]])
    run(["ld", "-r", *objects, "-o", scratch("both.o")])
    run(["clang", scratch("both.o"), "-o", scratch("partial")])
    check_linked(scratch("partial"), "ld -r")


@case
def links_with_gcc():
    """Objects of both compilers in one program, also where one is optimised in the link: one table
    and one registration, whichever comes first."""
    skip_unless(os.path.exists(GCC_PLUGIN), "the plugin for gcc was not built")
    write("one.c", ONE)
    write("two.c", TWO)
    for name in ("one", "two"):
        run(["gcc", "-O2", f"-fplugin={GCC_PLUGIN}", "-c", scratch(f"{name}.c"), "-o",
             scratch(f"{name}.gcc.o")])
    for flags in ([], ["-flto"], ["-flto=thin"]):
        for name in ("one", "two"):
            compile_clang("clang", ["-O2", *flags, "-c", scratch(f"{name}.c"), "-o",
                                    scratch(f"{name}.clang.o")])
        for linker in linkers():
            for objects in (("one.gcc.o", "two.clang.o"), ("two.clang.o", "one.gcc.o"),
                            ("one.clang.o", "two.gcc.o"), ("two.gcc.o", "one.clang.o")):
                binary = scratch("mixed")
                run(["clang", "-O2", *flags, f"-fuse-ld={linker}",
                     *(scratch(name) for name in objects), "-o", binary])
                check_linked(binary, f"{linker} {flags} {objects}")


@case
def nothing_with_probes():
    """A unit whose sites all have none links under --gc-sections and keeps its rows."""
    write("none.c", "int main(void) { return 0; }\n")
    for linker in linkers():
        for flags in ([], ["-flto"], ["-flto=thin"]):
            binary = build_here("none.c", ["-O2", "-ffunction-sections", "-Wl,--gc-sections",
                                           f"-fuse-ld={linker}", *flags])
            run([binary])
            check_equal([row.choice() for row in Table(binary).rows], ["small"], f"{linker} {flags}")


@case
def shared_library():
    """A library that comes and goes is registered each time."""
    write_library_and_user()
    for linker in linkers():
        for flags in ([], ["-flto"], ["-flto=thin"]):
            library = build_here("lib.c", ["-O2", "-g1", "-shared", "-fPIC", "-Wl,-z,defs", *flags,
                                           f"-fuse-ld={linker}"], "lib.so")
            user = build_here("user.c", ["-O0", f"-fuse-ld={linker}"])
            _, log = recorded(user, [library])
            check_equal((log.wrong, log.modules[1:]), ([], [(4, 2)] * 3), f"{linker} {flags}")
            seen = {path.split("go")[-1]: counts for path, counts in log.entered.items()
                    if "go" in path}
            check_equal(seen, {"": (3, 0), "/2": (3, 12)}, f"{linker} {flags}")


@case
def line_information_for_the_plugin_only():
    """Without -g the object has lines in its table and no debug information; with everything
    switched off its code is that of the plain compiler."""
    off = write("off.txt", "off all\n")
    source = source_for_clang("probed.cpp")
    lines = ("-Xclang", "-debug-info-kind=line-tables-only")
    for level in LEVELS:
        texts = []
        for flags, keywords in (((), {"probes": False}),
                                (lines, {"options": {"DWELL_CC_STRIP_DEBUG": "1",
                                                     "DWELL_CC_ENABLE": off}})):
            compile_clang("clang++", [level, "-std=c++20", *flags, "-S", source, "-o",
                                      scratch("out.s")], **keywords)
            with open(scratch("out.s"), encoding="utf-8") as file:
                texts.append(procedures_of(file.read()))
        plain, off_code = texts
        check_equal(off_code, plain, f"code at {level}")
        binary = built("cpp", (level, *lines), options={"DWELL_CC_STRIP_DEBUG": "1"})
        table = Table(binary)
        check(not [name for name in table.sections if name.startswith(".debug")],
              f"no debug information at {level}")
        main_row, = [row for row in table.rows if row.kind == "proc" and row.name == "main"]
        with open(source, encoding="utf-8") as file:
            check("int main()" in file.readlines()[main_row.line - 1], "line of main")
        check_equal(os.path.basename(main_row.file), "probed.cpp", "file of main")
        kept = built("cpp", (level, "-g"), options={"DWELL_CC_STRIP_DEBUG": "1"})
        check(".debug_info" in Table(kept).sections, f"-g is kept at {level}")


def procedures_of(assembler):
    """Instructions of each procedure that the source has, labels and directives aside."""
    procedures = {}
    for name, body in re.findall(r"^(\S+):[^\n]*# @.*?\n(.*?)^\.Lfunc_end", assembler, re.M | re.S):
        if "dwell" not in name:
            procedures[name] = re.findall(r"^\t([a-z]\w*(?:\t.*)?)$", re.sub(
                r"\.L\w+|#.*", "", body), re.M)
    return procedures


@case
def enabling_profile():
    """What a profile switches on and off at compile time; one that is wrong ends with 2."""
    def procedures(text):
        profile = write("sites.txt", text)
        binary = built("c", ("-O0", "-g"), options={"DWELL_CC_ENABLE": profile})
        return {plain_name(row.name) for row in Table(binary).rows
                if row.kind == "proc" and row.probes}
    default = procedures("")
    check("fib" not in default and "main" in default, "default choice")
    check_equal(procedures("on proc name=fib\noff proc name=walk\n"),
                (default | {"fib"}) - {"walk"}, "fib on, walk off")
    bad = write("bad.txt", "on proc\nperhaps loop\n")
    done = subprocess.run(["clang", "-c", source_for_clang("probed.c"), "-o", scratch("x.o"), "-w",
                           f"-fpass-plugin={PLUGIN}"], capture_output=True, text=True,
                          env={**os.environ, "DWELL_CC_ENABLE": bad})
    check_equal(done.returncode, 2, "exit code")
    check(f"{bad}:2: " in done.stderr, done.stderr)


@case
def vectorised_loops():
    """Probes around loops leave the vectoriser as many as it had."""
    write("vector.c", """
float dot(const float* x, const float* y, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i] * y[i]; return s; }
void axpy(double* restrict y, const double* restrict x, double a, int n) { for (int i = 0; i < n; i++) y[i] += a * x[i]; }
int count(const int* x, int n, int k) { int c = 0; for (int i = 0; i < n; i++) c += x[i] == k; return c; }
void product(int n, const float* restrict a, const float* restrict b, float* restrict c) {
    for (int i = 0; i < n; i++) for (int k = 0; k < n; k++) for (int j = 0; j < n; j++)
        c[i * n + j] += a[i * n + k] * b[k * n + j];
}
""")
    def vectorised(probes, **keywords):
        done = compile_clang("clang", ["-O3", "-ffast-math", "-Rpass=loop-vectorize", "-c",
                                       scratch("vector.c"), "-o", scratch("v.o")], probes,
                             **keywords)
        return done.stderr.count("vectorized loop")
    check_equal(vectorised(False), 4, "plain")
    check_equal(vectorised(True), 4, "default choice")
    check_equal(vectorised(True, options={"DWELL_CC_ALL": "1"}), 4, "all")


@case
def other_instrumentation():
    """Sanitizers, coverage and gprof beside the probes."""
    want = run([built("c", ("-O0",), "plain", probes=False)])
    for flags in (("-fprofile-instr-generate",), ("--coverage",), ("-pg",),
                  ("-finstrument-functions", "-DNO"), ("-fstack-protector-all",),
                  ("-fsanitize=undefined",), ("-fsanitize=address",), ("-fno-plt",),
                  ("-mstackrealign",), ("-ftrapv",), ("-fstack-clash-protection",)):
        for level in ("-O0", "-O2"):
            binary = built("c", (level, *flags))
            check_equal(run([binary]), want, f"{flags} {level}")
            if "address" not in flags[0]:  # its library must come first
                output, log = recorded(binary)
                check_equal((output, log.wrong), (want, []), f"{flags} {level}")


@case
def other_targets():
    """Another target or code model: a note and code without probes. Empty units have no table."""
    write("one.c", "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * s; return s; }\n")
    for flag in ("-m32", "-mcmodel=large"):
        done = compile_clang("clang", [flag, "-S", scratch("one.c"), "-o", scratch("one.s")])
        check_equal(done.stderr.count("dwell: no probes"), 1, f"{flag}: {done.stderr}")
        with open(scratch("one.s"), encoding="utf-8") as file:
            check("dwell" not in file.read(), f"no probes with {flag}")
    write("empty.c", "int unused;\n")
    compile_clang("clang", ["-c", scratch("empty.c"), "-o", scratch("empty.o")])
    check("dwell" not in run(["readelf", "-SsW", scratch("empty.o")]), "an empty unit has no table")


@case
def landings():
    """Where exceptions are caught and setjmp returns, the site around is told, at every level."""
    for flags in (*((level,) for level in LEVELS), ("-O2", "-flto=thin", "-fuse-ld=lld")):
        binary = scratch("landings")
        compile_clang("clang++", [*flags, "-g", probing.program("landings.cpp"), "-o", binary])
        check_landings(binary)


if __name__ == "__main__":
    main()
