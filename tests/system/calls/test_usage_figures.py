"""What the operating system says of each rank: against what the program does (usage.c), and what
getrusage and /proc/self/io tell the program itself."""

import os
import re

from harness import (DWELL, case, check, check_equal, execute, kept_records, main, profiled, program,
                     recover, run_observed, scratch)

PAGE = os.sysconf("SC_PAGESIZE")
PAGES, BYTES, CALLS, SLEEPS = 4000, 8 << 20, 2048, 200
# What starting MPI may read and write, and its pages, beside what is known.
OTHER_BYTES, OTHER_CALLS = 2 << 20, 1500


def own_figures(folder, rank):
    """What the program saw: between its start and its end, and what there was at its end."""
    told = {"start": {}, "end": {}}
    with open(os.path.join(folder, f"own.{rank}"), encoding="ascii") as file:
        for line in file:
            when, name, value = line.replace(":", " ").split()
            told[when][name] = int(value)
    return told


def observed_usage(*mode):
    """Figures of two ranks of usage.c, and what they saw themselves."""
    folder = scratch("data")
    os.makedirs(folder, exist_ok=True)
    profile = profiled([program("usage"), folder, *mode], 2)
    return profile, [own_figures(folder, rank) for rank in range(2)]


def between(got, least, most, what):
    check(least <= got <= most, f"{what}: got {got}, want {least} to {most}")


@case
def known_figures():
    """Page faults, bytes, calls and switches are those that usage.c makes, and not those of dwell;
    none of them exceeds what the kernel tells the program itself."""
    profile, own = observed_usage()
    for rank, told in zip(profile.ranks, own):
        number, end = rank["rank"], told["end"]
        check_equal(rank["flags"].count("no_bytes"), 0, "bytes are known")
        between(rank["usage_ns"], rank["real_ns"] * 0.5, rank["real_ns"], "usage_ns")
        between(rank["minor_faults"], (number + 1) * PAGES, end["minor_faults"] + 500,
                f"minor faults of rank {number}")
        between(rank["major_faults"], 0, end["major_faults"] + 10, "major faults")
        between(rank["peak_memory_bytes"], (number + 1) * PAGES * PAGE,
                end["peak_kib"] * 1024 + (1 << 20), f"peak of rank {number}")
        # Ranks wait for each other in MPI_Finalize.
        between(rank["voluntary_switches"], SLEEPS, end["voluntary_switches"] + 500, "switches")
        between(rank["involuntary_switches"], 0, end["involuntary_switches"] + 20, "forced switches")
        # The clock of the kernel may stand for some milliseconds.
        between(rank["user_ns"], 0, 1000 * end["user_us"] + 50_000_000, "user time")
        between(rank["system_ns"], 0, 1000 * end["system_us"] + 50_000_000, "system time")
        check(rank["user_ns"] + rank["system_ns"] > 0, "no processor time")
        for key, name in (("read_bytes", "rchar"), ("written_bytes", "wchar")):
            between(rank[key], BYTES, min(BYTES + OTHER_BYTES, end[name] + 5000),
                    f"{key} of rank {number}")
        for key, name in (("reads", "syscr"), ("writes", "syscw")):
            between(rank[key], CALLS, min(CALLS + OTHER_CALLS, end[name] + 20),
                    f"{key} of rank {number}")
    more = profile.ranks[1]["minor_faults"] - profile.ranks[0]["minor_faults"]
    between(more, PAGES - 500, PAGES + 500, "faults that rank 1 has more")


@case
def shown():
    """The CSV, the tables and the head of the report show what profile.json holds."""
    profile, _ = observed_usage()
    for rank, row in zip(profile.ranks, [r for r in profile.csv("--per-rank") if r["user_s"]]):
        check_equal((row["kind"], row["rank"]), ("program", str(rank["rank"])), "the row")
        for column, key in (("minor_faults", "minor_faults"), ("peak_memory", "peak_memory_bytes"),
                            ("read_bytes", "read_bytes"), ("written_bytes", "written_bytes"),
                            ("voluntary_switches", "voluntary_switches")):
            check_equal(int(row[column]), rank[key], column)
        check_equal(float(row["user_s"]), rank["user_ns"] / 1e9, "user_s")
    merged = profile.csv()[0]
    check_equal(int(merged["written_bytes"]), sum(r["written_bytes"] for r in profile.ranks), "sum")
    check_equal(int(merged["peak_memory"]), max(r["peak_memory_bytes"] for r in profile.ranks),
                "most memory")
    text = execute([DWELL, "report", "--per-rank", profile.directory])
    table = text.stdout.split("Operating system", 1)[1].splitlines()[1:4]
    check(table[0].split()[:4] == ["rank", "user", "system", "memory"], table[0])
    check("8.0" in table[1] and "MiB" in table[1], "written bytes are not shown: " + table[1])
    peaks = [rank["peak_memory_bytes"] for rank in profile.ranks]
    line = re.search(r"Peak memory: .* a rank, most on rank 1: ([0-9.]+) MiB", text.stdout)
    check(line, "no line on memory\n" + text.stdout)
    check(abs(float(line.group(1)) * 2**20 / peaks[1] - 1) < 0.01, line.group(0))


@case
def reset():
    """After MPI_Pcontrol(2) figures count from there: usage.c does all of it before as well."""
    profile, _ = observed_usage("reset")
    for rank in profile.ranks:
        between(rank["written_bytes"], BYTES, BYTES + OTHER_BYTES, "written bytes")
        between(rank["reads"], CALLS, CALLS + 200, "reads")
        pages = (rank["rank"] + 1) * PAGES
        between(rank["minor_faults"], pages, pages + 1000, "minor faults")
        between(rank["usage_ns"], 0, rank["real_ns"], "usage_ns")


@case
def recovered():
    """A process that is killed leaves figures that were noted not long before."""
    folder = scratch("data")
    os.makedirs(folder)
    records = scratch("records")
    os.makedirs(records)
    run = run_observed([program("usage"), folder, "die"], 2, scratch("out"), cwd=scratch(),
                       env={"DWELL_RECORD_DIR": records})
    check(run.code != 0, "the program was not killed" + run.describe())
    profile = recover(kept_records(run), scratch("recovered"))
    rank = next(r for r in profile.ranks if r["rank"] == 0)
    between(rank["usage_ns"], 1, rank["real_ns"], "usage_ns")
    between(rank["peak_memory_bytes"], 1, 1 << 40, "peak memory")
    if "no_sampling" in rank["flags"]:
        return  # noted at the end of MPI_Init only
    between(rank["usage_ns"], 1_000_000_000, rank["real_ns"], "usage_ns")
    between(rank["minor_faults"], PAGES, PAGES + 20000, "minor faults")
    between(rank["written_bytes"], BYTES, BYTES + OTHER_BYTES, "written bytes")


if __name__ == "__main__":
    main()
