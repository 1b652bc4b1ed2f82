"""MPI calls along Python call paths of every kind; each asks for a communicator's own size of data, so
that the statements are told apart by their bytes. argv[1] says which."""

import sys
import threading

from mpi4py import MPI  # @import

comm = MPI.COMM_WORLD
rank = comm.Get_rank()


def say(count):
    comm.Bcast(bytearray(count), 0)  # @say


def twice():
    say(10)  # @first
    say(11)  # @second


def recursive(depth):
    if depth == 0:
        say(20)  # @end
    else:
        recursive(depth - 1)  # @again


def generator():
    for count in (30, 30, 30):
        say(count)  # @next
        yield count


class Solver:
    def step(self):
        def inner():
            say(40)  # @innermost
        inner()  # @inner

    def __del__(self):
        say(41)  # @destructor


def made(number):
    """Code of one shape that is freed at once: the next one's is likely to lie in its place."""
    names = {"say": say}
    exec("\n" * number + f"def made_{number}():\n    say({100 + number})\nmade_{number}()\n", names)  # @exec


def shapes():
    twice()  # @twice
    recursive(5)  # @recursive
    list(generator())  # @generator
    solver = Solver()
    solver.step()  # @method
    del solver  # @del
    (lambda: say(50))()  # @lambda
    [say(60) for _ in range(3)]  # @comprehension
    for number in range(20):
        made(number)  # @made
    for number in range(20):
        exec("\n" * number + "say(200)", {"say": say})
    comm.bcast({"pickled": True})  # @pickled


def in_thread():
    def work():
        say(70)  # @work
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def main():
    shapes()  # @shapes
    in_thread()


main()  # @main
