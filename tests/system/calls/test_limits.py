"""Bounds on memory, peers, rows and waiting: what does not fit is folded, counted and said."""


from harness import (DWELL, Profile, case, check, check_equal, execute, kept_records, main, profiled,
                     program, recover, run_observed, run_plain, same_result, scratch)


@case
def peers():
    """--peers 1: each rank of a ring keeps one of its two partners; the other's messages, 10 for each
    of 4 ranks, are folded and said to be; the sums stay exact."""
    profile = profiled([program("ring")], 4, ["--peers", "1"])
    nodes = profile.comm("MPI_Sendrecv")
    check_equal([(n.count, n.sent, n.received) for n in nodes], [(40, 160, 160)], "sums")
    check_equal(sum(n.raw["folded_peers"] for n in nodes), 40, "folded messages")
    check_equal(len(nodes[0].peers), 4, "peer records")
    check(any("40" in note for note in profile.json["notes"]), f"notes: {profile.json['notes']}")


@case
def rows():
    """--per-rank-limit 1: sums for all ranks only, partners by distance, and --per-rank says why it
    has nothing to show."""
    out = scratch("out")
    run = run_observed([program("ring")], 4, out, ["--per-rank-limit", "1"])
    profile = Profile(out, run)
    profile.check_conservation()
    check_equal([n.count for n in profile.comm("MPI_Sendrecv")], [40], "exchanges")
    check_equal(profile.rows, [], "rows")
    check("rows_dropped" in profile.json["flags"], f"flags {profile.json['flags']}")
    # (peer - rank) modulo 4: every rank sends to the next and receives from the one before.
    flows = {d["distance"]: (d["bytes_sent"], d["bytes_received"]) for d in profile.json["distances"]}
    check_equal(flows, {1: (160, 0), 3: (0, 160)}, "bytes by distance")
    told = execute([DWELL, "report", "--format", "csv", "--per-rank", out])
    check(told.code != 0 and told.stderr.strip(), "--per-rank without rows" + told.describe())


@case
def memory():
    """--memory 1 (MiB) does not hold 4096 paths of 13 frames: every call is counted all the same, new
    paths are folded, and the report says so."""
    profile = profiled([program("many_sites")], 1, ["--memory", "1"])
    check_equal(profile.count("MPI_Iprobe"), 4096, "calls")
    folded = profile.ranks[0]["folded_paths"] + profile.ranks[0]["dropped"]
    check(folded > 0, "nothing is folded")
    check(profile.json["notes"], "no note says so")
    check(profile.ranks[0]["record_bytes"] <= 1 << 20, f"{profile.ranks[0]['record_bytes']} bytes")


@case
def all_paths():
    """Without that limit all 4096 paths are kept apart."""
    profile = profiled([program("many_sites")], 1)
    counts = [node.count for node in profile.comm("MPI_Iprobe")]
    check_equal(sum(counts), 4096, "calls")
    check_equal(profile.ranks[0]["folded_paths"], 0, "folded paths")


@case
def merge_gives_up():
    """--end-timeout 1 with a rank that comes 4 s late: the job ends as it does without dwell, and
    no rank's counts are lost: they are in the profile, or in the kept records that stderr names."""
    plain = run_plain([program("late_finalize")], 2)
    out = scratch("out")
    run = run_observed([program("late_finalize")], 2, out, ["--end-timeout", "1"], cwd=scratch())
    same_result(plain, run)
    check(run.elapsed_s < plain.elapsed_s + 4, f"{run.elapsed_s} s, without dwell {plain.elapsed_s}")
    if "dwell recover" in run.stderr:
        profile = recover(kept_records(run), scratch("recovered"))
    else:
        profile = Profile(out, run)
    check_equal(profile.count("MPI_Iprobe"), 20, "calls of both ranks")


@case
def merge_waits():
    """With the usual time limit the late rank is waited for, as MPI_Finalize does anyway."""
    profile = profiled([program("late_finalize")], 2)
    check_equal(profile.count("MPI_Iprobe"), 20, "calls of both ranks")


if __name__ == "__main__":
    main()
