"""`dwell where` of jobs that hang, each named rightly while it runs; and of jobs that it cannot read."""

import json
import os
import pwd
import re
import signal
import subprocess
import time

from hangs import ALL_LOST, HANGS, RANKS, RunningHang, with_lines
from harness import (DWELL, case, check, check_equal, environment, execute, main, marked_line, program, recover,
                     scratch, skip_unless, source, thorough)


def where(*words, code=0, env=None):
    run = execute([DWELL, "where", *words], env=env)
    check(run.code == code, f"dwell where: exit code {run.code}" + run.describe())
    return run


def settled(directory, limit_s=40):
    """What it says once nothing moves any more."""
    until = time.monotonic() + limit_s
    while True:
        run = where("--json", directory)
        found = json.loads(run.stdout)
        still = len(found["threads"]) >= 1 and not any(t["moved"] for t in found["threads"])
        arrived = all(t.get("last") or t["in_mpi"] for t in found["threads"] if t["thread"] == 0)
        if still and arrived and len({t["rank"] for t in found["threads"]}) == found["world_size"]:
            return found
        check(time.monotonic() < until, "it still moves" + run.describe())
        time.sleep(0.2)


def one_line(text):
    return re.sub(r"\s+", " ", text)


def named_rightly(name):
    hang = HANGS[name]
    with RunningHang(name) as running:
        directory = running.directory()
        found = settled(directory)
        text = where("--width", "150", directory).stdout
    threads = {thread["rank"]: thread for thread in found["threads"] if thread["thread"] == 0}
    for rank in range(RANKS):
        thread, at = threads[rank], hang.at[rank]
        check_equal(thread["in_mpi"], at is not None, f"rank {rank} in MPI {thread}")
        if at:
            line = marked_line(source("hangs.c"), at[1])
            check_equal(thread["path"][-1], f"{at[0]} hangs.c:{line}", f"statement of rank {rank}")
        check_equal(thread.get("waits_for", []), hang.waits.get(rank, []), f"rank {rank} waits for")
        check_equal(thread.get("finding", ""), hang.tells.get(rank, ""), f"finding of rank {rank}")
    check_equal(found["stuck"], hang.stuck, "ranks that cannot go on")
    for expression in hang.says:
        check(re.search(with_lines(expression), one_line(text)), f"no {expression!r} in\n{text}")


def each_hang(name):
    def run():
        named_rightly(name)
    run.__name__ = name
    run.__doc__ = f"The hang {name} of programs/hangs.c."
    return case(run)


for each in HANGS:
    globals()[each] = each_hang(each)


@case
def polling():
    """Of a rank that tests a request without end the text names the line and the request."""
    says = with_lines(r"with 1 pending request: receive from rank 1, tag 5, "
                      r"left MPI_Test hangs\.c:{polls} last")
    with RunningHang("polls") as running:
        directory, until = running.directory(), time.monotonic() + 40
        while True:
            text = one_line(where("--width", "150", directory).stdout)
            if re.search(says, text):
                return
            check(time.monotonic() < until, f"not {says} in\n{text}")


@case
def killed_and_recovered():
    """The same hangs, killed: the recovered report begins with who was where, and `dwell where` says it, too."""
    for name in thorough(HANGS, ("wrong_branch", "kept_window", "one_of_two", "endless")):
        hang = HANGS[name]
        for folder in ("records", "out", "made", "fifo"):
            execute(["rm", "-rf", scratch(folder)])
        with RunningHang(name) as running:
            for pid in {thread["pid"] for thread in settled(running.directory())["threads"]}:
                os.kill(pid, signal.SIGKILL)
            running.process.wait(timeout=30)
        ending = one_line(recover(scratch("out"), scratch("made")).json["ending"])
        says = [with_lines(text).replace("can go on", "could go on").removesuffix(r"\.")
                for text in hang.says if text.startswith(ALL_LOST)]
        says += [f"rank {rank} computed" for rank, at in hang.at.items() if at is None]
        for expression in says:
            check(re.search(expression, ending), f"{name}: no {expression!r} in {ending}")
        text = one_line(where("--width", "150", scratch("out")).stdout)
        check("it has ended" in text, f"{name}: {text}")
        for expression in says if hang.stuck == list(range(RANKS)) else []:
            check(re.search(expression, text), f"{name}: no {expression!r} in {text}")


def openmp_at_rest(name, kind):
    """The three threads of openmp_hang.c, once nothing moves, and the text."""
    records = scratch("records")
    os.mkdir(records)
    process = subprocess.Popen([DWELL, "run", "-o", scratch("out"), program(name), kind],
                               env=environment(1, {"DWELL_RECORD_DIR": records}),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        until = time.monotonic() + 20
        while True:
            found = [os.path.join(records, job) for job in os.listdir(records)]
            if found and os.listdir(found[0]):
                run = where("--json", "--width", "150", found[0])
                threads = json.loads(run.stdout)["threads"]
                if len(threads) == 3 and not any(thread["moved"] for thread in threads):
                    break
            check(time.monotonic() < until, f"no three threads at rest {found}")
            time.sleep(0.2)
        text = where("--width", "150", found[0]).stdout
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return threads, text


def openmp_threads(name, kind, waiting, holding, says):
    """Two of three threads wait for a lock that the third one keeps."""
    threads, text = openmp_at_rest(name, kind)
    holder = [t["thread"] for t in threads if any(holding in step for step in t["path"])]
    wait = [t for t in threads if t.get("waits_for_threads")]
    check_equal(len(holder), 1, f"threads in {holding}: {threads}")
    check_equal([t["waits_for_threads"] for t in wait], [holder, holder], f"holders in {threads}")
    for thread in wait:
        check(waiting in thread["path"][-1], f"{waiting} in {thread['path']}")
    check(re.search(says, one_line(text)), f"no {says!r} in\n{text}")


def openmp_line(marker):
    return marked_line(source("openmp_hang.c"), marker)


@case
def kept_lock():
    """libomp: thread 1 keeps a lock and waits at the barrier: nobody can go on."""
    openmp_threads("openmp_hang", "lock", f"omp_set_lock openmp_hang.c:{openmp_line('wanted')}",
                   f"openmp_hang.c:{openmp_line('barrier')}",
                   r"Nobody can go on: .*which holds the lock since openmp_hang\.c:"
                   f"{openmp_line('kept')}")


@case
def critical_section_of_libomp():
    """libomp: thread 1 sleeps in a critical section, the others wait for it."""
    openmp_threads("openmp_hang", "critical", "critical", f"openmp_hang.c:{openmp_line('inside')}",
                   "which holds the critical section")


@case
def critical_section_of_libgomp():
    """libgomp: the same."""
    openmp_threads("openmp_gcc_hang", "critical", "critical",
                   f"openmp_hang.c:{openmp_line('inside')}", "which holds the critical section")


@case
def workers_of_an_ended_region():
    """The region has ended: its workers are at no barrier, and wait for nobody's arrival."""
    for name in ("openmp_hang", "openmp_gcc_hang"):
        threads, text = openmp_at_rest(name, "left")
        paths = {thread["thread"]: thread["path"] for thread in threads}
        check_equal((paths[1], paths[2]), ([], []), f"{name}: workers in {text}")
        execute(["rm", "-rf", scratch("records"), scratch("out")])


@case
def of_the_only_job():
    """Without a name it is the caller's only job; its id and its directory name it, too."""
    with RunningHang("wrong_branch") as running:
        directory = running.directory()
        env = {"DWELL_RECORD_DIR": running.records}
        settled(directory)
        job = os.path.basename(directory).split("-", 2)[2]
        for words in ([], [job], [directory]):
            check("Nobody can go on" in where(*words, env=env).stdout, f"where {words}")
        # A second job, of an older layout: now one must be named.
        other = directory.replace(job, "another")
        os.mkdir(other)
        with open(os.path.join(directory, "rank.0"), "rb") as record:
            head = bytearray(record.read(4096))
        head[8] -= 1  # FileHeader::version
        with open(os.path.join(other, "rank.0"), "wb") as record:
            record.write(head)
        run = where(code=1, env=env)
        check("2 jobs run here" in run.stderr and "dwell where JOB" in run.stderr, run.describe())
        run = where("another", code=1, env=env)
        check(f"layout {head[8]}" in run.stderr, run.describe())


@case
def of_no_job():
    """One line says that there is none, or whose it is."""
    os.mkdir(scratch("empty"))
    env = {"DWELL_RECORD_DIR": scratch("empty")}
    for words, said in (([], "no job of yours"), (["7"], "no job 7"), ([scratch("empty")], "no record")):
        run = where(*words, code=1, env=env)
        check(said in run.stderr and run.stderr.count("\n") == 1, run.describe())
    skip_unless(os.geteuid() == 0, "only root can make another user's job")
    nobody = pwd.getpwnam("nobody")
    other = scratch(f"empty/dwell-{nobody.pw_uid}-99")
    os.mkdir(other, 0o700)
    os.chown(other, nobody.pw_uid, nobody.pw_gid)
    for words in ([], ["99"]):
        run = where(*words, code=1, env=env)
        check("user" in run.stderr and run.stderr.count("\n") == 1, run.describe())


@case
def stopped_and_vanished():
    """A rank that SIGSTOP stopped is called so; then the directory vanishes while it is read."""
    with RunningHang("wrong_branch") as running:
        directory = running.directory()
        found = settled(directory)
        pid = found["threads"][2]["pid"]
        os.kill(pid, signal.SIGSTOP)
        try:
            text = where(directory).stdout
        finally:
            os.kill(pid, signal.SIGCONT)
        check(re.search("rank 2.*stopped", one_line(text)), text)
        reading = subprocess.Popen([DWELL, "where", directory], env=environment(1),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        time.sleep(0.5)
        for name in os.listdir(directory):
            os.unlink(os.path.join(directory, name))
        _, error = reading.communicate(timeout=20)
        check_equal((reading.returncode, error.count("\n")), (1, 1), error)


@case
def into_a_closed_pipe():
    """A reader that goes away is no error of the job's: it ends without a word or with one line."""
    with RunningHang("wrong_branch") as running:
        directory = running.directory()
        settled(directory)
        ours, theirs = os.pipe()
        reading = subprocess.Popen([DWELL, "where", directory], env=environment(1), stdout=theirs,
                                   stderr=subprocess.PIPE, text=True)
        os.close(theirs)
        os.close(ours)
        _, error = reading.communicate(timeout=20)
        check(reading.returncode != 0 and error.count("\n") <= 1, f"{reading.returncode} {error}")


@case
def in_another_pid_namespace():
    """From a container: where ranks are is known, their processes are not visible."""
    unshare = ["unshare", "--pid", "--fork", "--mount-proc"]
    skip_unless(execute(unshare + ["true"]).code == 0, "no namespaces here")
    with RunningHang("wrong_branch") as running:
        directory = running.directory()
        settled(directory)
        run = execute(unshare + [DWELL, "where", directory])
    check(run.code == 0 and "or pid namespace" in run.stdout, run.describe())
    check("Nobody can go on" in run.stdout and "ended" not in run.stdout, run.describe())


if __name__ == "__main__":
    main()
