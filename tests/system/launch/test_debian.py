"""Debian's unmodified MPI programs: same output but for times, same exit code, a profile that adds
up and shows where they communicate."""

import os
import re
import shutil

import inputs
from harness import (Profile, case, check, check_equal, execute, main, run_observed,
                     run_plain, same_result, scratch, skip_unless)


def needs(name):
    path = shutil.which(name)
    skip_unless(path, f"{name} is not installed")
    return path


def compared(argv, ranks, normalise, wanted, cwd=None):
    plain = run_plain(argv, ranks, cwd=cwd)
    check_equal(plain.code, 0, "the program itself" + plain.describe())
    out = scratch("out")
    run = run_observed(argv, ranks, out, cwd=cwd)
    same_result(plain, run, normalise)
    profile = Profile(out, run)
    profile.check_conservation()
    check_equal(len(profile.ranks), ranks, "ranks")
    for name in wanted:
        check(profile.count(name) > 0, f"no {name} in the profile")
    for name in ("MPI_Send", "MPI_Isend", "MPI_Sendrecv"):
        for node in profile.comm(name):
            check(node.sent == 0 or node.peers, f"bytes without a peer: {node}")
    return profile


@case
def lammps():
    """LAMMPS, melt of 500 atoms, 2 ranks: the thermodynamic table is the same to the last digit."""
    lmp = needs("lmp")
    with open(scratch("in.melt"), "w") as stream:
        stream.write(inputs.lammps_melt(5, 200, 20))

    def table(stdout):
        lines = stdout.splitlines()
        start = next(i for i, line in enumerate(lines) if line.strip().startswith("Step"))
        return lines[start:start + 12]

    profile = compared([lmp, "-in", "in.melt", "-log", "none"], 2, table,
                       ["MPI_Allreduce", "MPI_Bcast"], cwd=scratch())
    check(profile.count("MPI_Send") + profile.count("MPI_Sendrecv") > 200, "no exchange of atoms")


@case
def hpcc():
    """HPC Challenge, smallest input, 2 ranks: every test of its own passes as without dwell."""
    hpcc_path = needs("hpcc")
    os.mkdir(scratch("run"))
    with open(scratch("run/hpccinf.txt"), "w") as stream:
        stream.write(inputs.hpcc(64, 16))

    def verdicts():
        with open(scratch("run/hpccoutf.txt"), errors="replace") as stream:
            # PTRANS repeats its verdicts for CPU times, but only for times above 0.
            text = re.sub(r"^CPU .*$", "", stream.read(), flags=re.M)
        os.remove(scratch("run/hpccoutf.txt"))
        return (re.findall(r"PASSED|FAILED|Success=\d", text),
                re.findall(r"^CommWorldProcs=\d+", text, re.M))

    plain = run_plain([hpcc_path], 2, cwd=scratch("run"))
    before = verdicts()
    check(plain.code == 0 and before[0], "the program itself" + plain.describe())
    out = scratch("out")
    run = run_observed([hpcc_path], 2, out, cwd=scratch("run"))
    same_result(plain, run)
    check_equal(verdicts(), before, "verdicts of the benchmark")
    profile = Profile(out, run)
    profile.check_conservation()
    check(profile.count("MPI_Recv") > 100, "hardly a receive in the profile")


@case
def netpipe():
    """NetPIPE up to 1 KiB: the same table of sizes; half of its messages go each way."""
    needs("NPopenmpi")

    def sizes(stdout):
        return re.findall(r"^\s*\d+:\s+(\d+) bytes", stdout, re.M)

    profile = compared(["NPopenmpi", "-u", "1024", "-n", "20", "-o", scratch("np.out")], 2, sizes,
                       ["MPI_Send", "MPI_Recv"], cwd=scratch())
    sent = sum(node.sent for node in profile.comm("MPI_Send"))
    taken = sum(node.received for node in profile.comm("MPI_Recv"))
    check_equal(sent, taken, "bytes sent and received")


@case
def mpi4py():
    """Python's mpi4py opens MPI late and in local scope: counts and bytes are exact."""
    python = "/usr/bin/python3"
    skip_unless(os.path.exists(python), "no /usr/bin/python3")
    probe = execute([python, "-c", "import mpi4py.MPI"], env={"PYTHONPATH": ""})
    skip_unless(probe.code == 0, f"{python} has no mpi4py")
    # 7 exchanges of 8 bytes each way, 3 reductions of 8 bytes.
    script = scratch("exchange.py")
    with open(script, "w") as stream:
        stream.write("""
import sys
from array import array
from mpi4py import MPI
comm = MPI.COMM_WORLD
other = 1 - comm.rank
total = 0
for i in range(7):
    out, got = array("d", [comm.rank + i]), array("d", [0])
    comm.Sendrecv(out, other, 0, got, other, 0)
    total += got[0]
for i in range(3):
    out, got = array("d", [i]), array("d", [0])
    comm.Allreduce(out, got)
    total += got[0]
pickled = comm.bcast({"a": 1} if comm.rank == 0 else None)
sys.stdout.write(f"rank {comm.rank} total {total} pickled {pickled}\\n")
""")
    profile = compared([python, script], 2, lambda text: sorted(text.splitlines()),
                       ["MPI_Sendrecv", "MPI_Allreduce", "MPI_Bcast"])
    nodes = profile.comm("MPI_Sendrecv")
    check_equal(sum(n.count for n in nodes), 14, "exchanges")
    check_equal(sum(n.sent for n in nodes), 14 * 8, "bytes")
    check_equal({key: figures for n in nodes for key, figures in n.peers.items()},
                {(0, 1): (14, 56, 56), (1, 0): (14, 56, 56)}, "peers, 14 messages each")


if __name__ == "__main__":
    main()
