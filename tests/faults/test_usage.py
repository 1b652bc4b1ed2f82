"""Bad input: options, values, programs that cannot start, exit codes, signals."""

import errno
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))
from harness import (DWELL, LIBRARY, Failure, Profile, case, check, check_equal, execute, main,  # noqa: E402
                     mpirun, program, run_observed, run_plain, same_result, scratch, skip_unless)


def refused(options, env=None):
    """Exit 2, one line on stderr, nothing on stdout, program not started."""
    mark = scratch("started")
    run = execute([DWELL, "run", *options, "touch", mark], env=env)
    what = f"dwell run {' '.join(options)} {env or ''}"
    check_equal(run.code, 2, f"exit code of {what}" + run.describe())
    check_equal(len(run.stderr.strip().splitlines()), 1, f"lines on stderr of {what}" + run.describe())
    check_equal(run.stdout, "", f"stdout of {what}")
    check(not os.path.exists(mark), f"{what} started the program")
    return run


@case
def bad_options():
    """An unknown option or a bad value: one clear line, exit 2, nothing started."""
    for options in (["--no-such-option"], ["-Z"], ["--callpath", "deep"], ["--callpath", "-1"],
                    ["--callpath", ""], ["--callpath", "1.5"], ["--sample", "sometimes"],
                    ["--sample", "-100"], ["--sample", "99999999999999999999"]):
        run = refused(options)
        named = options[0].lstrip("-")
        check(named in run.stderr, f"the line does not name {options[0]}" + run.describe())


@case
def bad_variables():
    """The twin variables are checked like the options."""
    for name, value in (("DWELL_CALLPATH", "deep"), ("DWELL_SAMPLE", "x"), ("DWELL_QUIET", "maybe")):
        run = refused([], {name: value})
        check(name in run.stderr, f"the line does not name {name}" + run.describe())


@case
def misspelt_variables():
    """One that is almost a variable of dwell is told of once, by `dwell run` and without it; one that
    is like none is not; the program is observed."""
    env = {"DWELL_SMAPLE": "1", "DWELL_ROOT": "/opt"}
    line = "dwell: DWELL_SMAPLE is no variable of dwell: DWELL_SAMPLE is"
    for number, run in enumerate((
            run_observed([program("ring")], 2, scratch("out0"), ("--quiet",), env=env),
            execute([DWELL, "run", "--quiet", "-o", scratch("out1"), *mpirun(2, program("ring"))], 2,
                    env=env),
            execute(mpirun(2, program("ring")), 2,
                    env={"LD_PRELOAD": LIBRARY, "DWELL_OUT": scratch("out2"), "DWELL_QUIET": "1",
                         **env}))):
        lines = [told for told in run.stderr.splitlines() if told.startswith("dwell: ")]
        check_equal(lines, [line], f"run {number}" + run.describe())
        check_equal(len(Profile(scratch(f"out{number}"), run).ranks), 2, f"ranks of run {number}")


@case
def bad_variable_without_run():
    """By plain LD_PRELOAD a bad value gives a warning and the program runs unobserved."""
    plain = run_plain([program("ring")], 2)
    run = execute(mpirun(2, program("ring")), 2, cwd=scratch(),
                  env={"LD_PRELOAD": LIBRARY, "DWELL_CALLPATH": "deep"})
    same_result(plain, run)
    check("DWELL_CALLPATH" in run.stderr, "no warning" + run.describe())
    check(not [n for n in os.listdir(scratch()) if n.startswith("dwell-")], "was observed")
    for name in ("DWELL_QUIET", "DWELL_PRESERVE_ORDER"):
        run = execute(mpirun(1, program("ring")), cwd=scratch(),
                      env={"LD_PRELOAD": LIBRARY, name: "maybe"})
        check(f"{name}=maybe is none of 0, 1" in run.stderr, f"{name}" + run.describe())


@case
def bad_commands():
    """Unknown commands, formats, missing arguments and profiles exit with 2, missing records with 1."""
    for argv, code in (([], 2), (["no-such-command"], 2), (["run"], 2),
                       (["report", "--format", "xml"], 2), (["recover"], 2),
                       (["report", "--no-such-option"], 2),
                       (["report", scratch("missing")], 2), (["recover", scratch("missing")], 1)):
        run = execute([DWELL, *argv], cwd=scratch())
        check_equal(run.code, code, f"exit code of dwell {' '.join(argv)}" + run.describe())
        check(run.stderr.strip(), f"dwell {' '.join(argv)} says nothing")


@case
def profiles_that_cannot_be_shown():
    """No profile, a damaged one, one of another format, one that lacks the site: one line, exit 2."""
    check_equal(run_observed([program("ring")], 2, scratch("good")).code, 0, "ring")
    with open(os.path.join(scratch("good"), "profile.json")) as file:
        text = file.read()
    older = text.replace('"dwell_profile": 1', '"dwell_profile": 0', 1)
    check(older != text, "profile.json tells no version of its format")
    for name, content, word in (("cut", text[:len(text) // 2], "cut off"), ("older", older, "0.1"),
                                ("other", '{"a": 1}', "dwell_profile"), ("blank", "", "JSON")):
        os.mkdir(scratch(name))
        with open(os.path.join(scratch(name), "profile.json"), "w") as file:
            file.write(content)
        run = execute([DWELL, "report", scratch(name)])
        check_equal((run.code, run.stdout, run.stderr.count("\n")), (2, "", 1), run.describe())
        check(word in run.stderr, f"{word!r} is not named" + run.describe())
    os.mkdir(scratch("empty"))
    for argv in ([scratch("empty")], ["--site", "no_such_site", scratch("good")]):
        run = execute([DWELL, "report", *argv])
        check_equal((run.code, run.stdout, run.stderr.count("\n")), (2, "", 1), run.describe())


@case
def help_is_help():
    """--help is printed on stdout with exit 0, for the command and its parts."""
    for argv in (["--help"], ["run", "--help"], ["report", "--help"], ["recover", "--help"],
                 ["info", "--help"], ["--version"]):
        run = execute([DWELL, *argv])
        check_equal((run.code, run.stderr), (0, ""), f"dwell {' '.join(argv)}")
        check(run.stdout.strip(), f"dwell {' '.join(argv)} says nothing")


@case
def not_found():
    """A program that is not found gives 127, one that cannot be executed 126, as in a shell."""
    for name in ("no-such-program-anywhere", "./no/such/path", scratch("nothing")):
        run = execute([DWELL, "run", name])
        check_equal(run.code, 127, f"exit code for {name}" + run.describe())
        check(name in run.stderr, "the program is not named" + run.describe())
    text = scratch("text")
    with open(text, "w") as stream:
        stream.write("no program\n")
    for name in (text, scratch()):
        run = execute([DWELL, "run", name])
        check_equal(run.code, 126, f"exit code for {name}" + run.describe())


@case
def exit_codes():
    """dwell run exits as the program did, for every code; an MPI program that ends with one has its
    profile, though the launcher ends the job as soon as it sees the code."""
    for code in (0, 1, 2, 3, 42, 77, 125, 126, 127, 128, 129, 137, 200, 254, 255):
        run = execute([DWELL, "run", "-o", scratch("out"), "sh", "-c", f"exit {code}"])
        check_equal(run.code, code, "exit code" + run.describe())
    run = run_observed([program("ring"), "10", "23"], 2, scratch("mpi"))
    plain = run_plain([program("ring"), "10", "23"], 2)
    same_result(plain, run)
    os.mkdir(scratch("records"))
    for number in range(5):
        run = run_observed([program("ring"), "10", "23"], 4, scratch(f"ends{number}"), ["--quiet"],
                           env={"DWELL_RECORD_DIR": scratch("records")})
        check_equal(Profile(scratch(f"ends{number}"), run).count("MPI_Sendrecv"), 40, "exchanges")
    check_equal(os.listdir(scratch("records")), [], "records left")


@case
def system_call_refused():
    """Where close_range(2) fails, as before Linux 5.9 and in some containers, a run is as ever."""
    close_range = 436  # on every architecture
    for error in (errno.ENOSYS, errno.EPERM):
        run = execute([program("refused"), str(close_range), str(error),
                       DWELL, "run", "-o", scratch("out"), program("plain"), "3"], timeout_s=30)
        check_equal(run.stdout, "plain\n", "stdout" + run.describe())
        check_equal(run.code, 3, "exit code" + run.describe())


@case
def arguments_and_stdin():
    """Arguments pass untouched, options of the program are not dwell's, stdin reaches it."""
    words = ["--help", "-o", "a b", "", "*", "--", "$HOME", "'\""]
    run = execute([DWELL, "run", "-o", scratch("out"), "printf", "[%s]", *words])
    check_equal(run.stdout, "".join(f"[{w}]" for w in words), "arguments")
    with open(scratch("in"), "w") as stream:
        stream.write("from stdin\n")
    with open(scratch("in")) as stream:
        run = execute([DWELL, "run", "-o", scratch("out2"), "cat"], stdin=stream)
    check_equal(run.stdout, "from stdin\n", "stdin")


@case
def killed_by_signal():
    """A program killed by a signal: the same end, or 128 + its number, as a shell says it."""
    for number in (signal.SIGSEGV, signal.SIGKILL, signal.SIGTERM, signal.SIGABRT):
        run = execute([DWELL, "run", "-o", scratch("out"), "sh", "-c", f"kill -{int(number)} $$"])
        check(run.code in (-number, 128 + number), f"exit {run.code} after {number}" + run.describe())


@case
def signals_are_forwarded():
    """TERM, INT, USR1 and HUP sent to dwell run reach the program, and its exit code comes back."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGHUP):
        file = scratch(f"pid{int(number)}")

        def interrupt(process):
            until = time.monotonic() + 20
            while not (os.path.exists(file) and os.path.getsize(file)):
                if time.monotonic() > until:
                    raise Failure("the program did not start")
                time.sleep(0.01)
            os.kill(process.pid, number)

        run = execute([DWELL, "run", "-o", scratch("out"), program("signal_taker"), file],
                      interrupt=interrupt)
        check_equal(run.code, 40 + number, f"exit code after {number!r}" + run.describe())
        check_equal(run.stdout, f"signal {int(number)}\n", "stdout")


@case
def program_without_mpi_under_mpirun():
    """A program without MPI under mpirun runs as always, and dwell says that it saw no MPI."""
    plain = run_plain([program("plain"), "4"], 2)
    run = run_observed([program("plain"), "4"], 2, scratch("out"))
    same_result(plain, run)
    check("MPI" in run.stderr.replace("MPI_ABORT", ""), "nothing is said of MPI" + run.describe())


@case
def static_program():
    """A statically linked program runs, and one line says why it cannot be observed, and what its
    profile is then made of."""
    for options, word in (([], "no MPI or OpenMP calls are observed, the program is only sampled"),
                          (["--sample", "off"], "the program is not observed, only timed")):
        run = execute([DWELL, "run", "-o", scratch("out"), *options, program("plain_static"), "5"])
        check_equal((run.code, run.stdout), (5, "plain\n"), "program" + run.describe())
        check(f"is statically linked: {word} from outside\n" in run.stderr,
              f"not said what {options} gives" + run.describe())
        check(os.path.exists(scratch("out/profile.json")), "no profile" + run.describe())
    run = run_observed([program("plain_static"), "5"], 1, scratch("rank"))
    check("statically linked: it is not observed\n" in run.stderr, "a rank" + run.describe())
    check(not os.path.exists(scratch("rank")), "a rank has a profile" + run.describe())


@case
def setuid_program():
    """A setuid program, run by somebody else, runs, and one line says why it is not observed."""
    skip_unless(os.getuid() == 0, "needs root to make a setuid program")
    path = scratch("setuid")
    with open(program("plain"), "rb") as source, open(path, "wb") as copy:
        copy.write(source.read())
    os.chmod(path, 0o4755)
    reach = execute(as_nobody(["test", "-x", DWELL]))
    skip_unless(reach.code == 0, "user nobody cannot reach the dwell command")
    run = execute(as_nobody([DWELL, "run", path, "5"]), cwd="/tmp")
    check_equal((run.code, run.stdout), (5, "plain\n"), "program" + run.describe())
    check("setuid" in run.stderr, "no word of setuid" + run.describe())


def as_nobody(argv):
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *argv]


@case
def wrong_mpi():
    """Another MPI library: its calls pass through with their own handles, and dwell says that it
    does not know it."""
    name = program("other_mpi")
    plain = execute([name])
    check_equal((plain.code, plain.stdout), (11, "errors 0\n"), "the program itself")
    run = execute([DWELL, "run", "-o", scratch("out"), name])
    same_result(plain, run)
    check("MPI" in run.stderr and len(run.stderr.strip().splitlines()) <= 2,
          "no clear line about the MPI library" + run.describe())


if __name__ == "__main__":
    main()
