"""Several OpenMP runtimes in one process: libgomp twice, and libgomp beside libomp."""

import os
import shutil
import subprocess

from harness import case, check, check_equal, execute, main, program, scratch, skip_unless
from test_openmp_gcc import FLAGS, built, same, totals


@case
def two_libraries():
    """Two libraries, each with a libgomp of its own and for itself alone, as packages of Python
    bring them: each reaches its own."""
    copies = []
    found = subprocess.run(["gcc", "-print-file-name=libgomp.so.1"], capture_output=True, text=True)
    runtime = os.path.realpath(found.stdout.strip())
    if not os.path.isfile(runtime):
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
        places = [line.split()[-1] for line in listed.split("\n") if "libgomp.so.1" in line]
        skip_unless(places, "libgomp is not found")
        runtime = os.path.realpath(places[0])
    text = """
#include <omp.h>
int work(void) {
    int threads = 0;
#pragma omp parallel num_threads(%d)
    {
#pragma omp barrier
#pragma omp atomic
        threads += 10 * omp_get_num_threads() + omp_get_thread_num();
    }
    return threads;
}
"""
    with open(runtime, "rb") as file:
        image = file.read()
    for k in (1, 2):
        folder = scratch(f"folder{k}")
        os.mkdir(folder)
        # The same length: another name of the library, in its own file and in what needs it.
        name = f"libgom{k}.so.1"
        with open(os.path.join(folder, name), "wb") as file:
            file.write(image.replace(b"libgomp.so.1", name.encode()))
        library = built(f"work{k}.c", text % (k + 1), "gcc", *FLAGS, "-shared", "-fPIC",
                        f"-Wl,-rpath,{folder}")
        with open(library, "rb") as file:
            linked = file.read()
        with open(library, "wb") as file:
            file.write(linked.replace(b"libgomp.so.1", name.encode()))
        copies.append(library)
    user = built("user.c", """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    int (*work[2])(void);
    for (int k = 0; k < 2; k++) {
        void* library = dlopen(argv[1 + k], RTLD_NOW | RTLD_LOCAL);
        if (library == NULL) return puts(dlerror()), 8;
        work[k] = (int (*)(void))dlsym(library, "work");
    }
    for (int i = 0; i < 4; i++) printf("%d\\n", work[i % 2]());
    return 0;
}
""", "gcc", "-g")
    plain = execute([user, *copies])
    check_equal((plain.code, plain.stdout), (0, "41\n93\n41\n93\n"), "without" + plain.describe())
    profile = same([user, *copies])
    check_equal(totals(profile, "parallel", "created"), 4, "regions")
    check_equal(totals(profile, "barrier"), 2 * (2 + 3), "barriers")


@case
def two_runtimes():
    """libgomp and libomp in one process: each region is counted once, whoever serves it. And a
    program of gcc's that libomp serves is told of by libomp alone."""
    skip_unless(shutil.which("clang"), "clang is not installed")
    program("openmp")
    part = """
int NAME(void) {
    int threads = 0;
    for (int k = 0; k < 5; k++) {
#pragma omp parallel num_threads(2)
        {
#pragma omp critical
            threads++;
#pragma omp barrier
#pragma omp critical
            threads++;
        }
    }
    return threads;
}
"""
    ours = built("gcc_part.c", part.replace("NAME", "by_gcc"), "gcc", *FLAGS, "-shared", "-fPIC")
    theirs = built("clang_part.c", part.replace("NAME", "by_clang"), "clang", *FLAGS, "-shared",
                   "-fPIC")
    user = built("user.c", """
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char** argv) {
    const int how = argv[3][0] == 'g' ? RTLD_GLOBAL : RTLD_LOCAL;
    void* one = dlopen(argv[1], RTLD_NOW | how);
    void* other = dlopen(argv[2], RTLD_NOW | how);
    int (*by_gcc)(void) = (int (*)(void))(dlsym(one, "by_gcc") ?: dlsym(other, "by_gcc"));
    int (*by_clang)(void) = (int (*)(void))(dlsym(one, "by_clang") ?: dlsym(other, "by_clang"));
    for (int i = 0; i < 2; i++) printf("%d %d\\n", by_gcc(), by_clang());
    return 0;
}
""", "gcc", "-g")
    for order in ([ours, theirs], [theirs, ours]):
        for how in ("global", "local"):
            profile = same([user, *order, how], name=how + str(order.index(ours)))
            check_equal(totals(profile, "parallel", "created"), 20, f"regions, {how}")
            check_equal(totals(profile, "critical"), 80, f"critical sections, {how}")
            # libomp calls those of gcc's programs implicit ones, and where both threads come at the
            # same time it may give the place of one for the other: those at the ends count, too.
            barriers = [n["count"] for n in profile.nodes if n["name"].endswith("barrier")]
            check_equal(sum(barriers), 80, f"barriers, {how}")
    libomp = subprocess.run(["ldd", theirs], capture_output=True, text=True).stdout
    path = [line.split()[2] for line in libomp.split("\n") if "libomp" in line]
    target = built("served.c", part.replace("NAME", "served") + "int main(void) { return served(); }",
                   "gcc", *FLAGS)
    profile = same([target], name="served", env={"LD_PRELOAD": path[0]})
    check_equal(totals(profile, "parallel", "created"), 5, "regions that libomp serves")
    check_equal(totals(profile, "critical"), 20, "critical sections that libomp serves")
    check("libgomp" not in profile.ranks[0]["flags"], "libgomp was seen, which does nothing")


if __name__ == "__main__":
    main()
