"""What dwell does to a process's memory: how much it takes, and that the program's own lies as without it."""

import re

from harness import case, check, check_equal, main, program, run_observed, run_plain, scratch, skip_unless

KIB_MOST = 860  # 756 to 792 were measured; before tables grew with what is in them it was 1680


def figures(run, unit):
    found = {int(rank): int(value)
             for rank, value in re.findall(rf"^rank (\d+): (-?\d+) {unit}$", run.stdout, re.M)}
    check_equal(sorted(found), [0, 1], "ranks that answered" + run.describe())
    return found


@case
def private():
    """A rank of 500 nodes has 0.8 MB of private memory over what it has without dwell."""
    plain = figures(run_plain([program("private_memory")], 2), "KiB")
    skip_unless(min(plain.values()) > 0, "the kernel has no /proc/self/smaps_rollup")
    run = run_observed([program("private_memory")], 2, scratch("out"))
    for rank, kib in figures(run, "KiB").items():
        check(kib - plain[rank] <= KIB_MOST, f"rank {rank}: {kib - plain[rank]} KiB over {plain[rank]}")


@case
def freed_buffers():
    """60 rounds of four buffers of 116 pages: malloc() keeps them where it keeps them without dwell.
    Returned to the kernel at every round they would be touched anew, up to 27 720 pages."""
    plain = figures(run_plain([program("freed_buffers")], 2), "pages")
    skip_unless(max(plain.values()) < 1000, f"without dwell they are returned: {plain}")
    observed = figures(run_observed([program("freed_buffers")], 2, scratch("out")), "pages")
    for rank, pages in observed.items():
        check(pages < plain[rank] + 1000, f"rank {rank}: {pages} pages, without dwell {plain[rank]}")


if __name__ == "__main__":
    main()
