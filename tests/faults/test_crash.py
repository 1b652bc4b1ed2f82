"""Ends without MPI_Finalize: what was counted survives, one line names the command, and
`dwell recover` shows every finished call."""

import os
import random
import re
import shutil
import time

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, kept_records, main,
                     mpirun, program, recover, run_observed, run_plain, scratch, skip_unless,
                     source, verify_expectations)

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "dies.c")


def dies(how, ranks=2, everybody=False):
    """Runs dies.c; the profile that recover makes holds every call that each rank has reported."""
    words = [how, scratch("counts")] + (["all"] if everybody else [])
    plain = run_plain([program("dies"), *words], ranks)
    for rank in range(ranks):
        os.remove(scratch(f"counts.{rank}"))
    records = scratch("records")
    os.makedirs(records, exist_ok=True)
    run = run_observed([program("dies"), *words], ranks, scratch("out"), cwd=scratch(),
                       env={"DWELL_RECORD_DIR": records})
    check_equal(run.code, plain.code, "exit code" + run.describe())
    directory = kept_records(run)
    check(not directory.startswith(records), f"not moved out of the record directory: {directory}")
    # What killed parents left is moved by a process that the launcher does not reach, soon after.
    left = []
    for _ in range(100):
        left = [name for _, _, names in os.walk(records) for name in names]
        if not left:
            break
        time.sleep(0.1)
    check_equal(left, [], "records left behind")
    told = [int(open(scratch(f"counts.{rank}")).read()) for rank in range(ranks)]
    check_equal(told, [50 + 10 * rank for rank in range(ranks)], "what the program reports")
    profile = recover(directory, scratch("recovered"))
    profile.check_conservation()
    node = profile.at(SOURCE, "message", "MPI_Sendrecv")
    check_equal((node.count, node.sent), (sum(told), 4 * sum(told)), "recovered messages and bytes")
    check_equal(profile.at(SOURCE, "barrier", "MPI_Barrier").count, ranks, "recovered barriers")
    poll = profile.at(SOURCE, "poll", "MPI_Iprobe")
    want = 777 * (ranks if everybody else 1)
    check_equal((poll.count, poll.events), (want, [0, 0, 0, want]), "recovered polls")
    check_equal(sorted(rank["rank"] for rank in profile.ranks), list(range(ranks)), "ranks")
    return profile


def only_job(records):
    """The one directory with record files."""
    jobs = [d for d, _, files in os.walk(records) if any(f.startswith("rank.") for f in files)]
    check_equal(len(jobs), 1, f"directories with records: {jobs}")
    return jobs[0]


@case
def segmentation_fault():
    """SIGSEGV in one rank; the launcher ends the others."""
    dies("segv")


@case
def child():
    """A forked child is ended by SIGSEGV, its parent ends with a code of its own: what is said of the
    records does not say that of the child, by itself, as a rank, and around the launcher."""
    words = [program("child_dies")]
    ended = ", and a process that it started ended before its profile was written; "
    for name, launch, who in (("alone", [DWELL, "run"], "child_dies exited with code 3"),
                              ("rank", mpirun(1, DWELL, "run"), "rank 0 (child_dies) exited with code 3"),
                              ("around", [DWELL, "run", *mpirun(1)], " exited with code 3")):
        run = execute([*launch, *words], cwd=scratch(), env={"DWELL_OUT": scratch(name)})
        check_equal(run.code, 3, "exit code" + run.describe())
        check(who + ended in run.stderr, f"{name}: what is said" + run.describe())
        profile = recover(kept_records(run), scratch(name + "-recovered"))
        file = os.path.join(os.path.dirname(SOURCE), "child_dies.c")
        check_equal(profile.at(file, "barrier", "MPI_Barrier").count, 1, "recovered barriers")


@case
def aborted():
    """MPI_Abort(comm, 7) in one rank."""
    profile = dies("abort")
    check("aborted" in {rank["state"] for rank in profile.ranks}, "no rank is called aborted")


@case
def standard_abort():
    """abort()."""
    dies("sigabrt")


@case
def killed():
    """kill -9 of one rank."""
    dies("kill")


@case
def all_killed():
    """kill -9 of every rank."""
    dies("kill", everybody=True)


@case
def terminated():
    """SIGTERM of one rank."""
    dies("term")


@case
def exit_without_finalize():
    """exit() without MPI_Finalize in every rank."""
    dies("exit", everybody=True)


@case
def immediate_exit():
    """_exit() in every rank."""
    dies("_exit", everybody=True)


@case
def without_mpi():
    """A program with probes alone, killed, ended by _exit(), and as the ranks of a job: each lived as
    long as it computed, and dwell took a part of that."""
    for name, launch, ranks in (("kill", [], 1), ("_exit", [], 1), ("return", mpirun(2), 2)):
        out = scratch(name)
        run = execute([*launch, DWELL, "run", "-o", out, "--probe-limit", "off", program("leaves"), name],
                      ranks)
        check("dwell recover" in run.stderr, "no records are named" + run.describe())
        profile = recover(out, scratch(name + "-recovered"))
        check_equal(len(profile.ranks), ranks, "ranks")
        for rank in profile.ranks:
            check(0.2e9 < rank["real_ns"] < 1e9 * run.elapsed_s,
                  f"{name}: {rank['real_ns']} ns of a process that computed for 0.3 s")
            check(rank["intrusion_ns"] < rank["real_ns"],
                  f"{name}: {rank['intrusion_ns']} ns of intrusion in {rank['real_ns']} ns")


@case
def one_of_four():
    """One of four dies, three are ended by the launcher."""
    dies("kill", ranks=4)


@case
def killed_in_init():
    """kill -9 inside MPI_Init, before anything is known but the process: run says so and keeps
    nothing; what stays without run can be read, and holds nothing."""
    words = [program("dies"), "init", scratch("counts")]
    run = run_observed(words, 2, scratch("out"), cwd=scratch())
    check("before MPI_Init was done" in run.stderr, "not said" + run.describe())
    check("dwell recover" not in run.stderr, "records of nothing" + run.describe())
    records = scratch("records")
    os.mkdir(records)
    execute(mpirun(2, *words), 2, cwd=scratch(),
            env={"LD_PRELOAD": LIBRARY, "DWELL_RECORD_DIR": records})
    profile = recover(only_job(records), scratch("recovered"))
    check_equal([rank["rank"] for rank in profile.ranks], [0], "ranks")
    check_equal(profile.json["total_ns"], 0, "time")


@case
def run_itself_killed():
    """kill -9 of dwell run itself: nothing of its own is left in /dev/shm."""
    pids = []

    def kill(run):
        pids.append(run.pid)
        time.sleep(1)
        run.kill()

    run = execute([DWELL, "run", "sleep", "30"], interrupt=kill)
    check_equal(run.code, -9, "exit code" + run.describe())
    def left():
        return [name for name in os.listdir("/dev/shm")
                if "dwell" in name and str(pids[0]) in re.findall(r"\d+", name)]

    patience = time.monotonic() + 10  # another process removes it
    while left() and time.monotonic() < patience:
        time.sleep(0.1)
    check_equal(left(), [], "left in /dev/shm")


@case
def around_the_launcher():
    """With dwell around the launcher the parent of the launcher keeps the records."""
    words = ["kill", scratch("counts")]
    run = execute([DWELL, "run", "-o", scratch("out")] + mpirun(2, program("dies"), *words), 2,
                  cwd=scratch())
    check(run.code != 0, "exit code 0" + run.describe())
    profile = recover(kept_records(run), scratch("recovered"))
    check_equal(profile.at(SOURCE, "message", "MPI_Sendrecv").count, 110, "recovered messages")


@case
def records_without_run():
    """By plain LD_PRELOAD nobody is left to move the records after kill -9: they stay where they
    are, and recover reads them there."""
    records = scratch("records")
    os.mkdir(records)
    execute(mpirun(2, program("dies"), "kill", scratch("counts"), "all"), 2, cwd=scratch(),
            env={"LD_PRELOAD": LIBRARY, "DWELL_RECORD_DIR": records})
    job = only_job(records)
    check_equal(os.stat(job).st_mode & 0o777, 0o700, "mode of the directory")
    for name in os.listdir(job):
        check_equal(os.stat(os.path.join(job, name)).st_mode & 0o777, 0o600, f"mode of {name}")
    profile = recover(job, scratch("recovered"))
    check_equal(profile.at(SOURCE, "message", "MPI_Sendrecv").count, 110, "recovered messages")


@case
def same_numbers_again():
    """Processes of the same numbers as earlier ones whose records are still there, as in containers
    that share a record directory: they have their whole profile, and those stay as they were."""
    # The first process of all, which no signal of its own can end, is the shell.
    fresh = ["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", '"$@"; exit $?', "first"]
    skip_unless(execute(fresh + ["true"]).code == 0, "no numbers of its own can be had here")

    def right(profile, ranks):
        profile.check_conservation()
        verify_expectations(profile, source("ring.c"), ranks)

    alone = shutil.copy(LIBRARY, scratch("libdwell.so"))  # finds no command that makes a profile
    for launch, ranks in ([], 1), (mpirun(2), 2):
        records = scratch(f"records{ranks}")
        os.mkdir(records)
        env = {"LD_PRELOAD": LIBRARY, "DWELL_RECORD_DIR": records}
        killed = [program("dies"), "kill", scratch("counts"), "all"]
        execute(fresh + launch + killed, ranks, cwd=scratch(), env=env)
        killed = only_job(records)
        execute(fresh + launch + [program("ring")], ranks, env={**env, "LD_PRELOAD": alone})
        env["DWELL_OUT"] = scratch(f"out{ranks}")
        run = execute(fresh + launch + [program("ring")], ranks, env=env)
        check_equal(run.code, 0, "exit code" + run.describe())
        right(Profile(scratch(f"out{ranks}"), run), ranks)
        left = [os.path.join(records, name) for name in os.listdir(records)]
        check_equal(len(left), 2, f"record directories {left}")
        for directory in left:
            profile = recover(directory, directory + ".profile")
            if directory == killed:
                sent = profile.at(SOURCE, "message", "MPI_Sendrecv").count
                check_equal(sent, sum(50 + 10 * rank for rank in range(ranks)), "of the killed")
            else:
                right(profile, ranks)


def one_kept_record():
    words = ["kill", scratch("counts")]
    run = run_observed([program("dies"), *words], 1, scratch("out"), cwd=scratch())
    directory = kept_records(run)
    names = [name for name in os.listdir(directory) if name.startswith("rank.")]
    check_equal(names, ["rank.0"], "kept records")
    with open(os.path.join(directory, names[0]), "rb") as stream:
        return stream.read()


def recover_bytes(data, number):
    directory = scratch(f"job{number}")
    os.mkdir(directory)
    with open(os.path.join(directory, "rank.0"), "wb") as stream:
        stream.write(data)
    run = execute([DWELL, "recover", directory, "-o", scratch(f"made{number}")], timeout_s=20)
    shutil.rmtree(directory)
    shutil.rmtree(scratch(f"made{number}"), ignore_errors=True)
    return run


@case
def garbage_records():
    """Garbage instead of records: exit 1 and a line, never a crash."""
    noise = random.Random(1).randbytes
    for number, data in enumerate((b"", b"x", b"\0" * 4096, noise(100), noise(70000),
                                   b"DWLLDREC" + noise(5000), b"DWLLDREC" + b"\xff" * 5000,
                                   b"DWLLDREC\1\0\0\0" + noise(5000))):
        run = recover_bytes(data, number)
        check_equal(run.code, 1, f"exit code for garbage {number}" + run.describe())
        check(run.stderr.strip(), f"nothing is said of garbage {number}")


@case
def damaged_records():
    """A record file cut at any length is read as far as it goes, and said to be cut off: exit 1. One
    with a few bytes wrong: exit 0 or 1, no crash, no endless loop."""
    data = one_kept_record()
    luck = random.Random(7)
    cuts = [luck.randrange(len(data)) for _ in range(15)] + [8, 64, 1023, 1024, 1025]
    for number, cut in enumerate(cuts):
        run = recover_bytes(data[:cut], number)
        check_equal(run.code, 1, f"exit code, cut at {cut}" + run.describe())
        check("cut off" in run.stderr or "no record file" in run.stderr, f"cut at {cut}" + run.describe())
    used = len(data.rstrip(b"\0"))
    for number in range(100, 160):
        changed = bytearray(data)
        for _ in range(luck.choice((1, 3, 30))):
            at = luck.randrange(12, used)
            changed[at] = luck.choice((0, 1, 0x7f, 0xff, luck.randrange(256)))
        run = recover_bytes(bytes(changed), number)
        check(run.code in (0, 1), f"damage {number}: exit {run.code}" + run.describe())


@case
def zeroed_pages():
    """A page of a record file that holds records is zero, as after a failed write: exit 1, and the
    rank is named. Recovered whole nothing is said."""
    out = scratch("out")
    run = run_observed([program("dies"), "kill", scratch("counts"), "all"], 2, out, cwd=scratch())
    directory = kept_records(run)
    with open(os.path.join(directory, "rank.1"), "rb") as stream:
        data = stream.read()
    whole = execute([DWELL, "recover", directory, "-o", scratch("whole")])
    check_equal(whole.code, 0, "exit code of recover" + whole.describe())
    check("damaged" not in whole.stderr, "the whole one" + whole.describe())
    zeroed = 0
    for page in range(1, len(data) // 4096):
        if not any(data[4096 * page:4096 * (page + 1)]):
            continue
        zeroed += 1
        changed = data[:4096 * page] + bytes(4096) + data[4096 * (page + 1):]
        with open(os.path.join(directory, "rank.1"), "wb") as stream:
            stream.write(changed)
        made = execute([DWELL, "recover", directory, "-o", scratch(f"made{page}")])
        check_equal(made.code, 1, f"exit code, page {page} zero" + made.describe())
        check("rank 1 are damaged" in made.stderr, f"page {page} zero" + made.describe())
    check(zeroed >= 2, f"{zeroed} pages hold records")


@case
def crash_after_a_profile():
    """A run that is killed after another one wrote its profile into the same directory: the report
    shows that one, and says that there are records of a later run."""
    out = scratch("out")
    run_observed([program("ring")], 2, out)
    before = execute([DWELL, "report", out])
    check_equal((before.code, before.stderr), (0, ""), "report of the first" + before.describe())
    run_observed([program("dies"), "kill", scratch("said")], 2, out, keep=True)
    after = execute([DWELL, "report", out])
    check_equal((after.code, after.stdout), (0, before.stdout), "the first" + after.describe())
    check("records of a later run" in after.stderr and "dwell recover" in after.stderr,
          "nothing is said" + after.describe())


@case
def recovered_where_it_belongs():
    """Without -o the profile of recovered records is where the run was to write it: beside them after a
    run with -o, in dwell-PROGRAM-JOB after another one. The report finds it by the place of the
    records, and advises nothing more."""
    out = scratch("out")
    run_observed([program("dies"), "kill", scratch("said")], 2, out)
    run = execute([*mpirun(2), DWELL, "run", program("dies"), "kill", scratch("said")], 2,
                  cwd=scratch())
    shelter = kept_records(run)
    check(shelter.endswith(".records"), f"records in {shelter}")
    for records, profile in ((out, out), (shelter, shelter[:-len(".records")])):
        before = execute([DWELL, "report", records], cwd=scratch())
        check("dwell recover" in before.stderr, "nothing is advised" + before.describe())
        made = execute([DWELL, "recover", records + "/"], cwd=scratch())
        check_equal(made.code, 0, "exit code of recover" + made.describe())
        check(os.path.exists(os.path.join(profile, "profile.json")), f"no profile in {profile}")
        after = execute([DWELL, "report", records], cwd=scratch())
        check_equal((after.code, after.stderr), (0, ""), "report" + after.describe())
        check("MPI_Sendrecv" in after.stdout, "the report" + after.describe())
        names = sorted(name for name in os.listdir(records) if name.startswith("rank."))
        check_equal(names, ["rank.0", "rank.1"], "records, which stay")
    kept = [name for name in os.listdir(scratch()) if name.startswith("dwell-")]
    check_equal(sorted(kept), sorted(os.path.basename(name) for name in
                                     (shelter, shelter[:-len(".records")])), "directories")


@case
def recover_without_records():
    """A directory without records, or with a pipe in place of one: exit 1 and a line, at once."""
    os.mkdir(scratch("empty"))
    os.mkdir(scratch("pipe"))
    os.mkfifo(scratch("pipe/rank.0"))
    for name in ("empty", "pipe"):
        run = execute([DWELL, "recover", scratch(name)])
        check_equal(run.code, 1, "exit code" + run.describe())
        check(run.stderr.strip(), "nothing is said")


@case
def nothing_that_can_be_read():
    """A directory, or files in it, for which there is no permission, one that does not exist, a file
    in place of one: recover and report end with a line that says so."""
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    other = os.geteuid() == 0 and shutil.which("setpriv") is not None
    skip_unless(other and execute([*nobody, DWELL, "--version"]).code == 0, "nobody else can be here")
    os.chmod(scratch(), 0o755)
    places = {}
    for name in ("closed", "unlisted", "unsearched", "file"):
        places[name] = scratch(name)
        os.mkdir(places[name])
        for file in ("rank.0", "profile.json"):
            with open(os.path.join(places[name], file), "w", encoding="ascii") as stream:
                stream.write("{}")
            os.chmod(os.path.join(places[name], file), 0)
    os.chmod(places["closed"], 0)
    os.chmod(places["unlisted"], 0o711)
    os.chmod(places["unsearched"], 0o444)
    denied = "Permission denied"
    for name in places:
        run = execute([*nobody, DWELL, "recover", places[name]])
        check_equal(run.code, 1, f"recover {name}" + run.describe())
        check(denied in run.stderr, f"recover {name}" + run.describe())
        run = execute([*nobody, DWELL, "report", places[name]])
        check_equal((run.code, len(run.stderr.splitlines())), (2, 1), f"report {name}" + run.describe())
        check(denied in run.stderr, f"report {name}" + run.describe())
    for name, why in (("nowhere", "No such file or directory"), ("file/rank.0", "Not a directory")):
        run = execute([DWELL, "recover", scratch(name)])
        check_equal((run.code, run.stderr), (1, f"dwell: {scratch(name)}: {why}\n"), "recover")


if __name__ == "__main__":
    main()
