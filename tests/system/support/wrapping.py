"""Compilations with the compiler wrappers and with the plain compilers, side by side in folders of
their own, and what there is to compare."""

import os
import re
import shutil
import struct

from harness import check, check_equal, execute, scratch, skip_unless

WRAPPERS = os.environ.get("SYSTEST_WRAPPERS", ".")
C = ("gcc", "clang", "mpicc")
CXX = ("g++", "clang++", "mpicxx")
FORTRAN = ("gfortran", "mpifort")

# sum of i*i below n, 30 for n = 5, with a call that no compiler sees through: worth a probe.
WORK_C = """#include <stdio.h>
#include <stdlib.h>
#include "part.h"
int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) {
        sum += i * i;
        if (rand() < 0) sum += 1;
    }
    return sum;
}
"""
MAIN_C = """#include <stdio.h>
#include "part.h"
int main(void) {
    printf("%d\\n", work(5));
    return 3;
}
"""
WORK_F = """program squares
  implicit none
  integer :: i, total
  character(len=8) :: text
  total = 0
  do i = 0, 4
     call get_environment_variable('DWELL_TEST_NOWHERE', text)
     total = total + i * i + len_trim(text)
  end do
  print '(I0)', total
  call exit(3)
end program
"""
# Without the entry of loops that call something: whatever registers a table names it, too.
PROBES = {"dwell_enter", "dwell_leave", "dwell_loop_leave"}


def wrapper(name):
    return os.path.join(WRAPPERS, "dwell-" + name)


def usable(names):
    """Those compilers that are installed and whose plugin was built; skips without any."""
    found = []
    for name in names:
        plugin = "dwell_llvm.so" if name.startswith("clang") else "dwell_gcc.so"
        if not shutil.which(name):
            print(f"without {name}, which is not installed")
        elif not os.path.exists(os.path.join(WRAPPERS, plugin)):
            print(f"without {name}: {plugin} was not built")
        else:
            found.append(name)
    skip_unless(found, f"none of {', '.join(names)} can be used")
    return found


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as stream:
        stream.write(text)


def sources(folder):
    """The same sources in a folder of their own."""
    for name in ("work.c", "work.cpp"):
        write(scratch(f"{folder}/{name}"), WORK_C)
    for name in ("main.c", "main.cpp"):
        write(scratch(f"{folder}/{name}"), MAIN_C)
    write(scratch(f"{folder}/part.h"), "int work(int n);\n")
    write(scratch(f"{folder}/squares.f90"), WORK_F)
    return scratch(folder)


def clear():
    """Removes what earlier compilations left."""
    for folder in ("plain", "probes"):
        shutil.rmtree(scratch(folder), ignore_errors=True)


def with_path(extra=None):
    env = {"PATH": WRAPPERS + ":" + os.environ["PATH"]}
    env.update(extra or {})
    return env


def both(name, arguments, env=None, stdin_text=None):
    """The plain compiler's and the wrapper's run in like folders, which are returned too."""
    runs = []
    for folder, command in (("plain", [name]), ("probes", ["dwell-" + name])):
        cwd = sources(folder)
        stdin = None
        if stdin_text is not None:
            write(scratch("stdin"), stdin_text)
            stdin = open(scratch("stdin"), encoding="utf-8")
        runs.append(execute(command + list(arguments), env=with_path(env), cwd=cwd, stdin=stdin))
    return runs


def same(name, arguments, env=None, stdin_text=None):
    """Both say the same and end alike."""
    plain, probes = both(name, arguments, env, stdin_text)
    check_equal((probes.code, *without_temporary(probes)), (plain.code, *without_temporary(plain)),
                f"dwell-{name} {' '.join(arguments)}")
    return plain


def works(name, arguments):
    """As same(), and both succeed."""
    check_equal(same(name, arguments).code, 0, f"{name} {' '.join(arguments)}")


def without_temporary(run):
    """Both outputs, with the names of temporary files and of the folder made alike."""
    texts = [text.replace(run.cwd, "FOLDER") for text in (run.stdout, run.stderr)]
    return [re.sub(r"/tmp/[-\w]+(\.\w+)", r"TEMPORARY\1", text) for text in texts]


def symbols(path):
    run = execute(["nm", path])
    check(run.code == 0, "nm" + run.describe())
    return {line.split()[-1] for line in run.stdout.splitlines() if line}


def probes_called(path):
    """The entry points that an object calls."""
    run = execute(["readelf", "-rW", path])
    check(run.code == 0, "readelf" + run.describe())
    points = ("enter", "leave", "loop_enter", "loop_enter_counting", "loop_leave", "landed", "vforked")
    # Relative to the end of the displacement.
    links = re.findall(r"R_X86_64_PC32 .* dwell_links \+ ([0-9a-f]+)", run.stdout)
    # A joined object has a table of each of its parts, of a number of entries and as many.
    table = 8 * (1 + len(points))
    return PROBES & {"dwell_" + points[(int(at, 16) + 4) % table // 8 - 1] for at in links}


def has_probes(file):
    """An object calls them; in a linked file some row of the static table has a level."""
    path = scratch(file)
    if probes_called(path):
        return True
    run = execute(["readelf", "-SW", path])
    check(run.code == 0, "readelf" + run.describe())
    found = re.search(r"\sdwell_sites\s+PROGBITS\s+\S+\s+([0-9a-f]+)\s+([0-9a-f]+)", run.stdout)
    if found is None:
        return False
    with open(path, "rb") as stream:
        stream.seek(int(found.group(1), 16))
        rows = stream.read(int(found.group(2), 16))
    return any(level != 0 for _, level, _ in struct.iter_unpack("<16si12s", rows))


def only_with_probes(file, what):
    check(has_probes(f"probes/{file}"), f"no probes in {file} of dwell-{what}")
    check(not has_probes(f"plain/{file}"), f"probes in {file} of {what}")


def runs_alike(file="a.out", output="30\n", code=3):
    for folder in ("plain", "probes"):
        run = execute([scratch(f"{folder}/{file}")], cwd=scratch(folder))
        check_equal((run.code, run.stdout, run.stderr), (code, output, ""), f"{folder} {file}")


def lines_about(run, word):
    return [line for line in run.stderr.splitlines() if word in line]
