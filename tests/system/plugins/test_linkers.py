"""Whatever linker makes a program or library, in whatever form: what dwell's compilers put into it
finds libdwell.so, and the program runs as well without it."""

import os
import shutil
import subprocess

from harness import (DWELL, LIBRARY, case, check, check_equal, execute, main,
                     scratch, skip_unless)
from probed_program import WRAPPERS
from probing import write

LINKERS = {"bfd": "ld.bfd", "gold": "ld.gold", "lld": "ld.lld", "mold": "mold"}
UNBOUND = "-Wl,-z,nodynamic-undefined-weak"
COMPILERS = {"gcc": "dwell_gcc.so", "clang": "dwell_llvm.so"}


def link_flags():
    """For each linker that is there; bfd and lld also without weak symbols left open."""
    for linker, command in LINKERS.items():
        if shutil.which(command) is None:
            print(f"no {linker}: not tested")
            continue
        yield [f"-fuse-ld={linker}"]
        if linker in ("bfd", "lld"):
            yield [f"-fuse-ld={linker}", UNBOUND]


def build(compiler, arguments, name):
    plugin = os.path.join(WRAPPERS, COMPILERS[compiler])
    skip_unless(os.path.exists(plugin) and shutil.which(compiler), f"no probes with {compiler}")
    option = "-fplugin" if compiler == "gcc" else "-fpass-plugin"
    run = execute([compiler, f"{option}={plugin}", "-g", "-O1", *arguments, "-o", name],
                  cwd=scratch())
    check_equal(run.code, 0, " ".join(arguments) + run.describe())
    return scratch(name)


def entries(argv, code, what):
    """How often each procedure and loop was entered, by name, after a run beside one without."""
    plain = execute(argv)
    check_equal((plain.code, plain.stderr), (code, ""), f"without the library, {what}")
    out = scratch("out")
    shutil.rmtree(out, ignore_errors=True)
    run = execute(argv, env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": out, "DWELL_PROBE_LIMIT": "off"})
    check_equal((run.code, run.stdout), (code, plain.stdout), what + run.describe())
    check(os.path.exists(os.path.join(out, "profile.json")), f"a profile, {what}{run.describe()}")
    report = execute([DWELL, "report", "--format", "csv", out])
    check_equal(report.code, 0, what + report.describe())
    found = {}
    for line in report.stdout.splitlines()[1:]:
        fields = line.split(",")
        if fields[1] in ("proc", "loop", "block"):
            name = fields[2] + ("" if fields[1] == "proc" else ":" + fields[4])
            found[name] = found.get(name, 0) + int(fields[7])
    return found


PROGRAM = """
#include <stdio.h>
static volatile int sink;
__attribute__((noinline)) void work(void) { for (int i = 0; i < 9; i++) sink += i; puts("."); }
int main(void) {
    for (int i = 0; i < 100; i++) work();
    return 3;
}
"""


def check_program(compiler):
    write("program.c", PROGRAM)
    tested = 0
    for flags in link_flags():
        for form in (["-fPIE", "-pie"], ["-fno-pie", "-no-pie"], ["-fPIE", "-pie", "-s"],
                     ["-ffunction-sections", "-Wl,--gc-sections"]):
            binary = build(compiler, [*flags, *form, "program.c"], "program")
            found = entries([binary], 3, f"{compiler} {flags} {form}")
            check_equal((found.get("main"), found.get("work"), found.get("loop:6")), (1, 100, 1),
                        f"{compiler} {flags} {form}: {found}")
            tested += 1
    check(tested > 0, "no linker")


@case
def programs_of_gcc():
    """main 1, work 100, exit code 3, however it was linked."""
    check_program("gcc")


@case
def programs_of_clang():
    """The same."""
    check_program("clang")


@case
def opened_libraries():
    """A library that comes and goes, three times, with a static initialiser that is watched; linked
    by other means than the program that opens it."""
    write("lib.cpp", """
#include <stdio.h>
extern "C" int go(int n) { for (int i = 0; i < n; i++) fflush(stdout); return n; }
static int first = go(2);
extern "C" int again(int n) { return go(n) + 0 * first; }
""")
    write("user.c", """
#include <dlfcn.h>
int main(int argc, char** argv) {
    for (int i = 0; i < 3; i++) {
        void* library = dlopen(argv[argc - 1], RTLD_NOW);
        int (*again)(int) = (int (*)(int))dlsym(library, "again");
        if (again(4) != 4 || dlclose(library) != 0) return 1;
    }
    return 0;
}
""")
    for flags in link_flags():
        for mode in ("RTLD_NOW", "RTLD_NOW|RTLD_DEEPBIND"):
            if mode != "RTLD_NOW" and UNBOUND in flags:
                continue  # such a library sees the C library before libdwell.so
            library = build("gcc", [*flags, "-shared", "-fPIC", "lib.cpp", "-lstdc++"], "lib.so")
            user = scratch("user")
            subprocess.run(["gcc", f"-DRTLD_NOW=({mode.replace('RTLD_NOW', '2')})", "-w",
                            "-D_GNU_SOURCE", scratch("user.c"), "-o", user], check=True)
            found = entries([user, library], 0, f"{flags} {mode}")
            check_equal(found.get("go"), 6, f"{flags} {mode}: {found}")


@case
def linked_libraries():
    """A library that a program is linked with is initialised before libdwell.so."""
    write("lib.cpp", """
#include <stdio.h>
extern "C" int go(int n) { for (int i = 0; i < n; i++) fflush(stdout); return n; }
static int first = go(2);
extern "C" int again(int n) { return go(n) + 0 * first; }
""")
    write("main.c", "int again(int); int main(void) { again(4); return again(5) != 5; }\n")
    for flags in link_flags():
        library = build("gcc", [*flags, "-shared", "-fPIC", "lib.cpp", "-lstdc++"], "libgo.so")
        user = build("gcc", [*flags, "main.c", library, f"-Wl,-rpath,{scratch()}"], "user")
        found = entries([user], 0, str(flags))
        check_equal((found.get("main"), found.get("go")), (1, 3), f"{flags}: {found}")


def older_object():
    """program.c as the plugin wrote it before there were links: a unit of version 1, with weak
    symbols for everything."""
    assembly = build("gcc", ["-S", "program.c"], "program.s")
    with open(assembly, encoding="utf-8") as file:
        lines = file.read().splitlines()
    names = ("enter", "leave", "loop_enter", "loop_enter_counting", "loop_leave", "landed",
             "vforked")
    text, skipping = [], False
    for line in lines:
        if ".weak\tdwell_link_module" in line:
            skipping = True  # the registration, up to the end
        if skipping:
            if ".section\t.note" in line or line.startswith("\t.ident"):
                skipping = False
            else:
                continue
        for number, name in enumerate(names):
            line = line.replace(f"*.Ldwell_links+{8 + 8 * number}(%rip)",
                                f"*dwell_{name}@GOTPCREL(%rip)")
        text.append(line.replace("\t.short\t2", "\t.short\t1"))
    text = "\n".join(text) + "\n"
    weak = "".join(f"\t.weak\tdwell_{name}\n" for name in names)
    edges = "".join(f"\tleaq __{edge}_dwell_{section}(%rip), %rdx\n\tmovq %rdx, {at}(%rdi)\n"
                    for at, (section, edge) in zip((0, 8, 16, 24), (
                        ("sites", "start"), ("sites", "stop"),
                        ("levels", "start"), ("levels", "stop"))))
    return write("older.s", text + weak + f"""
	.weak dwell_register_sites
	.local older_module
	.comm older_module,32,8
	.text
older_register:
	movq dwell_register_sites@GOTPCREL(%rip), %rax
	testq %rax, %rax
	je 1f
	leaq older_module(%rip), %rdi
{edges}	jmp *%rax
1:	ret
	.section .init_array.00100,"aw",@init_array
	.balign 8
	.quad older_register
""")


@case
def older_objects():
    """Objects of an older dwell work as they did, alone and beside new ones; where the linker cut
    them off they stay off beside new ones that are on, and `dwell sites` says so."""
    write("program.c", PROGRAM.replace("int main", "int older_main"))
    write("new.c", "int older_main(void);\nint main(void) { older_main(); return older_main(); }\n")
    older = older_object()
    write("alone.c", "int older_main(void);\nint main(void) { return older_main(); }\n")
    for flags in link_flags():
        cut_off = UNBOUND in flags and "bfd" in flags[0] or "mold" in flags[0]
        subprocess.run(["gcc", "-c", scratch("alone.c"), "-o", scratch("alone.o")], check=True)
        alone, both = scratch("alone"), scratch("both")
        subprocess.run(["gcc", *flags, scratch("alone.o"), older, "-o", alone], check=True)
        build("gcc", [*flags, "new.c", older], "both")
        want = 0 if cut_off else 200
        if not cut_off:
            found = entries([alone], 3, f"alone {flags}")
            check_equal((found.get("work"), found.get("main", 0)), (100, 0), f"{flags}: {found}")
        found = entries([both], 3, f"both {flags}")
        check_equal((found.get("work", 0), found.get("main")), (want, 1), f"{flags}: {found}")
        for binary in (alone, both):
            sites = execute([DWELL, "sites", binary])
            check_equal(sites.code, 0, sites.describe())
            check_equal("an older dwell" in sites.stdout, cut_off,
                        f"{binary} {flags}" + sites.describe())


@case
def sites_say_what_works():
    """`dwell sites`: watched where the library can be found, not in a static program."""
    write("program.c", PROGRAM)
    for flags, watched in ((["-c"], "null"), ([], "true"), (["-static"], "false")):
        binary = build("gcc", [*flags, "program.c"], "program")
        run = execute([DWELL, "sites", "--format", "json", binary])
        check(f'"watched": {watched}' in run.stdout, f"{flags}" + run.describe())
        text = execute([DWELL, "sites", binary]).stdout
        check_equal("statically linked" in text, watched == "false", text)


if __name__ == "__main__":
    main()
