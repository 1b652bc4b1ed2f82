"""Programs of clang on libomp 19, which tells more than the version that clang of Debian 12 brings:
the cases of test_openmp.py, and loops by their schedules. `./setup test` unpacks that libomp."""

import os

import test_openmp
from harness import (DWELL, Profile, case, check, check_equal, execute, main, program, scratch,
                     skip_unless, source)
from test_openmp import by_thread, node_at, nodes_at

NEWER = os.environ.get("SYSTEST_NEWER_LIBOMP", "")
SOURCE = source("openmp_loops.c")
os.environ["LD_LIBRARY_PATH"] = NEWER


def on_newer(name):
    """The program, of which it is sure that it will run on libomp 19."""
    skip_unless(os.path.exists(os.path.join(NEWER, "libomp.so.5")), "libomp 19 is not there")
    binary = program(name)
    check(f"=> {NEWER}/libomp.so.5" in execute(["ldd", binary]).stdout,
          f"{binary} would run on another libomp")
    return binary


test_openmp.program = on_newer
test_openmp.TRIES_ARE_LOCKS = False


def loops():
    out = scratch("out")
    done = execute([DWELL, "run", "-o", out, on_newer("openmp_loops")],
                   env={"OMP_SCHEDULE": "dynamic,7"})
    check_equal((done.code, done.stdout), (0, ""), "program" + done.describe())
    profile = Profile(out, done)
    profile.check_conservation()
    test_openmp.check_parts(profile)
    return profile


def guided_chunks(iterations, least, threads):
    """How libomp guides (kmp_dispatch.cpp): half a thread's share of the rest, rounded down, as long
    as more than 2 * threads * (least + 1) are left; then `least` each."""
    count = 0
    while iterations > 0:
        fixed = iterations < 2 * threads * (least + 1)
        iterations -= least if fixed else iterations // (2 * threads)
        count += 1
    return count


@case
def static_loops():
    """The chunks and iterations that the schedule gives each of 4 threads. Threads are numbered as
    dwell met them, so it is what all of them have that is known."""
    profile = loops()
    want = {"even": [(2, 1), (2, 1), (3, 1), (3, 1)], "few": [(0, 0), (0, 0), (1, 1), (1, 1)],
            "threes": [(3, 1), (5, 2), (6, 2), (6, 2)], "eights": [(0, 0), (4, 1), (8, 1), (8, 1)],
            "down": [(5, 5), (5, 5), (5, 5), (6, 6)], "ordered": [(0, 0), (4, 1), (8, 1), (8, 1)],
            "none": [(0, 0)] * 4}
    for marker, shares in want.items():
        found = nodes_at(profile, "for static", marker, SOURCE)
        if marker == "none" and not found:
            continue  # a loop without iterations need not be told
        index, _ = node_at(profile, "for static", marker, SOURCE)
        iterations, chunks = (by_thread(profile, index, key) for key in ("iterations", "chunks"))
        got = sorted((iterations[thread], chunks[thread]) for thread in iterations)
        check_equal(got, shares, f"iterations and chunks of the threads at @{marker}")


@case
def other_loops():
    """Schedules in which threads take what is left: the number of chunks does not depend on who."""
    profile = loops()
    for marker, kind, iterations, chunks in (
            ("ones", "dynamic", 20, 20), ("dynamic", "dynamic", 20, 7),
            ("collapsed", "dynamic", 30, 8), ("runtime", "dynamic", 100, 15),
            ("guided", "guided", 400, guided_chunks(400, 10, 4))):
        _, loop = node_at(profile, "for " + kind, marker, SOURCE)
        check_equal((loop["count"], loop["iterations"], loop["chunks"]), (4, iterations, chunks),
                    f"@{marker}")
    _, task = node_at(profile, "task", "taskloop", SOURCE)
    check_equal((task["created"], task["count"], task["iterations"], task["chunks"]), (5, 5, 30, 5),
                "tasks of the taskloop")
    node_at(profile, "taskloop", "taskloop", SOURCE)


@case
def teams():
    """The loop that teams share lies in the region that each of them forks for it, and ends there."""
    profile = loops()
    shared = nodes_at(profile, "distribute", "distribute", SOURCE)
    check_equal(sum(node["count"] for _, node in shared), 2, "teams that share the loop")
    check_equal(sum(node["iterations"] for _, node in shared), 40, "iterations of both teams")
    inner = [node for _, node in nodes_at(profile, "for static", "distribute", SOURCE)]
    check_equal(sum(node["count"] for node in inner), 2, "loops of the regions")
    for node in inner:
        around = profile.nodes[node["parent"]]
        check_equal((around["name"], node["count"]), ("parallel", around["count"]),
                    "where the loop lies, and how often it was there")


TARGET_SOURCE = source("openmp_target.c")


@case
def targets():
    """Constructs for a device, which is the host itself: how often, and the bytes moved there and
    back. libomptarget 19 goes by the name that clang 14 knows; it connects to what is called
    libomp.so, as the package for developers has it."""
    skip_unless(os.path.exists(os.path.join(NEWER, "libomptarget.so.19.1")),
                "libomptarget 19 is not there")
    llvm = os.environ.get("SYSTEST_NEWER_LLVM", "")
    skip_unless(os.path.exists(os.path.join(llvm, "libLLVM.so.19.1")), "LLVM 19 is not there")
    os.symlink(os.path.join(NEWER, "libomptarget.so.19.1"), scratch("libomptarget.so"))
    os.symlink(os.path.join(NEWER, "libomp.so.5"), scratch("libomp.so"))
    binary, env = on_newer("openmp_target"), {"LD_LIBRARY_PATH": f"{scratch()}:{NEWER}:{llvm}"}
    plain = execute([binary], env=env)
    skip_unless(plain.stdout == "501 8 on 4 devices\n", "the host is no device" + plain.describe())
    done = execute([DWELL, "run", "-o", scratch("out"), binary], env=env)
    check_equal((done.code, done.stdout), (0, plain.stdout), "program" + done.describe())
    profile = Profile(scratch("out"), done)
    profile.check_conservation()
    test_openmp.check_parts(profile)
    want = {("target enter data", "data"): (1, 4000, 0), ("target exit data", "data"): (1, 0, 4000),
            ("target", "target"): (3, 0, 0), ("target update", "update"): (2, 0, 8000),
            ("target enter data", "enter"): (1, 2000, 0), ("target", "sum"): (1, 4, 4),
            ("target exit data", "exit"): (1, 0, 2000), ("target copy", "to"): (1, 1000, 0),
            ("target copy", "from"): (1, 0, 600), ("target", "nowait"): (1, 4, 4)}
    got = {}
    for key in want:
        _, node = node_at(profile, *key, TARGET_SOURCE)
        got[key] = node["count"], node["bytes_sent"], node["bytes_received"]
    check_equal(got, want, "count, bytes to the device and from it")
    kinds = [n["name"] for n in profile.nodes if n["name"].startswith("target")]
    check_equal(len(kinds), len(want), f"constructs for devices, of {kinds}")
    regions = [k for k, node in enumerate(profile.nodes) if node["name"] == "parallel"]
    check_equal([profile.nodes[k]["count"] for k in regions], [2], "regions, without libomp's own")
    path = profile.path(regions[0])
    check_equal((path[1], path[-1]), ("target", "parallel"), f"where the region lies: {path}")
    with open(os.path.join(profile.directory, "report.txt"), encoding="utf-8") as text:
        check("to the device" in text.read(), "the bytes are not in the report")


if __name__ == "__main__":
    main()
