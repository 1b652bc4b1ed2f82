"""Debian's unmodified MPI programs: same output but for times, same exit code, a profile that adds
up and shows where they communicate."""

import os
import re
import shutil
import sys

from harness import (DWELL, Profile, case, check, check_equal, execute, main, mpirun, run_observed,
                     run_plain, same_result, scratch, skip_unless, source)


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


def numbers_blanked(stdout):
    """What a program prints, without the figures that are times of this run."""
    return re.sub(r"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?", "#", stdout)


@case
def lammps():
    """LAMMPS, melt of 500 atoms, 2 ranks: the thermodynamic table is the same to the last digit."""
    lmp = needs("lmp")
    with open(scratch("in.melt"), "w") as stream:
        stream.write("""units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 5 0 5 0 5
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify every 20 delay 0 check no
fix 1 all nve
thermo 20
run 200
""")

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
        stream.write("""HPLinpack benchmark input file
Innovative Computing Laboratory, University of Tennessee
HPL.out      output file name (if any)
8            device out (6=stdout,7=stderr,file)
1            # of problems sizes (N)
64           Ns
1            # of NBs
16           NBs
0            PMAP process mapping (0=Row-,1=Column-major)
1            # of process grids (P x Q)
1            Ps
2            Qs
16.0         threshold
1            # of panel fact
2            PFACTs (0=left, 1=Crout, 2=Right)
1            # of recursive stopping criterium
4            NBMINs (>= 1)
1            # of panels in recursion
2            NDIVs
1            # of recursive panel fact.
1            RFACTs (0=left, 1=Crout, 2=Right)
1            # of broadcast
1            BCASTs (0=1rg,1=1rM,2=2rg,3=2rM,4=Lng,5=LnM)
1            # of lookahead depth
1            DEPTHs (>=0)
2            SWAP (0=bin-exch,1=long,2=mix)
64           swapping threshold
0            L1 in (0=transposed,1=no-transposed) form
0            U  in (0=transposed,1=no-transposed) form
1            Equilibration (0=no,1=yes)
8            memory alignment in double (> 0)
""")

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
