"""Random programs (programs/random_program.c): the same results whoever watches, and no hang.

RANDOM_SECONDS=600 tries more of them, for that long in each case.
"""

import os
import time

from harness import (DWELL, case, check_equal, execute, main, mpirun, program, run_plain, scratch)

ROUNDS = "60"
LIMIT_S = 60  # of one run; they take less than two seconds on an idle machine
BUDGET_S = float(os.environ.get("RANDOM_SECONDS", "0"))
ORDER = {"DWELL_PRESERVE_ORDER": "1"}
OFF, FULL, DELAY = {"DWELL_WAIT": "off"}, {"DWELL_WAIT": "full"}, {"DWELL_INJECT_NS": "1:3000"}
# Of two seeds one after the other each takes a half of all.
SETTINGS = (({}, OFF | ORDER, FULL, DELAY), (ORDER, OFF, FULL | ORDER, ORDER | DELAY))


def check_seeds(ranks, first):
    """Two seeds, and more while there is time."""
    begin = time.monotonic()
    seed = first
    while seed < first + 2 or time.monotonic() - begin < BUDGET_S:
        argv = [program("random_program"), str(seed), ROUNDS]
        plain = run_plain(argv, ranks, timeout_s=LIMIT_S)
        check_equal(plain.code, 0, f"seed {seed} without dwell" + plain.describe())
        check_equal(len(plain.stdout.splitlines()), ranks, f"seed {seed}: lines printed")
        for number, setting in enumerate(SETTINGS[seed % 2]):
            observed = execute(mpirun(ranks, DWELL, "run", "--quiet", "-o",
                                      scratch(f"{seed}.{number}"), *argv), ranks, env=setting,
                               timeout_s=LIMIT_S)
            check_equal(observed.code, 0, f"seed {seed} with {setting}" + observed.describe())
            check_equal(observed.stdout, plain.stdout, f"seed {seed} with {setting}: checksums")
        seed += 1
    print(f"{ranks} ranks: {seed - first} seeds")


@case
def two_ranks():
    """Two ranks, seeds from 1."""
    check_seeds(2, 1)


@case
def three_ranks():
    """Three ranks, seeds from 1001."""
    check_seeds(3, 1001)


@case
def four_ranks():
    """Four ranks, seeds from 2001."""
    check_seeds(4, 2001)


if __name__ == "__main__":
    main()
