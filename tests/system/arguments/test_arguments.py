"""Arguments that MPI refuses, and those that are not significant: what a program is told of them,
by whom and how often, is as without dwell. wrong_arguments.py writes the calls."""

import os
import re
import shutil
import subprocess
import sys

from harness import (DWELL, Profile, case, check, check_equal, execute, main, mpirun,
                     program, scratch, skip_unless, thorough)

RANKS = 3
SETTINGS = [[], ["--wait", "off"], ["--wait", "full"], ["--preserve-order"],
            ["--metrics", "default"], ["--io", "on"],
            ["--wait", "full", "--preserve-order", "--metrics", "default", "--io", "on"]]


def binary():
    """The program; it takes the place of two functions through which Open MPI 4 ends a job."""
    found = program("wrong_arguments")
    library = re.search(r"libmpi\.so\.40 => (\S+)",
                        subprocess.run(["ldd", found], capture_output=True, text=True).stdout)
    skip_unless(library, "no libmpi.so.40")
    names = subprocess.run(["nm", "-D", library.group(1)], capture_output=True, text=True).stdout
    skip_unless(" ompi_mpi_abort" in names and " orte_show_help" in names, "not Open MPI 4")
    return found


def calls(name, command):
    """{(rank, call, mode): what came of it} of a run of all calls."""
    run = execute(mpirun(RANKS, *command, binary(), scratch(name)), RANKS, timeout_s=400,
                  env={"OMPI_MCA_mpi_yield_when_idle": "1"})
    check(run.code == 0, f"{name}: it ends with {run.code} at {places(name)}" + run.describe())
    found = {}
    for rank in range(RANKS):
        with open(scratch(f"{name}.{rank}"), encoding="utf-8", errors="replace") as stream:
            for line in stream.read().splitlines():
                number, mode, what = line.split(" ", 2)
                # What others have done to the same words of a window by then is chance.
                what = re.sub(r"(MPI_(R?[Gg]et_accumulate|Fetch_and_op)\(.*) in=\w+", r"\1", what)
                # A wait tests first, so that errors of the transfer come from there, or from dwell,
                # which calls the error handler itself for a receive that it held back.
                what = what.replace("MPI_Comm_call_errhandler", what.split("(")[0])
                found[rank, number, mode] = re.sub(
                    r"(/(15|18)/|mpi_errors_are_fatal/)MPI_(Test|Wait)", r"\1MPI_Wait", what) \
                    if ": 15 " in what or ": 18 " in what else what
    return found, run


def places(name):
    """The last lines of each rank."""
    ends = []
    for rank in range(RANKS):
        path = scratch(f"{name}.{rank}")
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as stream:
                ends.append((stream.read().splitlines() or [""])[-1])
    return ends


def compare(settings):
    plain = [calls(f"plain_{i}", [])[0] for i in range(3)]
    unsure = {key for other in plain[1:] for key in plain[0] if plain[0][key] != other.get(key)}
    check(len(plain[0]) > 30000, f"only {len(plain[0])} calls were made")
    check(len(unsure) < len(plain[0]) / 100, f"{len(unsure)} calls end by chance")
    classes = [re.search(r": (\d+)", what.split("MPI_", 1)[-1]) for what in plain[0].values()]
    wrong = sum(1 for found in classes if found and found.group(1) != "0")
    check(wrong > 10000 and len(classes) - wrong > 5000, f"{wrong} of {len(classes)} are refused")
    failures = []
    for number, options in enumerate(settings):
        name = f"observed_{number}"
        command = [DWELL, "run", "-q", "-o", scratch("out_" + name), *options]
        observed, run = calls(name, command)
        said = [line for line in run.stderr.splitlines() if line.startswith("dwell")]
        check_equal(said, [], f"{options}: what dwell says")
        profile = Profile(scratch("out_" + name), run)
        check_equal(len(profile.ranks), RANKS, f"{options}: observed ranks")
        check(profile.count("MPI_Get_accumulate") > 0, f"{options}: no call was recorded")
        differ = [key for key in plain[0] if key not in unsure and
                  plain[0][key] != observed.get(key)]
        failures += [f"{' '.join(options)}: rank {key[0]}, without dwell\n    {plain[0][key]}\n"
                     f"  with it\n    {observed.get(key)}" for key in differ[:5]]
        if differ:
            failures.append(f"{' '.join(options)}: {len(differ)} calls differ")
    check(not failures, "\n".join(failures))


@case
def every_setting():
    """Each call of each function ends in the same class of error, reaches the same error handler as
    often, under the same name of function, and leaves the same in its output arguments."""
    compare(thorough(SETTINGS, SETTINGS[::6]))


FATAL = ["MPI_Send(a, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD)",
         "MPI_Sendrecv(a, 1, MPI_DATATYPE_NULL, 0, 0, b, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &s)",
         "MPI_Recv(a, -1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &s)",
         "MPI_Irecv(a, 1, MPI_DATATYPE_NULL, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &r)",
         "MPI_Waitall(-1, &r, MPI_STATUSES_IGNORE)", "MPI_Waitany(1, NULL, a, &s)",
         "MPI_Bcast(a, 1, MPI_INT, 7, MPI_COMM_WORLD)", "MPI_Win_fence(0, MPI_WIN_NULL)",
         "MPI_Request_free(&none)"]


@case
def fatal():
    """A job that ends of it says the same and ends with the same code."""
    compiler = shutil.which("mpicc.openmpi") or shutil.which("mpicc")
    skip_unless(compiler, "mpicc is not installed")
    text = ("#include <mpi.h>\n#include <stdlib.h>\nint main(int argc, char** argv) {\n"
            "int a[4] = {0}, b[4]; MPI_Status s; MPI_Request r = MPI_REQUEST_NULL, none = 0;\n"
            "MPI_Init(&argc, &argv);\nswitch (atoi(argv[1])) {\n" +
            "".join(f"case {i}: {call}; break;\n" for i, call in enumerate(FATAL)) +
            "}\n(void)b; (void)s; (void)none;\nMPI_Finalize();\n}\n")
    with open(scratch("fatal.c"), "w", encoding="utf-8") as stream:
        stream.write(text)
    built = execute([compiler, "-w", scratch("fatal.c"), "-o", scratch("fatal")])
    check_equal(built.code, 0, "compiling" + built.describe())

    def ends(command, number):
        for _ in range(5):  # Open MPI's launcher now and then loses what a rank says at its end
            run = execute(mpirun(2, *command, scratch("fatal"), str(number)), 2, timeout_s=100)
            said = sorted(set(re.findall(r"\*\*\* (An error occurred in \w+|MPI_ERR_\w+.*)",
                                         run.stderr)))
            if len(said) == 2:
                break
        return run.code, said

    for number, call in enumerate(FATAL):
        plain = ends([], number)
        check(plain[0] != 0 and len(plain[1]) == 2, f"{call} does not end the job: {plain}")
        observed = ends([DWELL, "run", "-q", "-o", scratch(f"out_{number}"), "--preserve-order"],
                        number)
        check_equal(observed, plain, call)


if __name__ == "__main__":
    main()
