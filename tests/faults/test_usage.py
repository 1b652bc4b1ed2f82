"""Bad input: options, values, programs that cannot start, exit codes, signals."""

import ctypes
import errno
import os
import re
import signal
import time

from harness import (DWELL, LIBRARY, Failure, Profile, case, check, check_equal, execute, main,
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
    for name, value in (("DWELL_CALLPATH", "deep"), ("DWELL_SAMPLE", "x"), ("DWELL_QUIET", "maybe"),
                        ("DWELL_REPORT", "2"), ("DWELL_WIDTH", "59")):
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
    for name in ("DWELL_QUIET", "DWELL_REPORT", "DWELL_PRESERVE_ORDER"):
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


def content_of(file):
    """What a program writes into `file` once it is ready."""
    until = time.monotonic() + 20
    while not os.path.exists(file):
        if time.monotonic() > until:
            raise Failure("the program did not start")
        time.sleep(0.01)
    with open(file, encoding="utf-8") as stream:
        return int(stream.read())


# 32 and 33 are libc's own; a signal that stops takes a SIGCONT away.
SENT = sorted(set(range(1, 65)) - {signal.SIGKILL, signal.SIGSTOP, signal.SIGUSR2, signal.SIGCONT, 32,
                                   33})


def count_signals(number, observed, send):
    """What the program counts of what `send` sends, and how the run ends."""
    file = scratch(f"pid{number}")

    def interrupt(process):
        content_of(file)
        send(process.pid)
        time.sleep(0.3)  # a signal that comes twice comes now
        os.kill(process.pid, signal.SIGUSR2)

    command = [DWELL, "run", "-q", "-o", scratch(f"out{number}")] if observed else []
    run = execute([*command, program("signal_counter"), file], interrupt=interrupt)
    check_equal(run.code, 5, "exit code" + run.describe())
    return run.stdout


def queue(pid, number, value):
    """sigqueue(3), the value as an int."""
    function = ctypes.CDLL(None, use_errno=True).sigqueue
    check_equal(function(pid, number, ctypes.c_void_p(value)), 0, "sigqueue")


@case
def all_signals_are_forwarded():
    """Every signal that can be caught, sent to dwell run, reaches the program once, those of real time
    as often as they are sent and with their values; dwell run lives on."""
    def send(pid):
        for number in SENT:
            os.kill(pid, number)
        for value in (1, 20, 300):
            queue(pid, signal.SIGRTMIN + 3, value)
            os.kill(pid, signal.SIGRTMIN + 4)

    plain = count_signals(0, False, send)
    check_equal(len(plain.splitlines()), len(SENT) + 1, "the program itself: " + plain)
    check(f"{signal.SIGRTMIN + 3}: 4, 321" in plain, "the program itself: " + plain)
    check_equal(count_signals(1, True, send), plain, "signals")


@case
def signals_to_the_group():
    """A signal to the whole process group reaches the program once, not once more through dwell run."""
    def send(pid):
        for number in SENT:
            os.killpg(pid, number)
        for _ in range(3):
            os.killpg(pid, signal.SIGRTMIN + 4)
        time.sleep(0.2)
        for number in (signal.SIGUSR1, signal.SIGRTMIN + 4):  # what went to all is over
            os.kill(pid, number)

    plain = count_signals(0, False, send)
    check(f"{signal.SIGRTMIN + 4}: 5, 0\n" in plain, "the program itself: " + plain)
    check_equal(count_signals(1, True, send), plain, "signals")


@case
def signals_to_the_parent():
    """A program that signals its parent reaches who started dwell run."""
    for command in ("", f"{DWELL} run -q -o {scratch('out')} "):
        run = execute(["sh", "-c", f"trap 'echo up' USR1; {command}{program('signal_counter')} x parent"
                                   "; echo $?"])
        check_equal(sorted(run.stdout.split()), ["3", "up"], "stdout" + run.describe())


@case
def stops_and_goes_on_as_the_program():
    """dwell run stops when the program does and goes on with it, whoever stopped and continued it; it
    does not where the program does not."""
    class Job:
        """dwell run in a process group of its own, whose parent can tell that it stops."""

        def __init__(self, how):
            file = scratch("pid" + how)
            self.run = os.fork()
            if self.run == 0:
                os.setpgid(0, 0)
                os.execv(DWELL, [DWELL, "run", "-q", "-o", scratch("out"), program("signal_counter"),
                                 file, *([how] if how else [])])
            self.program = content_of(file)

        def wait(self, options, what):
            until = time.monotonic() + 10
            while True:
                pid, status = os.waitpid(self.run, options | os.WNOHANG)
                if pid:
                    return status
                if time.monotonic() > until:
                    os.kill(self.run, signal.SIGKILL)
                    raise Failure(f"dwell run did not follow: {what}")
                time.sleep(0.005)

        def check_stopped(self, want, what):
            until = time.monotonic() + 5
            while True:
                with open(f"/proc/{self.program}/stat", encoding="utf-8") as stream:
                    stopped = stream.read().rsplit(")", 1)[1].split()[0] == "T"
                if stopped == want:
                    return
                check(time.monotonic() < until, f"the program {'runs on' if want else 'stays stopped'} "
                                                f"after {what}")
                time.sleep(0.005)

    job = Job("stops")
    for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, signal.SIGSTOP):
        senders = [(os.kill, job.program, "the program"), (os.killpg, job.run, "the group")]
        if number != signal.SIGSTOP:
            senders.append((os.kill, job.run, "dwell run"))
        for send, pid, whom in senders:
            send(pid, number)
            status = job.wait(os.WUNTRACED, f"{number!r} to {whom}")
            check(os.WIFSTOPPED(status), f"status {status} after {number!r} to {whom}")
            job.check_stopped(True, f"{number!r} to {whom}")
            send(pid, signal.SIGCONT)
            check(os.WIFCONTINUED(job.wait(os.WCONTINUED, f"SIGCONT after {number!r} to {whom}")),
                  f"goes on after {number!r}")
            job.check_stopped(False, f"SIGCONT to {whom}")
    os.kill(job.run, signal.SIGUSR2)
    check_equal(os.waitstatus_to_exitcode(job.wait(0, "the end")), 5, "exit code")
    job = Job("")
    os.killpg(job.run, signal.SIGTSTP)
    time.sleep(0.3)
    os.kill(job.run, signal.SIGUSR2)
    check_equal(os.waitstatus_to_exitcode(job.wait(os.WUNTRACED, "the end")), 5, "of one that takes SIGTSTP")


@case
def program_without_mpi_under_mpirun():
    """A program without MPI under mpirun runs as always, and dwell says that it saw no MPI."""
    plain = run_plain([program("plain"), "4"], 2)
    run = run_observed([program("plain"), "4"], 2, scratch("out"))
    same_result(plain, run)
    check("MPI" in run.stderr.replace("MPI_ABORT", ""), "nothing is said of MPI" + run.describe())


def said(run):
    """Lines of dwell's own."""
    return [line[len("dwell: "):] for line in run.stderr.splitlines() if line.startswith("dwell: ")]


@case
def lines_once_a_job():
    """What all ranks of a job have to say is one line, with their number; so is what one of them says."""
    who = " (4 ranks: 0, 1, 2, 3)"
    for number, (words, line) in enumerate((
            ([program("plain"), "4"], f"{program('plain')} called no MPI_Init: a program without MPI"),
            ([program("plain_static"), "4"],
             f"{program('plain_static')} is statically linked: it is not observed"),
            ([program("other_mpi")], "the program runs unobserved: the MPI library"),
            (["no-such-program-anywhere"], "no-such-program-anywhere: not found"))):
        run = run_observed(words, 4, scratch(f"out{number}"), env={"DWELL_RECORD_DIR": scratch()})
        lines = said(run)
        check_equal(len(lines), 1, f"lines about {words}" + run.describe())
        check(lines[0].startswith(line) and lines[0].endswith(who), f"{lines[0]}" + run.describe())
    run = execute(mpirun(4, DWELL, "run", "--sample", "often", program("ring")), 4)
    check_equal((len(said(run)), run.stderr.count(who)), (1, 1), "a bad option" + run.describe())
    around = execute([DWELL, "run", *mpirun(4, program("other_mpi"))], 4)
    check_equal(len(said(around)), 1, "lines around the launcher" + around.describe())
    check(said(around)[0].startswith("the program runs unobserved: the MPI library"), around.describe())
    run = execute(mpirun(4, program("ring")), 4, cwd=scratch(),
                  env={"LD_PRELOAD": LIBRARY, "DWELL_CALLPATH": "deep"})
    check_equal(len(said(run)), 1, "without dwell run" + run.describe())
    run = execute(mpirun(4, "sh", "-c", f"test $OMPI_COMM_WORLD_RANK = 2 && exec {DWELL} run "
                                        f"{program('plain')} 4; exit 0"), 4)
    check_equal([line.rsplit(" (", 1)[1] for line in said(run)], ["1 rank: 2)"], run.describe())
    left = [name for name in os.listdir(scratch()) if name.endswith(".lines")]
    check_equal(left, [], "left behind")


@case
def preload_replaced():
    """Where something between dwell and the program replaces or clears LD_PRELOAD, the line says so, by
    what, and what to type, also of a program that is over at once."""
    slow = scratch("slow.sh")
    with open(slow, "w") as stream:
        stream.write(f"#!/bin/sh\nexport LD_PRELOAD=libm.so.6\n{program('signal_taker')} {scratch('pid')}\n"
                     "true\n")
    os.chmod(slow, 0o755)
    for words, what in (
            (["env", "LD_PRELOAD=libm.so.6", program("plain"), "3"], "replaced by libm.so.6"),
            (["env", "-i", program("plain"), "3"], "cleared"),
            (["env", "LD_PRELOAD=libm.so.6", "mpirun", "-n", "1", program("ring")], "replaced by libm.so.6"),
            ([slow], "replaced by libm.so.6")):
        def interrupt(process):
            if words == [slow]:
                pid = content_of(scratch("pid"))
                time.sleep(1)
                os.kill(pid, signal.SIGTERM)

        run = execute([DWELL, "run", "-o", scratch("out"), *words], interrupt=interrupt)
        check("without MPI" not in run.stderr and what in run.stderr and "put dwell run" in run.stderr,
              f"{words}" + run.describe())


@case
def init_that_fails():
    """An MPI_Init that fails: that is said, once, and no record stays."""
    records = scratch("records")
    os.mkdir(records)
    env = {"OMPI_MCA_pml": "nonexistent", "DWELL_RECORD_DIR": records}
    words = [program("ring")]
    for run in (run_observed(words, 2, scratch("out"), env=env),
                execute([DWELL, "run", "-o", scratch("out"), *mpirun(2, *words)], 2, env=env)):
        check(run.code != 0, "MPI_Init does not fail" + run.describe())
        check("MPI_Init failed" in run.stderr, "not said" + run.describe())
        # The launcher ends the other rank in it.
        others = [line for line in said(run) if "MPI_Init failed" not in line]
        check(len(said(run)) < 3 and all("before MPI_Init was done" in line for line in others),
              "lines" + run.describe())
        until = time.monotonic() + 10  # the launcher does not wait for all that it ends
        while os.listdir(records) and time.monotonic() < until:
            time.sleep(0.05)
        check_equal(os.listdir(records), [], "records left" + run.describe())


@case
def what_was_meant():
    """A command or an option that is none: the line says what was probably meant."""
    for words, meant in ((["mpirun", "-n", "2", "x"], "dwell run mpirun"), (["rum", "x"], "dwell run is one"),
                         ([program("plain")], f"dwell run {program('plain')}"),
                         (["run", "-n", "4", "x"], "mpirun -n N dwell run"),
                         (["run", "--metric", "default", "x"], "--metrics is one"),
                         (["report", "--per-ranks"], "--per-rank is one")):
        run = execute([DWELL, *words])
        check_equal((run.code, len(said(run))), (2, 1), f"{words}" + run.describe())
        check(meant in run.stderr, f"{words}: {meant}" + run.describe())


@case
def names_on_stderr():
    """Control characters of names do not reach the terminal."""
    name = scratch("a\x1b[31m\x07\nb\u009bc")
    os.symlink(program("plain"), name)
    for number, words in enumerate(([name, "3"], [name + "no"], ["--sample", name, "true"])):
        run = execute([DWELL, "run", "-q", "-o", scratch(f"out{number}"), *words])
        check(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", run.stderr), repr(run.stderr))
        check("\\x1b[31m\\x07\\nb\\xc2\\x9bc" in run.stderr, repr(run.stderr))
        check_equal(len(run.stderr.splitlines()), 1, repr(run.stderr))
    run = execute([name, "3"], env={"LD_PRELOAD": LIBRARY, "DWELL_SAMPLE": "\x1b[31m"})
    check("\x1b" not in run.stderr, repr(run.stderr))


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
    run = run_observed([program("plain_static"), "5"], 2, scratch("rank"))
    check("statically linked: it is not observed (2 ranks" in run.stderr, "a rank" + run.describe())
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
