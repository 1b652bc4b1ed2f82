"""Whose the computation is that made others wait: never what only communicates. The shapes of
whose_computation.c, by the machine code alone and with probes."""

import os
import shutil

from harness import (DWELL, Profile, case, check, check_equal, execute, main, mpirun, repeated,
                     scratch, skip_unless, source)
from probed_program import WRAPPERS

# By shape: the owner by the machine code, and whether the code has ways for both. With probes the
# answer is compute.
SHAPES = {"halo": ("halo", False), "inside": ("inside", False), "often": ("exchange_often", True),
          "recursion": ("descend", True), "tail": ("tail", False), "late": ("exchange_late", False),
          "choice": ("choice", False), "phases": ("phases", False)}


def compiled(compiler, flags, program="whose_computation.c"):
    """`compiler`: the path of a wrapper, or the name of one of MPI's."""
    binary = scratch("program")
    built = execute([compiler, "-g", *flags, source(program), "-o", binary],
                    cwd=scratch())
    check_equal(built.code, 0, built.describe())
    return binary


def run(binary, *arguments):
    out = scratch("out")
    shutil.rmtree(out, ignore_errors=True)
    observed = execute(mpirun(2, DWELL, "run", "--sample", "off", "-o", out, binary, *arguments), 2)
    check_equal(observed.code, 0, observed.describe())
    return Profile(out, observed)


def procedure_of(profile, node):
    nodes = profile.json["nodes"]
    while nodes[node]["kind"] not in ("proc", "program"):
        node = nodes[node]["parent"]
    return nodes[node]["name"]


def times_of_causes(profile):
    """How long others waited for rank 1's computation, by procedure and whether that is uncertain."""
    times = {}
    for cause in profile.json["causes"]:
        if cause.get("peer_rank") != 1 or cause["interval"] is None:
            continue
        interval = profile.intervals[cause["interval"]]
        owner = procedure_of(profile, interval["booked_on"]), interval.get("in_or_after", False)
        times[owner] = times.get(owner, 0) + cause["time_ns"]
    check(times, "rank 1 made nobody wait")
    return times


def main_cause(profile):
    times = times_of_causes(profile)
    return max(times, key=times.get)


def check_sentence(profile, owner, perhaps, what):
    """The report names the same."""
    text = execute([DWELL, "report", profile.directory])
    check_equal(text.code, 0, text.describe())
    words = f"rank 1 in {'or after ' if perhaps else ''}{owner}"
    check(words in " ".join(text.stdout.split()), f"{what}: no {words!r} in {text.stdout}")


def computed_ns(profile, name):
    return sum(node.get("computation_ns", 0) for node in profile.json["nodes"]
               if node["kind"] != "comm" and node["name"] == name)


def without_probes(level):
    skip_unless(shutil.which("mpicc"), "no mpicc")
    binary = compiled("mpicc", [level])
    for shape, (owner, perhaps) in SHAPES.items():
        profile = run(binary, shape)
        what = f"{shape} {level}"
        found = main_cause(profile)
        allowed = {(owner, perhaps)}
        if shape == "recursion":  # the compiler may make it a loop
            allowed |= {(owner, False), (shape, True)}
        if shape == "late":  # where a jump leaves no return address
            allowed.add((owner, True))
        if shape == "often":  # or make three calls of a loop of three, of which the last is known
            allowed.add((shape, False))
        check(found in allowed, f"{what}: {found}")
        check_sentence(profile, *found, what)
        check(computed_ns(profile, found[0]) >= 150e6, f"{what}: {computed_ns(profile, found[0])}")


def with_probes(level):
    skip_unless(os.path.exists(os.path.join(WRAPPERS, "dwell_gcc.so")), "no wrapper for gcc")
    binary = compiled(os.path.join(WRAPPERS, "dwell-mpicc"), [level])
    for shape in SHAPES:
        repeated(check_with_probes, binary, shape, level)


# What else ran is known only as a sum over the whole run: on a busy machine it may be too much for a
# certain answer.
def check_with_probes(binary, shape, level):
    profile = run(binary, shape)
    times = times_of_causes(profile)
    computing = ("prepare", "settle") if shape == "phases" else ("compute",)
    for name in computing:
        check(times.get((name, False), 0) > 100e6, f"{shape} {level}: {times}")
    owner = main_cause(profile)
    check(owner[0] in computing, f"{shape} {level}: {owner}")
    check_sentence(profile, *owner, f"{shape} {level}")


@case
def without_probes_unoptimised():
    """The caller of what communicates, or what computes itself between its calls."""
    without_probes("-O0")


@case
def without_probes_optimised():
    """The same at -O2."""
    without_probes("-O2")


@case
def without_probes_inlined():
    """The same at -O3."""
    without_probes("-O3")


@case
def with_probes_unoptimised():
    """What computes, in all shapes."""
    with_probes("-O0")


@case
def with_probes_optimised():
    """The same at -O2 and -O3."""
    with_probes("-O2")
    with_probes("-O3")


def in_language(plain, wrapper, file, levels):
    skip_unless(shutil.which(plain), f"no {plain}")
    for level in levels:
        profile = run(compiled(plain, [level], file))
        owner, perhaps = main_cause(profile)
        check(owner.split("::")[-1].startswith("halo") and not perhaps,
              f"{plain} {level}: {owner}, {perhaps}")
    binary = compiled(os.path.join(WRAPPERS, wrapper), ["-O0"], file)
    owner, perhaps = main_cause(run(binary))
    check(owner.split("::")[-1].startswith("compute") and not perhaps, f"{wrapper}: {owner}")


@case
def fortran():
    """halo, in Fortran, and compute with probes."""
    in_language("mpifort", "dwell-mpifort", "whose_computation.f90", ["-O0", "-O2"])


@case
def cpp():
    """halo, in C++ with an exception, and compute with probes."""
    in_language("mpicxx", "dwell-mpicxx", "whose_computation.cpp", ["-O0", "-O2"])


if __name__ == "__main__":
    main()
