"""Two ranks exchange values; rank 1 computes 50 ms a step in relax(), rank 0 10 ms. `asleep` it sleeps,
so that a busy machine changes little."""

import os
import signal
import sys
import time
from array import array

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()


def relax(value):
    end = MPI.Wtime() + (0.05 if rank == 1 else 0.01)
    if sys.argv[1] == "asleep":
        time.sleep(max(0, end - MPI.Wtime()))
    while MPI.Wtime() < end:
        for i in range(200):
            value = value * 0.5 + i
    return value


def exchange(value):
    other = 1 - rank
    if sys.argv[1] == "buffers":
        out, got = array("d", [value]), array("d", [0])
        comm.Sendrecv(out, other, 0, got, other, 0)  # @wait_buffers
        return got[0]
    return comm.sendrecv(value, dest=other, source=other)  # @wait_pickles


def main():
    value = 0.0
    for _ in range(20):
        value = relax(value)  # @relax
        value = exchange(value)  # @exchange
    if sys.argv[1] == "killed":
        comm.Barrier()  # @last
        os.kill(os.getpid(), signal.SIGKILL)


main()  # @main
