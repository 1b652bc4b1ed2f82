"""Jobs over two hosts, over TCP: whose ranks do not see each other's record files."""

import os
import shutil

from harness import (DWELL, ROOT, Profile, case, check, check_equal, kept_records, main, program,
                     repeated, same_result, scratch, source, verify_expectations)
from hosts import Hosts

RING = source("ring.c")
DIES = os.path.join(ROOT, "tests", "faults", "programs", "dies.c")


def two_hosts():
    return Hosts("left", "right")


def observed(out, *options):
    return [DWELL, "run", "-o", scratch(out), *options]


def check_clean(hosts, run):
    check_equal(hosts.records(), [], "left in /dev/shm" + run.describe())


def hosts_of(profile):
    return {rank["rank"]: rank["host"] for rank in profile.ranks}


@case
def all_ranks():
    """Four ranks on two hosts: the counts, bytes and partners of ring.c, each rank under its host's
    name, and no record file is left on either."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["-n", "4"]
        plain = hosts.run(start + [program("ring")])
        check_equal(plain.code, 0, "without dwell" + plain.describe())
        run = hosts.run(start + observed("out") + [program("ring")])
        same_result(plain, run)
        profile = Profile(scratch("out"), run)
        profile.check_conservation()
        verify_expectations(profile, RING, 4)
        check_equal(hosts_of(profile), {0: "left", 1: "left", 2: "right", 3: "right"}, "hosts")
        check_clean(hosts, run)


@case
def one_host_observed():
    """Only the ranks of the second host are observed: theirs is the profile, and it is on disk."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2")
        plain = hosts.run(start + ["-n", "4", program("ring")])
        run = hosts.run(start + ["-n", "2", program("ring"), ":", "-n", "2", *observed("out"),
                                 program("ring")])
        same_result(plain, run)
        profile = Profile(scratch("out"), run)
        profile.check_conservation()
        check_equal(hosts_of(profile), {2: "right", 3: "right"}, "hosts")
        check_equal(profile.count("MPI_Sendrecv"), 20, "exchanges")
        check_clean(hosts, run)


@case
def one_rank_of_each():
    """One of the two ranks of each host is observed."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2")
        plain = hosts.run(start + ["-n", "4", program("ring")])
        words = []
        for rank in range(4):
            words += [":"] if rank else []
            words += ["-n", "1"] + (observed("out") if rank % 2 else []) + [program("ring")]
        run = hosts.run(start + words)
        same_result(plain, run)
        profile = Profile(scratch("out"), run)
        profile.check_conservation()
        check_equal(hosts_of(profile), {1: "left", 3: "right"}, "hosts")
        check_equal(profile.count("MPI_Sendrecv"), 20, "exchanges")
        check_clean(hosts, run)


@case
def exit_codes():
    """A job ends with the same code as without dwell, whichever host it comes from."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["-n", "4"]
        plain = hosts.run(start + [program("ring"), "10", "3"])
        run = hosts.run(start + observed("out", "--quiet") + [program("ring"), "10", "3"])
        same_result(plain, run)
        check_equal(run.code, 3, "exit code" + run.describe())
        verify_expectations(Profile(scratch("out"), run), RING, 4)
        check_clean(hosts, run)


@case
def around_the_launcher():
    """`dwell run mpirun` reaches the ranks of its own host; one line says so. Where the user has
    mpirun pass the preload on, all ranks are observed, and nothing is said."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["-n", "4"]
        run = hosts.run(observed("near") + start + [program("ring")])
        check_equal(hosts_of(Profile(scratch("near"), run)), {0: "left", 1: "left"}, "hosts")
        check("2 of 4 ranks gave no sign of life" in run.stderr, "not said" + run.describe())
        run = hosts.run(observed("far", "--quiet") + start + passed_on() + [program("ring")])
        check_equal(run.stderr, "", "stderr" + run.describe())
        verify_expectations(Profile(scratch("far"), run), RING, 4)
        check_clean(hosts, run)


def passed_on():
    return [word for name in ("LD_PRELOAD", "DWELL_OUT", "DWELL_QUIET") for word in ("-x", name)]


def check_recovered(hosts, directory, ranks):
    """dies.c: rank r made 50 + 10 r messages. A launcher in a hurry also kills those who would have
    moved the records of its own host; there `dwell recover` finds them where they are."""
    run = hosts.run([DWELL, "recover", directory, "-o", scratch("recovered")])
    profile = Profile(scratch("recovered"), run)
    profile.check_conservation()
    node = profile.at(DIES, "message", "MPI_Sendrecv")
    check_equal(node.count, sum(50 + 10 * rank for rank in ranks), "recovered messages")
    check_equal(hosts_of(profile), ranks, "hosts")


@case
def killed_on_the_other_host():
    """kill -9 of a rank on the second host ends the job with the same exit code as without dwell;
    the records of both hosts come together in one directory, which is named once, and `dwell
    recover` shows every finished call of all four ranks."""
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["--map-by", "node", "-n", "4"]
        words = ["kill", scratch("counts")]
        plain = hosts.run(start + [program("dies"), *words], cwd=scratch())
        run = hosts.run(start + [DWELL, "run", program("dies"), *words], cwd=scratch())
        check_equal(run.code, plain.code, "exit code" + run.describe())
        check_recovered(hosts, kept_records(run), {0: "left", 1: "right", 2: "left", 3: "right"})


@case
def killed_without_run_on_the_host():
    """With dwell around the launcher nobody on the other host moves its records: one line says
    where they are, and the others can be recovered. Who dies before all have heard who is observed
    does not know of the others."""
    repeated(check_killed_without_run)


def check_killed_without_run():
    shutil.rmtree(scratch("out"), ignore_errors=True)
    with two_hosts() as hosts:
        start = hosts.mpirun("left:2", "right:2") + ["-n", "4"]
        run = hosts.run(observed("out") + start + passed_on() +
                        [program("dies"), "kill", scratch("counts")])
        check(run.code != 0, "exit code 0" + run.describe())
        check_recovered(hosts, kept_records(run), {0: "left", 1: "left"})
        left = hosts.records()
        check_equal([name.split(":")[0] for name in left], ["right"], "records left on")
        check(f"the other 2 observed ranks are on their own hosts, in /dev/shm/{left[0][6:]}" in
              run.stderr, "their place is not told" + run.describe())


if __name__ == "__main__":
    main()
