"""Many requests, persistent collectives, and the program's functions that MPI calls back."""

from harness import (case, check, check_equal, main, profiled, program, repeated, run_observed, scratch,
                     source)


def told(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read().split()


@case
def many_of_one_call():
    """A call that completes one of many requests costs little more than without dwell, and a request
    among 100 000 others little more than one alone: the best of many rounds, so that only what always
    happens counts."""
    repeated(check_many_of_one_call)


def check_many_of_one_call():
    out = scratch("many")
    run = run_observed([program("many_requests"), out], 1, scratch("out"))
    check_equal(run.code, 0, "exit code" + run.describe())
    figures = dict(line.split() for line in open(out, encoding="utf-8"))
    plain, ours = float(figures["plain_ns"]), float(figures["ours_ns"])
    check(ours < 3 * plain, f"MPI_Waitany over 500 requests: {ours} ns, {plain} without dwell")
    for step in ("start", "completion"):
        plain, ours = float(figures[f"plain_{step}_ns"]), float(figures[f"ours_{step}_ns"])
        check(ours < plain + 1000, f"{step} among 100 000 requests: {ours} ns, {plain} without dwell")


@case
def unseen_starts():
    """A persistent request that dwell did not see made counts once each time that it completes."""
    profile = profiled([program("unseen_persistent")], 1)
    check_equal(sum(rank["guessed"] for rank in profile.ranks), 10, "requests whose start was not seen")


@case
def called_back():
    """What MPI calls back is the program's: its calls count, and its time is computation."""
    repeated(check_called_back)


def check_called_back():
    file = source("callbacks.c")
    profile = profiled([program("callbacks"), scratch("told")], 2)
    both = [told(scratch(f"told.{rank}")) for rank in (0, 1)]
    calls = sum(int(one[0]) for one in both)
    seconds = sum(float(one[1]) for one in both)
    copies = sum(int(one[3]) for one in both)
    check_equal(profile.count("MPI_Type_contiguous"), calls, "MPI_Type_contiguous")
    check_equal(profile.count("MPI_Errhandler_create"), 2, "MPI_Errhandler_create")
    check_equal(profile.at(file, "copy", "MPI_Barrier").count, copies, "MPI_Barrier in copies")
    for mark, call in (("send", "MPI_Send"), ("ssend", "MPI_Ssend")):
        node = profile.at(file, mark, call)
        check_equal((node.count, node.failed), (20, 20), f"calls and failed ones of {call}")
    check_equal(profile.at(file, "barrier", "MPI_Barrier").count, 20, "MPI_Barrier after jumps")
    for mark, call in (("allreduce", "MPI_Allreduce"), ("dup", "MPI_Comm_dup"), ("free", "MPI_Comm_free"),
                       ("send", "MPI_Send"), ("general", "MPI_Wait")):
        node = profile.at(file, mark, call)
        # Each of the 20 calls computes for 5 ms.
        check(node.raw["time_ns"] - node.raw["sync_ns"] < 0.05e9,
              f"{node.raw['time_ns'] / 1e9:.3f} s at @{mark} are no computation")
    computed = profile.json["computation_ns"] / 1e9
    check(computed > 0.95 * seconds, f"{computed:.3f} s of computation, {seconds:.3f} in callbacks alone")


@case
def probes_called_back():
    """So do its probes: below the procedure that made the call, not below MPI's own."""
    profile = profiled([program("callbacks_probed"), scratch("told")], 2)
    both = [told(scratch(f"told.{rank}")) for rank in (0, 1)]
    for which, names in enumerate((["add"], ["copy"], ["delete"], ["complain"], ["query"])):
        want = sum(int(one[2 + which]) for one in both)
        nodes = [node for node in profile.nodes if node["kind"] == "proc" and node["name"] in names]
        check_equal(sum(node["count"] for node in nodes), want, f"entries of {names[0]}")
        foreign = [name for node in nodes for name in profile.path(profile.nodes.index(node))
                   if "PMPI" in name or "ompi" in name or "mca_" in name]
        check(not foreign, f"{names[0]} lies below {foreign}")
    inside = [node for node in profile.nodes if node["name"] == "MPI_Type_contiguous"]
    check_equal(sum(node["count"] for node in inside), sum(int(one[0]) for one in both),
                "MPI_Type_contiguous")


if __name__ == "__main__":
    main()
