"""Ends that are none of the usual ones, and limits of the process: the program does what it does without
dwell, what was counted is there or named, and nothing is left behind."""

import os
import re
import time

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, main, mpirun,
                     profiled, program, recover, run_observed, run_plain, same_result, scratch,
                     skip_unless, source, verify_expectations)

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")


@case
def attributes_in_finalize():
    """What the delete functions of two attributes of MPI_COMM_SELF do in MPI_Finalize is counted, and the
    numbers of the program's keys are those that it has without dwell."""
    profile = profiled([program("finalize_state")], 2, code=3)
    file = os.path.join(PROGRAMS, "finalize_state.c")
    for marker, name in (("reduce", "MPI_Allreduce"), ("barrier", "MPI_Barrier")):
        check_equal(profile.at(file, marker, name).count, 4, f"{name} in MPI_Finalize")


@case
def delete_that_fails():
    """A delete function of MPI_COMM_SELF refuses, in MPI_Finalize and before: what it called counts, and
    the profile is written."""
    profile = profiled([program("failing_delete")], 2)
    file = os.path.join(PROGRAMS, "failing_delete.c")
    check_equal(profile.count("MPI_Barrier"), 4, "MPI_Barrier, called where one is deleted and at the end")
    check_equal(profile.at(file, "reduce", "MPI_Allreduce").count, 2, "MPI_Allreduce")


def records():
    """An own directory for records, and the variable that names it."""
    place = scratch("records")
    os.makedirs(place, exist_ok=True)
    return place, {"DWELL_RECORD_DIR": place}


@case
def init_that_fails():
    """MPI_Init does not come back, as there is no such transport: nothing false is said, and no records
    stay, with `dwell run` in the ranks and around the launcher, and by LD_PRELOAD alone until the next
    command."""
    place, env = records()
    env["OMPI_MCA_pml"] = "nonexistent"
    plain = execute(mpirun(2, program("ring")), 2, env=env)
    check(plain.code != 0, "MPI_Init succeeds" + plain.describe())
    for argv, more in ((mpirun(2, DWELL, "run", program("ring")), {}),
                       ([DWELL, "run", *mpirun(2, program("ring"))], {}),
                       (mpirun(2, program("ring")), {"LD_PRELOAD": LIBRARY})):
        run = execute(argv, 2, env={**env, **more}, cwd=scratch())
        same_result(plain, run)
        for wrong in ("without MPI", "started no MPI program", "dwell recover"):
            check(wrong not in run.stderr, f"said: {wrong}" + run.describe())
        if not more:
            check("MPI_Init failed" in run.stderr or "before MPI_Init was done" in run.stderr,
                  "not said" + run.describe())
        else:  # the launcher may have killed one of the two
            execute([DWELL, "info"], env=env, cwd=scratch())
        check_equal(os.listdir(place), [], "what is left" + run.describe())


@case
def killed_in_init():
    """kill -9 inside MPI_Init: with `dwell run` no records stay, by hand until the next command."""
    place, env = records()
    words = [program("dies"), "init", scratch("counts")]
    run = run_observed(words, 2, scratch("out"), env=env, cwd=scratch())
    check_equal(os.listdir(place), [], "what is left" + run.describe())
    execute(mpirun(2, *words), 2, env={"LD_PRELOAD": LIBRARY, **env}, cwd=scratch())
    run = execute([DWELL, "info"], env=env, cwd=scratch())
    check("unfinished" not in run.stderr, "records of nothing" + run.describe())
    check_equal(os.listdir(place), [], "what is left by hand" + run.describe())


@case
def unfinished_runs():
    """By LD_PRELOAD alone, after a change of directory and an end without MPI_Finalize: a line at the end
    or the next command where the program was started names the records by their whole path."""
    place, env = records()
    start = scratch("start")
    os.mkdir(start)
    file = os.path.join(PROGRAMS, "ends.c")
    for how in ("exit", "_exit", "quick_exit", "abort", "term"):
        run = execute(mpirun(2, program("ends"), how), 2, env={"LD_PRELOAD": LIBRARY, **env}, cwd=start)
        said = run.stderr
        if how != "exit":
            elsewhere = execute([DWELL, "info"], env=env, cwd=scratch())
            check("unfinished" not in elsewhere.stderr, "said elsewhere" + elsewhere.describe())
            said = execute([DWELL, "info"], env=env, cwd=start).stderr
            check_equal(said.count("unfinished run of ends"), 1, f"lines after {how}: {said}")
        named = re.findall(r"dwell recover (\S+)", said)
        check(len(named) == 1 and os.path.isabs(named[0]), f"{how}: no one whole path: {said}")
        check(how != "exit" or os.path.dirname(named[0]) == start, f"not where it started: {named}")
        away = execute([DWELL, "recover", "-q", "-o", scratch("away." + how), named[0]], env=env, cwd=start)
        check("unfinished" not in away.stderr, "said of what is recovered" + away.describe())
        made = execute([DWELL, "recover", named[0]], env=env, cwd=start)
        check_equal(made.code, 0, "recover" + made.describe())
        if how != "exit":
            again = execute([DWELL, "info"], env=env, cwd=start)
            check("unfinished" not in again.stderr, "said again" + again.describe())
        profile = recover(named[0], scratch("again." + how))
        check_equal(profile.at(file, "reduce", "MPI_Allreduce").count, 40, f"calls after {how}")
        check_equal(os.listdir(os.path.join(start, "elsewhere")), [], "where it went")
        for left in os.listdir(place):
            for name in os.listdir(os.path.join(place, left)):
                os.remove(os.path.join(place, left, name))
            os.rmdir(os.path.join(place, left))


@case
def limited_file_size():
    """RLIMIT_FSIZE: the program ends as without dwell, with its profile or a line that says why there is
    none, whether or not it comes to the limit itself."""
    skip_unless(execute(["prlimit", "--version"]).code == 0, "no prlimit")
    plain = execute([program("many_names")])
    check_equal((plain.code, plain.stdout), (3, "3000 blocks\n"), "the program itself")
    _, own = records()
    for number, limit in enumerate((0, 100, 4096, 16384, 32768, 100_000, 300_000, 1_000_000)):
        for how in ("run", "hand"):
            out = scratch(f"out{number}{how}")
            argv = ["prlimit", f"--fsize={limit}:{limit}"]
            argv += [DWELL, "run", "-o", out] if how == "run" else []
            env = {} if how == "run" else {"LD_PRELOAD": LIBRARY, "DWELL_OUT": out}
            run = execute([*argv, program("many_names")], env={**env, **own}, cwd=scratch())
            same_result(plain, run)
            check(os.path.exists(os.path.join(out, "profile.json")) or "dwell: " in run.stderr,
                  f"{limit} bytes: no word" + run.describe())


@case
def file_size_of_the_program():
    """The program is sent SIGXFSZ for its own files as ever: it is not ignored in it."""
    skip_unless(execute(["prlimit", "--version"]).code == 0, "no prlimit")
    script = "trap '' USR1; head -c 9000 /dev/zero > " + scratch("own")
    argv = ["prlimit", "--fsize=4096:4096"]
    plain = execute([*argv, "sh", "-c", script])
    run = execute([*argv, DWELL, "run", "-o", scratch("out"), "sh", "-c", script], cwd=scratch())
    check(plain.code != 0, "the file has no limit" + plain.describe())
    same_result(plain, run)


@case
def few_files():
    """RLIMIT_NOFILE: where MPI_Init succeeds without dwell, it does with it."""
    skip_unless(execute(["prlimit", "--version"]).code == 0, "no prlimit")

    def limited(files, *words):
        return execute(mpirun(2, "prlimit", f"--nofile={files}:{files}", *words), 2, cwd=scratch())

    good = [n for n in range(12, 26) if limited(n, program("ring")).code == 0]
    check(good and good[0] < 24, f"the program runs with {good} files")
    for files in good[:4]:
        out = scratch(f"out{files}")
        run = limited(files, DWELL, "run", "-o", out, program("ring"))
        same_result(limited(files, program("ring")), run)
        check_equal(run.stderr.count("ulimit -n"), 1, "lines about it" + run.describe())
        profile = Profile(out, run)
        check_equal(profile.count("MPI_Finalize"), 2, "what was counted")
        check(any("ulimit -n" in note for note in profile.json["notes"]), f"no note: {profile.json['notes']}")
        check("libunwind" not in str(profile.json["notes"]) + run.stderr, "not the reason" + run.describe())


@case
def reset_of_other_threads():
    """What a thread does between the MPI_Pcontrol(2) of another and its own next call is counted: 0.4 s in
    each of two threads."""
    profile = profiled([program("reset_threads")], 1)
    check(profile.json["computation_ns"] >= 0.7e9, f"computation {profile.json['computation_ns']} ns")
    for row in profile.csv("--per-rank"):
        if row["kind"] == "program" and row["thread"] in ("0", "1"):
            check(0.35 <= float(row["time_s"]), f"time of a thread: {row}")


@case
def pcontrol_names():
    """MPI_Pcontrol(1, name) and (-1, name) are blocks, of literals and of other texts, at each level of
    optimisation; without a name they are none, whatever the register holds."""
    for form in ("", "_O0", "_O3"):
        profile = profiled([program("pcontrol_names" + form)], 1, name="out" + form)
        blocks = {row["name"]: row for row in profile.csv() if row["kind"] == "block"}
        check_equal(sorted(blocks), ["outer", "step 0", "step 1", "step 2"], "blocks" + form)
        for name, row in blocks.items():
            check_equal(int(row["count"]), 1, f"count of {name}")
            least = 0.3 if name == "outer" else 0.1
            check(least <= float(row["time_s"]), f"time of {row}")
        check(profile.json["paused_ns"] >= 0.099e9, f"paused {profile.json['paused_ns']} ns")
        file = os.path.join(PROGRAMS, "pcontrol_names.c")
        barrier = profile.at(file, "barrier", "MPI_Barrier")
        check("outer" not in barrier.path, f"the block goes on: {barrier}")


@case
def outlived_launcher():
    """A process that ends some seconds after its launcher: its records come to those of the others."""
    place, env = records()
    launcher = scratch("mpirun")
    with open(launcher, "w") as script:
        script.write(f"""#!/bin/sh
export PMIX_NAMESPACE=job OMPI_COMM_WORLD_SIZE=2
OMPI_COMM_WORLD_RANK=1 {program("many_names")} 2.5 </dev/null >/dev/null 2>&1 &
OMPI_COMM_WORLD_RANK=0 {program("many_names")}
""")
    os.chmod(launcher, 0o755)
    out = scratch("out")
    run = execute([DWELL, "run", "-o", out, launcher], env=env, cwd=scratch())
    check_equal(run.stderr.count("dwell recover"), 1, "advice" + run.describe())
    until = time.monotonic() + 15
    while os.listdir(place) and time.monotonic() < until:
        time.sleep(0.1)
    check_equal(os.listdir(place), [], "records left behind")
    check_equal(sorted(os.listdir(out)), ["rank.0", "rank.1"], "what is kept")


if __name__ == "__main__":
    main()
