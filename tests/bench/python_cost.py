"""What a call of MPI takes of mpi4py, a number of functions deep: the best of many short chunks."""

import sys
import time
from array import array

from mpi4py import MPI

CHUNKS, CALLS = 40, 2000


def best_ns():
    out, got = array("d", [0]), array("d", [0])
    call, best = MPI.COMM_SELF.Allreduce, float("inf")
    for _ in range(CHUNKS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call(out, got)
        best = min(best, time.perf_counter() - begin)
    return best / CALLS * 1e9


def deep(functions):
    return best_ns() if functions == 1 else deep(functions - 1)


for functions in (int(word) for word in sys.argv[1:]):
    # The file's own code, this many times deep(), best_ns().
    print(f"{functions} functions: {deep(functions - 2)} ns")
