"""What programs do to their processes, threads and stacks: behaviour as without dwell."""

import os
import shutil

from harness import (DWELL, LIBRARY, ROOT, Profile, case, check, check_equal, execute, kept_records, main,
                     mpirun, profiled, program, recover, repeated, run_observed, run_plain, same_result,
                     scratch, skip_unless, source, verify_expectations)

HERE = os.path.dirname(os.path.abspath(__file__))


def forks(how):
    """Children leave no trace in the parent's records: 20 commits in each of 2 ranks."""
    profile = profiled([program("forks"), how], 2)
    nodes = profile.comm("MPI_Type_commit")
    check_equal(sum(node.count for node in nodes), 40, "commits")
    check_equal(profile.world_size, 2, "size of the world")
    check_equal(profile.run.stderr.count("dwell recover"), 0, "cries for recovery")


@case
def fork_exit():
    """A forked child that exits through exit() does not write to its parent's records."""
    forks("exit")


@case
def fork_immediate_exit():
    """A forked child that leaves with _exit()."""
    forks("_exit")


@case
def fork_exec():
    """A forked child that becomes another program."""
    forks("exec")


@case
def vfork_exec():
    """A child that borrows its parent's memory until it becomes another program."""
    forks("vfork")


@case
def exec_twice():
    """Ranks that become other programs before they use MPI, once or twice, and end one after the other:
    the job has its profile, and no rank is said to have ended without."""
    for times in ("1", "2"):
        profile = profiled([program("exec_twice"), times], 2, name=f"out.{times}")
        check_equal(profile.world_size, 2, "size of the world")
        said = profile.run.stderr
        check("went on as another program" in said and "dwell recover" in said, f"what is kept: {said}")
        check("before its profile was written" not in said, f"wrong advice: {said}")


@case
def posix_spawn():
    """posix_spawn."""
    forks("spawn")


@case
def system_call():
    """system()."""
    forks("system")


@case
def few_processes():
    """A user who may have two processes: `dwell run` starts the program without a thread of its own."""
    skip_unless(os.geteuid() == 0 and shutil.which("setpriv") and shutil.which("prlimit"),
                "no setpriv or prlimit here, or not root")
    home = scratch("home")
    os.mkdir(home)
    os.chmod(home, 0o777)
    os.chmod(scratch(), 0o711)
    user = str(61000 + os.getpid() % 4000)  # whose processes no other test counts
    before = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
    skip_unless(execute([*before, "test", "-x", DWELL]).code == 0, "other users cannot run dwell")
    run = execute([*before, "prlimit", "--nproc=2", DWELL, "run", "-o", os.path.join(home, "out"),
                   "echo", "it runs"], cwd=home, env={"HOME": home})
    check_equal((run.stdout, run.code), ("it runs\n", 0), "the program" + run.describe())


@case
def closed_files():
    """A program that closes dwell's files and opens its own under the same numbers: those stay as
    they are, and all that it did is counted."""
    own = scratch("own")
    os.mkdir(own)
    run = run_observed([program("closes_files"), own], 2, scratch("out"))
    check_equal(sorted(run.stdout.splitlines()),
                ["rank 0: 0 bytes in its files", "rank 1: 0 bytes in its files"],
                "own files" + run.describe())
    check_equal(run.code, 0, "exit code" + run.describe())
    profile = Profile(scratch("out"), run)
    commits = [node for node in profile.comm("MPI_Type_commit") if node.count]
    check_equal(len(commits), 1024, "call paths")
    check_equal(sum(node.count for node in commits), 2 * 1024 * 20, "commits")


@case
def no_memory():
    """A process that gets no more memory completes many requests all the same: the calls are counted,
    and those whose requests could not be looked at are said to be."""
    profile = profiled([program("no_memory")], 1)
    check_equal(profile.run.stdout, "5000 12502500\n", "what the program says")
    check_equal(profile.count("MPI_Waitany"), 1, "MPI_Waitany")
    check(profile.ranks[0]["dropped"] > 0, "nothing is said to be missing")


@case
def throwing_handler():
    """An error handler that throws through the MPI call: later calls are counted as ever."""
    profile = profiled([program("error_jumps"), "throw"], 2)
    node = profile.at(os.path.join(HERE, "programs/error_jumps.cpp"), "exchange", "MPI_Sendrecv")
    check_equal(node.count, 200, "exchanges after the throws")


@case
def jumping_handler():
    """An error handler that leaves the MPI call by longjmp: later calls are counted as ever."""
    profile = profiled([program("error_jumps"), "longjmp"], 2)
    node = profile.at(os.path.join(HERE, "programs/error_jumps.cpp"), "exchange", "MPI_Sendrecv")
    check_equal(node.count, 200, "exchanges after the jumps")


@case
def failing_calls():
    """Calls that fail keep their error class; they count as failed, without bytes or peers; errno
    and signal actions stay."""
    profile = profiled([program("errors")], 2)
    verify_expectations(profile, os.path.join(HERE, "programs/errors.c"), 2)


@case
def unwinding_in_a_library():
    """Throwing, pthread_exit and pthread_cancel in a C++ library of a C program run the same
    destructors as without dwell, and throws cost the same."""
    repeated(check_unwinding)


def check_unwinding():
    cost = scratch("cost")
    words = [program("cxx_user"), program("libcxx_library.so"), cost]
    plain = run_plain(words, 1)
    check_equal(plain.stdout, "destroyed 2220\n", "the program itself")
    before = float(open(cost).read())
    out = scratch("out")
    run = run_observed(words, 1, out)
    same_result(plain, run)
    after = float(open(cost).read())
    profile = Profile(out, run)
    profile.check_conservation()
    nodes = profile.comm("MPI_Iprobe")
    check(sum(node.count for node in nodes) >= 200 + 10 + 10, f"probes: {nodes}")
    check(after < 3 * before, f"a throw takes {after:.0f} ns, without dwell {before:.0f}")


@case
def under_valgrind():
    """valgrind's leak check reads all memory of a process: the run ends, with its profile, and what
    dwell does on purpose is no error by dwell's list."""
    skip_unless(shutil.which("valgrind"), "no valgrind")
    suppressions = os.path.join(ROOT, "runtime", "lifecycle", "valgrind.supp")
    argv = ["valgrind", "-q", "--suppressions=" + suppressions, program("ring")]
    plain = run_plain(argv, 2)
    out = scratch("out")
    run = run_observed(argv, 2, out)
    same_result(plain, run)
    verify_expectations(Profile(out, run), source("ring.c"), 2)
    for name in ("callpath.cpp", "stack_walks.cpp", "libunwind"):
        check(name not in run.stderr, f"valgrind names {name}" + run.describe())
    # What is still in its buffers at MPI_Finalize is written once.
    file, out = scratch("stdout"), scratch("alone")
    run = execute(["sh", "-c", 'exec "$@" >"$0"', file, DWELL, "run", "-o", out, *argv])
    check_equal(open(file).read(), "1 ranks: 0\n", "standard output in a file")
    Profile(out, run)


@case
def standard_error_taken():
    """A program that closes standard error and opens a file of its own, which gets its number: not
    a byte of dwell's comes into it, neither the verdict nor that there is no report."""
    for name, env in (("summary", {}), ("no_report", {"DWELL_COMMAND": scratch("none")})):
        file = scratch(name)
        run = run_observed([program("takes_stderr"), file], 1, scratch("out." + name))
        check_equal((run.code, os.path.getsize(file)), (0, 0), "dwell run" + run.describe())
        Profile(scratch("out." + name), run)
        run = execute([program("takes_stderr"), file], cwd=scratch(),
                      env={"LD_PRELOAD": LIBRARY, **env})
        check_equal((run.code, os.path.getsize(file)), (0, 0), "LD_PRELOAD" + run.describe())


@case
def report_takes_too_long():
    """A `dwell` command that does not end: the program ends as without dwell once the time limit has
    passed, and the records are kept and named."""
    command = scratch("command")
    with open(command, "w") as script:
        script.write("#!/bin/sh\nexec sleep 1000\n")
    os.chmod(command, 0o755)
    plain = run_plain([program("ring")], 2)
    records = scratch("records")
    os.mkdir(records)
    run = execute(mpirun(2, program("ring")), 2, cwd=scratch(),
                  env={"LD_PRELOAD": LIBRARY, "DWELL_COMMAND": command, "DWELL_END_TIMEOUT": "2",
                       "DWELL_RECORD_DIR": records})
    same_result(plain, run)
    check("--end-timeout" in run.stderr, "not said why" + run.describe())
    profile = recover(kept_records(run), scratch("recovered"))
    verify_expectations(profile, source("ring.c"), 2)


@case
def late_mpi():
    """MPI opened late, in local scope, through dlsym: counted if the calls pass dwell at all, and
    the program runs as ever."""
    plain = run_plain([program("late_mpi")], 1)
    check_equal(plain.stdout, "sum 0\n", "the program itself")
    run = run_observed([program("late_mpi")], 1, scratch("out"))
    same_result(plain, run)


if __name__ == "__main__":
    main()
