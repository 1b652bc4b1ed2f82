"""The compiler wrappers: every option gives what the plain compiler gives, and probes besides; what
rules probes out costs one line and nothing else."""

import os
import re
import shutil

from harness import (case, check, check_equal, execute, main, mpirun, program, run_plain,
                     same_result, scratch, skip_unless, source, thorough)
from probing import Table
from wrapping import (C, CXX, FORTRAN, PROBES, WRAPPERS, both, clear, has_probes, lines_about,
                      only_with_probes, probes_called, runs_alike, same, sources, symbols, usable,
                      with_path, works, wrapper, write)

# Procedures named *quiet* want no probes; all others get them, those that no one wrote as functions
# among them.
UNWANTED_CPP = """#include <stdio.h>
#define QUIET __attribute__((no_instrument_function, noinline))
#define LOUD __attribute__((noinline))
extern "C" {
QUIET void quiet_c() { for (int i = 0; i < 2; ++i) fflush(stdout); }
LOUD void loud_c() { for (int i = 0; i < 2; ++i) fflush(stdout); }
}
template <typename Work> QUIET void quiet_template(Work work) { work(); fflush(stdout); }
template <typename Work> LOUD void loud_template(Work work) { work(); fflush(stdout); }
struct Base { virtual ~Base() = default; virtual void quiet_virtual(int n) = 0; };
struct Other { virtual ~Other() = default; virtual void loud_virtual(int n) = 0; };
struct Both : Base, Other {
    LOUD Both() { fflush(stdout); }
    QUIET void quiet_virtual(int n) override { while (n-- > 0) fflush(stdout); }
    LOUD void loud_virtual(int n) override { while (n-- > 0) fflush(stdout); }
};
inline auto loud_lambda = []() LOUD { fflush(stdout); fflush(stdin); };
int main() {
    Both both;
    Base& base = both;
    Other& other = both;
    base.quiet_virtual(2);
    other.loud_virtual(2);
    quiet_c();
    loud_c();
    quiet_template(quiet_c);
    loud_template(loud_c);
    loud_lambda();
    puts("30");
    return 3;
}
"""


@case
def every_name():
    """Each name compiles, links and says its version as the compiler that it is named after."""
    for name in usable(C + CXX + FORTRAN):
        arguments = {C: ["work.c", "main.c"], CXX: ["work.cpp", "main.cpp"],
                     FORTRAN: ["squares.f90"]}[next(g for g in (C, CXX, FORTRAN) if name in g)]
        works(name, ["--version"])
        works(name, [*arguments, "-o", "program"])
        only_with_probes("program", name)
        runs_alike("program")


@case
def launcher():
    """dwell-cc runs the compiler that its first argument names, as build systems' launchers do."""
    usable(("gcc",))
    cwd = sources("probes")
    run = execute([os.path.join(WRAPPERS, "dwell-cc"), shutil.which("gcc"), "-c", "work.c"], cwd=cwd)
    check_equal((run.code, run.stdout, run.stderr), (0, "", ""), "dwell-cc")
    check(has_probes("probes/work.o"), "work.o has no probes")
    run = execute([os.path.join(WRAPPERS, "dwell-cc")])
    check_equal(run.code, 2, "exit code without a compiler" + run.describe())
    run = execute([os.path.join(WRAPPERS, "dwell-cc"), "no-such-compiler", "--version"])
    check_equal(run.code, 127, "exit code" + run.describe())


@case
def questions():
    """Questions to the compiler, preprocessing and mistakes: the same words, streams and codes."""
    for name in usable((*C, "g++", "gfortran")):
        for arguments in ([], ["-v"], ["--help"], ["-dumpversion"], ["-dumpmachine"],
                          ["-print-search-dirs"], ["-print-prog-name=ld"],
                          ["-print-file-name=libc.so"], ["-V"], ["-qversion"], ["-o"],
                          ["-c", "-###", "work.c"], ["-E", "work.c"], ["-E", "-dM", "work.c"],
                          ["-M", "work.c"], ["-MM", "work.c"], ["-fsyntax-only", "work.c"],
                          ["no-such-file.c"], ["-no-such-option", "-c", "work.c"],
                          ["no-such-file.o"]):
            same(name, arguments)
    for arguments in (["-dumpfullversion"], ["-dumpspecs"], ["--target-help"]):
        same("gcc", arguments)
    for arguments in (["--showme"], ["--showme:command"], ["--showme:compile"], ["-showme:link"]):
        same("mpicc", arguments)


@case
def warnings_and_errors():
    """Diagnostics of the source are the plain compiler's."""
    for name in usable(C):
        for text in ("int f(void) { int unused; return g(); }\n", "int f(void) { return 1 }\n",
                     "#error no\n", ""):
            same(name, ["-Wall", "-Wextra", "-O2", "-x", "c", "-c", "-", "-o", "x.o"],
                 stdin_text=text)


@case
def compile_options():
    """Each option passes through, and the object gets probes."""
    for name in usable(C):
        for options in ([], ["-O0"], ["-O1"], ["-O2"], ["-O3"], ["-Os"], ["-g"], ["-g", "-O2"],
                        ["-g0"], ["-fPIC"], ["-fopenmp"], ["-pthread"], ["-fno-pie"],
                        ["-std=c99"], ["-x", "c"], ["-xc"], ["-ffunction-sections"],
                        ["-fno-asynchronous-unwind-tables"], ["-fstack-protector-strong"],
                        ["-march=native"], ["-mcmodel=medium"]):
            works(name, [*options, "-c", "work.c"])
            only_with_probes("work.o", f"{name} {options}")
            works(name, [*options, "-c", "work.c", "-o", "a name with blanks.o"])
            only_with_probes("a name with blanks.o", f"{name} {options}")


@case
def no_debug_information_added():
    """Without -g the object has no debug information, with -g it has."""
    for name in usable(C):
        for options, wanted in (([], False), (["-O2"], False), (["-g", "-g0"], False),
                                (["-g"], True), (["-O2", "-gdwarf-4"], True)):
            works(name, [*options, "-c", "work.c"])
            run = execute(["readelf", "-SW", scratch("probes/work.o")])
            check_equal(".debug_line" in run.stdout, wanted, f"lines of dwell-{name} {options}")


@case
def assembler_text():
    """-S writes assembler text that assembles, and assembler text passes through."""
    for name in usable(C):
        works(name, ["-O2", "-S", "work.c"])
        run = execute([name, "work.s", "main.c"], cwd=scratch("probes"))
        check_equal((run.code, run.stderr), (0, ""), "assembling" + run.describe())
        check(has_probes("probes/a.out"), "no probes in the assembler text")
        same(name, ["-c", "-x", "assembler", "-", "-o", "x.o"], stdin_text=".globl f\nf: ret\n")
        for folder in ("plain", "probes"):
            check("f" in symbols(scratch(f"{folder}/x.o")), "f is missing")


@case
def dependency_files():
    """-MD, -MMD, -MF, -MP, -MT write the same rules beside the object."""
    for name in usable(C):
        for options in (["-MD"], ["-MMD"], ["-MMD", "-MP", "-MF", "rules"],
                        ["-MD", "-MF", "rules", "-MT", "target"]):
            works(name, [*options, "-c", "work.c"])
            only_with_probes("work.o", f"{name} {options}")
            file = "rules" if "rules" in options else "work.d"
            texts = []
            for folder in ("plain", "probes"):
                with open(scratch(f"{folder}/{file}"), encoding="utf-8") as stream:
                    texts.append(stream.read())
            check("part.h" in texts[0], f"no rules: {texts[0]}")
            check_equal(texts[1], texts[0], f"rules of {options}")


@case
def response_files():
    """Options in response files count: the input, the output, and what rules probes out."""
    for name in usable(C):
        for folder in ("plain", "probes"):
            write(scratch(f"{folder}/options"), "-O2 -c 'work.c'\n @more")
            write(scratch(f"{folder}/more"), '-o "out put.o"\n')
            write(scratch(f"{folder}/question"), "-E work.c")
        works(name, ["@options"])
        only_with_probes("out put.o", name)
        works(name, ["@question"])
        write(scratch("probes/large"), "-mcmodel=large -c work.c")
        run = execute([wrapper(name), "@large"], cwd=scratch("probes"))
        check_equal((run.code, len(run.stderr.splitlines())), (0, 1), "large" + run.describe())


@case
def link_options():
    """Programs of every linkage run as from the plain compiler."""
    for name in usable(C):
        for options in ([], ["-O2"], ["-O3", "-g"], ["-no-pie"], ["-pie", "-fPIE"], ["-fopenmp"],
                        ["-pthread"], ["-Wl,--gc-sections", "-ffunction-sections"],
                        ["-Wl,-z,relro,-z,now"], ["-rdynamic"], ["--coverage"], ["-pg"],
                        ["-fsanitize=address"], ["-fprofile-generate"], ["-finstrument-functions"],
                        ["-fcf-protection=full"], ["-masm=intel"], ["-save-temps"]):
            clear()
            works(name, [*options, "work.c", "main.c"])
            only_with_probes("a.out", f"{name} {options}")
            runs_alike()
    for name in usable(("gcc", "clang")):
        for options in (["-static"], ["-static-pie"], ["-static", "-O2", "-g"]):
            works(name, [*options, "work.c", "main.c"])
            only_with_probes("a.out", f"{name} {options}")
            runs_alike()


@case
def unwanted_procedures():
    """__attribute__((no_instrument_function)) keeps probes out, and what was done to know it leaves
    no trace; LLVM's code as input tells nothing of it."""
    for name in usable(("g++", "clang++")):
        for options in (["-O0"], ["-O2"], ["-O2", "-g"], ["-O1", "-save-temps"]):
            write(scratch("probes/unwanted.cpp"), UNWANTED_CPP)
            run = execute([wrapper(name), "-std=c++17", *options, "unwanted.cpp"], cwd=scratch("probes"))
            check_equal((run.code, run.stderr), (0, ""), f"{name} {options}" + run.describe())
            check_chosen(f"{name} {options}")
    if usable(("clang++",)):
        for flag in ("-finstrument-functions", "-finstrument-functions-after-inlining"):
            clear()
            works("clang++", [flag, "work.cpp", "main.cpp"])
            check(any("__cyg_profile_func_enter" in symbol
                      for symbol in symbols(scratch("probes/a.out"))), flag)
        write(scratch("probes/unwanted.cpp"), UNWANTED_CPP)
        for command in (["clang++", "-std=c++17", "-S", "-emit-llvm", "-g", "unwanted.cpp"],
                        [wrapper("clang++"), "unwanted.ll"]):
            run = execute(command, cwd=scratch("probes"))
            check_equal((run.code, run.stderr), (0, ""), "LLVM's code" + run.describe())
        chosen = [row.name for row in Table(scratch("probes/a.out")).rows
                  if row.kind == "proc" and row.probes]
        check({"quiet_c", "loud_c", "main"} <= set(chosen), f"LLVM's code: {chosen}")


def check_chosen(what):
    """UNWANTED_CPP: procedures with probes are those that want them."""
    table = Table(scratch("probes/a.out"))
    chosen = [(row.name, row.probes) for row in table.rows if row.kind == "proc"]
    quiet = [(name, probes) for name, probes in chosen if "quiet" in name]
    check(not any(probes for _, probes in quiet), f"{what}: {quiet}")
    for word in ("loud_c", "loud_template", "loud_virtual", "Both", "main", "clE"):
        check(any(word in name and probes for name, probes in chosen), f"{what} {word}: {chosen}")
    check(not any("__cyg" in symbol for symbol in symbols(scratch("probes/a.out"))), what)
    run = execute([scratch("probes/a.out")], cwd=scratch("probes"))
    check_equal((run.code, run.stdout, run.stderr), (3, "30\n", ""), what)


@case
def shared_libraries():
    """A library with probes serves a program without, and the other way round."""
    for name in usable(C):
        works(name, ["-O2", "-shared", "-fPIC", "work.c", "-o", "libwork.so"])
        only_with_probes("libwork.so", name)
        for library in ("plain", "probes"):
            for program, command in (("plain", name), ("probes", wrapper(name))):
                run = execute([command, "main.c", "-L../" + library, "-lwork",
                               "-Wl,-rpath," + scratch(library)], cwd=scratch(program))
                check_equal((run.code, run.stderr), (0, ""), "link" + run.describe())
            runs_alike()


@case
def separate_compilation():
    """Objects with and without probes link with either compiler."""
    for name in usable(C):
        works(name, ["-c", "-O2", "work.c", "main.c"])
        only_with_probes("work.o", name)
        for command in (name, wrapper(name)):
            run = execute([command, "work.o", "../plain/main.o", "-o", "mixed"],
                          cwd=scratch("probes"))
            check_equal((run.code, run.stderr), (0, ""), "link" + run.describe())
            run = execute([scratch("probes/mixed")])
            check_equal((run.code, run.stdout), (3, "30\n"), "mixed program")
        if name != "mpicc":  # which adds libraries that -r cannot take
            works(name, ["-r", "-nostdlib", "work.o", "main.o", "-o", "all.o"])
            only_with_probes("all.o", name)


@case
def link_time_optimisation():
    """-flto: probes are there when the program is linked, in one command or in several."""
    for name in usable(C):
        if same(name, ["-flto", "-O2", "work.c", "main.c"]).code != 0:
            print(f"without {name}, whose -flto does not work here")
            continue
        only_with_probes("a.out", name)
        runs_alike()
        works(name, ["-flto", "-O2", "-c", "work.c"])
        run = execute([wrapper(name), "-flto", "-O2", "work.o", "main.c", "-o", "later"],
                      cwd=scratch("probes"))
        check_equal((run.code, run.stderr), (0, ""), "link" + run.describe())
        check(has_probes("probes/later"), "no probes after a later link")


@case
def precompiled_header():
    """The wrapper uses precompiled headers, whether it or the plain compiler made them."""
    for name in usable(("gcc", "g++")):
        works(name, ["-O2", "part.h"])
        for maker in ("probes", "plain"):
            shutil.copy(scratch(f"{maker}/part.h.gch"), scratch("header"))
            os.replace(scratch("header"), scratch("probes/part.h.gch"))
            run = execute([wrapper(name), "-O2", "-Winvalid-pch", "-H", "-include", "part.h", "-c",
                           "work.c"], cwd=scratch("probes"))
            check(re.search(r"^! \S*part\.h\.gch$", run.stderr, re.M),
                  f"the header from {maker} is not used" + run.describe())
            check(has_probes("probes/work.o"), "no probes")


def without_probes(command, arguments, reason, env=None, name="gcc"):
    """Object, output and exit code of the plain compiler `name`, and one line with the reason."""
    clear()
    for folder in ("plain", "probes"):
        sources(folder)
    plain = execute([name, *arguments, "-o", "out"], cwd=scratch("plain"))
    run = execute([*command, *arguments, "-o", "out"], cwd=scratch("probes"), env=env)
    what = f"{' '.join(command + arguments)}"
    said = lines_about(run, "compiled without probes")
    check_equal(len(said), 1, f"lines of {what}" + run.describe())
    check(reason in said[0] and said[0].startswith("dwell-"), f"line of {what}: {said[0]}")
    rest = "".join(line + "\n" for line in run.stderr.splitlines() if line not in said)
    check_equal((run.code, run.stdout, rest), (plain.code, plain.stdout, plain.stderr), what)
    check_equal(os.path.exists(scratch("plain/out")), plain.code == 0, "plain object")
    check_equal(content("probes/out"), content("plain/out"), f"object of {what}")


def content(file):
    """Bytes, none for a file that is not there."""
    if not os.path.exists(scratch(file)):
        return None
    with open(scratch(file), "rb") as stream:
        return stream.read()


@case
def other_targets():
    """Code that probes cannot live in is compiled as by the plain compiler."""
    write(scratch("free.c"), "int f(int n) { return n + 1; }\n")
    free = ["-ffreestanding", "-c", scratch("free.c")]
    for name in usable(C):
        for options in (["-m32"], ["-mx32"], ["-mcmodel=large"]):
            without_probes([wrapper(name)], [*options, *free], options[0], name=name)
    for name in usable(("clang",)):
        for options in (["--target=aarch64-linux-gnu"], ["-target", "i686-linux-gnu"],
                        ["-target", "x86_64-apple-darwin"]):
            without_probes([wrapper(name)], [*options, *free], options[-1], name=name)
        run = execute([wrapper(name), "-target", "x86_64-linux-gnu", "-c", "work.c"],
                      cwd=sources("probes"))
        check_equal((run.code, run.stderr), (0, ""), "own target" + run.describe())
        check(has_probes("probes/work.o"), "no probes for the own target")


@case
def plugin_missing():
    """Without the plugin's file the wrapper compiles as the plain compiler, errors included."""
    alone = scratch("alone")
    os.makedirs(alone)
    for name in ("gcc", "clang", "mpicc"):
        skip_unless(shutil.which(name), f"{name} is not installed")
        shutil.copy(os.path.join(WRAPPERS, "dwell-cc"), os.path.join(alone, "dwell-" + name))
        command = [os.path.join(alone, "dwell-" + name)]
        without_probes(command, ["-O2", "-c", "work.c"], "is missing", name=name)
        without_probes(command, ["-c", "-include", "no-such.h", "work.c"], "is missing", name=name)


@case
def other_compiler():
    """A compiler of another version or configuration, or neither GCC nor clang."""
    usable(("gcc",))
    answer = execute(["gcc", "-v"], env={"LC_ALL": "C"}).stderr
    for folder, words, reason in (
            ("newer", answer.replace("gcc version ", "gcc version 1"), "is not the gcc version"),
            ("configured", answer.replace("--enable-plugin", "--enable-plugins"), "configured"),
            ("foreign", "some compiler 3.1\n", "neither GCC nor clang"),
            ("vendor", "Vendor clang version 14.0.6\nTarget: x86_64\n", "is not the"),
            ("silent", None, "does not tell")):
        tool = scratch(f"{folder}/gcc")
        write(scratch(f"{folder}/answer"), words or "")
        ask = "exit 1" if words is None else f"cat '{scratch(folder)}/answer' >&2; exit 0"
        write(tool, f'#!/bin/sh\nif [ "$*" = -v ]; then {ask}; fi\n'
                    f'exec {shutil.which("gcc")} "$@"\n')
        os.chmod(tool, 0o755)
        env = {"PATH": scratch(folder) + ":" + os.environ["PATH"]}
        without_probes([wrapper("gcc")], ["-O2", "-c", "work.c"], reason, env=env)
        if folder == "newer" and shutil.which("mpicc"):
            without_probes([wrapper("mpicc")], ["-O2", "-c", "work.c"], reason, env=env,
                           name="mpicc")


@case
def no_compiler():
    """A compiler that is not there: exit 127 and one line."""
    run = execute([wrapper("gcc"), "-c", "x.c"], env={"PATH": scratch()}, cwd=scratch())
    check_equal(run.code, 127, "exit code" + run.describe())
    check("gcc: not found" in run.stderr and run.stderr.count("\n") == 1, "said" + run.describe())


@case
def bad_profile():
    """A malformed profile, or none: file, line and reason, exit 2, nothing compiled."""
    usable(("gcc",))
    write(scratch("bad.txt"), "on proc\non procs\n")
    cwd = sources("probes")
    for options, env in ((["--dwell-enable=" + scratch("bad.txt")], {}),
                         ([], {"DWELL_CC_ENABLE": scratch("bad.txt")}),
                         (["--dwell-enable=../bad.txt"], {})):
        run = execute([wrapper("gcc"), *options, "-c", "work.c"], env=env, cwd=cwd)
        check_equal((run.code, run.stdout), (2, ""), "exit code" + run.describe())
        check_equal(len(run.stderr.splitlines()), 1, "lines" + run.describe())
        check("bad.txt:2: 'procs' should be" in run.stderr, "place" + run.describe())
        check(not os.path.exists(scratch("probes/work.o")), "an object was made")
    for option in ("--dwell-enable", "--dwell-enable="):
        run = execute([wrapper("gcc"), option, "nowhere", "-c", "work.c"], cwd=cwd)
        check_equal(run.code, 2, "exit code" + run.describe())
        check("--dwell-enable=FILE" in run.stderr, "how to name it" + run.describe())
    run = execute([wrapper("gcc"), "--dwell-enable=nowhere", "-c", "work.c"], cwd=cwd)
    check_equal(run.code, 2, "exit code" + run.describe())
    check("nowhere: No such file" in run.stderr, "reason" + run.describe())
    run = execute([wrapper("gcc"), "--version"], env={"DWELL_CC_ENABLE": "nowhere"})
    check_equal((run.code, run.stderr), (0, ""), "a question with a bad profile")


@case
def profile_chooses():
    """What the enabling profile switches off gets no probes; by option, by variable, by launcher."""
    for name in usable(C):
        cwd = sources("probes")
        write(scratch("probes/off.txt"), "off proc name=work\noff loop line=6\n")
        write(scratch("probes/loop.txt"), "off proc\n")
        for options, env, wanted in (
                ([], {}, PROBES), (["--dwell-enable=off.txt"], {}, set()),
                ([], {"DWELL_CC_ENABLE": "off.txt"}, set()),
                (["--dwell-enable=loop.txt"], {"DWELL_CC_ENABLE": "off.txt"},
                 {"dwell_loop_leave"})):
            run = execute([wrapper(name), *options, "-c", "work.c"], env=env, cwd=cwd)
            check_equal((run.code, run.stdout, run.stderr), (0, "", ""), "compiling")
            check_equal(probes_called(scratch("probes/work.o")), wanted,
                        f"probes of dwell-{name} {options} {env}")


@case
def everything():
    """--dwell-all and its variable: a small procedure gets probes too."""
    for name in usable(C):
        cwd = sources("probes")
        write(scratch("probes/small.c"), "int small(int n) { return n + 1; }\n")
        for options, env, wanted in (([], {}, False), (["--dwell-all"], {}, True),
                                     ([], {"DWELL_CC_ALL": "1"}, True),
                                     ([], {"DWELL_CC_ALL": "0"}, False)):
            run = execute([wrapper(name), *options, "-O2", "-c", "small.c"], env=env, cwd=cwd)
            check_equal((run.code, run.stdout, run.stderr), (0, "", ""), "compiling")
            check_equal(has_probes("probes/small.o"), wanted, f"probes of {name} {options} {env}")


@case
def own_options():
    """They never reach the compiler; --dwell-show prints the command, --dwell-help the options."""
    usable(("gcc",))
    cwd = sources("probes")
    run = execute([wrapper("gcc"), "--dwell-show", "--dwell-all", "-c", "work.c", "-o", "a b.o"],
                  cwd=cwd)
    check_equal((run.code, run.stderr), (0, ""), "--dwell-show" + run.describe())
    check(not os.path.exists(scratch("probes/a b.o")), "it compiled")
    check("--dwell" not in run.stdout and "-fplugin=" in run.stdout, "command" + run.describe())
    shell = execute(["sh", "-c", run.stdout], cwd=cwd)
    check_equal((shell.code, shell.stderr), (0, ""), "the printed command" + shell.describe())
    check(has_probes("probes/a b.o"), "the printed command gives no probes")
    run = execute([wrapper("gcc"), "--dwell-nonsense", "-c", "work.c"], cwd=cwd)
    check_equal((run.code, len(run.stderr.splitlines())), (2, 1), "unknown" + run.describe())
    check("--dwell-nonsense" in run.stderr, "not named" + run.describe())
    run = execute([wrapper("gcc"), "--dwell-help"])
    check_equal((run.code, run.stderr), (0, ""), "--dwell-help")
    check("--dwell-enable=" in run.stdout, "options are missing")
    run = execute([wrapper("gcc"), "--dwell-verbose", "-c", "work.c"], cwd=cwd)
    check_equal(run.code, 0, "--dwell-verbose" + run.describe())
    check("-fplugin=" in run.stderr, "the command is not said" + run.describe())


@case
def mpi_compilers_variables():
    """OMPI_CC chooses the compiler behind dwell-mpicc: another one, a launcher, a wrapper of ours."""
    usable(("mpicc",))
    for value in ("dwell-gcc", "env gcc", *usable(("gcc", "clang"))):
        plain, probes = both("mpicc", ["-O2", "work.c", "main.c"], env={"OMPI_CC": value})
        check_equal((probes.code, probes.stdout, probes.stderr), (0, "", ""), f"OMPI_CC={value}")
        check_equal(plain.code, 0, "plain mpicc" + plain.describe())
        check(has_probes("probes/a.out"), f"OMPI_CC={value}: no probes")
        run = execute([scratch("probes/a.out")])
        check_equal((run.code, run.stdout), (3, "30\n"), f"OMPI_CC={value}")
    run = execute([wrapper("mpicc"), "-c", "work.c"], cwd=sources("probes"),
                  env=with_path({"OMPI_CC": "gcc -mcmodel=large"}))
    check_equal((run.code, len(lines_about(run, "compiled without probes"))), (0, 1),
                "option in the variable" + run.describe())
    run = execute([wrapper("mpicc"), "-c", "work.c"], cwd=sources("probes"),
                  env=with_path({"OMPI_CC": "dwell-mpicc"}))
    check_equal((run.code, len(run.stderr.splitlines())), (2, 1), "a circle" + run.describe())


@case
def same_program():
    """At -O0, -O2 and -O3 the program gives the same output with probes, dwell absent."""
    for name in usable(C):
        for level in ("-O0", "-O2", "-O3"):
            works(name, [level, "work.c", "main.c"])
            runs_alike()


@case
def known_answers():
    """The MPI programs whose answers the other tests know give them with probes too."""
    fortran = ["-w", "-fallow-argument-mismatch", "-ffree-line-length-none", "-DUSE_F08"]
    for name, plain, file, options in (
            ("mpicc", "collectives", "collectives.c", []),
            ("mpicc", "p2p_requests", "p2p_requests.c", []),
            ("mpicc", "threads", "threads.c", ["-lpthread"]),
            ("mpicxx", "plus", "plus.cpp", []),
            ("mpifort", "fortran_F08", "fortran_all.F90", fortran)):
        usable((name,))
        arguments = [scratch("io")] if name == "mpifort" else []
        expected = run_plain([program(plain), *arguments], 2, cwd=scratch())
        for level in thorough(("-O0", "-O2", "-O3"), ("-O2",)):
            built = execute([wrapper(name), level, "-g", source(file), *options,
                             "-o", scratch("program")], cwd=scratch())
            check_equal((built.code, built.stderr), (0, ""), f"{file} {level}" + built.describe())
            check(has_probes("program"), f"no probes in {file} {level}")
            run = execute(mpirun(2, scratch("program"), *arguments), 2, cwd=scratch())
            same_result(expected, run)


if __name__ == "__main__":
    main()
