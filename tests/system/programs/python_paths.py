"""MPI calls along Python call paths of every kind; each asks for a communicator's own size of data, so
that the statements are told apart by their bytes. argv[1] says which."""

import sys
import threading

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()


def say(count):
    comm.Bcast(bytearray(count), 0)


def twice():
    say(10)
    say(11)


def recursive(depth):
    if depth == 0:
        say(20)
    else:
        recursive(depth - 1)


def generator():
    for count in (30, 30, 30):
        say(count)
        yield count


class Solver:
    def step(self):
        def inner():
            say(40)
        inner()

    def __del__(self):
        say(41)


def made(number):
    """Code of one shape that is freed at once: the next one's is likely to lie in its place."""
    names = {"say": say}
    exec("\n" * number + f"def made_{number}():\n    say({100 + number})\nmade_{number}()\n", names)


def shapes():
    twice()
    recursive(5)
    list(generator())
    solver = Solver()
    solver.step()
    del solver
    (lambda: say(50))()
    [say(60) for _ in range(3)]
    for number in range(20):
        made(number)
    for number in range(20):
        exec("\n" * number + "say(200)", {"say": say})
    comm.bcast({"pickled": True})


def in_thread():
    def work():
        say(70)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def main():
    shapes()
    in_thread()


main()
