"""The compiler wrappers with ccache, before them or in the compiler's place."""

import os
import shutil

from harness import case, check, check_equal, execute, main, scratch, skip_unless
from wrapping import (C, PROBES, has_probes, probes_called, sources, usable, with_path, wrapper,
                      write)


@case
def through_ccache():
    """ccache dwell-gcc: the second time from the cache, with probes."""
    usable(("gcc",))
    skip_unless(shutil.which("ccache"), "ccache is not installed")
    cwd = sources("probes")
    env = with_path({"CCACHE_DIR": scratch("cache"), "CCACHE_STATSLOG": scratch("log"),
                     "CCACHE_NODISABLE": "1"})
    for _ in range(2):
        run = execute(["ccache", "dwell-gcc", "-O2", "-c", "work.c"], env=env, cwd=cwd)
        check_equal((run.code, run.stdout, run.stderr), (0, "", ""), "ccache" + run.describe())
        check(has_probes("probes/work.o"), "no probes")
        os.remove(scratch("probes/work.o"))
    with open(scratch("log"), encoding="utf-8") as stream:
        check("hit" in stream.read(), "nothing came from the cache")


@case
def above_ccache():
    """The compiler's name in PATH is ccache: another profile or setting is never answered from the
    cache; the same one is."""
    skip_unless(shutil.which("ccache"), "ccache is not installed")
    for name in usable(C):
        cwd = sources(name)
        os.makedirs(scratch("bin-" + name))
        os.symlink(shutil.which("ccache"), scratch(f"bin-{name}/{name}"))
        env = {"PATH": scratch("bin-" + name) + ":" + os.environ["PATH"],
               "CCACHE_DIR": scratch("cache-" + name), "CCACHE_STATSLOG": scratch("log-" + name),
               "CCACHE_NODISABLE": "1"}
        for profile, wanted in (("off proc\noff loop\n", set()), ("off proc\n", {"dwell_loop_leave"}),
                                ("# all\n", PROBES), ("off proc\noff loop\n", set())):
            write(scratch(f"{name}/sites.txt"), profile)
            run = execute([wrapper(name), "--dwell-enable=sites.txt", "-c", "work.c"],
                          env=env, cwd=cwd)
            check_equal((run.code, run.stdout, run.stderr), (0, "", ""), name + run.describe())
            check_equal(probes_called(scratch(f"{name}/work.o")), wanted, f"{name} {profile!r}")
        write(scratch(f"{name}/small.c"), "int small(int n) { return n + 1; }\n")
        for options, wanted in (([], False), (["--dwell-all"], True)):
            run = execute([wrapper(name), *options, "-O2", "-c", "small.c"], env=env, cwd=cwd)
            check_equal((run.code, run.stdout, run.stderr), (0, "", ""), name + run.describe())
            check_equal(has_probes(f"{name}/small.o"), wanted, f"probes of {name} {options}")
        with open(scratch("log-" + name), encoding="utf-8") as stream:
            check_equal(stream.read().count("direct_cache_hit"), 1, f"hits of {name}")


if __name__ == "__main__":
    main()
