"""As planted.c: the rank argv[2] is slow in deposit(), which main() calls between two exchanges. argv[1]:
"spin" computes for a time of the processor, "sleep" sleeps until a moment."""

import sys
import time

from mpi4py import MPI

STEPS = 20
comm = MPI.COMM_WORLD
rank, ranks = comm.Get_rank(), comm.Get_size()
slow = int(sys.argv[2])
at_fault = 0.0


def deposit(charge):
    began, until = time.monotonic(), time.thread_time() + (0.05 if rank == slow else 0.01)
    if sys.argv[1] == "sleep":
        time.sleep(0.05 if rank == slow else 0.01)
    else:
        while time.thread_time() < until:
            for i in range(1, 5000):
                charge = 0.5 * charge + 1 / i  # @fault
    global at_fault
    at_fault += time.monotonic() - began
    return charge


def exchange(charge):
    return comm.sendrecv(charge, dest=(rank + 1) % ranks, source=(rank - 1) % ranks)


def main():
    charge = 1.0
    comm.Barrier()
    for _ in range(STEPS):
        charge = deposit(charge)
        charge = exchange(charge)
    comm.Barrier()
    sys.stderr.write(f"rank {rank} was there for {at_fault:.6f} s\n")


main()
