"""Sampled call paths: computation stands in the tree where the program called it."""

import os
import shutil

from harness import (DWELL, LIBRARY, Profile, Skip, case, check, check_equal, check_near, execute, main,
                     mpirun, program, scratch, skip_unless, timed)
from test_timing import perf_works

HZ = 250


def sampled(how, ranks, name="sampled_paths"):
    profile = timed([program(name), how], ranks, ["--sample", str(HZ)])
    skip_unless(sum(rank["samples"] for rank in profile.ranks) != 0 or perf_works(),
                "perf_event_open is not permitted here")
    return profile


def procedures(profile, name):
    """Paths to the procedures of that name, call statements left out, and what each computes."""
    found = {}
    for index, node in enumerate(profile.nodes):
        if node["kind"] != "proc" or node["name"] != name:
            continue
        path, at = [], index
        while at:
            if profile.nodes[at]["kind"] == "proc":
                path.append(profile.nodes[at]["name"])
            at = profile.nodes[at]["parent"]
        found["/".join(reversed(path))] = node
    return found


def check_tree(profile, way, exchange="main/run/exchange"):
    """relax and flux stand below `way`, once each, with their parts of the computation, and hardly
    anything elsewhere."""
    all_ns = profile.nodes[0]["time_ns"]
    own = {}
    for name in ("relax", "flux"):
        found = procedures(profile, name)
        check_equal(sorted(found), [f"{way}/{name}"], f"paths to {name}")
        own[name] = found[f"{way}/{name}"]["time_ns"]
    check_near(own["relax"] / own["flux"], 3, 0.25, 0, "relax over flux")
    beside = procedures(profile, "exchange").get(exchange, {"computation_ns": 0})
    check(beside["computation_ns"] < 0.05 * all_ns, f"computation in exchange: {beside}")
    return own


@case
def loop():
    """compute(); exchange(); in a loop: what lies between the two activations of exchange is
    compute's, and the rank that makes the others wait does so in relax."""
    profile = sampled("loop", 2)
    check_tree(profile, "main/run/loop/compute", "main/run/loop/exchange")
    causes = sorted((cause for cause in profile.json["causes"] if cause["interval"] is not None),
                    key=lambda cause: cause["time_ns"])
    check(causes, "nobody made others wait")
    interval = profile.intervals[causes[-1]["interval"]]
    check_equal((causes[-1]["peer_rank"], profile.nodes[interval["booked_on"]]["name"]), (1, "relax"),
                "who made others wait, and where")


@case
def long_computation():
    """Two seconds without an MPI call: `dwell run` keeps what does not fit into the ring. By
    LD_PRELOAD alone nobody does, and what is lost is counted."""
    profile = sampled("long", 1)
    check_tree(profile, "run/compute")
    outermost = procedures(profile, "run")["run"]
    check("callers_unknown" in outermost["labels"], f"labels of run: {outermost}")
    samples = profile.ranks[0]["samples"]
    check_near(samples, 2 * HZ, 0.2, 0, "samples of 2 s of processor time")
    # None, unless dwell run comes late to a processor.
    check(profile.ranks[0]["samples_lost"] < 0.1 * samples, f"lost: {profile.ranks[0]}")
    out = scratch("alone")
    run = execute([program("sampled_paths"), "long"],
                  env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": out, "DWELL_SAMPLE": str(HZ)})
    rank = Profile(out, run).ranks[0]
    check(rank["samples_lost"] > rank["samples"], f"lost without dwell run: {rank}")
    report = open(os.path.join(out, "report.txt")).read()
    check(f"samples, {rank['samples_lost']} lost" in report, "the report names them" + run.describe())


def as_ordinary_user(home):
    """What to put before a command so that it may lock no memory but what the kernel grants to every
    user for samples."""
    skip_unless(shutil.which("setpriv") and shutil.which("prlimit"), "no setpriv or prlimit here")
    os.mkdir(home)
    os.chmod(home, 0o777)
    os.chmod(scratch(), 0o711)
    before = ["prlimit", "--memlock=0"]
    if os.geteuid() == 0:
        before = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] + before
    reached = execute(before + ["test", "-x", program("sampled_paths"), "-a", "-x", DWELL])
    skip_unless(reached.code == 0, "other users cannot run the programs of this tree")
    return before


@case
def ordinary_user():
    """`ulimit -l 0` and one rank on each processor, which computes for two seconds at one go: there is
    a ring for each, dwell run reads them, and nothing is lost."""
    home = scratch("home")
    before = as_ordinary_user(home)
    ranks = min(os.cpu_count() or 1, 8)
    out = os.path.join(home, "out")
    run = execute(before + mpirun(ranks, DWELL, "run", "--sample", str(HZ), "-o", out,
                                  program("sampled_paths"), "long"), ranks,
                  env={"HOME": home, "TMPDIR": home}, cwd=home)
    profile = Profile(out, run)
    skip_unless(any(rank["samples"] for rank in profile.ranks) or perf_works(),
                "perf_event_open is not permitted here")
    check_tree(profile, "run/compute")
    for rank in profile.ranks:
        check_near(rank["samples"], 2 * HZ, 0.2, 0, f"samples of rank {rank['rank']}")
        check(rank["samples_lost"] < 0.1 * rank["samples"], f"lost: {rank}")


@case
def rings_are_given_back():
    """What the kernel grants to an ordinary user for rings is there for the next run: 516 KiB for each
    processor are less than ten rings of 68 KiB, and each run takes samples in place of its thread."""
    home = scratch("home")
    before = as_ordinary_user(home)
    runs = 10 * (os.cpu_count() or 1)
    skip_unless(runs <= 80, f"{os.cpu_count()} processors: that many runs are too much work")
    samples = []
    for number in range(runs):
        out = os.path.join(home, f"out{number}")
        run = execute(before + [DWELL, "run", "--sample", "1000", "-o", out, program("sampled_paths"), "short"],
                      env={"HOME": home, "TMPDIR": home}, cwd=home)
        samples.append(Profile(out, run).ranks[0]["samples"])
    skip_unless(any(samples) or perf_works(), "perf_event_open is not permitted here")
    check(min(samples) > 50, f"samples of {runs} runs: {samples}")


@case
def small_files():
    """RLIMIT_FSIZE below what samples are kept in: the program ends as without dwell."""
    skip_unless(shutil.which("prlimit"), "no prlimit here")
    name = program("openmp_gcc_mpi_serial")
    skip_unless(os.path.exists(name), "openmp_gcc_mpi_serial was not built")
    run = execute(["prlimit", "--fsize=1000000", DWELL, "run", "-o", scratch("small"), name], cwd=scratch())
    check_equal((run.code, run.stdout), (0, "done\n"), "the program" + run.describe())


@case
def wide_frames():
    """Frames that are larger than what is taken of the stack: the path goes on from the procedure that
    the next MPI statement was called from, too."""
    profile = sampled("wide", 1)
    check_tree(profile, "main/run/compute", "main/run/exchange")


@case
def without_mpi():
    """Sampled by dwell run from outside: the same tree, of a child of a shell, too. Of what was slept
    through samples do not tell."""
    for argv in ([program("sampled_paths"), "serial"],
                 ["sh", "-c", f"{program('sampled_paths')} serial; sleep 2"]):
        out = scratch("serial")
        run = execute([DWELL, "run", "--sample", str(HZ), "-o", out, *argv])
        profile = Profile(out, run)
        profile.check_conservation()
        skip_unless(profile.ranks[0]["samples"] != 0 or perf_works(),
                    "perf_event_open is not permitted here")
        used_ns = profile.ranks[0]["user_ns"] + profile.ranks[0]["system_ns"]
        check_near(used_ns / 1e9, 2, 0.1, 0.1, "processor time")
        for name, part in (("relax", 0.75), ("flux", 0.25)):
            (path, node), = procedures(profile, name).items()
            check(path.endswith(f"run/compute/{name}"), f"path to {name}: {path}")
            check_near(node["time_ns"] / used_ns, part, 0.25, 0, "part of " + name)
        check_near(profile.ranks[0]["samples"], 2 * HZ, 0.2, 0, "samples of 2 s of processor time")
        # None, unless dwell run comes late to a processor.
        samples = profile.ranks[0]["samples"]
        check(profile.ranks[0]["samples_lost"] < 0.1 * samples, f"lost: {profile.ranks[0]}")
    check("sh was on a processor " in run.stderr, run.stderr)


def check_team(name):
    """The procedure that computes while the team is idle, and the one in the region: each where the
    program calls it, with all of what is computed there, with MPI and without."""
    if not os.path.exists(program(name)):
        raise Skip(f"{name} was not built")
    out = scratch("without")
    run = execute([DWELL, "run", "--sample", str(HZ), "-o", out, program(name)])
    for profile in (Profile(out, run), sampled("mpi", 1, name)):
        profile.check_conservation()
        sort, = procedures(profile, "sort").items()
        push, = procedures(profile, "push").items()
        check_equal((sort[0], push[0]), ("main/step/sort", "main/step/push"), "paths")
        region = profile.nodes[push[1]["parent"]]
        while region["kind"] == "call":
            region = profile.nodes[region["parent"]]
        check_equal(region["name"], "parallel", "push is called from")
        idle = sum(node["omp_idle_ns"] for node in profile.nodes if node["name"] == "idle")
        # One other thread, which may come late to a processor.
        check_near(sort[1]["time_ns"] / idle, 1, 0.2, 0, "sort over idle time")
        work = region["time_ns"] - region["omp_wait_ns"]
        check_near(push[1]["time_ns"] / work, 1, 0.2, 0, "push over work in the region")
        main_cause = [line for line in profile.run.stderr.splitlines() if "Main cause" in line]
        check("sort" in " ".join(profile.run.stderr.split("Main cause")[1].split()[:20]),
              f"the verdict names sort: {main_cause}")


@case
def openmp_of_clang():
    check_team("openmp_mpi_serial")


@case
def openmp_of_gcc():
    check_team("openmp_gcc_mpi_serial")


if __name__ == "__main__":
    main()
