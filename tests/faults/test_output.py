"""Output that cannot be written: the program's result is untouched, one line says so, the record
files are kept and named, and `dwell recover` makes the profile from them."""

import os
import shutil

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, kept_records, main, mpirun,
                     program, recover, run_observed, run_plain, same_result, scratch, skip_unless,
                     source, verify_expectations)


def ring_recovered(run, out, ranks=2):
    directory = kept_records(run)
    check(os.path.isdir(directory), f"{directory} does not exist" + run.describe())
    profile = recover(directory, out)
    profile.check_conservation()
    verify_expectations(profile, source("ring.c"), ranks)
    shutil.rmtree(directory, ignore_errors=True)


def refused(run, directory):
    """One line, exit 2, and the program was not started."""
    check_equal((run.code, run.stdout), (2, ""), "exit code and stdout" + run.describe())
    lines = [line for line in run.stderr.splitlines() if line.startswith("dwell: ")]
    check(len(set(lines)) == 1 and directory in lines[0], "not one line" + run.describe())


@case
def below_a_file():
    """An output directory below a file cannot be made, also not by root: `dwell run` starts nothing,
    the library warns at the start and the records are kept at the end."""
    plain = run_plain([program("ring")], 2)
    with open(scratch("file"), "w"):
        pass
    out = scratch("file/out")
    refused(execute([DWELL, "run", "-o", out, "touch", scratch("started")]), out)
    refused(run_observed(["touch", scratch("started")], 2, out, cwd=scratch()), out)
    check(not os.path.exists(scratch("started")), "the program was started")
    run = execute(mpirun(2, program("ring")), 2, cwd=scratch(),
                  env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": out})
    same_result(plain, run)
    first = run.stderr.splitlines()[0]
    check(first.startswith("dwell: ") and out in first, "no warning at the start" + run.describe())
    ring_recovered(run, scratch("again"))


@case
def gone_in_the_end():
    """The output directory can be made at the start, and no more at the end."""
    plain = run_plain([program("ring")], 1)
    script = f"touch {scratch('place')} && exec {program('ring')}"
    run = run_observed(["sh", "-c", script], 1, scratch("place/out"), cwd=scratch())
    same_result(plain, run)
    check(scratch("place") in run.stderr, "the directory is not named" + run.describe())
    ring_recovered(run, scratch("again"), 1)


@case
def no_place_for_files():
    """Where nobody makes directories, root neither."""
    for out in ("/proc/dwell-out", "/sys/dwell-out"):
        refused(execute([DWELL, "run", "-o", out, program("ring")]), out)


@case
def not_writable():
    """An output directory without permission, as an ordinary user."""
    skip_unless(os.getuid() == 0, "needs root to become another user")
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    reach = execute(user + ["test", "-x", program("ring"), "-a", "-x", DWELL])
    skip_unless(reach.code == 0, "user nobody cannot reach programs and dwell")
    os.mkdir(scratch("closed"))
    os.chmod(scratch("closed"), 0o555)
    out = scratch("closed/out")
    refused(execute(user + [DWELL, "run", "-o", out, program("ring")]), out)
    os.chmod(scratch("closed"), 0o777)
    run = execute(user + [DWELL, "run", "-o", out, program("ring")], cwd=scratch("closed"))
    check_equal(run.code, 0, "exit code where it may be made" + run.describe())
    Profile(out, run)


def mounted(size, command, env=None, **how):
    """Runs a shell command where $M is a tmpfs of `size`, in a mount namespace of its own."""
    point = scratch("mount")
    os.makedirs(point, exist_ok=True)
    script = f"mount -t tmpfs -o size={size} tmpfs {point} || exit 99; export M={point}; {command}"
    probe = execute(["unshare", "-m", "true"])
    skip_unless(probe.code == 0, "no permission for a private mount namespace")
    run = execute(["unshare", "-m", "sh", "-c", script], 2, env=env, **how)
    skip_unless(run.code != 99, "no permission to mount a tmpfs")
    return run


@case
def full_device():
    """The output directory lies on a device of 8 KiB."""
    plain = run_plain([program("ring")], 2)
    command = " ".join(mpirun(2, DWELL, "run", "-o", "$M/out", program("ring")))
    run = mounted("8k", command, cwd=scratch())
    same_result(plain, run)
    check("profile.json" in run.stderr or "/mount/out" in run.stderr,
          "not said what was not written" + run.describe())
    ring_recovered(run, scratch("again"))


@case
def small_records():
    """/dev/shm too small for the records: no SIGBUS, the program runs on to its end, one line says
    that observation stopped."""
    plain = run_plain([program("many_sites")], 1)
    for size in ("4k", "16k", "64k", "200k"):
        command = " ".join(mpirun(1, DWELL, "run", "-o", scratch("out" + size),
                                  program("many_sites")))
        run = mounted(size, command.replace(DWELL, f"env DWELL_RECORD_DIR=$M {DWELL}", 1),
                      cwd=scratch())
        same_result(plain, run)
        check("dwell" in run.stderr, f"nothing is said with {size}" + run.describe())
        check(any(word in run.stderr.lower() for word in ("full", "space", "small", "room")),
              f"not said that the record device of {size} is full" + run.describe())


@case
def no_records_of_most():
    """Room for the records of one rank: the others say so in one line, whose number is theirs, and none
    of them is said to have given no sign of life."""
    ranks = 11  # more than a status page has room for lines
    for where, command in (("around", [DWELL, "run", *mpirun(ranks, program("ring"))]),
                           ("inside", mpirun(ranks, DWELL, "run", program("ring")))):
        run = mounted("4k", f"env DWELL_RECORD_DIR=$M {' '.join(command)}", cwd=scratch())
        check_equal(run.code, 0, f"exit code {where}" + run.describe())
        lines = [line for line in run.stderr.splitlines() if "cannot make a record file" in line]
        check_equal(len(lines), 1, f"lines {where} the launcher" + run.describe())
        check("No space left" in lines[0], "no reason" + run.describe())
        if where == "around":
            check(f" ({ranks - 1} ranks: " in lines[0], f"{lines[0]}" + run.describe())
        check("sign of life" not in run.stderr, f"false {where}" + run.describe())


@case
def unusable_records():
    """A record directory that does not exist, or in which nobody makes files: `dwell run` starts
    nothing; by LD_PRELOAD alone the program runs on, and a line says that it does so unobserved."""
    plain = run_plain([program("ring")], 2)
    for directory in (scratch("no/such/place"), "/proc"):
        env = {"DWELL_RECORD_DIR": directory}
        touch = ["touch", scratch("started")]
        refused(execute([DWELL, "run", "-o", scratch("out"), *touch], env=env), directory)
        refused(run_observed(touch, 2, scratch("out"), env=env), directory)
        check(not os.path.exists(scratch("started")), "the program was started")
        run = execute(mpirun(2, program("ring")), 2, cwd=scratch(),
                      env={"LD_PRELOAD": LIBRARY, **env})
        same_result(plain, run)
        lines = [line for line in run.stderr.splitlines() if directory in line]
        check(lines and all("runs unobserved" in line for line in lines),
              f"not said what {directory} leads to" + run.describe())


@case
def working_directory_not_writable():
    """Without -o where nobody makes files: a program without MPI is not started, as its profile would
    be lost. One with MPI is, told at the start, and its records are kept."""
    refused(execute([DWELL, "run", "touch", scratch("started")], cwd="/proc"), "/proc")
    check(not os.path.exists(scratch("started")), "the program was started")
    for number, (argv, ranks) in enumerate((
            (mpirun(2, DWELL, "run", program("ring")), 2),
            ([DWELL, "run", *mpirun(2, program("ring"))], 2),
            ([DWELL, "run", program("ring")], 1))):
        run = execute(argv, ranks, cwd="/proc", env={"TMPDIR": scratch()})
        check_equal(run.code, 0, "exit code" + run.describe())
        told = [line for line in run.stderr.splitlines() if "the records will be kept" in line]
        check(len(told) == 1 and "no profile can be written to /proc" in told[0],
              "not told once at the start" + run.describe())
        ring_recovered(run, scratch(f"again{number}"), ranks)


@case
def record_directory_is_a_link():
    """No link is followed: a job directory that somebody put there first is not used."""
    records, elsewhere = scratch("records"), scratch("elsewhere")
    os.mkdir(records)
    os.mkdir(elsewhere)
    # Without a launcher the job is named after the process, which the shell becomes, and its start.
    link = f"{records}/dwell-{os.getuid()}-pid$$-$(cut -d' ' -f22 /proc/$$/stat)"
    run = execute(["sh", "-c", f"ln -s {elsewhere} {link}; LD_PRELOAD={LIBRARY} exec "
                   + program("ring")], cwd=scratch(), env={"DWELL_RECORD_DIR": records})
    check_equal((run.code, run.stdout), (0, "1 ranks: 0\n"), "program" + run.describe())
    check(not os.listdir(elsewhere), f"written through the link: {os.listdir(elsewhere)}")
    check("dwell:" in run.stderr, "nothing is said" + run.describe())


@case
def every_write_fails_once():
    """For each N: the N-th write fails; the program's result is untouched, a line says so, and
    recover gives the whole profile. The first N without complaint must have written everything."""
    plain = execute([program("ring")])
    for number in range(1, 60):
        out = scratch(f"out{number}")
        run = execute([DWELL, "run", "-o", out, program("ring")], cwd=scratch(),
                      env={"DWELL_TEST_FAIL_WRITE": str(number)})
        same_result(plain, run)
        if "dwell recover" not in run.stderr:
            profile = Profile(out, run)
            profile.check_conservation()
            verify_expectations(profile, source("ring.c"), 1)
            check(number > 3, f"only {number - 1} writes fail: the variable has no effect")
            return
        ring_recovered(run, scratch(f"again{number}"), 1)
    check(False, "60 writes and still failing")


@case
def full_stdout():
    """`dwell report` on a full device exits 1 and says so."""
    skip_unless(os.path.exists("/dev/full"), "no /dev/full")
    run_observed([program("ring")], 2, scratch("out"))
    for form in ("text", "json", "csv"):
        run = execute(["sh", "-c", f"{DWELL} report --format {form} {scratch('out')} > /dev/full"])
        check_equal(run.code, 1, f"exit code of {form}" + run.describe())
        check(run.stderr.strip(), f"{form}: nothing is said")


if __name__ == "__main__":
    main()
