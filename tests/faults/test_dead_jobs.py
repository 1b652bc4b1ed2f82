"""Jobs that were killed in the middle: what was open lasts until the end of its process, and the
report begins with who was where."""

import os
import random
import signal
import struct
import time

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, check_near, execute, kept_records,
                     main, marked_line, mpirun, program, recover, repeated, scratch, thorough)
from hung_job import HUNG, Killed, clear, words_of_ranks

PROGRAMS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs")
COUNTS = os.path.join(PROGRAMS, "counts.c")
RANKS = 6


def run_hung(how, launch, env=None, after_s=3.0):
    prefix = scratch("word")
    clear(prefix, RANKS)
    killed = Killed(prefix, RANKS, after_s)
    run = execute([*launch, program("hung"), how, prefix], RANKS, cwd=scratch(), env=env, interrupt=killed)
    return run, killed


def sentence():
    recv, allreduce = marked_line(HUNG, "recv"), marked_line(HUNG, "allreduce")
    return (f"Nobody could go on: rank 2 waits for rank 0 in MPI_Recv hung.c:{recv}; "
            f"ranks 0,1,3-5 wait for rank 2 in MPI_Allreduce hung.c:{allreduce}")


def one_line(text):
    return " ".join(text.split())


def check_hang(profile, killed):
    """The whole life of each rank, and the call that hung, without a count."""
    for rank in profile.ranks:
        check("end_seen" in rank["flags"], f"rank {rank['rank']}: its end was not seen: {rank['flags']}")
        check_near(rank["real_ns"] / 1e9, killed.lives[rank["rank"]], 0,
                   0.05 + killed.late[rank["rank"]], f"life of rank {rank['rank']}")
    recv = profile.at(HUNG, "recv", "MPI_Recv")
    check_equal(recv.count, 0, "count of the hung call")
    check_near(recv.raw["unfinished_ns"] / 1e9, killed.hung[2], 0, 0.05 + killed.late[2],
               "unfinished time of MPI_Recv")
    check_equal(recv.raw["unfinished_ns"], recv.time_ns, "its whole time")
    reduce = profile.at(HUNG, "allreduce", "MPI_Allreduce")
    others = sum(killed.hung) - killed.hung[2]
    check_equal(reduce.count, 0, "count of MPI_Allreduce")
    check_near(reduce.raw["unfinished_ns"] / 1e9, others, 0, 0.3, "unfinished time of MPI_Allreduce")
    check(profile.json["blocked_ns"] >= 0.9 * (recv.time_ns + reduce.time_ns), "it is no waiting")
    check_equal(profile.at(HUNG, "barrier", "MPI_Barrier").count, 10 * RANKS, "finished calls")


@case
def hang():
    """6 ranks hang for 3 s and are killed: each rank has its life within 50 ms, MPI_Recv that never
    returned has the count 0 and its time, and the report and the verdict begin with the deadlock. With
    dwell in the ranks, and around the launcher, where they are no children of it."""
    for name, launch in (("inside", mpirun(RANKS, DWELL, "run", "-o", scratch("inside"))),
                         ("around", [DWELL, "run", "-o", scratch("around"), *mpirun(RANKS)])):
        def attempt(name=name, launch=launch):
            run, killed = run_hung("recv", launch)
            made = scratch(name + "-made")
            profile = recover(kept_records(run), made)
            check_hang(profile, killed)
            return made
        made = repeated(attempt)
        shown = execute([DWELL, "report", "--width", "200", made])
        check(sentence() in one_line(shown.stdout.split("Time per rank")[0]), "not at the beginning" + shown.describe())
        check("s unfinished" in shown.stdout, "not on the line" + shown.describe())
        again = execute([DWELL, "recover", "--width", "200", "-o", scratch(name + "-again"),
                         scratch(name)])
        check(sentence() in one_line(again.stderr.split("Until then")[0]), "verdict" + again.describe())
        check(len(again.stderr.splitlines()) <= 10, "length of the verdict" + again.describe())
        rows = {row["name"]: row for row in Profile(made).csv()}
        check(float(rows["MPI_Recv"]["unfinished_s"]) > 2.9, f"CSV: {rows['MPI_Recv']}")
        check_equal(rows["MPI_Recv"]["count"], "0", "count in CSV")


@case
def nobody_saw_the_end():
    """By LD_PRELOAD alone: what was open lasts until the newest time in any record, which is when the last
    rank came to its call, a second after the others; the report says so."""
    records = scratch("records")
    os.makedirs(records, exist_ok=True)
    _, killed = run_hung("late", mpirun(RANKS), {"LD_PRELOAD": LIBRARY, "DWELL_RECORD_DIR": records}, 1.0)
    (job,) = [os.path.join(records, name) for name in os.listdir(records)]
    profile = recover(job, scratch("made"))
    late = killed.hung[2] - killed.hung[0]  # rank 0 came so much later
    check_near(late, 1.0, 0, 0.5, "how late rank 0 came")
    recv = profile.at(HUNG, "recv", "MPI_Recv")
    check_equal(recv.count, 0, "count")
    check_near(recv.raw["unfinished_ns"] / 1e9, late, 0, 0.05, "unfinished time")
    check(all("end_guessed" in rank["flags"] for rank in profile.ranks), "flags")
    check(any("newest time in any record" in note for note in profile.json["notes"]), profile.json["notes"])
    check(sentence() in profile.json["ending"], profile.json["ending"])


@case
def killed_while_it_computes():
    """A rank that computes when it is killed: its time is computation, and the others wait for it."""
    prefix = scratch("word")

    def attempt():
        clear(prefix, 2)
        killed = Killed(prefix, 2, 2.0)
        run = execute(mpirun(2, DWELL, "run", "-o", scratch("out"), program("hung"), "long", prefix), 2,
                      cwd=scratch(), interrupt=killed)
        profile = recover(kept_records(run), scratch("made"))
        for rank in profile.ranks:
            check_near(rank["real_ns"] / 1e9, killed.lives[rank["rank"]], 0, 0.05 + killed.late[rank["rank"]],
                       f"life of rank {rank['rank']}")
        (own,) = [row for row in profile.rows if row["node"] == 0 and row["rank"] == 0]
        inside = sum(row.get("computation_ns", 0) for row in profile.rows if row["rank"] == 0)
        check_near(inside / 1e9, killed.lives[0], 0.3, 0, "computation of rank 0")
        check(own["time_ns"] >= inside, "the program's time")
        return profile
    profile = repeated(attempt)
    ending = profile.json["ending"]
    last = marked_line(HUNG, "last")
    check(f"rank 1 waits for rank 0 in MPI_Barrier hung.c:{last}" in ending and "rank 0 computed" in ending,
          ending)
    check("Nobody" not in ending, ending)


@case
def random_kills():
    """kill -9 at random moments: the count is what the program had counted, or one more, and the time is the
    process's life within 50 ms."""
    luck = random.Random(35)
    prefix = scratch("counts")
    for number in range(thorough(100, 8)):
        around = number % 2 == 0
        out = scratch(f"out{number}")
        launch = [DWELL, "run", "-o", out, *mpirun(1)] if around else mpirun(1, DWELL, "run", "-o", out)

        def attempt(launch=launch):
            if os.path.exists(prefix + ".0"):
                os.remove(prefix + ".0")
            said = {}

            def kill(_, pause=luck.uniform(0, 0.5)):
                until = time.monotonic() + 30
                while time.monotonic() < until:
                    if os.path.exists(prefix + ".0") and os.path.getsize(prefix + ".0") == 24:
                        with open(prefix + ".0", "rb") as stream:
                            _, pid, born = struct.unpack("QQQ", stream.read())
                        if pid != 0:
                            break
                    time.sleep(0.005)
                time.sleep(pause)
                said["life"] = time.time() - born / 1e9
                os.kill(pid, signal.SIGKILL)

            run = execute([*launch, program("counts"), prefix], cwd=scratch(), interrupt=kill)
            with open(prefix + ".0", "rb") as stream:
                told = struct.unpack("QQQ", stream.read())[0]
            profile = recover(kept_records(run), scratch("made"))
            profile.check_conservation()
            count = profile.at(COUNTS, "call", "MPI_Sendrecv").count
            check(count in (told, told + 1), f"count {count}, the program counted {told}")
            check_near(profile.ranks[0]["real_ns"] / 1e9, said["life"], 0, 0.05, "life")
        repeated(attempt)


@case
def time_limit():
    """SIGTERM to all processes, as a batch system does at the time limit: the report is there before it sends
    SIGKILL, 30 s later. Around the launcher dwell says where; within, the launcher may end before it has
    passed all lines on."""
    prefix = scratch("word")

    def end(run):
        words_of_ranks(prefix, RANKS)
        time.sleep(1)
        os.killpg(run.pid, signal.SIGTERM)

    for around in (False, True):
        clear(prefix, RANKS)
        out = scratch(f"out{around}")
        observe = [DWELL, "run", "-o", out]
        command = [program("hung"), "recv", prefix]
        argv = [*observe, *mpirun(RANKS, *command)] if around else mpirun(RANKS, *observe, *command)
        run = execute(argv, RANKS, cwd=scratch(), interrupt=end)
        until = time.monotonic() + 25
        while not os.path.exists(os.path.join(out, "stats.picl")) and time.monotonic() < until:
            time.sleep(0.1)
        profile = Profile(out, run)
        check_equal(len(profile.ranks), RANKS, "ranks")
        check(sentence() in profile.json["ending"], profile.json["ending"] + run.describe())
        lines = run.stderr.count("its report comes to " + out)
        check(lines == 1 if around else lines <= 1, f"{lines} lines with the place of the report" + run.describe())


@case
def launcher_killed():
    """The launcher is killed, so that its ranks end and nobody reads what dwell says: the report is made."""
    prefix, out = scratch("word"), scratch("out")

    def end(run):
        words_of_ranks(prefix, RANKS)
        os.kill(run.pid, signal.SIGKILL)

    clear(prefix, RANKS)
    run = execute(mpirun(RANKS, DWELL, "run", "-o", out, program("hung"), "recv", prefix), RANKS, cwd=scratch(),
                  interrupt=end)
    until = time.monotonic() + 25
    while not os.path.exists(os.path.join(out, "stats.picl")) and time.monotonic() < until:
        time.sleep(0.1)
    check_equal(len(Profile(out, run).ranks), RANKS, "ranks")


@case
def time_limit_ignored():
    """A program that ignores SIGTERM: after 10 s what was counted is kept and reported, before SIGKILL to all
    processes at once, and nothing is said to be lost."""
    prefix, out = scratch("word"), scratch("out")
    kept = []

    def end(run):
        words_of_ranks(prefix, 1)
        os.killpg(run.pid, signal.SIGTERM)
        until = time.monotonic() + 28
        while not os.path.exists(os.path.join(out, "stats.picl")) and time.monotonic() < until:
            time.sleep(0.1)
        kept.extend(os.listdir(out))
        os.killpg(run.pid, signal.SIGKILL)

    os.mkdir(scratch("records"))
    run = execute([DWELL, "run", "-o", out, program("hung"), "ignore", prefix], cwd=scratch(), interrupt=end,
                  env={"DWELL_RECORD_DIR": scratch("records")})
    check("rank.0" in kept and "profile.json" in kept, f"{kept}" + run.describe())
    check_equal(Profile(out, run).at(HUNG, "barrier", "MPI_Barrier").count, 10, "calls in the report")
    profile = recover(out, scratch("made"))
    check_equal(profile.at(HUNG, "barrier", "MPI_Barrier").count, 10, "recovered calls")
    check("unfinished_ns" in profile.at(HUNG, "recv", "MPI_Recv").raw, "the call that was open")


@case
def interrupted_copies():
    """Temporary files of a copy of records that was interrupted go with the next command; those of one that
    goes on stay, and so do files of the user."""
    run, _ = run_hung("recv", mpirun(RANKS, DWELL, "run", "-o", scratch("out")), after_s=0.2)
    directory = kept_records(run)
    names = {"rank.0.aB3xyZ": True, "merged.AbCdEf": True, "profile.json.Qwerty": True,
             "data.0.aB3xyZ": False, "rank.0.notes": False, "rank.77.aB3xyZ": False}
    for name in names:
        with open(os.path.join(directory, name), "wb") as stream:
            stream.write(b"half")
        if name != "rank.77.aB3xyZ":  # just made, of a rank that is not there yet
            os.utime(os.path.join(directory, name), (1, 1))
    recover(directory, scratch("made"))
    for name, goes in names.items():
        check(os.path.exists(os.path.join(directory, name)) != goes, f"{name} goes: {goes}")


if __name__ == "__main__":
    main()
