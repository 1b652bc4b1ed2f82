"""Jobs observed in part, of several programs, with wrappers of somebody else."""

import os

from harness import (DWELL, LIBRARY, Profile, case, check, check_equal, execute, main, mpirun,
                     profiled, program, run_plain, same_result, scratch, source)

ROUNDS = 10


def colon_job(parts, out):
    """mpirun with one application context for each (ranks, observed, program)."""
    argv = mpirun(4)[:1] + ["--bind-to", "none", "--oversubscribe"]
    for index, (ranks, observed, name) in enumerate(parts):
        argv += [":"] if index else []
        argv += ["-n", str(ranks)]
        argv += [DWELL, "run", "-o", out] if observed else []
        argv += [program(name)]
    return execute(argv, 4)


def observed_in_part(parts):
    total = sum(part[0] for part in parts)
    seen = [rank for rank, watched in enumerate(
        watched for ranks, watched, _ in parts for _ in range(ranks)) if watched]
    plain = run_plain([program("ring")], total)
    out = scratch("out")
    run = colon_job(parts, out)
    same_result(plain, run)
    profile = Profile(out, run)
    profile.check_conservation()
    check_equal(profile.world_size, total, "size of the world")
    check_equal(sorted(rank["rank"] for rank in profile.ranks), seen, "observed ranks")
    nodes = profile.comm("MPI_Sendrecv", "ring.c")
    check_equal(sum(node.count for node in nodes), ROUNDS * len(seen), "counted exchanges")
    peers = {key for node in nodes for key in node.peers}
    wanted = {(r, (r + step) % total) for r in seen for step in (1, -1)}
    check(peers and peers <= wanted, f"peers {peers}, want some of {wanted}")
    return run


@case
def first_of_four():
    """Only rank 0 of four is observed: the job ends as it does without, with that rank's figures."""
    observed_in_part([(1, True, "ring"), (3, False, "ring")])


@case
def second_of_four():
    """Only rank 1 is observed; rank 0 knows nothing of dwell and need not join anything."""
    observed_in_part([(1, False, "ring"), (1, True, "ring"), (2, False, "ring")])


@case
def last_of_four():
    """Only the last rank is observed."""
    observed_in_part([(3, False, "ring"), (1, True, "ring")])


@case
def two_apart():
    """Ranks 1 and 3 are observed and merge with each other, though 0 and 2 lie between them."""
    observed_in_part([(1, False, "ring"), (1, True, "ring"), (1, False, "ring"), (1, True, "ring")])


@case
def nodes_of_one_rank():
    """Where ranks do not see each other's record files, as on several nodes, the launcher tells who
    is observed: here each rank is told that it is alone on its node. All of four, then 1 and 3."""
    told = ["env", "OMPI_COMM_WORLD_LOCAL_SIZE=1"]
    plain = run_plain([program("ring")], 4)
    for seen in ([0, 1, 2, 3], [1, 3]):
        out = scratch("out%d" % len(seen))
        argv = mpirun(4)[:1] + ["--bind-to", "none", "--oversubscribe"]
        for rank in range(4):
            argv += [":"] if rank else []
            argv += ["-n", "1"] + told
            argv += [DWELL, "run", "-o", out] if rank in seen else []
            argv += [program("ring")]
        run = execute(argv, 4)
        same_result(plain, run)
        profile = Profile(out, run)
        profile.check_conservation()
        check_equal(sorted(rank["rank"] for rank in profile.ranks), seen, "observed ranks")
        check_equal(sum(node.count for node in profile.comm("MPI_Sendrecv", "ring.c")),
                    ROUNDS * len(seen), "counted exchanges")


@case
def two_programs():
    """MPMD: two programs in one job, both observed, with lines of their own in one profile."""
    out = scratch("out")
    plain = execute(mpirun(4)[:1] + ["--oversubscribe", "-n", "2", program("ring"), ":", "-n", "2",
                                     program("other")], 4)
    run = colon_job([(2, True, "ring"), (2, True, "other")], out)
    same_result(plain, run)
    profile = Profile(out, run)
    profile.check_conservation()
    ring = profile.comm("MPI_Sendrecv", "ring.c")
    check_equal([node.count for node in ring], [2 * ROUNDS], "exchanges of ring")
    other = profile.at(source("other.c"), "other_sendrecv", "MPI_Sendrecv")
    check_equal(other.count, 2 * ROUNDS, "exchanges of other")
    programs = {rank["rank"]: os.path.basename(rank["program"]) for rank in profile.ranks}
    check_equal(programs, {0: "ring", 1: "ring", 2: "other", 3: "other"}, "programs")


def wrapper_counts(profile):
    """8 sends, 8 receives, 5 barriers on each of 2 ranks, each once, wherever it is booked."""
    check_equal(profile.count("MPI_Send"), 16, "sends")
    check_equal(profile.count("MPI_Recv"), 16, "receives")
    check_equal(profile.count("MPI_Barrier"), 10, "barriers")
    sent = sum(node.sent for node in profile.comm("MPI_Send"))
    check_equal(sent, 64, "bytes sent")


@case
def wrapper_in_program():
    """A program that defines MPI_Send itself and calls PMPI_Send: its wrapper runs, and every call
    is counted once."""
    wrapper_counts(profiled([program("own_in_program")], 2))


@case
def wrapper_in_library():
    """A library with wrappers, linked before MPI, still runs, and every call is counted once."""
    plain = run_plain([program("own_in_library")], 2)
    check("wrapper ran 8 5" in plain.stdout, "the wrapper does not run by itself" + plain.describe())
    profile = profiled([program("own_in_library")], 2)
    wrapper_counts(profile)
    # dwell stands before the library: the line is the program's.
    node = profile.at(source("own_wrapper.c"), "send", "MPI_Send")
    check_equal(node.count, 16, "sends at the program's line")


@case
def wrapper_preloaded():
    """A wrapper by LD_PRELOAD beside dwell still runs, and every call is counted once."""
    library = program("libown.so")
    plain = execute(mpirun(2, "-x", "LD_PRELOAD=" + library, program("own_user")), 2)
    check("wrapper ran 8 5" in plain.stdout, "the wrapper does not run by itself" + plain.describe())
    out = scratch("out")
    run = execute(mpirun(2, "-x", "LD_PRELOAD=" + library, DWELL, "run", "-o", out,
                         program("own_user")), 2)
    same_result(plain, run)
    profile = Profile(out, run)
    profile.check_conservation()
    wrapper_counts(profile)
    # And the other order: the wrapper first, dwell after it, both by LD_PRELOAD.
    out = scratch("out2")
    run = execute(mpirun(2, "-x", f"LD_PRELOAD={library}:{LIBRARY}", "-x", "DWELL_OUT=" + out,
                         program("own_user")), 2)
    same_result(plain, run)
    wrapper_counts(Profile(out, run))


@case
def spawned_world():
    """Spawned processes are a world of their own: the parent's profile names them so, and notes that
    they are not in it. Around the launcher a profile of their own world comes beside it."""
    plain = execute(mpirun(1, program("spawn"), slots=4), 4)
    check_equal(plain.code, 0, "the program itself" + plain.describe())
    out = scratch("out")
    run = execute(mpirun(1, DWELL, "run", "-o", out, program("spawn"), slots=4), 4)
    same_result(plain, run)
    profile = Profile(out, run)
    profile.check_conservation()
    check_equal([rank["rank"] for rank in profile.ranks], [0], "ranks of the parent's profile")
    node = profile.at(source("spawn.c"), "parent_recv", "MPI_Recv")
    check_equal(node.peers, {(0, "w1:0"): (1, 0, 8), (0, "w1:1"): (1, 0, 8)}, "peers")
    noted = [note for note in profile.json["notes"] if "spawn" in note]
    check_equal(noted, ["2 spawned processes were not observed; put dwell run around mpirun"], "notes")
    os.mkdir(scratch("around"))
    run = execute([DWELL, "run", "-o", scratch("around/parent")] +
                  mpirun(1, program("spawn"), slots=4), 4)
    same_result(plain, run)
    beside = [name for name in os.listdir(scratch("around")) if name.startswith("parent-")]
    check_equal(len(beside), 1, "profiles beside the parent's" + run.describe())
    children = Profile(scratch("around/" + beside[0]), run)
    node = children.at(source("spawn.c"), "child_recv", "MPI_Recv")
    check_equal((node.count, node.received), (2, 16), "the children's receives and bytes")


if __name__ == "__main__":
    main()
