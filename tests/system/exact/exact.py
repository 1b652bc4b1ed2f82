"""Runs one program of exactly known counts, bytes, peers and lines: exact.py PROGRAM RANKS SOURCE [with_file].

The program's source says beside each call what a right profile shows there (`//@` comments, see
harness.Expectation): counts, bytes and peers follow from the arguments of the calls alone.
"""

import sys

import harness


def main():
    name, ranks = sys.argv[1], int(sys.argv[2])
    source_file = harness.source(sys.argv[3])
    with_file = sys.argv[4:] == ["with_file"]

    def exact():
        words = [harness.scratch("file")] if with_file else []
        profile = harness.profiled([harness.program(name), *words], ranks)
        harness.verify_expectations(profile, source_file, ranks)
        if name != "pcontrol":  # starts some while dwell is switched off
            guessed = sum(rank["guessed"] for rank in profile.ranks)
            harness.check_equal(guessed, 0, "requests whose start was not seen")

    exact.__doc__ = f"Counts, bytes and peers at every line as the comments of {sys.argv[3]} say."
    exact.__name__ = name
    harness.case(exact)
    sys.argv[1:] = [name]
    harness.main()


if __name__ == "__main__":
    main()
