"""`dwell top` beside a running job: what it shows, and that the job does not notice."""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import time

from harness import (DWELL, Profile, Skip, case, check, check_equal, environment, execute, main,
                     marked_line, program, scratch, skip_unless, source)
from watching import (job_of, let_go, nodes_by_path, rank_pids, readings, running, top, wait_until,
                      watch)

SOURCE = source("steps.c")
TIMES = ("total_ns", "computation_ns", "transfer_ns", "blocked_ns", "sync_ns", "omp_wait_ns",
         "omp_idle_ns", "io_ns", "paused_ns")
# What only whole readings know, and what is said of nodes beside figures.
NOT_READ = {"node", "parent", "kind", "name", "file", "line", "labels", "open_ns"}


def watched_to_the_end(words, ranks=2, *options):
    """All readings of a job, and its profile."""
    with running(words, ranks, waits=True) as job:
        watcher = watch(job, job_of(job, ranks), *options)
        let_go()
        job.wait(timeout=100)
        check_equal(job.returncode, 0, "exit code of the job")
        out, err = watcher.communicate(timeout=60)
        check_equal((watcher.returncode, err), (0, ""), "exit code and messages of top")
        return [watcher.first] + [json.loads(line) for line in out.splitlines()], Profile(job.out)


def at(reading, marker, name):
    line = marked_line(SOURCE, marker)
    found = [node for node in reading["nodes"] if node["name"] == name and node["line"] == line
             and node["kind"] == "comm"]
    check(len(found) == 1, f"{name} at @{marker}: {found}")
    return found[0]


@case
def ends_as_the_profile():
    """The last line of --json has every number of profile.json."""
    lines, profile = watched_to_the_end([program("steps"), "150"], 2, "--per-rank")
    last = lines[-1]
    check(last["final"] and last["state"] == "finalized", f"not the end: {last['state']}")
    check(not any(line["final"] for line in lines[:-1]), "ended twice")
    for name in TIMES:
        check_equal(last[name], profile.json[name], name)
    numbered = [dict(node, node=i) for i, node in enumerate(profile.nodes)]
    want, got = nodes_by_path(numbered), nodes_by_path(last["nodes"])
    check_equal(sorted(map(str, got)), sorted(map(str, want)), "paths")
    compared = 0
    for path, node in got.items():
        for name, value in node.items():
            if name in NOT_READ:
                continue
            check_equal(value, want[path][name], f"{name} of {path[-1]}")
            compared += 1
        for name, value in want[path].items():
            figure = name.endswith("_ns") and not name.startswith("rank_") and name != "event_ns"
            if figure and name != "estimated_ns" and value:
                check(name in node, f"{name} of {path[-1]} is missing")
    check(compared > 50, f"only {compared} numbers were compared")
    for rank in last["ranks"]:
        rows = [row for row in profile.rows if row["rank"] == rank["rank"] and row["node"] == 0]
        check_equal(rank["total_ns"], sum(row["time_ns"] for row in rows), "time of a rank")
    check_equal(at(last, "pass", "MPI_Sendrecv")["bytes_sent"], 2 * 150 * 1000, "bytes")


@case
def rises_while_it_runs():
    """Counts, bytes and recorded times never fall, and the tree holds the source lines."""
    lines, _ = watched_to_the_end([program("steps"), "250"])
    check(len(lines) > 5, f"{len(lines)} readings")
    before = {}
    risen = 0
    for line in lines[:-1]:
        now = nodes_by_path(line["nodes"])
        for path, node in now.items():
            estimated = "estimated" in node.get("labels", [])
            for name in ("count", "bytes_sent", "bytes_received", "sync_ns", "blocked_ns") + \
                    (() if estimated else ("time_ns",)):
                earlier = before.get(path, {}).get(name, 0)
                check(node.get(name, 0) >= earlier,
                      f"{name} of {path[-1]} fell from {earlier} to {node.get(name, 0)}")
                risen += node.get(name, 0) > earlier
            check(node.get("open_ns", 0) < 60e9, f"open time of {path[-1]}")
        before = now
    check(risen > 20, f"only {risen} figures rose")
    middle = lines[len(lines) // 2]
    meet = at(middle, "meet", "MPI_Allreduce")
    check(0 < meet["count"] < 500, f"meetings in the middle: {meet['count']}")
    for name in TIMES:
        check(all(a[name] <= b[name] for a, b in zip(lines[:-2], lines[1:-1])), f"{name} fell")


@case
def shows_a_hang():
    """In a hang nothing is recorded any more, open time grows, and who waits for whom is said."""
    with running([program("steps"), "20", "hang"]) as job:
        directory = job_of(job)
        lost = f"MPI_Recv steps.c:{marked_line(SOURCE, 'lost')}"
        last = f"MPI_Barrier steps.c:{marked_line(SOURCE, 'last')}"

        def hangs():
            text = top(job, "--once", directory).stdout
            return f"rank 1 in {lost}" in text and f"rank 0 in {last}" in text

        wait_until(hangs, "both ranks in the calls that hang")
        run = top(job, "--once", directory)
        check("rank 0, tag 99" in run.stdout and "rank 1, which has not come" in run.stdout,
              "partners" + run.describe())
        one, = readings(top(job, "--once", "--json", directory))
        time.sleep(1)
        two, = readings(top(job, "--once", "--json", directory))
        check_equal(two["total_ns"], one["total_ns"], "recorded in a hang")
        grown = two["open_ns"] - one["open_ns"]
        check(2.0e9 < grown < 20e9, f"open time grew by {grown} ns of two ranks in a second")
        check_equal(at(two, "meet", "MPI_Allreduce")["count"], 40, "meetings")
        waits = {call["rank"]: call.get("waits_for") for call in two["open_calls"]}
        check_equal(waits, {0: [1], 1: [0]}, "who waits for whom")
        shown = top(job, "--once", "--rates", "--interval", "0.3", directory)
        check("Recorded in the last" in shown.stdout, "rates" + shown.describe())


@case
def lists_jobs():
    """Of two jobs there is a list; of none a line."""
    with running([program("steps"), "2000"]) as job:
        first = job_of(job)
        other = subprocess.Popen(["mpirun", "-n", "1", DWELL, "run", "-q", "-o", scratch("o2"),
                                  program("steps"), "2000"], env=environment(
                                      1, {"DWELL_RECORD_DIR": job.records}), cwd=scratch(),
                                 start_new_session=True)
        try:
            wait_until(lambda: len(glob.glob(job.records + "/dwell-*/rank.*")) == 3, "two jobs")
            run = top(job)
            check_equal(run.code, 0, "exit code" + run.describe())
            check_equal(len(re.findall(r"\bsteps$", run.stdout, re.M)), 2, run.describe())
            check(os.path.basename(first).split("-", 2)[2] in run.stdout, run.describe())
            listed, = readings(top(job, "--json"))
            check_equal(sorted(j["ranks"] for j in listed["jobs"]), [1, 2], "ranks of jobs")
            name = [j for j in listed["jobs"] if j["ranks"] == 2][0]["job"]
            check("2 of 2 ranks" in top(job, "--once", name).stdout, "one of them by its id")
        finally:
            os.killpg(other.pid, signal.SIGKILL)
            other.wait()
    empty = scratch("nothing")
    os.makedirs(empty)
    run = execute([DWELL, "top"], env={"DWELL_RECORD_DIR": empty})
    check_equal((run.code, run.stderr.count("\n")), (1, 1), "no job" + run.describe())


@case
def alarms():
    """Rank 1 waits for rank 0 most of the time: 'wait>5%' ends with 3, 'wait>99%' with 0."""
    with running([program("steps"), "2000"]) as job:
        directory = job_of(job)

        def waits():
            line, = readings(top(job, "--once", "--json", directory))
            return 10 * line["blocked_ns"] > line["total_ns"]

        wait_until(waits, "a tenth of the time waited")
        run = top(job, "--once", "--alarm", "wait>5%", directory)
        check_equal(run.code, 3, "exit code" + run.describe())
        check("! alarm wait>5%" in run.stdout, run.describe())
        check_equal(top(job, "--once", "--alarm", "wait>99%", directory).code, 0, "no alarm")
        lines = top(job, "--once", "--json", "--alarm", "computation<99%", directory)
        check_equal(lines.code, 3, "exit code with --json")
        check(readings(lines)[0]["alarms"][0]["raised"], lines.describe())
    for wrong in ("wait", "wait>x", "waits>3%", ""):
        run = execute([DWELL, "top", "--alarm", wrong])
        check_equal((run.code, run.stderr.count("\n")), (2, 1), f"--alarm '{wrong}'" + run.describe())


@case
def one_rank():
    """--rank shows one rank: rank 1 hardly computes. A rank that is not there is an error."""
    with running([program("steps"), "2000"]) as job:
        directory = job_of(job)
        wait_until(lambda: readings(top(job, "--once", "--json", directory))[0]["blocked_ns"] > 3e8,
                   "0.3 s of waiting")
        zero, = readings(top(job, "--once", "--json", "--rank", "0", directory))
        one, = readings(top(job, "--once", "--json", "--rank", "1", directory))
        check(one["blocked_ns"] > one["computation_ns"], f"rank 1: {one['blocked_ns']}")
        check(zero["computation_ns"] > zero["blocked_ns"], f"rank 0: {zero['computation_ns']}")
        all_of, = readings(top(job, "--once", "--json", "--per-rank", directory))
        ranks = all_of["ranks"]
        check_equal([rank["rank"] for rank in ranks], [0, 1], "ranks")
        check(ranks[1]["blocked_ns"] > ranks[1]["computation_ns"], f"{ranks}")
        run = top(job, "--once", "--rank", "7", directory)
        check_equal((run.code, run.stderr.count("\n")), (1, 1), "rank 7" + run.describe())


@case
def reset_while_it_is_read():
    """MPI_Pcontrol(2) begins the counts anew: that is said, and no figure jumps up."""
    lines, profile = watched_to_the_end([program("steps"), "200", "reset"])
    check_equal(at(lines[-1], "meet", "MPI_Allreduce")["count"], 200, "meetings after the reset")
    check(lines[-2]["resets"] > 0, f"resets {lines[-2]['resets']}")
    for line in lines:
        for node in line["nodes"]:
            check(node.get("count", 0) <= 400, f"a jump: {node}")
    for one, two in zip(lines[:-2], lines[1:-1]):
        if one["resets"] == two["resets"]:
            check(two["total_ns"] >= one["total_ns"], "fell without a reset")
    check_equal(lines[-1]["total_ns"], profile.json["total_ns"], "total")


@case
def dead_job():
    """Killed ranks: the last figures are shown, and that there was no MPI_Finalize."""
    with running([program("steps"), "100000"]) as job:
        directory = job_of(job)
        watcher = subprocess.Popen([DWELL, "top", "--json", "--interval", "0.2", directory],
                                   stdout=subprocess.PIPE, text=True, env=environment())
        for _ in range(3):
            running_line = json.loads(watcher.stdout.readline())
        check_equal(running_line["state"], "running", "state")
        os.killpg(job.pid, signal.SIGKILL)
        for pid in rank_pids(job.records):
            os.kill(pid, signal.SIGKILL)
        rest = [json.loads(line) for line in watcher.communicate(timeout=30)[0].splitlines()]
        check_equal((rest[-1]["state"], rest[-1]["final"]), ("died", True), "the end")
        check(rest[-1]["total_ns"] >= running_line["total_ns"], "the last figures")
        check_equal(watcher.returncode, 0, "exit code")


@case
def vanishing_job():
    """The directory goes away while it is read: the ranks are shown to their end."""
    with running([program("steps"), "300"], waits=True) as job:
        directory = job_of(job)
        watcher = watch(job, directory)
        shutil.rmtree(directory)
        let_go()
        lines = [json.loads(line) for line in watcher.communicate(timeout=60)[0].splitlines()]
        check(lines[-1]["final"], "the end")
        check_equal(at(lines[-1], "meet", "MPI_Allreduce")["count"], 600, "meetings")
    run = execute([DWELL, "top", "--once", directory])
    check_equal((run.code, run.stderr.count("\n")), (1, 1), "no directory" + run.describe())


@case
def closed_pipe():
    """A reader that has seen enough: no message, no signal."""
    with running([program("steps"), "2000"]) as job:
        directory = job_of(job)
        watcher = subprocess.Popen([DWELL, "top", "--json", "--interval", "0.1", directory],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        check(watcher.stdout.readline().endswith(b"}\n"), "a whole line at once")
        watcher.stdout.close()
        watcher.wait(timeout=20)
        check_equal((watcher.returncode, watcher.stderr.read()), (0, b""), "exit code and message")
        full = subprocess.run([DWELL, "top", "--once", directory], stdout=open("/dev/full", "wb"),
                              stderr=subprocess.PIPE, text=True, env=environment(), check=False)
        check_equal((full.returncode, full.stderr.count("\n")), (1, 1), full.stderr)


@case
def no_terminal():
    """Into a pipe one table; with a filter, a depth and a width."""
    with running([program("steps"), "2000"]) as job:
        directory = job_of(job)
        wait_until(lambda: "MPI_Allreduce" in top(job, "--once", directory).stdout, "a step")
        run = top(job, "--width", "60", "--ascii")
        check_equal((run.code, run.stderr), (0, ""), "the only job" + run.describe())
        check(all(len(line) <= 60 for line in run.stdout.splitlines()), run.describe())
        check(run.stdout.isascii(), "ASCII" + run.describe())
        some = top(job, "--once", "--filter", "sendrecv", directory).stdout
        check("MPI_Sendrecv" in some and "MPI_Init" not in some, some)
        check("MPI_" not in top(job, "--once", "--depth", "1", directory).stdout.split("In calls")[0],
              "depth 1")
        flat = top(job, "--once", "--lines", "--sort", "wait", directory).stdout.splitlines()
        rows = flat[[i for i, line in enumerate(flat) if "*wait" in line][0] + 1:]
        check(f"MPI_Allreduce steps.c:{marked_line(SOURCE, 'meet')}" in rows[0] or
              "MPI_Init" in rows[0], rows[0])
        for wrong in (["--sort", "x"], ["--interval", "0"], ["--json", "--lines"], ["--depth", "0"]):
            check_equal(execute([DWELL, "top", *wrong]).code, 2, str(wrong))


@case
def odd_names():
    """A program whose name has control characters and no UTF-8: none reaches the terminal."""
    folder = scratch("odd")
    os.makedirs(folder)
    odd = os.path.join(os.fsencode(folder), b"a\x1b[2J\xffb")
    shutil.copy(program("steps"), odd)
    with running([os.fsdecode(odd), "2000"]) as job:
        directory = job_of(job)
        for env in ({}, {"LC_ALL": "C"}):
            run = top(job, "--once", directory, env=env)
            check("\x1b" not in run.stdout and run.code == 0, run.describe())
        check(top(job, "--once", directory, env={"LC_ALL": "C"}).stdout.isascii(), "ASCII")
        line, = readings(top(job, "--once", "--json", directory))
        check("\x1b" in line["program"], "JSON has the name escaped")


@case
def job_does_not_notice():
    """top opens record files for reading, writes only its own output, signals nobody, locks nothing."""
    skip_unless(shutil.which("strace"), "strace is not installed")
    with running([program("steps"), "200"], waits=True) as job:
        directory = job_of(job)
        trace = scratch("trace")
        run = execute(["strace", "-f", "-o", trace, DWELL, "top", "--json", "--interval", "0.2",
                       directory], timeout_s=90, interrupt=lambda process: (time.sleep(1), let_go()))
        if "ptrace" in run.stderr and run.code != 0:
            raise Skip("processes cannot be traced here")
        check_equal(run.code, 0, "exit code" + run.describe())
        with open(trace, encoding="utf-8", errors="replace") as stream:
            calls = stream.read().splitlines()
    reads = 0
    for call in calls:
        name = re.match(r"\d+\s+(\w+)\(", call)
        if not name:
            continue
        name = name.group(1)
        check(name not in ("kill", "tkill", "tgkill", "rt_sigqueueinfo", "pidfd_send_signal", "ptrace",
                           "flock", "process_vm_readv", "process_vm_writev", "unlink", "unlinkat", "rename",
                           "renameat2", "truncate", "ftruncate", "fallocate", "msync", "mkdir"), call)
        check("F_SETLK" not in call and "F_OFD" not in call and "F_SETLEASE" not in call, call)
        if name in ("open", "openat", "creat"):
            check("O_WRONLY" not in call and "O_RDWR" not in call and "O_CREAT" not in call or
                  "/dev/null" in call, call)
            reads += directory in call
        if name in ("write", "writev", "pwrite64"):
            check(re.search(r"\((1|2),", call), call)
        if name == "mmap" and "MAP_SHARED" in call:
            check("PROT_WRITE" not in call, call)
    check(reads >= 2, f"{reads} record files opened")


if __name__ == "__main__":
    main()
